/* `tensortrace values --first-bad` as text */
#include "analyze/ops.h"
#include "analyze/values/outputs.h"
#include "base/units.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "cli/values/values_view.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NAME_TEXT 200
#define OTHERS 9u /* births told besides the first */

static const char *where_text(char *out, size_t room, const tt_model *m, uint32_t run)
{
    const uint32_t batch = m->runs[run].batch;
    if (batch == TT_NONE)
        (void)snprintf(out, room, "run %" PRIu32 ", outside any batch", m->runs[run].id);
    else
        (void)snprintf(out, room, "batch %" PRIu32 " (%s)", tt_model_token(m, batch),
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
        printf("batches      only %" PRIu32 "\n", tt_model_token(m, f->first_batch));
    else if (f->tokens_bad)
        printf("batches      %s, from %" PRIu32 " to %" PRIu32 "\n",
               tt_units_count(a, f->tokens_bad), tt_model_token(m, f->first_batch),
               tt_model_token(m, f->last_batch));
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
