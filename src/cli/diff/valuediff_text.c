/* `diff --values` in sentences and tables: on a terminal and on a page. */
#include "cli/diff/valuediff_view.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELL 96u
#define STAGES_SHOWN 64u
#define BAR_CELLS 32
#define BAR_LEAST (-8.0) /* decades: rel L2 of 1e-8 to 1 */

static void heading(const tt_diff_sink *to, const char *text)
{
    to->heading(to->context, text);
}

static void line(const tt_diff_sink *to, const char *text)
{
    char safe[TT_VALUEDIFF_SENTENCE];
    to->line(to->context, tt_trace_text(safe, sizeof safe, text));
}

/* "" for what is not known. */
static const char *figure(char out[CELL], double v)
{
    if (isnan(v))
        out[0] = '\0';
    else
        (void)snprintf(out, CELL, v == 0 ? "0" : "%.3g", v);
    return out;
}

static const char *bound(char out[CELL], const tt_value_error *e)
{
    size_t n = strlen("≥");
    if (!e->at_least || isnan(e->rel_l2)) return figure(out, e->rel_l2);
    memcpy(out, "≥", n);
    (void)snprintf(out + n, CELL - n, "%.3g", e->rel_l2);
    return out;
}

static const char *count(char out[CELL], uint64_t n)
{
    (void)snprintf(out, CELL, "%" PRIu64, n);
    return n ? out : "";
}

static const char *position(char out[CELL], const tt_valuediff *d, uint32_t pair)
{
    const tt_valuediff_step *s = &d->steps[pair];
    if (s->position == TT_DUMP_POSITION_UNKNOWN)
        (void)snprintf(out, CELL, "#%" PRIu32, pair);
    else if (s->n_tokens > 1)
        (void)snprintf(out, CELL, "%" PRId32 "-%" PRId64, s->position,
                       (int64_t)s->position + s->n_tokens - 1);
    else
        (void)snprintf(out, CELL, "%" PRId32, s->position);
    return out;
}

/* The table's rows; how many are shown before `more` is asked. */
static uint64_t shown(const tt_valuediff_view *v, size_t n)
{
    return v->limit && v->limit < n ? v->limit : n;
}

static bool go_on(const tt_valuediff_view *v, const tt_diff_sink *to, size_t i, size_t n)
{
    return i != shown(v, n) || to->more(to->context, n - i, "");
}

static const char *verdict(tt_value_verdict v)
{
    return v == TT_VALUE_UNMEASURED   ? "UNMEASURED"
           : v == TT_VALUE_OTHER_BITS ? "other bits"
                                      : tt_value_verdict_name(v);
}

static void inputs(const tt_valuediff_view *v, const tt_diff_sink *to)
{
    static const tt_diff_column columns[] = {{"INPUT", false, false, 0},
                                             {"LAYER", true, false, 0},
                                             {"NODE", false, true, 0},
                                             {"IT IS", false, false, 0},
                                             {"REL L2", true, false, 0}};
    const tt_valuediff *d = v->d;
    char layer[CELL], rel[CELL], stage[CELL];
    if (!d->has_first || (!d->n_first_inputs && !d->first_reads_cache)) return;
    heading(to, "What the first divergence was computed from");
    to->table(to->context, columns, 5, NULL);
    for (size_t i = 0; i < d->n_first_inputs; i++) {
        const tt_valuediff_input *in = &d->first_inputs[i];
        (void)snprintf(layer, sizeof layer, "%" PRId32, in->layer);
        (void)snprintf(stage, sizeof stage, in->occurrence ? "%s (no. %" PRIu32 ")" : "%s",
                       in->stage, in->occurrence + 1);
        const char *cells[] = {stage, in->layer >= 0 ? layer : "", in->name, verdict(in->verdict),
                               figure(rel, in->rel_l2)};
        to->row(to->context, cells, NAN, in->verdict != TT_VALUE_EQUAL);
    }
    if (d->first_reads_cache) {
        (void)snprintf(layer, sizeof layer, "%" PRId32, d->first.layer);
        const char *cells[] = {"KV cache", d->first.layer >= 0 ? layer : "",
                               "keys and values of earlier batches", verdict(d->first_cache),
                               figure(rel, d->first_cache_rel_l2)};
        to->row(to->context, cells, NAN, d->first_cache != TT_VALUE_EQUAL);
    }
    to->table_end(to->context);
}

/* A bar on a logarithmic scale, of block characters. */
static const char *bar(char out[BAR_CELLS * 4 + 8], double rel_l2)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double share = rel_l2 > 0 ? (log10(rel_l2) - BAR_LEAST) / -BAR_LEAST : 0;
    int n = share >= 1 ? BAR_CELLS * 8 : share <= 0 ? 0 : (int)(share * BAR_CELLS * 8);
    size_t at = 0;
    if (!n && rel_l2 > 0) n = 1;
    for (; n >= 8; n -= 8, at += strlen("█"))
        memcpy(out + at, "█", strlen("█"));
    memcpy(out + at, eighths[n], strlen(eighths[n]) + 1);
    return out;
}

static void depth(const tt_valuediff_view *v, const tt_diff_sink *to)
{
    static const tt_diff_column columns[] = {{"DEPTH", false, false, 0},
                                             {"REL L2", true, false, 0},
                                             {"1e-8 TO 1, LOGARITHMIC", false, false, 0},
                                             {"1 - COSINE", true, false, TT_COLUMN_WIDE},
                                             {"EQUAL", true, false, 0},
                                             {"CLOSE", true, false, 0},
                                             {"NOT", true, false, 0},
                                             {"UNMEASURED", true, false, 0}};
    const tt_valuediff *d = v->d;
    char name[TT_VALUEDIFF_LAYER], blocks[BAR_CELLS * 4 + 8], cell[6][CELL];
    heading(to, "Error over depth: the largest of each layer");
    to->table(to->context, columns, 8, NULL);
    for (size_t i = 0; i < d->n_layers; i++) {
        const tt_valuediff_row *r = &d->layers[i];
        uint64_t not = tt_value_diverging(r->counts);
        const char *cells[] = {tt_valuediff_layer(r->layer, r->behind, name),
                               r->counts[TT_VALUE_NAN] ? "NaN" : figure(cell[0], r->rel_l2),
                               bar(blocks, r->counts[TT_VALUE_NAN] ? 1 : r->rel_l2),
                               figure(cell[1], r->cosine_gap),
                               count(cell[2], r->counts[TT_VALUE_EQUAL]),
                               count(cell[3], r->counts[TT_VALUE_CLOSE]),
                               count(cell[4], not ),
                               count(cell[5], r->counts[TT_VALUE_UNMEASURED])};
        to->row(to->context, cells, NAN, not > 0);
    }
    to->table_end(to->context);
}

static void stages(const tt_valuediff_view *v, const tt_diff_sink *to)
{
    static const tt_diff_column columns[] = {
        {"STAGE", false, true, 0},     {"REL L2", true, false, 0},
        {"AT", true, false, 0},        {"1 - COSINE", true, false, 0},
        {"MAX ABS", true, false, 0},   {"EQUAL", true, false, 0},
        {"CLOSE", true, false, 0},     {"NOT", true, false, 0},
        {"UNMEASURED", true, false, 0}};
    const tt_valuediff *d = v->d;
    char cell[8][CELL];
    heading(to, "Stages, in order of execution");
    to->table(to->context, columns, 9, NULL);
    /* They are few, and all of them are the picture. */
    const tt_valuediff_view all = {d, {v->paths[0], v->paths[1]}, STAGES_SHOWN};
    for (size_t i = 0; i < d->n_stages && go_on(&all, to, i, d->n_stages); i++) {
        const tt_valuediff_row *r = &d->stages[i];
        uint64_t not = tt_value_diverging(r->counts);
        const char *cells[] = {
            r->stage,
            figure(cell[0], r->rel_l2),
            r->worst_pair == TT_NONE || !(r->rel_l2 > 0) ? "" : position(cell[1], d, r->worst_pair),
            figure(cell[2], r->cosine_gap),
            figure(cell[3], r->max_abs),
            count(cell[4], r->counts[TT_VALUE_EQUAL]),
            count(cell[5], r->counts[TT_VALUE_CLOSE]),
            count(cell[6], not ),
            count(cell[7], r->counts[TT_VALUE_UNMEASURED])};
        to->row(to->context, cells, NAN, not > 0);
    }
    to->table_end(to->context);
}

static const char *blame(const tt_valuediff_item *i)
{
    static const char *const texts[] = {"", "made here", "inherited", "unknown"};
    return texts[i->blame];
}

static void items(const tt_valuediff_view *v, const tt_diff_sink *to)
{
    static const tt_diff_column columns[] = {
        {"POSITION", true, false, 0},   {"LAYER", true, false, 0},   {"STAGE", false, false, 0},
        {"NODE", false, true, 0},       {"IT IS", false, false, 0},  {"REL L2", true, false, 0},
        {"1 - COSINE", true, false, 0}, {"MAX ABS", true, false, 0}, {"ALLOWED", true, false, 0},
        {"ERROR", false, false, 0}};
    const tt_valuediff *d = v->d;
    char cell[7][CELL];
    if (!d->n_items) return;
    heading(to, "Values, in order of execution");
    to->table(to->context, columns, 10, NULL);
    for (size_t i = 0; i < d->n_items && go_on(v, to, i, d->n_items); i++) {
        const tt_valuediff_item *it = &d->items[i];
        bool bad = tt_value_diverges(it->verdict);
        (void)snprintf(cell[1], CELL, "%" PRId32, it->layer);
        (void)snprintf(cell[2], CELL, it->occurrence ? "%s (no. %" PRIu32 ")" : "%s", it->stage,
                       it->occurrence + 1);
        bool judged = it->verdict >= TT_VALUE_CLOSE && it->verdict <= TT_VALUE_DIFFERS;
        const char *cells[] = {position(cell[0], d, it->pair),
                               it->layer >= 0 ? cell[1] : "",
                               cell[2],
                               it->a.present ? it->a.name : it->b.name,
                               verdict(it->verdict),
                               bound(cell[3], &it->error),
                               figure(cell[4], tt_cosine_gap(it->error.cosine)),
                               figure(cell[5], it->error.max_abs),
                               judged ? figure(cell[6], it->tolerance.rel_l2) : "",
                               blame(it)};
        to->row(to->context, cells, NAN, bad);
    }
    to->table_end(to->context);
    if (d->items_left_out) {
        (void)snprintf(cell[0], CELL, "%" PRIu64 " values more are counted, but not kept",
                       d->items_left_out);
        line(to, cell[0]);
    }
}

static void say_tables(const void *view, const tt_diff_sink *to)
{
    const tt_valuediff_view *v = view;
    inputs(v, to);
    depth(v, to);
    stages(v, to);
    items(v, to);
}

static void say_points(const void *view, const tt_diff_sink *to)
{
    const tt_valuediff_view *v = view;
    char text[TT_VALUEDIFF_SENTENCE];
    for (unsigned i = 0; i < TT_VALUEDIFF_NOTES; i++) {
        if (tt_valuediff_note(v->d, i, text)) line(to, text);
    }
}

static void say_all(const void *view, const tt_diff_sink *to)
{
    const tt_valuediff_view *v = view;
    char text[TT_VALUEDIFF_SENTENCE], point[TT_VALUEDIFF_SENTENCE + 2];
    bool any = false;
    line(to, tt_valuediff_say(v->d, text));
    line(to, tt_valuediff_say_counts(v->d, text));
    say_tables(v, to);
    for (unsigned i = 0; i < TT_VALUEDIFF_NOTES; i++) {
        if (!tt_valuediff_note(v->d, i, text)) continue;
        if (!any) heading(to, "To read this");
        any = true;
        (void)snprintf(point, sizeof point, "- %s", text);
        line(to, point);
    }
}

bool tt_valuediff_print(const tt_valuediff_view *v, FILE *out)
{
    return tt_diff_print(out, say_all, v);
}

static void picture(const void *view, FILE *out)
{
    const tt_valuediff_view *v = view;
    tt_valuediff_svg(v->d, false, out);
}

bool tt_valuediff_write_html(const tt_valuediff_view *v, FILE *out)
{
    char first[TT_VALUEDIFF_SENTENCE], counts[TT_VALUEDIFF_SENTENCE], a[600], b[600];
    (void)snprintf(a, sizeof a, "A: %.500s", v->paths[0]);
    (void)snprintf(b, sizeof b, "B: %.500s", v->paths[1]);
    const char *const verdict[] = {tt_valuediff_say(v->d, first),
                                   tt_valuediff_say_counts(v->d, counts), a, b};
    const tt_diff_page page = {.title = "Values compared",
                               .verdict = verdict,
                               .n = 4,
                               .same = !v->d->has_first,
                               .above = picture,
                               .say = say_tables,
                               .points = say_points};
    return tt_diff_write_page(&page, v, out);
}
