#include "base/units.h"
#include "cli/heat_view.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 10

static const struct {
    const char *title;
    bool optional; /* left out where there is little room */
    bool cold;     /* says something about what was never read */
} columns[COLUMNS] = {
    {NULL, false, true},     {"ACCESSES", false, false}, {"BATCHES", false, false},
    {"SIZE", false, true},   {"TOUCHED", true, false},   {"READ", false, false},
    {"TIME", false, false},  {"FIRST", true, false},     {"LAST", true, false},
    {"REUSE", false, false},
};

static bool shown(const tt_heat_view *v, size_t column)
{
    return !v->cold || columns[column].cold;
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

static const char *bound(bool at_most)
{
    return at_most ? "<= " : "";
}

static void line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *what, const char *fmt, ...)
{
    va_list args;
    printf("%-12s ", what);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

static void print_phase(const char *what, const tt_heat *h, const tt_heat_phase *p)
{
    char distinct[TT_UNITS_TEXT], most[TT_UNITS_TEXT], largest[TT_UNITS_TEXT + 24] = "";
    char tokens[TT_UNITS_TEXT], batches[TT_UNITS_TEXT];
    if (p->batches == 0) return;
    tt_units_bytes(distinct, p->distinct_bytes / p->batches);
    tt_units_bytes(most, p->distinct_bytes_max);
    if (strcmp(distinct, most) != 0) (void)snprintf(largest, sizeof largest, ", largest %s", most);
    line(what, "%s token%s in %s batch%s; a batch reads %s%s (%.1f %%%s)",
         tt_units_count(tokens, p->tokens), p->tokens == 1 ? "" : "s",
         tt_units_count(batches, p->batches), p->batches == 1 ? "" : "es", bound(h->at_most),
         distinct, percent(p->distinct_bytes / p->batches, h->model_bytes), largest);
}

/* `partly`: units of which part is in this set. */
static void print_set(const char *what, const tt_heat *h, const tt_heat_set *s, uint64_t partly)
{
    char bytes[TT_UNITS_TEXT], text[TT_UNITS_TEXT], whole[TT_UNITS_TEXT + 24] = "";
    char parts[TT_UNITS_TEXT + 40] = "";
    const char *unit = h->sliced ? "tensors and experts" : s->units == 1 ? "tensor" : "tensors";
    if (s->units || !partly)
        (void)snprintf(whole, sizeof whole, "%s %s", tt_units_count(text, s->units), unit);
    if (partly)
        (void)snprintf(parts, sizeof parts, "%sparts of %s %s", s->units ? ", and " : "",
                       tt_units_count(text, partly),
                       s->units      ? "more"
                       : partly == 1 ? "tensor"
                                     : "tensors");
    line(what, "%s, %.1f %%: %s%s", tt_units_bytes(bytes, s->bytes),
         percent(s->bytes, h->model_bytes), whole, parts);
}

static void print_jumps(char *out, size_t room, uint64_t n, uint64_t steps, tt_quantiles *q)
{
    char middle[TT_UNITS_TEXT], most[TT_UNITS_TEXT];
    int at = snprintf(out, room, "%.1f %%", percent(n, steps));
    if (n == 0 || q->failed || at < 0 || (size_t)at >= room) return;
    (void)snprintf(out + at, room - (size_t)at, " (median %s, longest %s)",
                   tt_units_bytes(middle, (uint64_t)tt_quantiles_at(q, 0.5)),
                   tt_units_bytes(most, q->max));
}

static void print_steps(tt_heat *h)
{
    tt_heat_steps *s = &h->steps;
    char forward[128], backward[128], steps[TT_UNITS_TEXT];
    if (s->steps == 0) return;
    print_jumps(forward, sizeof forward, s->forward, s->steps, &s->forward_bytes);
    print_jumps(backward, sizeof backward, s->backward, s->steps, &s->backward_bytes);
    line("order", "%s steps from read to read: %.1f %% go on where the last ended,",
         tt_units_count(steps, s->steps), percent(s->adjacent, s->steps));
    line("", "forward jumps %s,", forward);
    line("", "backward jumps %s%s", backward, s->again || s->other_file ? "," : "");
    if (s->again || s->other_file)
        line("", "the same again %.1f %%, another file %.1f %%", percent(s->again, s->steps),
             percent(s->other_file, s->steps));
    if (h->batches)
        line("", "the file is swept %.1f times a batch", (double)s->sweeps / (double)h->batches);
}

static void print_curve(const tt_heat *h)
{
    printf("%-12s of all bytes read ", "concentrated");
    for (size_t i = 0; i < TT_HEAT_CURVE; i++)
        printf("%s%.0f %%", i == 0 ? "" : ", ", 100 * h->curve_reads[i]);
    printf("\n%-12s come from       ", "");
    for (size_t i = 0; i < TT_HEAT_CURVE; i++)
        printf("%s%.1f", i == 0 ? "" : ", ", 100 * h->curve_bytes[i]);
    printf(" %% of the weights\n");
}

static void print_summary(tt_heat *h)
{
    char model[TT_UNITS_TEXT], read[TT_UNITS_TEXT], reads[TT_UNITS_TEXT], ops[TT_UNITS_TEXT];
    line("weights", "%s; %s%s read in %s reads by %s ops", tt_units_bytes(model, h->model_bytes),
         bound(h->at_most), tt_units_bytes(read, h->read_bytes), tt_units_count(reads, h->reads),
         tt_units_count(ops, h->ops));
    for (unsigned i = 0; i < TT_PHASES; i++)
        print_phase(tt_phase_name(tt_phase_told(i)), h, &h->of_phase[tt_phase_told(i)]);
    print_set("every batch", h, &h->every, 0);
    print_set("some batches", h, &h->some, 0);
    if (h->all_weights) print_set("never read", h, &h->never, h->partly);
    print_curve(h);
    print_steps(h);
    putchar('\n');
}

static void row_name(char *out, size_t room, const tt_heat_view *v, const tt_model *m,
                     const tt_heat_row *r)
{
    const tt_weight *w = &m->weights[r->weight];
    char text[256];
    if (v->what == TT_HEAT_LAYER) {
        if (w->place.layer_id < 0)
            (void)snprintf(out, room, "-");
        else
            (void)snprintf(out, room, "%" PRId32, w->place.layer_id);
        return;
    }
    tt_trace_text(text, sizeof text, v->what == TT_HEAT_COMPONENT ? w->place.component : w->name);
    if (r->expert >= 0)
        (void)snprintf(out, room, "%s[%" PRId32 "]", text, r->expert);
    else
        (void)snprintf(out, room, "%s", text);
}

static void token(char *out, size_t room, const tt_model *m, const tt_heat_row *r, uint32_t batch)
{
    if (r->accesses && batch != TT_NONE)
        (void)snprintf(out, room, "%" PRIu32, tt_model_token(m, batch));
    else
        (void)snprintf(out, room, "%s", r->accesses ? "-" : "");
}

static void table_row(tt_table *t, const tt_heat_view *v, const tt_model *m, const tt_heat_row *r)
{
    char name[300], accesses[TT_UNITS_TEXT], tokens[TT_UNITS_TEXT], size[TT_UNITS_TEXT];
    char touched[TT_UNITS_TEXT] = "", read[TT_UNITS_TEXT + 4] = "", text[TT_UNITS_TEXT];
    char time[TT_UNITS_TEXT] = "", first[16], last[16], reuse[TT_UNITS_TEXT] = "";
    row_name(name, sizeof name, v, m, r);
    token(first, sizeof first, m, r, r->first_batch);
    token(last, sizeof last, m, r, r->last_batch);
    if (r->accesses) {
        tt_units_bytes(touched, r->touched_bytes);
        (void)snprintf(read, sizeof read, "%s%s", bound(r->at_most),
                       tt_units_bytes(text, r->read_bytes));
    }
    if (r->timed && m->clock.known) tt_units_ns(time, r->time_ns);
    if (r->reuses) tt_units_bytes(reuse, r->reuse_p50_bytes);
    const char *all[COLUMNS] = {name,
                                tt_units_count(accesses, r->accesses),
                                tt_units_count(tokens, r->tokens),
                                tt_units_bytes(size, r->size_bytes),
                                touched,
                                read,
                                time,
                                first,
                                last,
                                reuse};
    const char *cells[COLUMNS];
    size_t n = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown(v, i)) cells[n++] = all[i];
    tt_table_row(t, cells);
}

static bool print_rows(const tt_heat_view *v, const char *title, const tt_model *m,
                       const tt_heat *heat)
{
    uint64_t n = 0, size_bytes = 0;
    char size[TT_UNITS_TEXT];
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown(v, i))
            tt_table_column(t, columns[i].title ? columns[i].title : title,
                            (i == 0 ? TT_COLUMN_SHRINK | TT_COLUMN_KEY : TT_COLUMN_RIGHT) |
                                (columns[i].optional ? TT_COLUMN_WIDE : 0));
    for (size_t i = 0; i < heat->n_rows; i++) {
        if (!tt_heat_shows(v, &heat->rows[i])) continue;
        size_bytes += heat->rows[i].size_bytes;
        if (!v->limit || n < v->limit) table_row(t, v, m, &heat->rows[i]);
        n++;
    }
    if (v->cold && n > 1)
        tt_table_row(t, (const char *[]){"all", tt_units_bytes(size, size_bytes)});
    bool ok = tt_table_print(t);
    if (v->cold && n == 0)
        tt_report_note("nothing is cold: of every row something was read");
    else if (v->limit && n > v->limit)
        tt_report_note("%" PRIu64 " more row%s; --limit 0 shows all", n - v->limit,
                       n - v->limit == 1 ? "" : "s");
    return ok;
}

bool tt_heat_print_text(const tt_heat_view *v, const char *title, const tt_model *m, tt_heat *heat)
{
    if (!v->cold) print_summary(heat);
    return print_rows(v, title, m, heat);
}
