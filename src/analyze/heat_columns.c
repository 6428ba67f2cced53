/* The columns of heat, for every output. */
#include "analyze/heat.h"

#include "base/path.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum {
    BY_TENSOR = 1 << TT_HEAT_TENSOR,
    BY_EXPERT = 1 << TT_HEAT_EXPERT,
    BY_LAYER = 1 << TT_HEAT_LAYER,
    BY_COMPONENT = 1 << TT_HEAT_COMPONENT,
    BY_MODEL = 1 << TT_HEAT_MODEL,
    BY_CONTEXT = 1 << TT_HEAT_CONTEXT
};

/* --- rows --- */

static const tt_weight *weight_of(const tt_heat_context *x, const tt_heat_row *r)
{
    return &x->m->weights[r->weight];
}

static void get_tensor(const void *context, const void *row, tt_cell *cell)
{
    tt_cell_text(cell, weight_of(context, row)->name);
}

/* "blk.0.ffn_up_exps.weight[3]" for a slice. */
static void get_name(const void *context, const void *row, tt_cell *cell)
{
    const tt_heat_row *r = row;
    const char *name = weight_of(context, r)->name;
    if (r->expert >= 0)
        tt_cell_format(cell, "%s[%" PRId32 "]", name, r->expert);
    else
        tt_cell_text(cell, name);
}

static void get_expert(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    tt_cell_id(cell, ((const tt_heat_row *)row)->expert);
}

static void get_layer(const void *context, const void *row, tt_cell *cell)
{
    tt_cell_id(cell, weight_of(context, row)->place.layer_id);
}

static void show_layer(const void *context, const void *row, char *out, size_t room)
{
    char text[TT_LAYER_TEXT];
    (void)snprintf(out, room, "%s", tt_layer_text(text, weight_of(context, row)->place.layer_id));
}

static const char *model_file(const tt_heat_context *x, const void *row)
{
    return x->m->files[weight_of(x, row)->file].path;
}

static void get_model(const void *context, const void *row, tt_cell *cell)
{
    tt_cell_text(cell, model_file(context, row));
}

static void show_model(const void *context, const void *row, char *out, size_t room)
{
    tt_cell_text_copy(out, room, tt_base_name(model_file(context, row)));
}

/* Empty if there is one model. */
static void show_label(const void *context, const void *row, char *out, size_t room)
{
    if (((const tt_heat_context *)context)->m->n_models > 1) show_model(context, row, out, room);
}

TT_COLUMN_KNOWN(has_context, tt_heat_row, r, r->context != TT_NONE)

static void get_component(const void *context, const void *row, tt_cell *cell)
{
    tt_cell_text(cell, weight_of(context, row)->place.component);
}

static void show_read_bytes(uint64_t bytes, const tt_heat_row *r, bool bound, char *out,
                            size_t room)
{
    char text[TT_UNITS_TEXT];
    if (r->accesses)
        (void)snprintf(out, room, "%s%s", bound ? "<= " : "", tt_units_bytes(text, bytes));
}

TT_COLUMN_SHOW(show_touched, tt_heat_row, r,
               show_read_bytes(r->touched_bytes, r, r->unplaced, out, room);)
TT_COLUMN_SHOW(show_read, tt_heat_row, r, show_read_bytes(r->read_bytes, r, r->at_most, out, room);)

static bool has_time(const void *context, const void *row)
{
    const tt_heat_context *x = context;
    return ((const tt_heat_row *)row)->timed > 0 && x->m->clock.known;
}

static void set_batch(const tt_heat_context *x, const tt_heat_row *r, uint32_t batch, tt_cell *cell)
{
    cell->known = r->accesses > 0 && batch != TT_NONE;
    if (cell->known) cell->u64 = tt_model_batch_number(x->m, batch);
}

TT_COLUMN_GET(get_first_batch, tt_heat_row, r, set_batch(context, r, r->first_batch, cell);)
TT_COLUMN_GET(get_last_batch, tt_heat_row, r, set_batch(context, r, r->last_batch, cell);)

/* Reads outside of batches have a first use, but no number for it. */
static void show_batch(const tt_heat_context *x, const tt_heat_row *r, uint32_t batch, char *out,
                       size_t room)
{
    if (r->accesses == 0) return;
    (void)snprintf(out, room, batch == TT_NONE ? "-" : "%" PRIu32,
                   batch == TT_NONE ? 0 : tt_model_batch_number(x->m, batch));
}

TT_COLUMN_SHOW(show_first_batch, tt_heat_row, r, show_batch(context, r, r->first_batch, out, room);)
TT_COLUMN_SHOW(show_last_batch, tt_heat_row, r, show_batch(context, r, r->last_batch, out, room);)

static void set_moment(const tt_heat_context *x, const tt_heat_row *r, uint64_t ticks,
                       tt_cell *cell)
{
    cell->known = r->accesses > 0 && x->m->clock.known;
    if (cell->known) cell->u64 = tt_units_round_ns(tt_model_ns(x->m, ticks));
}

TT_COLUMN_GET(get_first, tt_heat_row, r, set_moment(context, r, r->first_ticks, cell);)
TT_COLUMN_GET(get_last, tt_heat_row, r, set_moment(context, r, r->last_ticks, cell);)

/* Empty if the file itself was read, which is the usual case. */
TT_COLUMN_SHOW(show_copied, tt_heat_row, r,
               if (r->copied_bytes) show_read_bytes(r->copied_bytes, r, r->at_most, out, room);)

TT_COLUMN_KNOWN(reuse_known, tt_heat_row, r, !r->unplaced)
TT_COLUMN_KNOWN(was_reused, tt_heat_row, r, r->reuses > 0 && !r->unplaced)

static tt_certainty reuse_bound(const void *context, const void *row)
{
    (void)context;
    return ((const tt_heat_row *)row)->reuse_at_most ? TT_AT_MOST : TT_EXACT;
}

static const tt_column row_columns[] = {
    TT_COLUMN(
        "name", "TENSOR OR EXPERT", NONE,
        "in text: name of the tensor, with the expert's number where the choices were observed",
        .type = TT_CELL_NAME, .show = TT_SHOW_TEXT | TT_SHOW_CUT | TT_SHOW_KEY, .kinds = BY_EXPERT,
        .get = get_name),
    TT_COLUMN("tensor", "TENSOR", NONE, "name of the tensor", .type = TT_CELL_NAME,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, .kinds = BY_TENSOR, .get = get_tensor),
    TT_COLUMN("tensor", NULL, NONE, "name of the tensor", .type = TT_CELL_NAME, .kinds = BY_EXPERT,
              .get = get_tensor),
    TT_COLUMN("expert_id", NULL, ID,
              "the expert; null: the tensor has none, or they were not observed",
              .type = TT_CELL_I32, .nullable = true, .kinds = BY_EXPERT, .get = get_expert),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: weights outside the layers", TT_LAYER,
              .show = TT_SHOW_LEFT | TT_SHOW_CUT | TT_SHOW_KEY, .kinds = BY_LAYER, .get = get_layer,
              .text = show_layer),
    TT_STACK(.kinds = BY_LAYER, .get = get_layer),
    TT_COLUMN("layer_id", NULL, ID, "the tensor's layer; null: outside the layers", TT_LAYER,
              .kinds = BY_TENSOR | BY_EXPERT, .get = get_layer),
    TT_STACK(.kinds = BY_TENSOR | BY_EXPERT, .get = get_layer),
    TT_COLUMN("context_id", "CONTEXT", ID, "the engine's context; null: outside any batch",
              .nullable = true, .show = TT_SHOW_LEFT | TT_SHOW_KEY | TT_SHOW_DASH,
              .kinds = BY_CONTEXT, .known = has_context, TT_MEMBER(tt_heat_row, context)),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the model file", .type = TT_CELL_NAME,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, .kinds = BY_MODEL, .get = get_model,
              .text = show_model),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the model file", .type = TT_CELL_NAME,
              .kinds = BY_TENSOR | BY_EXPERT | BY_LAYER | BY_CONTEXT,
              .show = TT_SHOW_KNOWN | TT_SHOW_CUT, .get = get_model, .text = show_label),
    TT_COLUMN("component", NULL, NONE, "role of the tensor in its layer (attn_q, ffn_up, ...)",
              .type = TT_CELL_NAME, .kinds = BY_TENSOR | BY_EXPERT, .get = get_component),
    TT_COLUMN("component", "COMPONENT", NONE,
              "what the tensors are in their layers (attn_q, ffn_up, ...)", .type = TT_CELL_NAME,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, .kinds = BY_COMPONENT, .get = get_component),
    TT_COLUMN("accesses", "ACCESSES", COUNT, "ops that read part of it",
              TT_MEMBER(tt_heat_row, accesses)),
    TT_COLUMN("batches", "BATCHES", COUNT, "batches in which it was read", .show = TT_SHOW_WIDE,
              TT_MEMBER(tt_heat_row, batches)),
    TT_COLUMN("size_bytes", "SIZE", BYTES,
              "size of the tensor, expert, or whole row; of a context, of what it read",
              TT_MEMBER(tt_heat_row, size_bytes)),
    TT_COLUMN("touched_bytes", "TOUCHED", BYTES, "distinct bytes of it that were read",
              .show = TT_SHOW_WIDE, TT_MEMBER(tt_heat_row, touched_bytes), .text = show_touched),
    TT_COLUMN("read_bytes", "READ", BYTES, "bytes read, over all reads",
              TT_MEMBER(tt_heat_row, read_bytes), .text = show_read),
    TT_COLUMN("copied_bytes", "COPIED", BYTES,
              "of these, from copies in buffers (repacked weights), not from the mapped file",
              .show = TT_SHOW_ASKED, TT_MEMBER(tt_heat_row, copied_bytes), .text = show_copied),
    TT_COLUMN("at_most", NULL, NONE,
              "rows or experts were not observed: the bytes and reads are upper bounds",
              TT_MEMBER(tt_heat_row, at_most)),
    TT_COLUMN("touched_bytes_at_most", NULL, NONE,
              "an upper bound: where some reads are in the tensor is not known",
              TT_MEMBER(tt_heat_row, unplaced)),
    TT_COLUMN("time_ns", "TIME", NS, "time of the ops that read part of it", .nullable = true,
              .known = has_time, TT_MEMBER(tt_heat_row, time_ns)),
    TT_COLUMN("first_batch_id", "FIRST", ID, "the batch that read it first", .type = TT_CELL_U32,
              .nullable = true, .show = TT_SHOW_WIDE, .get = get_first_batch,
              .text = show_first_batch, .sort = "first_relative_ns"),
    TT_COLUMN("first_relative_ns", NULL, MOMENT, "when it was read first, since the first batch",
              .type = TT_CELL_U64, .nullable = true, .get = get_first),
    TT_COLUMN("last_batch_id", "LAST", ID, "the batch that read it last", .type = TT_CELL_U32,
              .nullable = true, .show = TT_SHOW_WIDE, .get = get_last_batch,
              .text = show_last_batch, .sort = "last_relative_ns"),
    TT_COLUMN("last_relative_ns", NULL, MOMENT, "when it was read last", .type = TT_CELL_U64,
              .nullable = true, .get = get_last),
    TT_COLUMN("reuses", NULL, COUNT,
              "reads of bytes that had been read before; null: where some reads are is not known",
              .nullable = true, .known = reuse_known, TT_MEMBER(tt_heat_row, reuses)),
    TT_COLUMN("reuse_at_most", NULL, NONE,
              "reuse distances are upper bounds: of some reads in between it is not known where",
              TT_MEMBER(tt_heat_row, reuse_at_most)),
    TT_COLUMN("reuse_median_bytes", "REUSE", BYTES,
              "reuse distance, median: distinct bytes read from one use to the next",
              .nullable = true, .known = was_reused, .bound = reuse_bound,
              TT_MEMBER(tt_heat_row, reuse_p50_bytes)),
    TT_COLUMN("reuse_mean_bytes", NULL, BYTES, "reuse distance, mean", .nullable = true,
              .known = was_reused, TT_MEMBER(tt_heat_row, reuse_mean_bytes)),
    TT_COLUMN("reuse_max_bytes", NULL, BYTES, "reuse distance, largest", .nullable = true,
              .known = was_reused, TT_MEMBER(tt_heat_row, reuse_max_bytes)),
};

const tt_schema tt_heat_schema = {"heat", "a tensor, expert, layer, component, model or context",
                                  row_columns, COUNT(row_columns)};

tt_rowset tt_heat_rowset(const tt_heat_context *x, const tt_heat *h, tt_heat_by by)
{
    return TT_ROWSET(&tt_heat_schema, (1u << by), x, h->rows, h->n_rows);
}

/* --- the summary --- */

static const tt_column phase_columns[] = {
    TT_COLUMN("batches", NULL, NONE, "batches of the phase", TT_MEMBER(tt_heat_phase, batches)),
    TT_COLUMN("n_tokens", NULL, NONE, "tokens in them", TT_MEMBER(tt_heat_phase, tokens)),
    TT_COLUMN("read_bytes", NULL, NONE, "read in them", TT_MEMBER(tt_heat_phase, read_bytes)),
    TT_COLUMN("distinct_bytes", NULL, NONE,
              "read in a batch, each byte once, summed over the batches",
              TT_MEMBER(tt_heat_phase, distinct_bytes)),
    TT_COLUMN("distinct_max_bytes", NULL, NONE, "of one batch",
              TT_MEMBER(tt_heat_phase, distinct_bytes_max)),
};

static const tt_column set_columns[] = {
    TT_COLUMN("units", NULL, NONE, "tensors or experts", TT_MEMBER(tt_heat_set, units)),
    TT_COLUMN("size_bytes", NULL, NONE, "of them", TT_MEMBER(tt_heat_set, bytes)),
};

static const tt_column curve_columns[] = {
    TT_COLUMN("share_of_reads", NULL, NONE, "of the bytes read", TT_MEMBER(tt_heat_point, reads)),
    TT_COLUMN("share_of_weights", NULL, NONE, "of the weights, the hottest first",
              TT_MEMBER(tt_heat_point, weights)),
};

TT_COLUMN_KNOWN(has_quantiles, tt_heat_jumps, r, r->known)
TT_COLUMN_KNOWN(has_jumps, tt_heat_jumps, r, r->count > 0)

static const tt_column jumps_columns[] = {
    TT_COLUMN("count", NULL, NONE, "jumps", TT_MEMBER(tt_heat_jumps, count)),
    TT_COLUMN("median_bytes", NULL, NONE, "their length, median", .nullable = true,
              .known = has_quantiles, TT_MEMBER(tt_heat_jumps, p50_bytes)),
    TT_COLUMN("p95_bytes", NULL, NONE, "95 % are no longer", .nullable = true,
              .known = has_quantiles, TT_MEMBER(tt_heat_jumps, p95_bytes)),
    TT_COLUMN("max_bytes", NULL, NONE, "the longest", .nullable = true, .known = has_jumps,
              TT_MEMBER(tt_heat_jumps, lengths.max)),
};

static const tt_schema phase_schema = {"phase", "a phase", phase_columns, COUNT(phase_columns)};
static const tt_schema set_schema = {"set", "weights by how often they are read", set_columns,
                                     COUNT(set_columns)};
static const tt_schema curve_schema = {"curve", "a point of the curve", curve_columns,
                                       COUNT(curve_columns)};
static const tt_schema jumps_schema = {"jumps", "jumps in one direction", jumps_columns,
                                       COUNT(jumps_columns)};

/* An offset that only bounds the reads was not observed. */
TT_COLUMN_KNOWN(has_least, tt_heat_extent, r, r->end > 0 && !r->begin_at_most)
TT_COLUMN_GET(get_greatest, tt_heat_extent, r, cell->known = r->end > 0 && !r->end_at_most;
              cell->u64 = r->end - 1;)

static const tt_column extent_columns[] = {
    TT_COLUMN("model_file", NULL, NONE, "a model file", TT_MEMBER(tt_heat_extent, file)),
    TT_COLUMN("least_offset_bytes", NULL, NONE, "of the first byte that was read", .nullable = true,
              .known = has_least, TT_MEMBER(tt_heat_extent, begin)),
    TT_COLUMN("greatest_offset_bytes", NULL, NONE, "of the last byte that was read",
              .type = TT_CELL_U64, .nullable = true, .get = get_greatest),
};
static const tt_schema extent_schema = {"offsets", "a model file", extent_columns,
                                        COUNT(extent_columns)};

static void extents(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    const tt_heat_steps *s = row;
    out->rows = s->extents;
    out->row_bytes = sizeof *s->extents;
    out->n = s->n_extents;
}

static const tt_column steps_columns[] = {
    TT_COLUMN("count", NULL, NONE, "reads less one", TT_MEMBER(tt_heat_steps, steps)),
    TT_COLUMN("adjacent", NULL, NONE, "continue where the last ended",
              TT_MEMBER(tt_heat_steps, adjacent)),
    TT_COLUMN("requests", NULL, NONE, "of 128 KiB, into which reads in a row are split",
              TT_MEMBER(tt_heat_steps, requests)),
    TT_COLUMN("requests_on", NULL, NONE, "of these, continue where the last ended",
              TT_MEMBER(tt_heat_steps, requests_on)),
    TT_COLUMN("again", NULL, NONE, "begin within the last one", TT_MEMBER(tt_heat_steps, again)),
    TT_COLUMN("other_file", NULL, NONE, "go to another file", TT_MEMBER(tt_heat_steps, other_file)),
    TT_COLUMN("forward", NULL, NONE, "begin further behind",
              TT_MEMBER_OBJECT(tt_heat_steps, forward, &jumps_schema)),
    TT_COLUMN("backward", NULL, NONE, "begin before the last one",
              TT_MEMBER_OBJECT(tt_heat_steps, backward, &jumps_schema)),
    TT_COLUMN("sweeps", NULL, NONE, "times the file is swept", TT_MEMBER(tt_heat_steps, sweeps)),
    TT_COLUMN("offsets", NULL, NONE, "the least and the greatest offset read, by file",
              .type = TT_CELL_ROWS, .inner = &extent_schema, .rows = extents),
};

static const tt_schema steps_schema = {"steps", "from read to read", steps_columns,
                                       COUNT(steps_columns)};

static void curve(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    const tt_heat *h = row;
    out->rows = h->curve;
    out->row_bytes = sizeof *h->curve;
    out->n = h->read_bytes ? TT_HEAT_CURVE : 0;
}

#define PHASE(key_, phase_, about_)                                                                \
    TT_COLUMN(key_, NULL, NONE, about_,                                                            \
              TT_MEMBER_OBJECT(tt_heat, of_phase[TT_PHASE_##phase_], &phase_schema))

static const tt_column summary_columns[] = {
    TT_COLUMN("ops", NULL, NONE, "ops that read weights", TT_MEMBER(tt_heat, ops)),
    TT_COLUMN("reads", NULL, NONE, "ranges that they read", TT_MEMBER(tt_heat, reads)),
    TT_COLUMN("read_bytes", NULL, NONE, "over all reads", TT_MEMBER(tt_heat, read_bytes)),
    TT_COLUMN("at_most", NULL, NONE, "the bytes are upper bounds", TT_MEMBER(tt_heat, at_most)),
    TT_COLUMN("experts_observed", NULL, NONE, "some choices of experts were observed",
              TT_MEMBER(tt_heat, sliced)),
    TT_COLUMN("weights_size_bytes", NULL, NONE, "of the weights that were looked at",
              TT_MEMBER(tt_heat, model_bytes)),
    TT_COLUMN("touched_bytes", NULL, NONE, "distinct bytes read",
              TT_MEMBER(tt_heat, touched_bytes)),
    TT_COLUMN("batches", NULL, NONE, "in which weights were read", TT_MEMBER(tt_heat, batches)),
    PHASE("prompt", PROMPT, "batches of prompts"),
    PHASE("generate", GENERATE, "batches of generated tokens"),
    PHASE("mixed", MIXED, "batches with both"),
    PHASE("warmup", WARMUP, "batches of the engine's warm-up"),
    PHASE("unknown", UNKNOWN, "other batches, and reads outside any batch"),
    TT_COLUMN("every_batch", NULL, NONE, "read whole in each batch",
              TT_MEMBER_OBJECT(tt_heat, every, &set_schema)),
    TT_COLUMN("some_batches", NULL, NONE, "read, but not in each",
              TT_MEMBER_OBJECT(tt_heat, some, &set_schema)),
    TT_COLUMN("never_read", NULL, NONE, "the rest", TT_MEMBER_OBJECT(tt_heat, never, &set_schema)),
    TT_COLUMN("units_read_in_part", NULL, NONE,
              "tensors or experts of which some bytes were never read", TT_MEMBER(tt_heat, partly)),
    TT_COLUMN("unplaced_reads", NULL, NONE,
              "reads of which it is not known where in their tensor they are: distinct and touched "
              "bytes are then upper bounds, and `steps` is without them",
              TT_MEMBER(tt_heat, unplaced)),
    TT_COLUMN("curve", NULL, NONE, "how concentrated the reads are", .type = TT_CELL_ROWS,
              .inner = &curve_schema, .rows = curve),
    TT_COLUMN("copied_bytes", NULL, BYTES, "of what was read, from copies in buffers",
              TT_MEMBER(tt_heat, copied_bytes)),
    TT_COLUMN("steps", NULL, NONE,
              "the order of the reads; of copies with --count-copies-as-file only",
              TT_MEMBER_OBJECT(tt_heat, steps, &steps_schema)),
};

const tt_schema tt_heat_summary_schema = {"summary", "all of the trace", summary_columns,
                                          COUNT(summary_columns)};
