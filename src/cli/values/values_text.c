/* `tensortrace values` as tables */
#include "analyze/ops.h"
#include "analyze/values/outputs.h"
#include "base/hex.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "cli/values/values_view.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `tensortrace values --first-bad` as text */

#define NAME_TEXT 200
#define OTHERS 9u /* births told besides the first */

static const char *where_text(char *out, size_t room, const tt_model *m, uint32_t run)
{
    const uint32_t batch = m->runs[run].batch;
    if (batch == TT_NONE)
        (void)snprintf(out, room, "run %" PRIu32 ", outside any batch", m->runs[run].id);
    else
        (void)snprintf(out, room, "batch %" PRIu32 " (%s)", tt_model_batch_number(m, batch),
                       tt_phase_name(m->batches[batch].phase));
    return out;
}

static const char *name_of(char out[NAME_TEXT], const tt_model *m, uint32_t run, uint32_t node)
{
    return tt_trace_text(out, NAME_TEXT, m->graphs[m->runs[run].graph].tensors[node].name);
}

static void print_what(const tt_model *m, const tt_values_row *r)
{
    char name[NAME_TEXT], op_name[96], where[80], shape[96];
    char nans[TT_UNITS_TEXT], infs[TT_UNITS_TEXT], all[TT_UNITS_TEXT];
    const tt_graph *g = &m->graphs[m->runs[r->run].graph];
    const tt_fingerprint *p = &r->print;
    uint64_t at[4];
    tt_output_shape of;
    tt_op op;
    tt_op_describe(m, g, r->first, r->covers, &op);
    tt_output_shape_of(g, r->node, &of);
    printf("first bad    %s, output of %s, node %" PRIu32 ", in %s\n",
           name_of(name, m, r->run, r->node), tt_trace_text(op_name, sizeof op_name, op.op),
           r->node, where_text(where, sizeof where, m, r->run));
    printf("             %s NaN and %s infinite of %s elements, %s %s\n",
           tt_units_count(nans, p->n_nan), tt_units_count(infs, p->n_inf),
           tt_units_count(all, p->n), g->tensors[r->node].type_name,
           tt_values_shape_text(shape, of.ne));
    if (tt_values_coordinates(g, r->node, p->first_bad, at))
        printf("             the first at [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
               "], element %" PRIu64 "\n",
               at[0], at[1], at[2], at[3], p->first_bad);
    if (p->has_range)
        printf("             the finite ones: %.5g .. %.5g, RMS %.5g\n", (double)p->min,
               (double)p->max, p->rms);
}

/* Weights are what else may hold it: they are read as they are. */
static void print_weights(const tt_model *m, const tt_values_birth *b)
{
    char name[NAME_TEXT], file[4 * PATH_MAX], text[TT_VALUES_WEIGHT_TEXT];
    for (uint32_t i = 0; i < b->n_sources; i++) {
        const tt_values_source *s = &b->sources[i];
        if (s->weight == TT_NONE) continue;
        const tt_weight *w = &m->weights[s->weight];
        printf("             the weight %s in %s: %s\n", tt_trace_text(name, sizeof name, w->name),
               tt_trace_text(file, sizeof file, m->files[w->file].path),
               tt_values_weight_text(text, sizeof text, &s->in_file));
        if (!s->in_file.looked_at)
            printf("             if it holds NaN or infinities, they come from there\n");
        else if (s->in_file.n_bad)
            printf("             it comes from the model's file\n");
    }
}

static void print_verdict(const tt_model *m, const tt_values_birth *b)
{
    if (b->kind == TT_BIRTH_INHERITED) {
        printf("inherited    a source of it is bad; the filters hide where that began\n");
        return;
    }
    if (b->kind == TT_BIRTH_UNCERTAIN) {
        printf("uncertain    no source that was measured is bad, but not all were measured: it is "
               "born here, or in one of those\n");
        print_weights(m, b);
        return;
    }
    printf("born here    no output that it reads is bad\n");
    print_weights(m, b);
}

static const char *state_text(const tt_values_source *s)
{
    const tt_values_weight *w = &s->in_file;
    if (s->state == TT_STATE_WEIGHT)
        return !w->looked_at ? "weight, not looked at"
               : w->n_bad    ? "weight, NOT FINITE"
                             : "weight, finite";
    return s->state == TT_STATE_INPUT        ? "input, not measured"
           : s->state == TT_STATE_UNMEASURED ? "UNMEASURED"
                                             : tt_values_state_name(s->state);
}

static bool print_sources(const tt_model *m, const tt_values_birth *b)
{
    static const char *const titles[] = {"SOURCE", "NAME", "STATE", "WRITTEN BY",
                                         "IN",     "MIN",  "MAX",   "RMS"};
    const tt_graph *g = &m->graphs[m->runs[b->row.run].graph];
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(t, titles[i],
                        i == 0 || i > 4 ? TT_COLUMN_RIGHT
                        : i == 1        ? TT_COLUMN_LEFT | TT_COLUMN_SHRINK
                                        : TT_COLUMN_LEFT);
    for (uint32_t i = 0; i < b->n_sources; i++) {
        const tt_values_source *s = &b->sources[i];
        const bool written = s->run != TT_NONE, known = s->measured && s->print.has_range;
        char name[NAME_TEXT], writer[NAME_TEXT] = "", where[80] = "", slot[16];
        char reals[3][TT_VALUES_TEXT];
        (void)snprintf(slot, sizeof slot, "%" PRIu32, s->slot);
        if (written) {
            name_of(writer, m, s->run, s->node);
            where_text(where, sizeof where, m, s->run);
        }
        tt_table_row(t, (const char *[]){
                            slot, tt_trace_text(name, sizeof name, g->tensors[s->tensor].name),
                            state_text(s), writer, where,
                            known ? tt_values_real_text(reals[0], true, (double)s->print.min) : "",
                            known ? tt_values_real_text(reals[1], true, (double)s->print.max) : "",
                            known ? tt_values_real_text(reals[2], true, s->print.rms) : ""});
    }
    putchar('\n');
    return tt_table_print(t);
}

static void print_spread(const tt_model *m, const tt_values_first *f)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], where[80];
    putchar('\n');
    if (f->bad_after == 0)
        printf("spread       no further output is bad\n");
    else
        printf("spread       %s more outputs are bad, %s of them have a bad source\n",
               tt_units_count(a, f->bad_after), tt_units_count(b, f->inherited));
    if (f->tokens_bad == 1)
        printf("batches      only %" PRIu32 "\n", tt_model_batch_number(m, f->first_batch));
    else if (f->tokens_bad)
        printf("batches      %s, from %" PRIu32 " to %" PRIu32 "\n",
               tt_units_count(a, f->tokens_bad), tt_model_batch_number(m, f->first_batch),
               tt_model_batch_number(m, f->last_batch));
    if (f->logits == 0)
        printf("logits       UNMEASURED\n");
    else if (f->logits_bad == 0)
        printf("logits       not reached: %s outputs of them are clean\n",
               tt_units_count(a, f->logits));
    else
        printf("logits       reached in %s; %s of %s are bad\n",
               where_text(where, sizeof where, m, f->first_logits_run),
               tt_units_count(a, f->logits_bad), tt_units_count(b, f->logits));
}

static void print_others(const tt_model *m, const tt_values_first *f)
{
    char name[NAME_TEXT], where[80], text[TT_UNITS_TEXT];
    const uint64_t again = f->n_births ? f->births[0].times - 1 : 0;
    if (again)
        printf("again        born in that node %s more time%s\n", tt_units_count(text, again),
               again == 1 ? "" : "s");
    if (f->n_births < 2) return;
    printf("others       are bad although no source of theirs is known to be:\n");
    for (size_t i = 1; i < f->n_births && i <= OTHERS; i++)
        printf("             %s in %s\n",
               name_of(name, m, f->births[i].row.run, f->births[i].row.node),
               where_text(where, sizeof where, m, f->births[i].row.run));
    if (f->n_births > OTHERS + 1) printf("             ...\n");
}

static void print_none(const tt_values_first *f)
{
    const tt_values_counts *c = &f->counts;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    printf("nothing bad  in %s outputs (%s elements): no NaN, no infinity%s\n",
           tt_units_count(a, c->outputs), tt_units_count(b, c->elements),
           c->masking ? " that is not a mask's" : "");
    if (c->masking)
        printf("masks        %s outputs hold the infinities of a mask\n",
               tt_units_count(a, c->masking));
}

bool tt_values_print_first(const tt_values_view *v, const tt_model *m, const tt_values_first *f)
{
    char text[TT_UNITS_TEXT];
    bool ok = true;
    (void)v;
    if (f->found) {
        print_what(m, &f->births[0].row);
        print_verdict(m, &f->births[0]);
        ok = print_sources(m, &f->births[0]);
        print_spread(m, f);
        print_others(m, f);
    } else {
        print_none(f);
    }
    if (f->counts.unmeasured)
        printf("unmeasured   outputs of %s executed ops\n",
               tt_units_count(text, f->counts.unmeasured));
    return ok;
}

/* Below these widths the columns that say least are left out. */

const char *tt_values_real_text(char out[TT_VALUES_TEXT], bool known, double v)
{
    (void)snprintf(out, TT_VALUES_TEXT, known ? "%.5g" : "-", v);
    return out;
}

/* "12" or "-" below 0. */
static const char *values_number_text(char out[TT_VALUES_TEXT], int64_t v)
{
    (void)snprintf(out, TT_VALUES_TEXT, v < 0 ? "-" : "%" PRId64, v);
    return out;
}

const char *tt_values_shape_text(char out[96], const uint64_t ne[4])
{
    unsigned dims = 4;
    size_t used = 0;
    while (dims > 1 && ne[dims - 1] == 1)
        dims--;
    out[0] = '\0';
    for (unsigned d = 0; d < dims; d++) {
        int n = snprintf(out + used, 96 - used, "%s%" PRIu64, d ? "x" : "", ne[d]);
        if (n > 0) used += (size_t)n;
    }
    return out;
}

static const char *count_text(char out[TT_UNITS_TEXT], uint64_t n)
{
    return n ? tt_units_count(out, n) : "";
}

static void print_counts(const tt_values_counts *c)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], d[TT_UNITS_TEXT];
    printf("outputs      %s measured in %s graph computation%s (%s elements)\n",
           tt_units_count(a, c->outputs), tt_units_count(b, c->runs), c->runs == 1 ? "" : "s",
           tt_units_count(d, c->elements));
    if (c->unmeasured)
        printf("unmeasured   outputs of %s executed ops\n", tt_units_count(a, c->unmeasured));
    if (c->incomplete)
        printf("lost         parts of %s fingerprints, in the whole trace\n",
               tt_units_count(a, c->incomplete));
    if (c->bad)
        printf("bad          %s outputs: %s NaN and %s infinite elements; --first-bad says "
               "where they begin\n",
               tt_units_count(a, c->bad), tt_units_count(b, c->n_nan), tt_units_count(d, c->n_inf));
    else if (c->outputs)
        printf("bad          none: no NaN, no infinity that is not a mask's\n");
    if (c->masking)
        printf("masks        %s outputs hold the infinities of a mask\n",
               tt_units_count(a, c->masking));
    if (c->constant)
        printf("constant     %s outputs, %s of them zero\n", tt_units_count(a, c->constant),
               tt_units_count(b, c->zero));
    if (c->has_range) printf("range        %.5g .. %.5g\n", (double)c->min, (double)c->max);
    putchar('\n');
}

static void note_more(uint64_t total, uint64_t offset, size_t shown)
{
    if (total > offset + shown)
        tt_report_note("%" PRIu64 " more row%s; --limit 0 shows all", total - offset - shown,
                       total - offset - shown == 1 ? "" : "s");
}

/* --- a list --- */

enum column {
    TOKEN,
    LAYER,
    NAME,
    OP,
    TYPE,
    SHAPE,
    NANS,
    INFS,
    MIN,
    MAX,
    MEAN,
    RMS,
    HASH,
    PREFIX,
    COLUMNS
};

static const struct {
    const char *title;
    int flags;
} columns[COLUMNS] = {
    [TOKEN] = {"BATCH", TT_COLUMN_RIGHT},
    [LAYER] = {"LAYER", TT_COLUMN_RIGHT | TT_COLUMN_WIDE},
    [NAME] = {"NAME", TT_COLUMN_SHRINK | TT_COLUMN_KEY},
    [OP] = {"OP", TT_COLUMN_SHRINK | TT_COLUMN_KEY},
    [TYPE] = {"TYPE", TT_COLUMN_LEFT | TT_COLUMN_WIDE},
    [SHAPE] = {"SHAPE", TT_COLUMN_RIGHT},
    [NANS] = {"NAN", TT_COLUMN_RIGHT},
    [INFS] = {"INF", TT_COLUMN_RIGHT},
    [MIN] = {"MIN", TT_COLUMN_RIGHT},
    [MAX] = {"MAX", TT_COLUMN_RIGHT},
    [MEAN] = {"MEAN", TT_COLUMN_RIGHT | TT_COLUMN_WIDE},
    [RMS] = {"RMS", TT_COLUMN_RIGHT},
    [HASH] = {"HASH", TT_COLUMN_LEFT | TT_COLUMN_WIDEST},
    [PREFIX] = {"FIRST ELEMENTS", TT_COLUMN_LEFT},
};

static bool is_shown(const tt_values_view *v, enum column c)
{
    return c != PREFIX || v->samples;
}

static void prefix_text(char *out, size_t room, const tt_fingerprint *p)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < p->n_prefix && used < room; i++) {
        int n = snprintf(out + used, room - used, "%s%.5g", i ? " " : "", (double)p->prefix[i]);
        if (n > 0) used += (size_t)n;
    }
}

static int64_t token_of(const tt_model *m, uint32_t run)
{
    const uint32_t batch = m->runs[run].batch;
    return batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(m, batch);
}

static void list_row(tt_table *t, const tt_values_view *v, const tt_model *m,
                     const tt_values_row *r)
{
    char numbers[8][TT_VALUES_TEXT], nans[TT_UNITS_TEXT], infs[TT_UNITS_TEXT + 8];
    char name[NAME_TEXT], op_name[96], shape[96], hash[33] = "", prefix[256], text[TT_UNITS_TEXT];
    const tt_graph *g = &m->graphs[m->runs[r->run].graph];
    const tt_tensor *x = &g->tensors[r->node];
    const tt_fingerprint *p = &r->print;
    tt_output_shape of;
    tt_op op;
    tt_op_describe(m, g, r->first, r->covers, &op);
    tt_output_shape_of(g, r->node, &of);
    tt_hex(hash, p->hash, 16);
    (void)snprintf(infs, sizeof infs, "%s%s", count_text(text, p->n_inf),
                   r->masking ? " (mask)" : "");
    prefix_text(prefix, sizeof prefix, p);
    const char *all[COLUMNS] = {
        [TOKEN] = values_number_text(numbers[0], token_of(m, r->run)),
        [LAYER] = values_number_text(numbers[1], x->place.layer_id),
        [NAME] = tt_trace_text(name, sizeof name, x->name),
        [OP] = tt_trace_text(op_name, sizeof op_name, op.op),
        [TYPE] = x->type_name,
        [SHAPE] = tt_values_shape_text(shape, of.ne),
        [NANS] = count_text(nans, p->n_nan),
        [INFS] = infs,
        [MIN] = tt_values_real_text(numbers[2], p->has_range, (double)p->min),
        [MAX] = tt_values_real_text(numbers[3], p->has_range, (double)p->max),
        [MEAN] = tt_values_real_text(numbers[4], p->has_range, p->mean),
        [RMS] = tt_values_real_text(numbers[5], p->has_range, p->rms),
        [HASH] = hash,
        [PREFIX] = prefix,
    };
    const char *cells[COLUMNS];
    size_t n = 0;
    for (enum column c = 0; c < COLUMNS; c++)
        if (is_shown(v, c)) cells[n++] = all[c];
    tt_table_row(t, cells);
}

bool tt_values_print_list(const tt_values_view *v, const tt_model *m, const tt_values_page *p)
{
    print_counts(&p->counts);
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (enum column c = 0; c < COLUMNS; c++)
        if (is_shown(v, c)) tt_table_column(t, columns[c].title, columns[c].flags);
    for (size_t i = 0; i < p->n; i++)
        list_row(t, v, m, &p->rows[i]);
    bool ok = tt_table_print(t);
    note_more(p->total, v->query->offset, p->n);
    return ok;
}

/* --- groups --- */

static bool print_rows(const tt_rowset *set, const tt_listing_wish *wish)
{
    tt_listing rows;
    const bool ok = tt_list_make(&rows, set, wish) == TT_EXIT_OK && tt_list_print(&rows, NULL);
    tt_listing_free(&rows);
    return ok;
}

bool tt_values_print_groups(const tt_values_view *v, const tt_values_groups *g)
{
    const tt_rowset set = tt_values_groups_rowset(g);
    print_counts(&g->counts);
    return print_rows(&set, &(tt_listing_wish){.text = true, .limit = v->query->limit});
}

/* --- outliers --- */

bool tt_values_print_outliers(const tt_values_view *v, const tt_model *m,
                              const tt_values_outliers *o)
{
    static const char *const titles[] = {"SCORE", "BATCH", "NAME",  "WHAT",
                                         "VALUE", "USUAL", "TIMES", "AMONG"};
    char text[TT_UNITS_TEXT];
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    (void)v;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(t, titles[i],
                        i == 2   ? TT_COLUMN_LEFT | TT_COLUMN_SHRINK
                        : i == 3 ? TT_COLUMN_LEFT
                                 : TT_COLUMN_RIGHT);
    printf("%s of %s outputs stand out among those of the same place and phase\n%s",
           o->total ? tt_units_count(text, o->total) : "none",
           tt_units_count((char[TT_UNITS_TEXT]){0}, o->compared), o->n ? "\n" : "");
    for (size_t i = 0; i < o->n; i++) {
        const tt_values_outlier *x = &o->list[i];
        const tt_graph *g = &m->graphs[m->runs[x->row.run].graph];
        char score[TT_VALUES_TEXT], token[TT_VALUES_TEXT], name[NAME_TEXT], value[TT_VALUES_TEXT];
        char usual[TT_VALUES_TEXT], times[TT_VALUES_TEXT], among[TT_UNITS_TEXT];
        (void)snprintf(score, sizeof score, "%+.1f", x->score);
        (void)snprintf(times, sizeof times, "%.3g", x->value / x->usual);
        tt_table_row(
            t, (const char *[]){score, values_number_text(token, token_of(m, x->row.run)),
                                tt_trace_text(name, sizeof name, g->tensors[x->row.node].name),
                                x->by_max ? "largest" : "RMS",
                                tt_values_real_text(value, true, x->value),
                                tt_values_real_text(usual, true, x->usual), times,
                                tt_units_count(among, x->among)});
    }
    bool ok = tt_table_print(t);
    note_more(o->total, 0, o->n);
    return ok;
}

/* --- growth --- */

bool tt_values_print_growth(const tt_values_view *v, const tt_model *m, const tt_values_grid *g)
{
    const tt_listing_wish wish = {.columns = "phase,layer_id,rms,ratio,rms_min,rms_max,min,max,bad",
                                  .text = true,
                                  .passes = tt_values_growth_measured};
    char name[NAME_TEXT];
    tt_values_growth *list = calloc((size_t)g->n_layers * TT_PHASE_GENERATE + 1, sizeof *list);
    size_t n = 0;
    (void)v;
    if (!list) return false;
    for (unsigned phase = TT_PHASE_PROMPT; phase <= TT_PHASE_GENERATE; phase++)
        if (tt_values_growth_of(m, g, phase, &list[n])) n += g->n_layers;
    const tt_rowset set = tt_values_growth_rowset(list, n);
    printf("%s over the layers; RATIO: to the RMS of the layer before\n\n",
           g->place[0] ? tt_trace_text(name, sizeof name, g->place) : "the last output of each");
    const bool ok = print_rows(&set, &wish);
    if (g->cut) tt_report_note("later batches are left out: there are too many");
    free(list);
    return ok;
}
