/* Which position records are of that all claim to be of position 0. */
#include "analyze/dumps/dump_bitnet.h"

#include <string.h>

/* What the records of a folder have in common. */
typedef struct style {
    bool is_overwritten; /* as a writer leaves them that calls each position 0 */
    uint64_t n_keys;     /* that attention had at the last position; 0: not known */
    uint64_t last_seq;   /* of records outside the layers */
} style;

static bool has_one_row(const tt_bitnet_record *r)
{
    return r->n_dims > 0 && r->n_elements == r->shape[r->n_dims - 1];
}

static bool is_stage(const tt_bitnet_record *r, const char *stage)
{
    return r->stage && strcmp(r->stage, stage) == 0;
}

/* A record in a layer; false: not of one token, not of position 0, or not as the others say. */
static bool look_in_layer(const tt_bitnet_record *r, style *s)
{
    if (r->has_seq && r->seq > 0) return false;
    if (!is_stage(r, "attn_scores_softmax")) return has_one_row(r);
    /* [batch, heads, queries, keys]: as many keys as there were tokens so far. */
    uint64_t keys = r->n_dims > 2 ? r->shape[r->n_dims - 1] : 0;
    if (!keys || r->shape[r->n_dims - 2] != 1 || (s->n_keys && s->n_keys != keys)) return false;
    s->n_keys = keys;
    return true;
}

static style style_of(const tt_bitnet_folder *f)
{
    style s = {.is_overwritten = false};
    for (size_t i = 0; i < f->n; i++) {
        const tt_bitnet_record *r = &f->items[i].record;
        if (r->has_first_values)
            return (style){.is_overwritten = false}; /* no record of BitNet.rs has */
        if (!r->has_layer || r->layer < 0) {
            if (r->has_seq && r->seq > s.last_seq) s.last_seq = r->seq;
            continue;
        }
        if (!look_in_layer(r, &s)) return (style){.is_overwritten = false};
        s.is_overwritten = true;
    }
    return s;
}

/* BitNet.rs names what it writes over "t0/...". Beside these it keeps records of every position
 * of a prompt outside the layers ("t2_logits"), and of the first one ("embeddings"; "t0/logits"
 * too, once the prompt is done). */
static bool is_of_last(const tt_bitnet_record *r, uint64_t last, uint64_t last_seq)
{
    if (r->has_layer && r->layer >= 0) return true;
    if (strncmp(r->name, "t0/", 3) != 0) return false;
    return is_stage(r, "embeddings") || (is_stage(r, "logits") && last > last_seq);
}

tt_dump_places tt_bitnet_settle(tt_bitnet_folder *f, bool *one_token)
{
    style s = style_of(f);
    *one_token = s.is_overwritten;
    if (!s.is_overwritten || s.n_keys == 1) return TT_PLACES_TOLD;
    uint64_t last = s.n_keys ? s.n_keys - 1 : s.last_seq;
    if (last == 0) return TT_PLACES_UNKNOWN;
    for (size_t i = 0; i < f->n; i++) {
        tt_bitnet_record *r = &f->items[i].record;
        if (!is_of_last(r, last, s.last_seq)) continue;
        r->has_seq = true;
        r->seq = last;
    }
    return TT_PLACES_FOUND;
}
