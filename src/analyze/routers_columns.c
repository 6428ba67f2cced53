#include "analyze/routers_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BAR_WIDTH 30u

/* --- rows --- */

static double bytes_of(const tt_router_layer *layer, double experts)
{
    return layer->expert_bytes ? experts * (double)layer->expert_bytes : NAN;
}

static void make_row(tt_routing_row *row, const tt_router_layer *layer, tt_routing_expert *experts)
{
    uint32_t n;
    const tt_expert_use *uses = tt_router_uses(layer->router, &n);
    row->layer = layer;
    tt_router_sum_up(layer->router, &row->sum);
    const uint32_t tops[TT_ROUTER_TOP] = {1, 2, 4, row->sum.chosen_most};
    for (size_t i = 0; i < TT_ROUTER_TOP; i++)
        row->top[i] = (tt_routing_top){tops[i], row->sum.choices ? row->sum.top_share[i] : NAN};
    for (size_t i = 0; i < TT_ROUTER_WINDOWS; i++)
        row->windows[i] = (tt_routing_window){tt_router_windows[i], row->sum.working_set[i],
                                              bytes_of(layer, row->sum.working_set[i])};
    row->experts = experts;
    for (uint32_t i = 0; i < n; i++)
        experts[i] = (tt_routing_expert){row, &uses[i], i};
}

/* Means ignore layers without a value; repeats are weighted by their possible number. */
static void sum_up(tt_routing_rows *all)
{
    tt_router_sum *t = &all->total.sum;
    double even = 0, sticky = 0, chance = 0;
    uint64_t n_even = 0;
    for (size_t i = 0; i < all->n; i++) {
        const tt_routing_row *row = &all->rows[i];
        const tt_router_sum *s = &row->sum;
        t->experts += s->experts;
        t->unused += s->unused;
        t->neighbours += isnan(s->stickiness) ? 0 : s->neighbours;
        if (!isnan(s->evenness)) even += s->evenness, n_even++;
        if (!isnan(s->stickiness)) sticky += s->stickiness * (double)s->neighbours;
        chance += s->chance;
        for (size_t k = 0; k < TT_ROUTER_WINDOWS; k++)
            all->total.windows[k].mean_bytes += row->windows[k].mean_bytes;
    }
    t->evenness = n_even ? even / (double)n_even : NAN;
    t->stickiness = t->neighbours ? sticky / (double)t->neighbours : NAN;
    t->chance = all->n ? chance / (double)all->n : NAN;
}

bool tt_routing_rows_make(const tt_routers *r, tt_routing_rows *out)
{
    *out = (tt_routing_rows){0};
    const tt_router_layer *layers = tt_routers_layers(r, &out->n);
    size_t n_experts = 0, at = 0;
    for (size_t i = 0; i < out->n; i++)
        n_experts += layers[i].n_experts;
    out->rows = calloc(out->n + 1, sizeof *out->rows);
    out->experts = calloc(n_experts + 1, sizeof *out->experts);
    if (!out->rows || !out->experts) return false;
    for (size_t i = 0; i < out->n; at += layers[i++].n_experts)
        make_row(&out->rows[i], &layers[i], out->experts + at);
    sum_up(out);
    return true;
}

void tt_routing_rows_free(tt_routing_rows *rows)
{
    free(rows->rows);
    free(rows->experts);
}

/* --- experts --- */

static double share_of(const tt_routing_expert *e)
{
    const uint64_t all = e->of->sum.choices;
    return all ? (double)e->use->count / (double)all : NAN;
}

TT_COLUMN_VALUE(get_count, tt_routing_expert, e, u64, e->use->count)
TT_COLUMN_VALUE(get_expert_share, tt_routing_expert, e, f64, share_of(e))
TT_COLUMN_VALUE(get_weight, tt_routing_expert, e, f64,
                e->use->weighted ? e->use->weight_sum / (double)e->use->weighted : NAN)
TT_COLUMN_GET(get_expert_bytes, tt_routing_expert, e, cell->u64 = e->of->layer->expert_bytes;
              cell->known = cell->u64 > 0;)

/* A bar, relative to the most used expert. */
static void show_bar(const void *context, const void *row, char *out, size_t room)
{
    const tt_routing_expert *e = row;
    const char *const block = MB_CUR_MAX > 1 ? "\xe2\x96\x88" : "#";
    uint64_t most = 0;
    (void)context;
    for (uint32_t i = 0; i < e->of->sum.experts; i++)
        if (e->of->experts[i].use->count > most) most = e->of->experts[i].use->count;
    const uint64_t length = most ? (e->use->count * BAR_WIDTH + most - 1) / most : 0;
    out[0] = '\0';
    for (uint64_t i = 0; i < length && strlen(out) + strlen(block) < room; i++)
        strcat(out, block);
}

static void put_ranges(tt_json *j, const void *context, const void *row)
{
    const tt_model *m = ((const tt_routing_context *)context)->m;
    const tt_routing_expert *e = row;
    const tt_router_layer *layer = e->of->layer;
    tt_json_array(j);
    for (uint32_t i = 0; i < layer->n_slices; i++) {
        const tt_router_slice *s = &layer->slices[i];
        const tt_weight *w = &m->weights[s->weight];
        tt_json_object(j);
        tt_json_kv_string(j, "tensor", w->name);
        tt_json_kv_string(j, "model_file", m->files[w->file].path);
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes + e->expert_id * s->expert_bytes);
        tt_json_kv_u64(j, "size_bytes", s->expert_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static const tt_column expert_columns[] = {
    TT_COLUMN("expert_id", "EXPERT", ID, "the expert, by its number in the layer",
              TT_MEMBER(tt_routing_expert, expert_id)),
    TT_COLUMN("count", "COUNT", COUNT, "how often it was chosen", .type = TT_CELL_U64,
              .get = get_count),
    TT_COLUMN("share", "SHARE", SHARE, "of all choices in the layer", .type = TT_CELL_F64,
              .nullable = true, .get = get_expert_share),
    TT_COLUMN("mean_weight", "WEIGHT", NONE, "its weight where it was chosen, mean",
              .type = TT_CELL_F64, .nullable = true, .get = get_weight),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "of its weights in the file", .type = TT_CELL_U64,
              .nullable = true, .show = TT_SHOW_DASH, .get = get_expert_bytes),
    TT_COLUMN("use", "USE", NONE, "the same as a bar", .type = TT_CELL_NAME, .show = TT_SHOW_TEXT,
              .text = show_bar),
    TT_COLUMN("ranges", NULL, NONE, "where in the file its bytes lie", .type = TT_CELL_ROWS,
              .kinds = TT_ROUTING_RANGES, .json = put_ranges),
};

const tt_schema tt_routing_expert_schema = {"experts", "the experts of a layer", expert_columns,
                                            COUNT(expert_columns)};

tt_rowset tt_routing_expert_rowset(const tt_routing_context *x, const tt_routing_row *layer)
{
    return TT_ROWSET(&tt_routing_expert_schema, TT_ROUTING_EXPERTS, x, layer->experts,
                     layer->sum.experts);
}

/* --- layers --- */

TT_COLUMN_KNOWN(is_layer, tt_routing_row, r, r->layer != NULL)
TT_COLUMN_GET(get_layer, tt_routing_row, r, tt_cell_id(cell, r->layer ? r->layer->layer_id : -1);)
TT_COLUMN_GET(get_file, tt_routing_row, r,
              const tt_model *m = ((const tt_routing_context *)context)->m;
              tt_cell_text(cell, r->layer && r->layer->file != TT_NONE
                                     ? m->files[r->layer->file].path
                                     : NULL);)
TT_COLUMN_GET(get_entropy, tt_routing_row, r,
              cell->f64 = r->sum.choices ? r->sum.entropy_bits : NAN;
              cell->known = r->layer != NULL;)
TT_COLUMN_GET(get_unplaced, tt_routing_row, r, cell->u64 = r->layer ? r->layer->unplaced : 0;
              cell->known = r->layer != NULL;)
TT_COLUMN_GET(get_layer_bytes, tt_routing_row, r, cell->u64 = r->layer ? r->layer->expert_bytes : 0;
              cell->known = cell->u64 > 0;)
TT_COLUMN_GET(get_batch_bytes, tt_routing_row, r,
              cell->f64 = r->layer ? bytes_of(r->layer, r->sum.batch_set) : NAN;
              cell->known = r->layer != NULL;)
TT_COLUMN_SHOW(show_entropy, tt_routing_row, r,
               if (r->layer)(void) snprintf(out, room, "%.2f", r->sum.entropy_bits);)
TT_COLUMN_ROWS(top_rows, tt_routing_row, r, r->top, TT_ROUTER_TOP)
TT_COLUMN_ROWS(window_rows, tt_routing_row, r, r->windows, TT_ROUTER_WINDOWS)

static void expert_rows(const void *context, const void *row, tt_rowset *out)
{
    *out = tt_routing_expert_rowset(context, row);
}

static void expert_rows_ranges(const void *context, const void *row, tt_rowset *out)
{
    *out = tt_routing_expert_rowset(context, row);
    out->kind = TT_ROUTING_RANGES;
}

#define TOP(i)                                                                                     \
    TT_COLUMN_GET(get_top_##i, tt_routing_row, r, cell->f64 = r->top[i].share;                     \
                  cell->known = r->layer != NULL;)
TOP(0)
TOP(2)
TOP(3)
/* Left out if no layer had so many tokens. */
#define WINDOW(i)                                                                                  \
    TT_COLUMN_GET(get_window_##i, tt_routing_row, r, cell->f64 = r->windows[i].mean_bytes;         \
                  cell->known = i == 0 || !isnan(r->layer ? r->sum.working_set[i]                  \
                                                          : r->windows[i].mean_bytes);)
WINDOW(0)
WINDOW(1)
WINDOW(2)

static const tt_column top_columns[] = {
    TT_COLUMN("experts", NULL, COUNT, "so many, used most", TT_MEMBER(tt_routing_top, experts)),
    TT_COLUMN("share", NULL, SHARE, "of the choices", TT_MEMBER(tt_routing_top, share)),
};
static const tt_schema top_schema = {"top_shares", "", top_columns, COUNT(top_columns)};

static const tt_column window_columns[] = {
    TT_COLUMN("n_tokens", NULL, COUNT, "in a row", TT_MEMBER(tt_routing_window, tokens)),
    TT_COLUMN("mean_experts", NULL, NONE, "different experts that they use, mean",
              TT_MEMBER(tt_routing_window, mean_experts)),
    TT_COLUMN("mean_bytes", NULL, BYTES, "of them", TT_MEMBER(tt_routing_window, mean_bytes)),
};
static const tt_schema window_schema = {"working_sets", "", window_columns, COUNT(window_columns)};

#define SUM(key_, title_, unit_, member_, show_, about_)                                           \
    TT_COLUMN(key_, title_, unit_, about_, .show = (show_), .known = is_layer,                     \
              TT_MEMBER(tt_routing_row, sum.member_))
#define TEXT(key_, title_, unit_, show_, get_, about_)                                             \
    TT_COLUMN(key_, title_, unit_, about_, .type = TT_CELL_F64, .nullable = true,                  \
              .show = TT_SHOW_TEXT | (show_), .get = get_)

static const tt_column layer_columns[] = {
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER, .show = TT_SHOW_KEY | TT_SHOW_DASH,
              .get = get_layer),
    TT_STACK(.get = get_layer),
    TT_COLUMN("model_file", NULL, NONE, "the model file of the experts", .type = TT_CELL_NAME,
              .nullable = true, .get = get_file),
    TT_COLUMN("n_experts", "EXPERTS", COUNT, "number of experts",
              TT_MEMBER(tt_routing_row, sum.experts)),
    SUM("n_picked", "PICKED", COUNT, chosen_most, 0, "experts chosen per token, at most"),
    SUM("n_tokens", "TOKENS", COUNT, tokens, TT_SHOW_WIDEST, "tokens whose choices were observed"),
    SUM("choices", NULL, COUNT, choices, 0, "choices of experts, over all tokens"),
    TT_COLUMN("entropy_bits", "ENTROPY", NONE, "entropy of the experts' shares",
              .type = TT_CELL_F64, .nullable = true, .show = TT_SHOW_WIDE, .get = get_entropy,
              .text = show_entropy),
    TT_COLUMN("evenness", "EVENNESS", SHARE,
              "entropy divided by its maximum (all experts used equally)", .nullable = true,
              TT_MEMBER(tt_routing_row, sum.evenness)),
    TEXT("top_1", "TOP 1", SHARE, TT_SHOW_WIDE, get_top_0, "share of the most used expert"),
    TEXT("top_4", "TOP 4", SHARE, TT_SHOW_WIDE, get_top_2, "share of the four most used experts"),
    TEXT("top_k", "TOP k", SHARE, TT_SHOW_WIDEST, get_top_3,
         "share of the n_picked most used experts"),
    TT_COLUMN("top_shares", NULL, NONE, "shares of the 1, 2, 4 and n_picked most used experts",
              .type = TT_CELL_ROWS, .inner = &top_schema, .rows = top_rows),
    TT_COLUMN("unused_experts", "UNUSED", COUNT, "experts that were never chosen",
              TT_MEMBER(tt_routing_row, sum.unused)),
    SUM("neighbours", NULL, COUNT, neighbours, 0,
        "tokens whose previous token in the sequence was observed"),
    TT_COLUMN("stickiness", "REPEATED", SHARE,
              "share of their experts that the previous token had chosen too", .nullable = true,
              TT_MEMBER(tt_routing_row, sum.stickiness)),
    TT_COLUMN("chance", "CHANCE", SHARE, "expected stickiness if choices were independent and even",
              TT_MEMBER(tt_routing_row, sum.chance)),
    TT_COLUMN("tokens_without_row", NULL, COUNT, "tokens whose row in the batch is unknown",
              .type = TT_CELL_U64, .get = get_unplaced),
    TT_COLUMN("expert_bytes", NULL, BYTES, "size of one expert", .type = TT_CELL_U64,
              .nullable = true, .get = get_layer_bytes),
    TEXT("window_1", "1 TOKEN", BYTES, 0, get_window_0,
         "bytes of the distinct experts that a token uses, mean"),
    TEXT("window_8", "8 TOKENS", BYTES, TT_SHOW_KNOWN, get_window_1,
         "bytes of the distinct experts that 8 consecutive tokens use, mean"),
    TEXT("window_64", "64 TOKENS", BYTES, TT_SHOW_KNOWN | TT_SHOW_WIDE, get_window_2,
         "bytes of the distinct experts that 64 consecutive tokens use, mean"),
    TT_COLUMN("working_sets", NULL, NONE, "distinct experts that 1, 8, 64 consecutive tokens use",
              .type = TT_CELL_ROWS, .inner = &window_schema, .rows = window_rows),
    SUM("mean_experts_per_batch", NULL, NONE, batch_set, 0, "distinct experts in a batch, mean"),
    TT_COLUMN("mean_bytes_per_batch", NULL, BYTES, "bytes of these", .type = TT_CELL_F64,
              .nullable = true, .get = get_batch_bytes),
    TT_COLUMN("experts", NULL, NONE, "the layer's experts", .type = TT_CELL_ROWS,
              .kinds = TT_ROUTING_EXPERTS, .inner = &tt_routing_expert_schema, .rows = expert_rows),
    TT_COLUMN("experts", NULL, NONE, "likewise, with their ranges", .type = TT_CELL_ROWS,
              .kinds = TT_ROUTING_RANGES, .inner = &tt_routing_expert_schema,
              .rows = expert_rows_ranges),
};

const tt_schema tt_routing_layer_schema = {"routing", "the routers of a mixture of experts",
                                           layer_columns, COUNT(layer_columns)};

tt_rowset tt_routing_layer_rowset(const tt_routing_context *x, uint8_t kind,
                                  const tt_routing_rows *rows)
{
    return TT_ROWSET(&tt_routing_layer_schema, kind, x, rows->rows, rows->n);
}

bool tt_routing_passes(const void *context, const void *row)
{
    const tt_filter *f = ((const tt_routing_context *)context)->filter;
    return !f || !f->has_layer ||
           tt_layer_passes(f->layer, ((const tt_routing_row *)row)->layer->layer_id);
}

/* --- texts --- */

TT_COLUMN_VALUE(get_context, tt_routing_text, t, u64, t->text->context)
TT_COLUMN_GET(get_sequence, tt_routing_text, t, cell->i64 = t->text->sequence;
              cell->known = t->text->has_sequence;)
TT_COLUMN_GET(get_phase, tt_routing_text, t, tt_cell_text(cell, tt_phase_name(t->text->phase));)
TT_COLUMN_VALUE(get_first, tt_routing_text, t, u64, t->text->first_token)
TT_COLUMN_VALUE(get_last, tt_routing_text, t, u64, t->text->last_token)
TT_COLUMN_VALUE(get_tokens, tt_routing_text, t, u64, t->text->tokens)
TT_COLUMN_GET(get_batches, tt_routing_text, t,
              if (t->text->first_token == t->text->last_token)
                  tt_cell_format(cell, "%" PRIu32, t->text->first_token);
              else tt_cell_format(cell, "%" PRIu32 "..%" PRIu32, t->text->first_token,
                                  t->text->last_token);)

static const tt_column text_columns[] = {
    TT_COLUMN("text_id", "TEXT", ID, "number of the text", TT_MEMBER(tt_routing_text, text_id)),
    TT_COLUMN("file", "FILE", NONE, "the trace", .show = TT_SHOW_CUT | TT_SHOW_KEY,
              TT_MEMBER(tt_routing_text, file)),
    TT_COLUMN("context_id", NULL, ID, "the engine's context", .type = TT_CELL_U32,
              .get = get_context),
    TT_COLUMN("phase", "PHASE", NONE, "of its tokens", .type = TT_CELL_NAME, .get = get_phase),
    TT_COLUMN("sequence_id", "SEQUENCE", ID, "null: not observed", .type = TT_CELL_I32,
              .nullable = true, .show = TT_SHOW_DASH, .get = get_sequence),
    TT_COLUMN("batches", "BATCHES", NONE, "the first and the last", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT | TT_SHOW_RIGHT, .get = get_batches),
    TT_COLUMN("first_batch_id", NULL, ID, "the first batch", .type = TT_CELL_U32, .get = get_first),
    TT_COLUMN("last_batch_id", NULL, ID, "the last batch", .type = TT_CELL_U32, .get = get_last),
    TT_COLUMN("n_tokens", "TOKENS", COUNT, "tokens", .type = TT_CELL_U64, .get = get_tokens),
};

const tt_schema tt_routing_text_schema = {"texts", "tokens of one sequence in one phase",
                                          text_columns, COUNT(text_columns)};

TT_COLUMN_GET(get_pair, tt_routing_pair, p,
              tt_cell_format(cell, "%" PRIu64 " and %" PRIu64, p->a->text_id, p->b->text_id);)
TT_COLUMN_VALUE(get_one, tt_routing_pair, p, u64, p->a->text_id)
TT_COLUMN_VALUE(get_other, tt_routing_pair, p, u64, p->b->text_id)
TT_COLUMN_VALUE(get_jaccard, tt_routing_pair, p, f64,
                tt_router_texts_jaccard(p->a->text, p->b->text))
TT_COLUMN_VALUE(get_cosine, tt_routing_pair, p, f64, tt_router_texts_cosine(p->a->text, p->b->text))

static const tt_column pair_columns[] = {
    TT_COLUMN("texts", "TEXTS", NONE, "the two", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT | TT_SHOW_KEY, .get = get_pair),
    TT_COLUMN("text_id", NULL, ID, "the one", .type = TT_CELL_U64, .get = get_one),
    TT_COLUMN("other_text_id", NULL, ID, "the other", .type = TT_CELL_U64, .get = get_other),
    TT_COLUMN("jaccard", "JACCARD", NONE, "of the experts that either uses, those that both use",
              .type = TT_CELL_F64, .nullable = true, .get = get_jaccard),
    TT_COLUMN("cosine", "COSINE", NONE, "of the angle between how often they use each",
              .type = TT_CELL_F64, .nullable = true, .get = get_cosine),
};

const tt_schema tt_routing_pair_schema = {"pairs", "how alike the experts of two texts are",
                                          pair_columns, COUNT(pair_columns)};
