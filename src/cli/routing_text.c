/* `tensortrace routing` as tables and as a map */
#include "base/json.h"
#include "base/units.h"
#include "cli/report.h"
#include "cli/routing_view.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH 30u
#define MAP_WIDTH 64u /* experts in a line of the map */

static void note_more(uint64_t limit, size_t n)
{
    if (limit && n > limit)
        tt_report_note("%zu more row%s; --limit 0 shows all", n - (size_t)limit,
                       n - (size_t)limit == 1 ? "" : "s");
}

static void percent(char out[TT_UNITS_TEXT], double share)
{
    if (isnan(share))
        (void)snprintf(out, TT_UNITS_TEXT, "-");
    else
        (void)snprintf(out, TT_UNITS_TEXT, "%.1f %%", 100 * share);
}

static void bytes(char out[TT_UNITS_TEXT], double n)
{
    if (isnan(n) || n >= 1.8e19)
        (void)snprintf(out, TT_UNITS_TEXT, "-");
    else
        tt_units_bytes(out, (uint64_t)(n + 0.5));
}

static void layer_text(char out[TT_UNITS_TEXT], const tt_router_layer *layer)
{
    if (layer->layer_id < 0)
        (void)snprintf(out, TT_UNITS_TEXT, "-");
    else
        (void)snprintf(out, TT_UNITS_TEXT, "%" PRId32, layer->layer_id);
}

/* --- layers --- */

enum { TOP_K = 8, SETS = 12, LAYER_COLUMNS = 15 };

static const char *const layer_titles[LAYER_COLUMNS] = {
    "LAYER", "EXPERTS", "PICKED",   "TOKENS", "ENTROPY", "EVENNESS", "TOP 1",    "TOP 4",
    "TOP k", "UNUSED",  "REPEATED", "CHANCE", "1 TOKEN", "8 TOKENS", "64 TOKENS"};

/* Places that a terminal must have to show a column: what is known anyway, or follows from a
 * neighbour, goes first. */
static const size_t layer_widths[LAYER_COLUMNS] = {
    0, 0, 0, 120, 100, 0, 84, 100, 120, 0, 0, 0, 0, 0, 100,
};

/* A column of working sets is left out when no layer has had so many tokens. */
static bool is_shown(const tt_routing_view *v, size_t column)
{
    const size_t width = tt_table_width(stdout);
    if (width != 0 && width < layer_widths[column]) return false;
    if (column < SETS) return true;
    for (size_t i = 0; i < v->n_layers; i++)
        if (!isnan(v->sums[i].working_set[column - SETS])) return true;
    return column == SETS;
}

static void shown_row(tt_table *t, const tt_routing_view *v, const char *const *all)
{
    const char *cells[LAYER_COLUMNS];
    size_t n = 0;
    for (size_t i = 0; i < LAYER_COLUMNS; i++)
        if (is_shown(v, i)) cells[n++] = all[i];
    tt_table_row(t, cells);
}

static void explain_columns(const tt_routing_view *v)
{
    char text[160];
    (void)snprintf(text, sizeof text,
                   "1 TOKEN%s%s: bytes of the different experts that so many tokens in a row use",
                   is_shown(v, SETS + 1) ? ", 8 TOKENS" : "",
                   is_shown(v, SETS + 2) ? ", 64 TOKENS" : "");
    tt_table_text(stdout, 0, text);
    if (is_shown(v, TOP_K)) (void)puts("TOP k: as many experts as a token picks");
}

static void layer_row(tt_table *t, const tt_routing_view *v, const tt_router_layer *layer,
                      const tt_router_sum *s)
{
    char text[LAYER_COLUMNS][TT_UNITS_TEXT];
    const double size = layer->expert_bytes ? (double)layer->expert_bytes : NAN;
    layer_text(text[0], layer);
    (void)snprintf(text[1], TT_UNITS_TEXT, "%" PRIu32, s->experts);
    (void)snprintf(text[2], TT_UNITS_TEXT, "%" PRIu32, s->chosen_most);
    tt_units_count(text[3], s->tokens);
    (void)snprintf(text[4], TT_UNITS_TEXT, "%.2f", s->entropy_bits);
    percent(text[5], s->evenness);
    percent(text[6], s->top_share[0]);
    percent(text[7], s->top_share[2]);
    percent(text[8], s->top_share[3]);
    (void)snprintf(text[9], TT_UNITS_TEXT, "%" PRIu32, s->unused);
    percent(text[10], s->stickiness);
    percent(text[11], s->chance);
    for (size_t i = 0; i < TT_ROUTER_WINDOWS; i++)
        bytes(text[SETS + i], s->working_set[i] * size);
    const char *all[LAYER_COLUMNS];
    for (size_t i = 0; i < LAYER_COLUMNS; i++)
        all[i] = text[i];
    shown_row(t, v, all);
}

/* Sums and means over the layers; a mean leaves out where there is nothing. */
typedef struct over_layers {
    uint64_t experts, unused;
    double even, sticky, chance, sets[TT_ROUTER_WINDOWS];
    double even_n, sticky_n, chance_n;
} over_layers;

static void add_layer(over_layers *a, const tt_router_layer *layer, const tt_router_sum *s)
{
    a->experts += s->experts;
    a->unused += s->unused;
    if (!isnan(s->evenness)) {
        a->even += s->evenness;
        a->even_n++;
    }
    if (!isnan(s->stickiness)) {
        a->sticky += s->stickiness * (double)s->neighbours;
        a->sticky_n += (double)s->neighbours;
    }
    a->chance += s->chance;
    a->chance_n++;
    for (size_t i = 0; i < TT_ROUTER_WINDOWS; i++)
        a->sets[i] += layer->expert_bytes ? s->working_set[i] * (double)layer->expert_bytes : NAN;
}

static void all_row(tt_table *t, const tt_routing_view *v, const over_layers *a)
{
    char experts[TT_UNITS_TEXT], even[TT_UNITS_TEXT], unused[TT_UNITS_TEXT], sticky[TT_UNITS_TEXT];
    char chance[TT_UNITS_TEXT], sets[TT_ROUTER_WINDOWS][TT_UNITS_TEXT];
    tt_units_count(experts, a->experts);
    tt_units_count(unused, a->unused);
    percent(even, a->even_n > 0 ? a->even / a->even_n : NAN);
    percent(sticky, a->sticky_n > 0 ? a->sticky / a->sticky_n : NAN);
    percent(chance, a->chance_n > 0 ? a->chance / a->chance_n : NAN);
    for (size_t i = 0; i < TT_ROUTER_WINDOWS; i++)
        bytes(sets[i], a->sets[i]);
    const char *all[LAYER_COLUMNS] = {"all", experts, "",     "",     "",      even,    "",     "",
                                      "",    unused,  sticky, chance, sets[0], sets[1], sets[2]};
    shown_row(t, v, all);
}

bool tt_routing_print_layers(const tt_routing_options *o, const tt_routing_view *v)
{
    over_layers all = {0};
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < LAYER_COLUMNS; i++)
        if (is_shown(v, i)) tt_table_column(t, layer_titles[i], TT_COLUMN_RIGHT);
    for (size_t i = 0; i < v->n_layers; i++) {
        if (!o->limit || i < o->limit) layer_row(t, v, &v->layers[i], &v->sums[i]);
        add_layer(&all, &v->layers[i], &v->sums[i]);
    }
    all_row(t, v, &all);
    if (!tt_table_print(t)) return false;
    explain_columns(v);
    note_more(o->limit, v->n_layers);
    return true;
}

/* --- the experts of a layer --- */

static int by_count(const void *a, const void *b, void *context)
{
    const tt_expert_use *uses = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (uses[x].count != uses[y].count) return uses[x].count > uses[y].count ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void expert_row(tt_table *t, const tt_router_layer *layer, uint32_t expert,
                       const tt_expert_use *use, uint64_t choices, uint64_t most)
{
    const bool wide = MB_CUR_MAX > 1;
    char number[16], count[TT_UNITS_TEXT], share[TT_UNITS_TEXT], weight[TT_UNITS_TEXT] = "-";
    char size[TT_UNITS_TEXT] = "-", bar[BAR_WIDTH * 3 + 1] = "";
    const uint64_t length = most ? (use->count * BAR_WIDTH + most - 1) / most : 0;
    (void)snprintf(number, sizeof number, "%" PRIu32, expert);
    percent(share, choices ? (double)use->count / (double)choices : NAN);
    if (use->weighted)
        (void)snprintf(weight, sizeof weight, "%.3f", use->weight_sum / (double)use->weighted);
    if (layer->expert_bytes) tt_units_bytes(size, layer->expert_bytes);
    for (uint64_t i = 0; i < length && i < BAR_WIDTH; i++)
        strcat(bar, wide ? "\xe2\x96\x88" : "#");
    tt_table_row(
        t, (const char *[]){number, tt_units_count(count, use->count), share, weight, size, bar});
}

static bool print_layer(const tt_routing_options *o, const tt_router_layer *layer,
                        const tt_router_sum *s)
{
    static const char *const titles[] = {"EXPERT", "COUNT", "SHARE", "WEIGHT", "SIZE", "USE"};
    uint32_t n;
    const tt_expert_use *uses = tt_router_uses(layer->router, &n);
    uint32_t *order = malloc(n * sizeof *order);
    tt_table *t = order ? tt_table_new(stdout) : NULL;
    if (!t) {
        free(order);
        return false;
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(t, titles[i], i == 5 ? TT_COLUMN_LEFT : TT_COLUMN_RIGHT);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_count, (void *)uses);
    for (uint32_t i = 0; i < n && (!o->limit || i < o->limit); i++)
        expert_row(t, layer, order[i], &uses[order[i]], s->choices, uses[order[0]].count);
    free(order);
    note_more(o->limit, n);
    return tt_table_print(t);
}

bool tt_routing_print_experts(const tt_routing_options *o, const tt_routing_view *v)
{
    bool ok = true, first = true;
    /* A draft model has a layer of that number too. */
    for (size_t i = 0; i < v->n_layers && ok; i++) {
        if (!tt_routing_passes(o, &v->layers[i])) continue;
        if (!first) (void)puts("");
        first = false;
        ok = print_layer(o, &v->layers[i], &v->sums[i]);
    }
    return ok;
}

/* --- the map --- */

/* By share of the choices, measured by what it would be if all were used alike. */
static const char *shade(uint64_t count, uint64_t choices, uint32_t n)
{
    static const char *const wide[] = {"\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                       "\xe2\x96\x88"};
    static const char *const narrow[] = {".", "-", "+", "*", "#"};
    const char *const *shades = MB_CUR_MAX > 1 ? wide : narrow;
    const double times = choices ? (double)count * n / (double)choices : 0;
    return shades[count == 0 ? 0 : times < 0.5 ? 1 : times < 1.5 ? 2 : times < 3 ? 3 : 4];
}

static void print_block(const tt_routing_options *o, const tt_routing_view *v, uint32_t first)
{
    (void)printf("LAYER  EXPERTS FROM %" PRIu32 "\n", first);
    for (size_t i = 0; i < v->n_layers; i++) {
        uint32_t n;
        char layer[TT_UNITS_TEXT];
        const tt_expert_use *uses = tt_router_uses(v->layers[i].router, &n);
        if (first >= n || !tt_routing_passes(o, &v->layers[i])) continue;
        layer_text(layer, &v->layers[i]);
        (void)printf("%5s  ", layer);
        for (uint32_t e = first; e < n && e < first + MAP_WIDTH; e++)
            (void)fputs(shade(uses[e].count, v->sums[i].choices, n), stdout);
        (void)puts("");
    }
}

bool tt_routing_print_matrix(const tt_routing_options *o, const tt_routing_view *v)
{
    uint32_t most = 0;
    for (size_t i = 0; i < v->n_layers; i++)
        if (tt_routing_passes(o, &v->layers[i]) && v->layers[i].n_experts > most)
            most = v->layers[i].n_experts;
    for (uint32_t first = 0; first < most; first += MAP_WIDTH) {
        if (first) (void)puts("");
        print_block(o, v, first);
    }
    (void)printf(
        "%s never   %s under half an even share   %s up to 1.5 of it   %s up to 3   %s more\n",
        shade(0, 1, 1), shade(1, 100, 1), shade(1, 1, 1), shade(2, 1, 1), shade(9, 1, 1));
    return !ferror(stdout);
}

/* --- overlap --- */

/* The texts of all traces, numbered through. */
typedef struct numbered {
    const tt_routing_view *view;
    const tt_router_text *text;
} numbered;

static size_t list_texts(const tt_routing_view *v, size_t n, numbered **out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += v[i].n_texts;
    *out = malloc((count + 1) * sizeof **out);
    for (size_t i = 0, at = 0; *out && i < n; i++)
        for (size_t k = 0; k < v[i].n_texts; k++)
            (*out)[at++] = (numbered){&v[i], &v[i].texts[k]};
    return count;
}

static bool overlap_json(const tt_routing_options *o, const numbered *list, size_t n)
{
    tt_json j;
    uint64_t rows = 0;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_key(&j, "texts");
    tt_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        const tt_router_text *x = list[i].text;
        tt_json_object(&j);
        tt_json_kv_u64(&j, "text_id", i);
        tt_json_kv_string(&j, "file", list[i].view->path);
        tt_json_kv_u64(&j, "context_id", x->context);
        tt_json_key(&j, "sequence_id");
        if (x->has_sequence)
            tt_json_i64(&j, x->sequence);
        else
            tt_json_null(&j);
        tt_json_kv_string(&j, "phase", tt_phase_name(x->phase));
        tt_json_kv_u64(&j, "first_token_id", x->first_token);
        tt_json_kv_u64(&j, "last_token_id", x->last_token);
        tt_json_kv_u64(&j, "tokens", x->tokens);
        tt_json_object_end(&j);
    }
    tt_json_array_end(&j);
    tt_json_key(&j, "pairs");
    tt_json_array(&j);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n && (!o->limit || rows < o->limit); b++, rows++) {
            tt_json_object(&j);
            tt_json_kv_u64(&j, "text_id", a);
            tt_json_kv_u64(&j, "other_text_id", b);
            tt_json_kv_double(&j, "jaccard", tt_router_texts_jaccard(list[a].text, list[b].text));
            tt_json_kv_double(&j, "cosine", tt_router_texts_cosine(list[a].text, list[b].text));
            tt_json_object_end(&j);
        }
    tt_json_array_end(&j);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static bool texts_table(const numbered *list, size_t n)
{
    static const char *const titles[] = {"TEXT", "FILE", "PHASE", "SEQUENCE", "BATCHES", "TOKENS"};
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(t, titles[i],
                        i == 1   ? TT_COLUMN_LEFT | TT_COLUMN_SHRINK
                        : i == 2 ? TT_COLUMN_LEFT
                                 : TT_COLUMN_RIGHT);
    for (size_t i = 0; i < n; i++) {
        const tt_router_text *x = list[i].text;
        char number[24], file[256], sequence[16] = "-", batches[32], tokens[TT_UNITS_TEXT];
        (void)snprintf(number, sizeof number, "%zu", i);
        if (x->has_sequence) (void)snprintf(sequence, sizeof sequence, "%" PRId32, x->sequence);
        (void)snprintf(batches, sizeof batches, "%" PRIu32 "..%" PRIu32, x->first_token,
                       x->last_token);
        if (x->first_token == x->last_token)
            (void)snprintf(batches, sizeof batches, "%" PRIu32, x->first_token);
        tt_table_row(t,
                     (const char *[]){number, tt_trace_text(file, sizeof file, list[i].view->path),
                                      tt_phase_name(x->phase), sequence, batches,
                                      tt_units_count(tokens, x->tokens)});
    }
    return tt_table_print(t);
}

static bool pairs_table(const tt_routing_options *o, const numbered *list, size_t n)
{
    uint64_t rows = 0;
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    (void)puts("");
    tt_table_column(t, "TEXTS", TT_COLUMN_LEFT);
    tt_table_column(t, "JACCARD", TT_COLUMN_RIGHT);
    tt_table_column(t, "COSINE", TT_COLUMN_RIGHT);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n && (!o->limit || rows < o->limit); b++, rows++) {
            char pair[48], jaccard[16] = "-", cosine[16] = "-";
            const double same = tt_router_texts_jaccard(list[a].text, list[b].text);
            const double alike = tt_router_texts_cosine(list[a].text, list[b].text);
            (void)snprintf(pair, sizeof pair, "%zu and %zu", a, b);
            if (!isnan(same)) (void)snprintf(jaccard, sizeof jaccard, "%.3f", same);
            if (!isnan(alike)) (void)snprintf(cosine, sizeof cosine, "%.3f", alike);
            tt_table_row(t, (const char *[]){pair, jaccard, cosine});
        }
    note_more(o->limit, n * (n - 1) / 2);
    return tt_table_print(t);
}

bool tt_routing_print_overlap(const tt_routing_options *o, const tt_routing_view *v, size_t n)
{
    numbered *list;
    const size_t count = list_texts(v, n, &list);
    bool ok = list != NULL;
    if (ok && o->json)
        ok = overlap_json(o, list, count);
    else if (ok)
        ok = texts_table(list, count) && pairs_table(o, list, count);
    free(list);
    return ok;
}
