/* `tensortrace values` as tables */
#include "analyze/ops.h"
#include "analyze/values/outputs.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/list.h"
#include "cli/trace_options.h"
#include "cli/values/values_view.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* `tensortrace values --first-bad` as text */

#define NAME_TEXT 200
#define OTHERS 9u /* origins listed besides the first */

static const char *name_of(char out[NAME_TEXT], const tt_model *m, uint32_t run, uint32_t node)
{
    return tt_trace_text(out, NAME_TEXT, m->graphs[m->runs[run].graph].tensors[node].name);
}

static void print_what(const tt_model *m, const tt_values_row *r)
{
    char name[NAME_TEXT], op_name[96], where[TT_VALUES_WHERE_TEXT], shape[TT_VALUES_SHAPE_TEXT];
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
           r->node, tt_values_where_text(where, m, r->run));
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

/* Other sources are weights: they are checked in the file. */
static void print_weights(const tt_model *m, const tt_values_origin *b)
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

static void print_verdict(const tt_model *m, const tt_values_origin *b)
{
    if (b->kind == TT_VALUES_INHERITED) {
        printf("inherited    a source of it is bad; the filters hide where that began\n");
        return;
    }
    if (b->kind == TT_VALUES_UNCERTAIN) {
        printf("uncertain    no source that was measured is bad, but not all were measured: it is "
               "made here, or in one of those\n");
        print_weights(m, b);
        return;
    }
    printf("made here    no output that it reads is bad\n");
    print_weights(m, b);
}

static bool print_sources(const tt_model *m, const tt_values_origin *b)
{
    const tt_rowset set = tt_values_sources_rowset(m, b);
    const tt_listing_wish wish = {.text = true};
    tt_listing rows;
    putchar('\n');
    const bool ok = tt_list_make(&rows, &set, &wish) == TT_EXIT_OK && tt_list_print(&rows, NULL);
    tt_listing_free(&rows);
    return ok;
}

static void print_spread(const tt_model *m, const tt_values_first *f)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], where[TT_VALUES_WHERE_TEXT];
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
               tt_values_where_text(where, m, f->first_logits_run),
               tt_units_count(a, f->logits_bad), tt_units_count(b, f->logits));
}

static void print_others(const tt_model *m, const tt_values_first *f)
{
    char name[NAME_TEXT], where[TT_VALUES_WHERE_TEXT], text[TT_UNITS_TEXT];
    const uint64_t again = f->n_origins ? f->origins[0].times - 1 : 0;
    if (again)
        printf("again        made in that node %s more time%s\n", tt_units_count(text, again),
               again == 1 ? "" : "s");
    if (f->n_origins < 2) return;
    printf("others       are bad although no source of theirs is known to be:\n");
    for (size_t i = 1; i < f->n_origins && i <= OTHERS; i++)
        printf("             %s in %s\n",
               name_of(name, m, f->origins[i].row.run, f->origins[i].row.node),
               tt_values_where_text(where, m, f->origins[i].row.run));
    if (f->n_origins > OTHERS + 1) printf("             ...\n");
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

bool tt_values_print_first(const tt_model *m, const tt_values_first *f)
{
    char text[TT_UNITS_TEXT];
    bool ok = true;
    if (f->found) {
        print_what(m, &f->origins[0].row);
        print_verdict(m, &f->origins[0]);
        ok = print_sources(m, &f->origins[0]);
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

void tt_values_print_head(const tt_values_view *v)
{
    char name[NAME_TEXT], total[TT_UNITS_TEXT], compared[TT_UNITS_TEXT];
    const tt_values_outliers *o = v->outliers;
    if (v->page || v->groups) print_counts(v->page ? &v->page->counts : &v->groups->counts);
    if (o)
        printf("%s of %s outputs stand out among those of the same place and phase\n%s",
               o->total ? tt_units_count(total, o->total) : "none",
               tt_units_count(compared, o->compared), o->n ? "\n" : "");
    if (v->grid)
        printf("%s over the layers; RATIO: to the RMS of the layer before\n\n",
               v->grid->place[0] ? tt_trace_text(name, sizeof name, v->grid->place)
                                 : "the last output of each");
}
