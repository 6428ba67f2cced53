#include "analyze/why/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* --- shared --- */

static uint64_t batch_number(const void *context, uint32_t batch)
{
    return tt_model_batch_number(context, batch);
}

TT_COLUMN_GET(get_sentence, char *const, s, tt_cell_text(cell, *s);)
static const tt_column sentence_columns[] = {
    TT_FIELD("text", "a sentence", .type = TT_CELL_NAME, .get = get_sentence),
};
static const tt_schema sentence_schema = TT_SCHEMA("texts", "a sentence", sentence_columns);
#define SENTENCES(key_, about_, rows_)                                                             \
    TT_FIELD(key_, about_, .type = TT_CELL_LIST, .inner = &sentence_schema, .rows = (rows_))

/* How many there were has a name of its own in each. */
enum { USUAL_OF_ANY = 1, USUAL_OF_BATCHES = 2 };
static const tt_column usual_columns[] = {
    TT_FIELD("median_ns", "of comparable ones", TT_MEMBER(tt_usual_value, median_ns)),
    TT_FIELD("low_ns", "8 of 10 take this", TT_MEMBER(tt_usual_value, low_ns)),
    TT_FIELD("high_ns", "to this", TT_MEMBER(tt_usual_value, high_ns)),
    TT_FIELD("n", "of how many", TT_MEMBER(tt_usual_value, n), .kinds = USUAL_OF_ANY),
    TT_FIELD("batches", "of how many", TT_MEMBER(tt_usual_value, n), .kinds = USUAL_OF_BATCHES),
};
static const tt_schema usual_schema = TT_SCHEMA("usual", "a usual time", usual_columns);
#define USUAL(kind_, value_)                                                                       \
    TT_ROWSET(&usual_schema, kind_, context, &(value_), tt_usual_known(&(value_)))

/* --- parts of a time --- */

TT_COLUMN_GET(get_part, tt_why_part, p, tt_cell_text(cell, tt_part_name(p->part));)
TT_COLUMN_GET(get_title, tt_why_part, p, tt_cell_text(cell, tt_part_title(p->part));)
TT_COLUMN_VALUE(get_part_ns, tt_why_part, p, f64, p->known ? p->time_ns : NAN)
TT_COLUMN_VALUE(get_part_usual, tt_why_part, p, f64, p->known ? p->usual_ns : NAN)
TT_COLUMN_KNOWN(has_share, tt_why_part, p, p->known &&isfinite(p->share))

static const tt_column part_columns[] = {
    TT_COLUMN("part", NULL, NONE, "the part", .type = TT_CELL_NAME, .get = get_part),
    TT_COLUMN("title", "PART", NONE, "the part in words", .type = TT_CELL_NAME, .get = get_title,
              .show = TT_SHOW_KEY),
    TT_COLUMN("time_ns", "TIME", NS, "of it", .type = TT_CELL_F64, .get = get_part_ns),
    TT_COLUMN("share", "SHARE", SHARE, "of all parts", TT_MEMBER(tt_why_part, share),
              .known = has_share),
    TT_COLUMN("usual_ns", "USUAL", NS, "the usual time of it", .type = TT_CELL_F64,
              .get = get_part_usual, .kinds = TT_PARTS_COMPARED),
};
const tt_schema tt_why_part_schema = TT_SCHEMA("parts", "a part of a time", part_columns);

/* --- why --- */

TT_COLUMN_GET(get_kind, tt_why, w, tt_cell_text(cell, tt_why_kind_name(w->kind));)
TT_COLUMN_KNOWN(of_batch, tt_why, w, w->batch != TT_NONE)
TT_COLUMN_VALUE(get_batch, tt_why, w, u64, batch_number(context, w->batch))
TT_COLUMN_KNOWN(of_run, tt_why, w, w->run != TT_NONE)
TT_COLUMN_KNOWN(of_node, tt_why, w, w->node != TT_NONE)
static const tt_column of_columns[] = {
    TT_FIELD("kind", "batch, layer or op", .type = TT_CELL_NAME, .get = get_kind),
    TT_FIELD("batch_id", "the batch", .type = TT_CELL_U64, .known = of_batch, .get = get_batch),
    TT_FIELD("layer_id", "the layer", TT_LAYER, TT_LAYER_AT(tt_why, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_why, layer_id)),
    TT_FIELD("run", "of the op", TT_MEMBER(tt_why, run), .known = of_run),
    TT_FIELD("node", "of the op", TT_MEMBER(tt_why, node), .known = of_node),
    TT_FIELD("name", "in words", TT_MEMBER(tt_why, name)),
};
static const tt_schema of_schema = TT_SCHEMA("of", "what is explained", of_columns);

TT_COLUMN_KNOWN(op_of_batch, tt_why_op, o, o->batch != TT_NONE)
TT_COLUMN_VALUE(get_op_batch, tt_why_op, o, u64, batch_number(context, o->batch))
TT_COLUMN_SHOW(show_place, tt_why_op, o,
               { (void)snprintf(out, room, "%" PRIu32 ":%" PRIu32, o->run, o->node); })
static const tt_column op_columns[] = {
    TT_FIELD("run", "graph computation", TT_MEMBER(tt_why_op, run)),
    TT_FIELD("node", "of its graph", TT_MEMBER(tt_why_op, node)),
    TT_COLUMN("batch_id", "BATCH", ID, "the batch", .type = TT_CELL_U64, .known = op_of_batch,
              .get = get_op_batch),
    TT_COLUMN("name", "NAME", NONE, "of the node", TT_MEMBER(tt_why_op, name),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("op", "OP", NONE, "the op", TT_MEMBER(tt_why_op, op), .show = TT_SHOW_WIDE),
    TT_FIELD("layer_id", "the layer", TT_LAYER, TT_LAYER_AT(tt_why_op, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_why_op, layer_id)),
    TT_COLUMN("time_ns", "TIME", NS, "it took", TT_MEMBER(tt_why_op, time_ns)),
    TT_COLUMN("usual_ns", "USUAL", NS, "its median", TT_MEMBER(tt_why_op, usual_ns)),
    TT_COLUMN("excess_ns", "MORE", NS, "than usual", TT_MEMBER(tt_why_op, excess_ns)),
    TT_COLUMN("run_node", "RUN:NODE", NONE, "for --op", .type = TT_CELL_NAME, .text = show_place,
              .show = TT_SHOW_TEXT | TT_SHOW_RIGHT | TT_SHOW_WIDE),
};
const tt_schema tt_why_op_schema = TT_SCHEMA("ops", "an op that took longer", op_columns);

TT_COLUMN_KNOWN(reads_known, tt_why_fault, f, f->reads_known)
static const tt_column fault_columns[] = {
    TT_COLUMN("tensor", "TENSOR", NONE, "whose pages were missing", TT_MEMBER(tt_why_fault, tensor),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("major_faults", "MAJOR", COUNT, "that waited for a device",
              TT_MEMBER(tt_why_fault, major)),
    TT_COLUMN("minor_faults", "MINOR", COUNT, "other page faults", TT_MEMBER(tt_why_fault, minor)),
    TT_COLUMN("read_bytes", "READ", BYTES, "from a device", TT_MEMBER(tt_why_fault, read_bytes),
              .known = reads_known, .show = TT_SHOW_DASH),
};
const tt_schema tt_why_fault_schema = TT_SCHEMA("faults", "a tensor's page faults", fault_columns);

TT_COLUMN_VALUE(get_first_batch, tt_recomputed, r, u64, batch_number(context, r->first_batch))
TT_COLUMN_VALUE(get_last_batch, tt_recomputed, r, u64, batch_number(context, r->last_batch))
TT_COLUMN_VALUE(get_before_batch, tt_recomputed, r, u64, batch_number(context, r->before))
TT_COLUMN_GET(get_loss, tt_recomputed, r, tt_cell_text(cell, tt_loss_name(r->loss));)
TT_COLUMN_KNOWN(has_holder, tt_recomputed, r, r->holder >= 0)
static const tt_column recomputed_columns[] = {
    TT_FIELD("batch_id", "the first that computed again", .type = TT_CELL_U64,
             .get = get_first_batch),
    TT_FIELD("last_batch_id", "the last one", .type = TT_CELL_U64, .get = get_last_batch),
    TT_FIELD("sequence", "of the prompt", TT_MEMBER(tt_recomputed, sequence)),
    TT_FIELD("first_position", "computed again", TT_MEMBER(tt_recomputed, first_position)),
    TT_FIELD("n_tokens", "computed again, from there on", TT_MEMBER(tt_recomputed, n_tokens)),
    TT_FIELD("n_prompt", "of the prompt, computed in all", TT_MEMBER(tt_recomputed, n_prompt)),
    TT_FIELD("time_ns", "their share of the batches'", TT_MEMBER(tt_recomputed, time_ns)),
    TT_FIELD("before_batch_id", "that had computed the first", .type = TT_CELL_U64,
             .get = get_before_batch),
    TT_FIELD("before_sequence", "for this one", TT_MEMBER(tt_recomputed, before_sequence)),
    TT_FIELD("holder_sequence", "that still held the first; null: none",
             TT_MEMBER(tt_recomputed, holder), .known = has_holder),
    TT_FIELD("loss", "why they were not kept", .type = TT_CELL_NAME, .get = get_loss),
};
static const tt_schema recomputed_schema =
    TT_SCHEMA("recomputed", "a prompt computed again", recomputed_columns);

TT_COLUMN_ROWS(why_recomputed, tt_why, w, &w->recomputed, w->has_recomputed)
TT_COLUMN_ROWS(of, tt_why, w, w, 1)
TT_COLUMN_GET(get_cause, tt_why, w, tt_cell_text(cell, tt_cause_name(w->cause));)
TT_COLUMN_ROWS(why_text, tt_why, w, w->text.list, w->text.n)
TT_COLUMN_ROWS(why_excluded, tt_why, w, w->excluded.list, w->excluded.n)
TT_COLUMN_ROWS(why_not_known, tt_why, w, w->not_known.list, w->not_known.n)
TT_COLUMN_ROWSET(why_usual, tt_why, w, USUAL(USUAL_OF_ANY, w->usual))
TT_COLUMN_ROWSET(why_usual_before, tt_why, w, USUAL(USUAL_OF_ANY, w->usual_before))
TT_COLUMN_ROWSET(why_parts, tt_why, w,
                 TT_ROWSET(&tt_why_part_schema, TT_PARTS_COMPARED, context, w->parts, w->n_parts))
TT_COLUMN_ROWS(why_ops, tt_why, w, w->ops, w->n_ops)
TT_COLUMN_ROWS(why_faults, tt_why, w, w->faults, w->n_faults)
static const tt_column why_columns[] = {
    TT_FIELD("of", "what is explained", .type = TT_CELL_OBJECT, .inner = &of_schema, .rows = of),
    SENTENCES("text", "the answer", why_text),
    TT_FIELD("cause", "null: not known, or nothing to explain", .type = TT_CELL_NAME,
             .get = get_cause),
    TT_FIELD("slow", "unusually long, or began unusually late", TT_MEMBER(tt_why, slow)),
    TT_FIELD("time_ns", "it took", TT_MEMBER(tt_why, time_ns)),
    TT_FIELD("before_ns", "since the batch before it", TT_MEMBER(tt_why, before_ns)),
    TT_FIELD("late_ns", "how late it began", TT_MEMBER(tt_why, late_ns)),
    TT_FIELD("usual", "its usual time", .type = TT_CELL_OBJECT, .rows = why_usual),
    TT_FIELD("usual_before", "the usual time before it", .type = TT_CELL_OBJECT,
             .rows = why_usual_before),
    TT_FIELD("parts", "of its time", .type = TT_CELL_ROWS, .rows = why_parts),
    TT_FIELD("ops", "that took longer", .type = TT_CELL_ROWS, .inner = &tt_why_op_schema,
             .rows = why_ops),
    TT_FIELD("faults", "by tensor, the ten with most", .type = TT_CELL_ROWS,
             .inner = &tt_why_fault_schema, .rows = why_faults),
    TT_FIELD("faults_total", "tensors with faults", TT_MEMBER(tt_why, faults_total)),
    TT_FIELD("recomputed", "null: no prompt that had been computed before", .type = TT_CELL_OBJECT,
             .inner = &recomputed_schema, .rows = why_recomputed),
    SENTENCES("excluded", "causes that it was not", why_excluded),
    SENTENCES("not_known", "what the trace does not tell", why_not_known),
};
const tt_schema tt_why_schema = TT_SCHEMA("why", "why something took its time", why_columns);

/* --- the run at a glance --- */

static const tt_column tile_columns[] = {
    TT_FIELD("key", "of the figure", TT_MEMBER(tt_overview_tile, key)),
    TT_FIELD("title", "in words", TT_MEMBER(tt_overview_tile, title)),
    TT_FIELD("value", "null: not known", TT_MEMBER(tt_overview_tile, value)),
    TT_FIELD("unit", "of the value", TT_MEMBER(tt_overview_tile, unit)),
    TT_FIELD("text", "the figure with its unit", TT_MEMBER(tt_overview_tile, text)),
    TT_FIELD("why_not", "it is not known", TT_MEMBER(tt_overview_tile, why_not)),
};
static const tt_schema tile_schema = TT_SCHEMA("tiles", "a figure", tile_columns);

TT_COLUMN_VALUE(get_slow_batch, tt_overview_slow, s, u64, batch_number(context, s->batch))
TT_COLUMN_GET(get_slow_cause, tt_overview_slow, s, tt_cell_text(cell, tt_cause_name(s->cause));)
static const tt_column slow_columns[] = {
    TT_COLUMN("batch_id", "BATCH", ID, "the batch", .type = TT_CELL_U64, .get = get_slow_batch,
              .show = TT_SHOW_KEY),
    TT_COLUMN("time_ns", "TIME", NS, "it took", TT_MEMBER(tt_overview_slow, time_ns)),
    TT_FIELD("before_ns", "since the batch before it", TT_MEMBER(tt_overview_slow, before_ns)),
    TT_FIELD("late_ns", "how late it began", TT_MEMBER(tt_overview_slow, late_ns)),
    TT_FIELD("ratio", "to the usual", TT_MEMBER(tt_overview_slow, ratio)),
    TT_FIELD("cause", "null: not known", .type = TT_CELL_NAME, .get = get_slow_cause),
    TT_COLUMN("text", "WHY", NONE, "in words", TT_MEMBER(tt_overview_slow, text),
              .show = TT_SHOW_WRAP),
};
const tt_schema tt_overview_slow_schema = TT_SCHEMA("slow", "a slow or late token", slow_columns);

static const tt_column tensor_columns[] = {
    TT_COLUMN("tensor", "TENSOR", NONE, "the tensor", TT_MEMBER(tt_overview_tensor, tensor),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_FIELD("size_bytes", "of it", TT_MEMBER(tt_overview_tensor, size_bytes)),
    TT_COLUMN("read_bytes", "READ", BYTES, "of it, in all",
              TT_MEMBER(tt_overview_tensor, read_bytes)),
    TT_COLUMN("time_ns", "TIME", NS, "of ops that read it, with their waits for a disk",
              TT_MEMBER(tt_overview_tensor, time_ns)),
    TT_COLUMN("work_ns", "WORK", NS, "own work of these", TT_MEMBER(tt_overview_tensor, work_ns)),
    TT_COLUMN("share", "SHARE", SHARE, "of the time of all ops",
              TT_MEMBER(tt_overview_tensor, share)),
};
const tt_schema tt_overview_tensor_schema = TT_SCHEMA("tensors", "a tensor", tensor_columns);

TT_COLUMN_KNOWN(selects_batch, tt_selects, s, s->batch_id >= 0)
TT_COLUMN_GET(selects_layer, tt_selects, s, tt_cell_id(cell, s->layer_id);)
TT_COLUMN_KNOWN(selects_run, tt_selects, s, s->run >= 0)
TT_COLUMN_KNOWN(selects_node, tt_selects, s, s->node >= 0)
TT_COLUMN_KNOWN(selects_lane, tt_selects, s, s->lane >= 0)
static const tt_column select_columns[] = {
    TT_FIELD("batch_id", "the batch", TT_MEMBER(tt_selects, batch_id), .known = selects_batch),
    TT_FIELD("layer_id", "the layer", TT_LAYER, .get = selects_layer),
    TT_STACK(.get = selects_layer),
    TT_FIELD("tensor", "the tensor", TT_MEMBER(tt_selects, tensor)),
    TT_FIELD("run", "of the op", TT_MEMBER(tt_selects, run), .known = selects_run),
    TT_FIELD("node", "of the op", TT_MEMBER(tt_selects, node), .known = selects_node),
    TT_FIELD("lane", "the thread", TT_MEMBER(tt_selects, lane), .known = selects_lane),
};
static const tt_schema select_schema = TT_SCHEMA("select", "what shows it", select_columns);

TT_COLUMN_GET(get_severity, tt_finding, f, tt_cell_text(cell, tt_severity_name(f->severity));)
static const tt_column finding_columns[] = {
    TT_FIELD("severity", "error, warning or note", .type = TT_CELL_NAME, .get = get_severity),
    TT_FIELD("kind", "what is found", TT_MEMBER(tt_finding, kind)),
    TT_FIELD("text", "in words", TT_MEMBER(tt_finding, text)),
    TT_FIELD("view", "of the viewer that shows it", TT_MEMBER(tt_finding, view)),
    TT_FIELD("select", "what to select there",
             TT_MEMBER_OBJECT(tt_finding, select, &select_schema)),
};
static const tt_schema finding_schema = TT_SCHEMA("findings", "a finding", finding_columns);

static const tt_column missing_columns[] = {
    TT_FIELD("what", "was not recorded", TT_MEMBER(tt_missing, what)),
    TT_FIELD("text", "what it would tell", TT_MEMBER(tt_missing, text)),
    TT_FIELD("option", "that records it", TT_MEMBER(tt_missing, option)),
};
static const tt_schema missing_schema = TT_SCHEMA("not_recorded", "a gap", missing_columns);

TT_COLUMN_VALUE(get_total, tt_overview, o, f64, o->m->clock.known ? o->total_ns : NAN)
TT_COLUMN_GET(get_of_wall, tt_overview, o, {
    (void)o;
    tt_cell_text(cell, "wall");
})
TT_COLUMN_ROWSET(overview_parts, tt_overview, o,
                 TT_ROWSET(&tt_why_part_schema, TT_PARTS_ALONE, context, o->parts, o->n_parts))
TT_COLUMN_ROWS(overview_not_known, tt_overview, o, o->not_known.list, o->not_known.n)
static const tt_column time_columns[] = {
    TT_FIELD("total_ns", "from the first batch to the last", .type = TT_CELL_F64, .get = get_total),
    TT_FIELD("of", "what time it is", .type = TT_CELL_NAME, .get = get_of_wall),
    TT_FIELD("parts", "of the time", .type = TT_CELL_ROWS, .rows = overview_parts),
    SENTENCES("not_known", "what the trace does not tell", overview_not_known),
};
static const tt_schema time_schema = TT_SCHEMA("time", "the run's time", time_columns);

TT_COLUMN_ROWS(overview_time, tt_overview, o, o, 1)
TT_COLUMN_ROWS(overview_tiles, tt_overview, o, o->tiles, TT_OVERVIEW_TILES)
TT_COLUMN_ROWSET(overview_usual, tt_overview, o, USUAL(USUAL_OF_BATCHES, o->usual))
TT_COLUMN_ROWS(overview_slow, tt_overview, o, o->slow, o->n_slow)
TT_COLUMN_ROWS(overview_tensors, tt_overview, o, o->tensors, o->n_tensors)
TT_COLUMN_ROWS(overview_recomputed, tt_overview, o, o->recomputed, o->n_recomputed)
TT_COLUMN_ROWS(overview_findings, tt_overview, o, o->findings, o->n_findings)
TT_COLUMN_ROWS(overview_missing, tt_overview, o, o->missing, o->n_missing)
#define OF_RUN(key_, about_, schema_, rows_)                                                       \
    TT_FIELD(key_, about_, .type = TT_CELL_ROWS, .inner = &(schema_), .rows = (rows_))
static const tt_column overview_columns[] = {
    TT_FIELD("headline", "in a sentence", TT_MEMBER(tt_overview, headline)),
    OF_RUN("tiles", "figures", tile_schema, overview_tiles),
    TT_FIELD("time", "where it went", .type = TT_CELL_OBJECT, .inner = &time_schema,
             .rows = overview_time),
    TT_FIELD("usual", "time of a generated token", .type = TT_CELL_OBJECT, .rows = overview_usual),
    TT_FIELD("usual_undisturbed_ns", "its median without the time off CPU",
             TT_MEMBER(tt_overview, usual_undisturbed_ns)),
    OF_RUN("slow", "slow or late tokens", tt_overview_slow_schema, overview_slow),
    OF_RUN("tensors", "that took most own work", tt_overview_tensor_schema, overview_tensors),
    OF_RUN("recomputed", "prompts computed again, the longest", recomputed_schema,
           overview_recomputed),
    OF_RUN("findings", "the most severe first", finding_schema, overview_findings),
    OF_RUN("not_recorded", "what is missing, and the flag", missing_schema, overview_missing),
    TT_FIELD("again", "what follows `run` to record it once more", TT_MEMBER(tt_overview, again)),
};
const tt_schema tt_overview_schema = TT_SCHEMA("overview", "a run at a glance", overview_columns);
