/* The tables of `diff`: settings, bytes, buffers, page faults, routing. */
#include "base/units.h"
#include "cli/diff/diff_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void settings_table(const tt_diff_view *v, const tt_diff_sink *sink)
{
    static const tt_diff_column columns[] = {
        {"SETTING", false, false, 0}, {"A", false, true, 0}, {"B", false, true, 0}};
    const tt_diff_around *x = &v->d->around;
    sink->heading(sink->context, "Settings that differ");
    if (x->n_settings == 0) {
        sink->line(sink->context, "none of those that are recorded");
        return;
    }
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    for (size_t i = 0; i < x->n_settings; i++) {
        const tt_diff_setting *s = &x->settings[i];
        const char *cells[] = {s->key, s->a ? s->a : "not recorded", s->b ? s->b : "not recorded"};
        sink->row(sink->context, cells, NAN, false);
    }
    sink->table_end(sink->context);
}

static char *bound_bytes(char out[TT_UNITS_TEXT + 4], const tt_diff_side *side)
{
    char text[TT_UNITS_TEXT];
    (void)snprintf(out, TT_UNITS_TEXT + 4, "%s%s", side->at_most ? "<= " : "",
                   tt_units_bytes(text, (uint64_t)(side->weight_bytes + 0.5)));
    return out;
}

static void bytes_table(const tt_diff_sink *sink, const tt_diff_phase *p)
{
    static const tt_diff_column columns[] = {
        {"COMPONENT", false, false, 0}, {"A", true, false, 0}, {"B", true, false, 0}};
    char a[TT_UNITS_TEXT + 4], b[TT_UNITS_TEXT + 4], text[160];
    const tt_diff_row *all = &p->rows[TT_DIFF_TOTAL][0];
    (void)snprintf(text, sizeof text, "Bytes of weights read, a %s", tt_diff_short_unit(p));
    sink->heading(sink->context, text);
    if (fabs(all->a.weight_bytes - all->b.weight_bytes) < 0.5 && all->a.at_most == all->b.at_most) {
        (void)snprintf(text, sizeof text, "%s in both", bound_bytes(a, &all->a));
        sink->line(sink->context, text);
        return;
    }
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    for (size_t i = 0; i < p->n_rows[TT_DIFF_COMPONENTS]; i++) {
        const tt_diff_row *r = &p->rows[TT_DIFF_COMPONENTS][i];
        if (fabs(r->a.weight_bytes - r->b.weight_bytes) < 0.5) continue;
        const char *cells[] = {r->key, bound_bytes(a, &r->a), bound_bytes(b, &r->b)};
        sink->row(sink->context, cells, NAN, false);
    }
    const char *cells[] = {"all", bound_bytes(a, &all->a), bound_bytes(b, &all->b)};
    sink->row(sink->context, cells, NAN, false);
    sink->table_end(sink->context);
}

static void buffers_table(const tt_diff_view *v, const tt_diff_sink *sink)
{
    static const tt_diff_column columns[] = {{"BUFFERS", false, false, 0},
                                             {"A", true, false, 0},
                                             {"B", true, false, 0},
                                             {"A: COUNT", true, false, 0},
                                             {"B: COUNT", true, false, 0}};
    const tt_summary *a = &v->d->around.summary_a, *b = &v->d->around.summary_b;
    char size[2][TT_UNITS_TEXT], count[2][TT_UNITS_TEXT];
    sink->heading(sink->context, "Buffers, by what is in them");
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    for (unsigned k = 0; k <= TT_BUFFER_OUTPUT; k++) {
        const tt_kind_summary *x = &a->buffers[k], *y = &b->buffers[k];
        if (x->count == 0 && y->count == 0) continue;
        const char *cells[] = {
            tt_buffer_kind_name((tt_buffer_kind)k), tt_units_bytes(size[0], x->size_bytes),
            tt_units_bytes(size[1], y->size_bytes), tt_units_count(count[0], x->count),
            tt_units_count(count[1], y->count)};
        sink->row(sink->context, cells, NAN, x->size_bytes != y->size_bytes);
    }
    sink->table_end(sink->context);
}

static int most_read(const void *a, const void *b)
{
    const tt_diff_fault_row *x = *(const tt_diff_fault_row *const *)a,
                            *y = *(const tt_diff_fault_row *const *)b;
    double p = fabs((double)x->major_b - (double)x->major_a) * 1e3 +
               fabs((double)x->minor_b - (double)x->minor_a);
    double q = fabs((double)y->major_b - (double)y->major_a) * 1e3 +
               fabs((double)y->minor_b - (double)y->minor_a);
    if (p != q) return p > q ? -1 : 1;
    return x->layer_id < y->layer_id ? -1 : x->layer_id > y->layer_id;
}

static void fault_row(const tt_diff_sink *sink, const tt_diff_fault_row *f)
{
    char key[24], n[4][TT_UNITS_TEXT], read[2][TT_UNITS_TEXT];
    (void)snprintf(key, sizeof key, "%" PRId64, f->layer_id);
    const char *cells[] = {f->layer_id == INT64_MIN ? "all"
                           : f->layer_id < 0        ? "no layer"
                                                    : key,
                           tt_units_count(n[0], f->minor_a),
                           tt_units_count(n[1], f->minor_b),
                           tt_units_count(n[2], f->major_a),
                           tt_units_count(n[3], f->major_b),
                           f->has_reads ? tt_units_bytes(read[0], f->read_a) : "not observed",
                           f->has_reads ? tt_units_bytes(read[1], f->read_b) : "not observed"};
    sink->row(sink->context, cells, NAN, false);
}

static void faults_table(const tt_diff_view *v, const tt_diff_sink *sink)
{
    static const tt_diff_column columns[] = {
        {"LAYER", false, false, 0},  {"MINOR A", true, false, 0}, {"MINOR B", true, false, 0},
        {"MAJOR A", true, false, 0}, {"MAJOR B", true, false, 0}, {"READ A", true, false, 0},
        {"READ B", true, false, 0}};
    const tt_diff_around *x = &v->d->around;
    if (!x->has_faults || x->n_faults == 0) return;
    const tt_diff_fault_row **list = malloc(x->n_faults * sizeof *list);
    if (!list) return;
    for (size_t i = 1; i < x->n_faults; i++)
        list[i - 1] = &x->faults[i];
    qsort(list, x->n_faults - 1, sizeof *list, most_read);
    sink->heading(sink->context, "Page faults, whole runs");
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    fault_row(sink, &x->faults[0]);
    for (size_t i = 0; i + 1 < x->n_faults; i++) {
        if (v->limit && i == v->limit && !sink->more(sink->context, x->n_faults - 1 - i, "")) break;
        fault_row(sink, list[i]);
    }
    sink->table_end(sink->context);
    free(list);
}

static void routing_table(const tt_diff_view *v, const tt_diff_sink *sink)
{
    static const tt_diff_column columns[] = {{"LAYER", false, false, 0},
                                             {"TOKENS A", true, false, 0},
                                             {"TOKENS B", true, false, 0},
                                             {"DIVERGENCE", true, false, 0},
                                             {"JACCARD", true, false, 0}};
    const tt_diff_around *x = &v->d->around;
    if (x->routed_a == 0 && x->routed_b == 0) return;
    sink->heading(sink->context,
                  "Routing, whole runs: how the experts' shares differ (0 alike, 1 bit apart)");
    if (x->n_routers == 0) {
        sink->line(sink->context, "not compared: no layer's choices were observed in both");
        return;
    }
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    for (size_t i = 0; i < x->n_routers && (!v->limit || i < v->limit); i++) {
        const tt_diff_router *r = &x->routers[i];
        char key[16], n[2][TT_UNITS_TEXT], bits[24] = "", jaccard[24] = "";
        (void)snprintf(key, sizeof key, "%" PRId32, r->layer_id);
        if (!isnan(r->divergence_bits))
            (void)snprintf(bits, sizeof bits, "%.4f bit", r->divergence_bits);
        if (!isnan(r->jaccard)) (void)snprintf(jaccard, sizeof jaccard, "%.3f", r->jaccard);
        const char *cells[] = {key, tt_units_count(n[0], r->tokens_a),
                               tt_units_count(n[1], r->tokens_b), bits, jaccard};
        sink->row(sink->context, cells, NAN, false);
    }
    sink->table_end(sink->context);
}

void tt_diff_around_tables(const tt_diff_view *v, const tt_diff_sink *sink)
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    settings_table(v, sink);
    if (p && p->n_rows[TT_DIFF_TOTAL] > 0) bytes_table(sink, p);
    buffers_table(v, sink);
    faults_table(v, sink);
    routing_table(v, sink);
}
