/* Two traces on the same axes: A is the trace of the address, B the one of the parameter `other`.
 */
#include "analyze/diff/diff.h"
#include "serve/comparisons.h"
#include "serve/endpoints.h"

#include <math.h>
#include <string.h>

#define THRESHOLD 0.03
#define ITEMS_DEFAULT 1000u
#define ITEMS_MAX 20000u
#define LEVEL (1 - 0.99) /* as the command has it, to the last bit */

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

/* What is kept of comparing both, as it was written. */
static tt_status answer(tt_request *q, tt_reply *r, const tt_comparison_options *o,
                        tt_comparison_part part, tt_error *err)
{
    tt_bytes text;
    tt_status status = need_other(q, err);
    if (status != TT_OK) return status;
    tt_bytes_init(&text, TT_COMPARISON_BYTES_MAX);
    status = tt_comparison_get(q, o, part, &text, err);
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (status == TT_OK && (!j || text.failed)) status = tt_error_memory(err, "the comparison");
    /* One value, as it was written before. */
    if (status == TT_OK) tt_json_again(j, (const char *)text.data, text.size);
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
    const char *name; /* of an op that is looked for, or NULL */
    tt_diff_located op;
} pair_side;

static tt_status locate(pair_side *s, tt_error *err)
{
    s->op = (tt_diff_located){TT_NONE, TT_NONE, TT_NONE};
    if (!s->present || !s->name || s->token->token == TT_NONE) return TT_OK;
    return tt_diff_locate(s->m, s->token->token, s->name, &s->op, err);
}

static void put_op(tt_json *j, const pair_side *s)
{
    tt_json_key(j, "op");
    if (s->op.run == TT_NONE) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_u64(j, "run", s->op.run);
    tt_json_kv_u64(j, "node", s->op.node);
    tt_json_kv_string(j, "tensor",
                      s->op.weight == TT_NONE ? NULL : s->m->weights[s->op.weight].name);
    tt_json_object_end(j);
}

static void put_side(tt_json *j, const char *key, const pair_side *s)
{
    tt_json_key(j, key);
    if (!s->present) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_u64(j, "batch_id", s->token->token);
    tt_json_key(j, "position");
    if (s->token->has_position)
        tt_json_i64(j, s->token->position);
    else
        tt_json_null(j);
    tt_json_kv_double(j, "begin_ns", s->token->begin_ns);
    tt_json_kv_double(j, "time_ns", s->token->time_ns);
    put_op(j, s);
    tt_json_object_end(j);
}

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
    pair_side a = {q->m, pair.has_a, &pair.a, tt_request_text(q, "name"), {0}};
    pair_side b = {q->other, pair.has_b, &pair.b, tt_request_text(q, "name_b"), {0}};
    if (!b.name) b.name = a.name;
    status = locate(&a, err);
    if (status == TT_OK) status = locate(&b, err);
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (status != TT_OK) return status;
    if (!j) return tt_error_memory(err, "the reply");
    tt_json_object(j);
    tt_json_kv_string(j, "phase", tt_phase_name(pair.phase));
    put_side(j, "a", &a);
    put_side(j, "b", &b);
    tt_json_object_end(j);
    return TT_OK;
}
