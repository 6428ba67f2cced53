/* `tensortrace routing`: lists, a map, and texts side by side */
#include "analyze/expert_steps.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/routing_view.h"
#include "cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MAP_WIDTH 64u /* experts per line of the map, at most */
#define MAP_LABEL 7u  /* what stands before them */

/* --- lists --- */

static void explain_columns(const tt_routing_view *v)
{
    bool known[TT_ROUTER_WINDOWS] = {false};
    char text[160];
    for (size_t i = 0; i < v->n_layers; i++)
        for (size_t k = 0; k < TT_ROUTER_WINDOWS; k++)
            known[k] |= !isnan(v->rows.rows[i].sum.working_set[k]);
    (void)snprintf(text, sizeof text,
                   "1 TOKEN%s%s: bytes of the different experts that so many tokens in a row use",
                   known[1] ? ", 8 TOKENS" : "", known[2] ? ", 64 TOKENS" : "");
    putchar('\n');
    tt_table_text(stdout, 0, text);
    (void)puts("TOP k: as many experts as a token picks");
}

int tt_routing_print_layers(const tt_routing_options *o, const tt_routing_view *v)
{
    const tt_routing_context x = {v->m, &o->filter};
    const tt_rowset set =
        tt_routing_layer_rowset(&x, o->ranges ? TT_ROUTING_RANGES : TT_ROUTING_EXPERTS, &v->rows);
    tt_listing_wish wish = tt_list_wish(&o->list, o->json, NULL);
    wish.passes = tt_routing_passes;
    tt_listing rows;
    int code = tt_list_make(&rows, &set, &wish);
    if (code == TT_EXIT_OK && o->json) {
        tt_json j;
        tt_json_begin(&j, stdout, 2);
        tt_routing_json(&j, v, &rows);
        code = tt_report_output(tt_json_end(&j));
    } else if (code == TT_EXIT_OK && o->list.csv) {
        code = tt_report_output(tt_list_print_csv(&rows));
    } else if (code == TT_EXIT_OK) {
        code = tt_report_output(tt_list_print(&rows, &v->rows.total));
        if (!rows.chosen) explain_columns(v);
    }
    tt_listing_free(&rows);
    return code;
}

int tt_routing_print_experts(const tt_routing_options *o, const tt_routing_view *v)
{
    const tt_routing_context x = {v->m, &o->filter};
    int code = TT_EXIT_OK;
    bool first = true;
    /* A draft model has a layer of that number too. */
    for (size_t i = 0; i < v->n_layers && code == TT_EXIT_OK; i++) {
        if (!tt_routing_passes(&x, &v->rows.rows[i])) continue;
        const tt_rowset set = tt_routing_expert_rowset(&x, &v->rows.rows[i]);
        const tt_listing_wish wish = tt_list_wish(&o->list, o->json, "count");
        tt_listing rows;
        if (!first) (void)puts("");
        first = false;
        code = tt_list_make(&rows, &set, &wish);
        if (code == TT_EXIT_OK)
            code = tt_report_output(o->list.csv ? tt_list_print_csv(&rows)
                                                : tt_list_print(&rows, NULL));
        tt_listing_free(&rows);
    }
    return code;
}

/* --- from token to token, and over time --- */

#define STEPS_SHOWN 20u /* as text; there are experts x experts */

static int print_rows(const tt_routing_options *o, const tt_rowset *set, const char *key,
                      const char *sort, uint64_t shown)
{
    tt_listing_wish wish = tt_list_wish(&o->list, o->json, sort);
    tt_listing rows;
    tt_json j;
    if (!o->list.limited && wish.text) wish.limit = shown;
    int code = tt_list_make(&rows, set, &wish);
    if (code == TT_EXIT_OK && o->json) {
        tt_json_begin(&j, stdout, 2);
        tt_json_object(&j);
        tt_json_key(&j, key);
        tt_listing_json(&j, &rows);
        tt_json_object_end(&j);
        code = tt_report_output(tt_json_end(&j));
    } else if (code == TT_EXIT_OK) {
        code =
            tt_report_output(o->list.csv ? tt_list_print_csv(&rows) : tt_list_print(&rows, NULL));
    }
    tt_listing_free(&rows);
    return code;
}

int tt_routing_print_steps(const tt_routing_options *o, const tt_routing_view *v)
{
    char text[TT_LAYER_TEXT];
    tt_expert_step *list;
    size_t n;
    tt_error err;
    if (tt_expert_steps_make(v->routers, &list, &n, &err) != TT_OK) return tt_report_error(&err);
    const tt_rowset set = TT_ROWSET(&tt_expert_step_schema, TT_EXPERTS_OF_TRACE, NULL, list, n);
    const int code = n ? print_rows(o, &set, "transitions", "count", STEPS_SHOWN)
                       : tt_report_usage("%s: of no two tokens of layer %s"
                                         " it was seen that one follows the other, or it has more "
                                         "than %u experts",
                                         v->path, tt_layer_text(text, o->filter.layer),
                                         TT_ROUTER_TRANSITIONS_MAX);
    free(list);
    return code;
}

int tt_routing_print_spans(const tt_routing_options *o, const tt_routing_view *v)
{
    tt_expert_span *list;
    size_t n;
    tt_error err;
    if (tt_expert_spans_make(v->m, &o->filter, (uint32_t)o->parts, &list, &n, &err) != TT_OK)
        return tt_report_error(&err);
    const tt_rowset set = TT_ROWSET(&tt_expert_span_schema, TT_EXPERTS_OF_TRACE, NULL, list, n);
    const int code = print_rows(o, &set, "spans", NULL, 0);
    free(list);
    return code;
}

/* --- the map --- */

/* By share of the choices, relative to uniform use. */
static const char *shade(uint64_t count, uint64_t choices, uint32_t n)
{
    static const char *const wide[] = {"\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                       "\xe2\x96\x88"};
    static const char *const narrow[] = {".", "-", "+", "*", "#"};
    const char *const *shades = MB_CUR_MAX > 1 ? wide : narrow;
    const double times = choices ? (double)count * n / (double)choices : 0;
    return shades[count == 0 ? 0 : times < 0.5 ? 1 : times < 1.5 ? 2 : times < 3 ? 3 : 4];
}

static void print_block(const tt_routing_options *o, const tt_routing_view *v, uint32_t first,
                        uint32_t width)
{
    const tt_routing_context x = {v->m, &o->filter};
    (void)printf("LAYER  EXPERTS FROM %" PRIu32 "\n", first);
    for (size_t i = 0; i < v->n_layers; i++) {
        uint32_t n;
        char layer[16] = "-";
        const tt_expert_use *uses = tt_router_uses(v->layers[i].router, &n);
        if (first >= n || !tt_routing_passes(&x, &v->rows.rows[i])) continue;
        if (v->layers[i].layer_id >= 0)
            (void)snprintf(layer, sizeof layer, "%s",
                           tt_layer_text((char[TT_LAYER_TEXT]){0}, v->layers[i].layer_id));
        (void)printf("%5s  ", layer);
        for (uint32_t e = first; e < n && e < first + width; e++)
            (void)fputs(shade(uses[e].count, v->rows.rows[i].sum.choices, n), stdout);
        (void)puts("");
    }
}

bool tt_routing_print_matrix(const tt_routing_options *o, const tt_routing_view *v)
{
    const tt_routing_context x = {v->m, &o->filter};
    uint32_t most = 0;
    for (size_t i = 0; i < v->n_layers; i++)
        if (tt_routing_passes(&x, &v->rows.rows[i]) && v->layers[i].n_experts > most)
            most = v->layers[i].n_experts;
    const size_t line = tt_table_width(stdout), room = line > MAP_LABEL + 8 ? line - MAP_LABEL : 8;
    const uint32_t width = line == 0 || room > MAP_WIDTH ? MAP_WIDTH : (uint32_t)room / 8 * 8;
    for (uint32_t first = 0; first < most; first += width) {
        if (first) (void)puts("");
        print_block(o, v, first, width);
    }
    tt_table_printf(
        stdout, 0,
        "%s never   %s under half an even share   %s up to 1.5 of it   %s up to 3   %s more",
        shade(0, 1, 1), shade(1, 100, 1), shade(1, 1, 1), shade(2, 1, 1), shade(9, 1, 1));
    return !ferror(stdout);
}

/* --- two lists --- */

static bool print_both_json(const char *few_key, const tt_rowset *few, const char *key,
                            const tt_listing *rows)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_rowset_json_rows(&j, few_key, few, NULL);
    tt_json_key(&j, key);
    tt_listing_json(&j, rows);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

int tt_routing_print_both(const tt_routing_options *o, const char *few_key, const tt_rowset *few,
                          const char *key, const tt_rowset *set,
                          bool (*passes)(const void *context, const void *row))
{
    const tt_listing_wish all = {.text = true};
    tt_listing_wish wish = tt_list_wish(&o->list, o->json, NULL);
    tt_listing rows, list;
    wish.passes = passes;
    int code = tt_list_make(&rows, set, &wish);
    if (code == TT_EXIT_OK && o->json) {
        code = tt_report_output(print_both_json(few_key, few, key, &rows));
    } else if (code == TT_EXIT_OK && o->list.csv) {
        code = tt_report_output(tt_list_print_csv(&rows));
    } else if (code == TT_EXIT_OK) {
        code = tt_list_make(&list, few, &all);
        if (code == TT_EXIT_OK) code = tt_report_output(tt_list_print(&list, NULL));
        tt_listing_free(&list);
        (void)puts("");
        if (code == TT_EXIT_OK) code = tt_report_output(tt_list_print(&rows, NULL));
    }
    tt_listing_free(&rows);
    return code;
}

/* --- overlap --- */

int tt_routing_print_overlap(const tt_routing_options *o, const tt_routing_view *v, size_t n)
{
    size_t count = 0, at = 0, n_pairs = 0;
    for (size_t i = 0; i < n; i++)
        count += v[i].n_texts;
    tt_routing_text *texts = calloc(count + 1, sizeof *texts);
    tt_routing_pair *pairs = calloc(count * (count + 1) / 2 + 1, sizeof *pairs);
    int code = TT_EXIT_OK;
    if (!texts || !pairs) code = tt_report_memory();
    for (size_t i = 0; code == TT_EXIT_OK && i < n; i++)
        for (size_t k = 0; k < v[i].n_texts; k++, at++)
            texts[at] = (tt_routing_text){at, v[i].path, &v[i].texts[k]};
    for (size_t a = 0; a < at; a++)
        for (size_t b = a + 1; b < at; b++)
            pairs[n_pairs++] = (tt_routing_pair){&texts[a], &texts[b]};
    const tt_rowset text_rows = TT_ROWSET(&tt_routing_text_schema, 0, NULL, texts, at);
    const tt_rowset pair_rows = TT_ROWSET(&tt_routing_pair_schema, 0, NULL, pairs, n_pairs);
    if (code == TT_EXIT_OK)
        code = tt_routing_print_both(o, "texts", &text_rows, "pairs", &pair_rows, NULL);
    free(texts);
    free(pairs);
    return code;
}
