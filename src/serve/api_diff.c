/* Compares two traces: A is the trace of the address, B that of the parameter `other`. */
#include "analyze/diff/diff.h"
#include "serve/comparisons.h"
#include "serve/endpoints.h"

#include <math.h>
#include <string.h>

#define THRESHOLD 0.03
#define ITEMS_DEFAULT 1000u
#define ITEMS_MAX 20000u
#define LEVEL (1 - 0.99) /* bit by bit as in the command */

static tt_status need_other(const tt_request *q, tt_error *err)
{
    if (!q->other)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "other: which trace is compared with this one?");
    if (q->other_id == q->trace_id)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "other: a trace is compared with another one, not with itself");
    return TT_OK;
}

/* The cached comparison of both, as written. */
static tt_status answer(tt_request *q, tt_reply *r, const tt_comparison_options *o,
                        tt_comparison_part part, tt_error *err)
{
    tt_bytes text;
    tt_status status = need_other(q, err);
    if (status != TT_OK) return status;
    tt_bytes_init(&text, TT_COMPARISON_BYTES_MAX);
    status = tt_comparison_get(q, o, part, &text, err);
    if (status == TT_OK && text.failed) status = tt_error_memory(err, "the comparison");
    /* Copies one value as written before. */
    if (status == TT_OK) tt_json_again(tt_reply_json(r), (const char *)text.data, text.size);
    tt_bytes_free(&text);
    return status;
}

static tt_status compare(tt_request *q, tt_reply *r, tt_comparison_part part, tt_error *err)
{
    tt_comparison_options o = {.values = false};
    if (!tt_request_double(q, "threshold", 0, 10, THRESHOLD, &o.threshold, err) ||
        !tt_request_double(q, "level", 1e-6, 0.5, LEVEL, &o.level, err))
        return TT_E_USAGE;
    return answer(q, r, &o, part, err);
}

tt_status tt_answer_diff_values(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_comparison_options o = {.values = true};
    uint64_t items;
    if (!tt_request_u64(q, "items", 1, ITEMS_MAX, ITEMS_DEFAULT, &items, err)) return TT_E_USAGE;
    o.items = (uint32_t)items;
    return answer(q, r, &o, TT_COMPARISON_TABLES, err);
}

tt_status tt_answer_diff(tt_request *q, tt_reply *r, tt_error *err)
{
    return compare(q, r, TT_COMPARISON_TABLES, err);
}

tt_status tt_answer_diff_tokens(tt_request *q, tt_reply *r, tt_error *err)
{
    return compare(q, r, TT_COMPARISON_TOKENS, err);
}

/* --- one pair of tokens --- */

typedef struct pair_side {
    tt_model *m;
    bool present;
    const tt_diff_token *token;
    const char *name; /* of the requested op, or NULL */
    tt_diff_located op;
} pair_side;

static tt_status locate(pair_side *s, tt_error *err)
{
    s->op = (tt_diff_located){TT_NONE, TT_NONE, TT_NONE};
    if (!s->present || !s->name || s->token->token == TT_NONE) return TT_OK;
    return tt_diff_locate(s->m, s->token->token, s->name, &s->op, err);
}

TT_COLUMN_KNOWN(has_position, pair_side, s, s->token->has_position)
TT_COLUMN_GET(get_tensor, pair_side, s, {
    if (s->op.weight != TT_NONE) tt_cell_text(cell, s->m->weights[s->op.weight].name);
})
TT_COLUMN_ROWS(op_of, pair_side, s, s, s->op.run != TT_NONE)

static const tt_column op_columns[] = {
    TT_FIELD("run", "", TT_MEMBER(pair_side, op.run)),
    TT_FIELD("node", "", TT_MEMBER(pair_side, op.node)),
    TT_FIELD("tensor", "", .type = TT_CELL_NAME, .get = get_tensor),
};
static const tt_schema op_schema = TT_SCHEMA("op", "of that name", op_columns);

#define OF_BATCH(key_, member_, ...)                                                               \
    TT_FIELD(key_, "", TT_THROUGH(pair_side, token), TT_MEMBER(tt_diff_token, member_), __VA_ARGS__)
static const tt_column side_columns[] = {
    OF_BATCH("batch_id", token, .known = NULL),
    OF_BATCH("position", position, .known = has_position),
    OF_BATCH("start_relative_ns", begin_ns, .known = NULL),
    OF_BATCH("time_ns", time_ns, .known = NULL),
    TT_FIELD("op", "null: none of that name", .type = TT_CELL_OBJECT, .inner = &op_schema,
             .rows = op_of),
};
static const tt_schema side_schema = TT_SCHEMA("side", "a batch of a trace", side_columns);

typedef struct pair_row {
    unsigned phase;
    pair_side a, b;
} pair_row;

TT_COLUMN_GET(get_phase, pair_row, r, tt_cell_text(cell, tt_phase_name(r->phase));)
TT_COLUMN_ROWS(side_a, pair_row, r, &r->a, r->a.present)
TT_COLUMN_ROWS(side_b, pair_row, r, &r->b, r->b.present)

static const tt_column pair_columns[] = {
    TT_FIELD("phase", "", .type = TT_CELL_NAME, .get = get_phase),
    TT_FIELD("a", "", .type = TT_CELL_OBJECT, .inner = &side_schema, .rows = side_a),
    TT_FIELD("b", "", .type = TT_CELL_OBJECT, .inner = &side_schema, .rows = side_b),
};
static const tt_schema pair_schema =
    TT_SCHEMA("pair", "batches that belong together", pair_columns);

tt_status tt_answer_diff_pair(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const sides[] = {"a", "b", NULL};
    uint64_t token;
    size_t side;
    tt_diff_pair pair;
    tt_status status = need_other(q, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "batch", 0, UINT32_MAX - 1, UINT64_MAX, &token, err) ||
        !tt_request_choice(q, "side", sides, 0, &side, err))
        return TT_E_USAGE;
    if (token == UINT64_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "batch: of which one?");
    status = tt_diff_pair_find(q->m, q->other, side == 1, (uint32_t)token, &pair, err);
    if (status != TT_OK) return status;
    pair_row row = {pair.phase,
                    {q->m, pair.has_a, &pair.a, tt_request_text(q, "name"), {0}},
                    {q->other, pair.has_b, &pair.b, tt_request_text(q, "name_b"), {0}}};
    if (!row.b.name) row.b.name = row.a.name;
    status = locate(&row.a, err);
    if (status == TT_OK) status = locate(&row.b, err);
    return status == TT_OK ? tt_reply_row(r, &pair_schema, NULL, &row) : status;
}
