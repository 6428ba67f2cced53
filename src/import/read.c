#include "import/read.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "base/order.h"
#include "import/fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 64u
#define DEPTH_MAX 64u
#define SEQUENCE_NAME_MAX 256u
#define SEQUENCE_TEXT_MAX ((size_t)64 << 20)

/* A part of the line; begin is NULL if there is none. */
typedef struct value {
    const char *begin, *end;
} value;

/* What a row of CSV, or an object, says. */
typedef struct row {
    uint64_t layer, batch;
    int64_t number;    /* of the token; -1: not given */
    uint32_t sequence; /* TT_NONE: not given */
    uint32_t rank;
    bool listed; /* its experts are all of the token in the layer */
} row;

typedef struct reader {
    FILE *in;
    char *line;
    size_t length;
    uint64_t line_number; /* from 1 */
    const char *at;       /* read position */
    tt_status status;     /* not TT_OK: *err has the reason */
    tt_error *err;
    const tt_import_ignored *ignored;
    uint32_t ignored_seen; /* a bit for each of its names */
    /* CSV: */
    tt_import_field columns[COLUMNS_MAX];
    size_t n_columns;
    char separator; /* ' ': any blanks */
    /* The current row or object: */
    value values[TT_IMPORT_FIELDS];
    uint32_t shape;       /* the fields of the first one, a bit each; 0: none yet */
    row last;             /* of the current batch, or the one before */
    bool any;             /* there was one */
    uint32_t first_layer; /* of the current token */
    bool is_unsure; /* a token began where the layer stayed: a higher layer may be of either */
    /* The sequences' names: */
    char *names;
    size_t names_size, names_capacity;
    size_t *name_ends;
    uint32_t n_sequences, sequence_capacity;
    tt_idmap sequence_of; /* by hashes of the names */
    /* The current batch: */
    tt_import_pick *picks;
    size_t n, capacity;
    int64_t *numbers;
    uint32_t *sequences;
    tt_idmap tokens; /* by sequence and number */
    uint32_t n_tokens, token_capacity, token_sequence_capacity;
    tt_import_visit *visit;
    void *context;
} reader;

/* Keeps the first error, at a position of the line. */
static bool refuse(reader *r, const char *at, const char *what)
{
    if (r->status != TT_OK) return false;
    r->status = tt_error_set(r->err, TT_E_FORMAT, TT_NO_OFFSET, "line %" PRIu64 ", column %zu: %s",
                             r->line_number, (size_t)(at - r->line) + 1, what);
    return false;
}

static bool no_memory(reader *r)
{
    r->status = tt_error_memory(r->err, "a batch");
    return false;
}

/* The next nonempty line, without its end. False at the end, or after an error. */
static bool next_line(reader *r)
{
    int c = 0;
    do {
        r->length = 0;
        r->line_number++;
        r->at = r->line;
        while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
            if (c == '\0')
                return refuse(r, r->line + r->length,
                              "a NUL is no text: a file of another kind, or one in UTF-16 (read "
                              "are CSV, JSON lines and lists, in UTF-8)");
            if (r->length == TT_IMPORT_LINE_MAX)
                return refuse(r, r->line + r->length, "the line is longer than 1 MiB");
            r->line[r->length++] = (char)c;
        }
        while (r->length && isspace((unsigned char)r->line[r->length - 1]))
            r->length--;
        r->line[r->length] = '\0';
        /* The mark that some programs write before UTF-8. */
        if (r->line_number == 1 && strncmp(r->at, "\xef\xbb\xbf", 3) == 0) r->at += 3;
        while (isspace((unsigned char)*r->at))
            r->at++;
    } while (!*r->at && c != EOF);
    if (ferror(r->in)) {
        r->status = tt_error_set(r->err, TT_E_IO, TT_NO_OFFSET, "cannot be read");
        return false;
    }
    return *r->at != '\0';
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static bool take_whole(reader *r, uint64_t below, const char *what, uint64_t *out)
{
    const char *begin = r->at;
    uint64_t v = 0;
    while (*r->at >= '0' && *r->at <= '9' && v < below)
        v = v * 10 + (uint64_t)(*r->at++ - '0');
    if (r->at == begin || v >= below) {
        char text[120];
        (void)snprintf(text, sizeof text, "%s is to be a whole number from 0 to %" PRIu64, what,
                       below - 1);
        return refuse(r, begin, text);
    }
    *out = v;
    return true;
}

static bool take_expert(reader *r, uint64_t *expert)
{
    return take_whole(r, TT_IMPORT_EXPERTS_MAX, "an expert", expert);
}

/* --- batches --- */

TT_ORDER_BY(by_place, tt_import_pick, layer, token, rank)

static bool is_same_list(const tt_import_pick *a, const tt_import_pick *b)
{
    return a->layer == b->layer && a->token == b->token;
}

/* Ranks were given or are positions in the text; they become positions among the token's experts of
 * the layer. */
static bool rank_picks(reader *r)
{
    qsort(r->picks, r->n, sizeof *r->picks, by_place);
    for (size_t first = 0, i = 0; i < r->n; i++) {
        if (!is_same_list(&r->picks[first], &r->picks[i])) first = i;
        r->picks[i].rank = (uint32_t)(i - first);
        if (i - first == TT_IMPORT_PICKED_MAX)
            return refuse(r, r->line, "before: more than 1024 experts of a token in a layer");
        for (size_t k = first; k < i; k++)
            if (r->picks[k].expert == r->picks[i].expert)
                return refuse(r, r->line, "before: a token has an expert twice in a layer");
    }
    return true;
}

static bool end_batch(reader *r)
{
    const tt_import_batch b = {r->picks, r->n, r->numbers, r->sequences, r->n_tokens};
    if (r->status == TT_OK && r->n && rank_picks(r)) r->status = r->visit(r->context, &b, r->err);
    r->n = r->n_tokens = 0;
    tt_idmap_clear(&r->tokens);
    return r->status == TT_OK;
}

static bool begin_token(reader *r, int64_t number, uint32_t sequence)
{
    if (!tt_array_one_more(r->numbers, r->n_tokens, r->token_capacity) ||
        !tt_array_one_more(r->sequences, r->n_tokens, r->token_sequence_capacity))
        return no_memory(r);
    r->sequences[r->n_tokens] = sequence;
    r->numbers[r->n_tokens++] = number;
    return true;
}

/* For the token that is `token` in the batch. */
static bool add_pick(reader *r, const char *at, const tt_import_pick *one)
{
    for (size_t i = r->n; i-- > 0 && is_same_list(&r->picks[i], one);) {
        if (r->picks[i].expert == one->expert)
            return refuse(r, at, "the token has this expert in this layer already");
        if (r->n - i == TT_IMPORT_PICKED_MAX)
            return refuse(r, at, "more than 1024 experts of a token in a layer");
    }
    if (r->n == TT_IMPORT_PICKS_MAX) return refuse(r, at, "more than 4194304 picks in a batch");
    tt_import_pick *pick = tt_array_add(r->picks, r->n, r->capacity);
    if (!pick) return no_memory(r);
    *pick = *one;
    return true;
}

/* --- lists of numbers: 1 5, 1;5, 1,5 or [1, 5] --- */

static void trim(value *v)
{
    while (v->begin < v->end && (*v->begin == ' ' || *v->begin == '\t'))
        v->begin++;
    while (v->begin < v->end && (v->end[-1] == ' ' || v->end[-1] == '\t'))
        v->end--;
}

/* Takes off the list's brackets, if there are any. */
static bool open_list(reader *r, value *list)
{
    trim(list);
    if (list->begin == list->end || *list->begin != '[') return true;
    if (list->end - list->begin < 2 || list->end[-1] != ']')
        return refuse(r, list->begin, "the list has no end");
    list->begin++;
    list->end--;
    trim(list);
    return true;
}

/* Whether there is another item, which then begins at list->begin. */
static bool next_item(reader *r, value *list, bool is_first)
{
    const char *before = list->begin;
    trim(list);
    if (list->begin == list->end) return false;
    if (is_first) return true;
    const bool parted = *list->begin == ',' || *list->begin == ';';
    list->begin += parted;
    trim(list);
    if (list->begin == list->end) return refuse(r, before, "a number is missing");
    if (list->begin == before)
        return refuse(r, before, "here a comma or a blank is to be: experts are numbers");
    return true;
}

static bool take_weight(reader *r, value *list, bool is_first, float *out)
{
    char *end;
    if (!next_item(r, list, is_first))
        return refuse(r, list->begin, "as many weights are to be as experts");
    *out = strtof(list->begin, &end);
    if (end == list->begin || end > list->end || !isfinite(*out))
        return refuse(r, list->begin, "a weight is a number");
    list->begin = end;
    return true;
}

/* The experts of a token in a layer. */
static bool add_experts(reader *r, value list, value weights, uint32_t token, uint64_t layer,
                        const uint32_t *rank)
{
    tt_import_pick one = {(uint32_t)layer, token, 0, 0, NAN};
    const bool weighted = weights.begin;
    if (!open_list(r, &list) || (weighted && !open_list(r, &weights))) return false;
    for (bool first = true; next_item(r, &list, first); first = false) {
        uint64_t expert;
        r->at = list.begin;
        if (!take_expert(r, &expert)) return false;
        if (weighted && !take_weight(r, &weights, first, &one.weight)) return false;
        if (rank && !first) return refuse(r, list.begin, "several experts, and one rank for all");
        one.expert = (uint32_t)expert;
        one.rank = rank ? *rank : (uint32_t)r->n;
        if (!add_pick(r, list.begin, &one)) return false;
        list.begin = r->at;
    }
    if (weighted && r->status == TT_OK && weights.begin < weights.end)
        return refuse(r, weights.begin, "as many weights are to be as experts");
    return r->status == TT_OK;
}

/* The next of the lists in a list, with its brackets; both are opened by open_list. */
static bool next_list(reader *r, value *lists, bool is_first, value *out)
{
    unsigned depth = 0;
    trim(lists);
    if (lists->begin == lists->end) return false;
    if (!is_first && *lists->begin++ != ',')
        return refuse(r, lists->begin - 1, "here a comma or ] is to be");
    trim(lists);
    const char *at = out->begin = lists->begin;
    if (at == lists->end || *at != '[') return refuse(r, at, "here a list is to be");
    do {
        if (at == lists->end) return refuse(r, out->begin, "the list has no end");
        depth += *at == '[';
        depth -= *at == ']';
        if (depth > DEPTH_MAX) return refuse(r, at, "more than 64 brackets in each other");
        at++;
    } while (depth);
    out->end = lists->begin = at;
    return true;
}

static bool is_nested(const value *list)
{
    const char *at = list->begin;
    if (!at || *at != '[') return false;
    for (at++; at < list->end && (*at == ' ' || *at == '\t');)
        at++;
    return at < list->end && *at == '[';
}

/* [[1,5],[2,7]]: layers from 0 on. */
static bool add_layers(reader *r, value layers, value weights, uint32_t token)
{
    value list, weight = {0};
    if (!open_list(r, &layers) || (weights.begin && !open_list(r, &weights))) return false;
    for (uint64_t layer = 0; next_list(r, &layers, layer == 0, &list); layer++) {
        if (layer == TT_IMPORT_LAYERS_MAX) return refuse(r, list.begin, "more than 4096 layers");
        if (weights.begin && !next_list(r, &weights, layer == 0, &weight))
            return refuse(r, weights.begin, "as many lists of weights are to be as of experts");
        if (!add_experts(r, list, weight, token, layer, NULL)) return false;
    }
    return r->status == TT_OK;
}

/* --- rows, of CSV or objects --- */

static bool has(const reader *r, tt_import_field f)
{
    return r->values[f].begin;
}

/* The whole value is to be a number. */
static bool take_value(reader *r, tt_import_field f, uint64_t below, const char *what,
                       uint64_t *out)
{
    r->at = r->values[f].begin;
    if (!take_whole(r, below, what, out)) return false;
    return r->at == r->values[f].end || refuse(r, r->at, "here the number is to end");
}

typedef struct named {
    const reader *r;
    value name;
} named;

static bool is_sequence(const void *context, uint32_t index)
{
    const named *n = context;
    const size_t begin = index ? n->r->name_ends[index - 1] : 0;
    const size_t size = (size_t)(n->name.end - n->name.begin);
    return n->r->name_ends[index] - begin == size &&
           memcmp(n->r->names + begin, n->name.begin, size) == 0;
}

/* The sequence of that name: by first appearance. */
static bool take_sequence(reader *r, uint32_t *out)
{
    const named n = {r, r->values[TT_IMPORT_SEQUENCE]};
    const size_t size = (size_t)(n.name.end - n.name.begin);
    uint64_t key = tt_checksum(n.name.begin, size);
    if (size == 0) return refuse(r, n.name.begin, "which sequence or request is this of?");
    if (*n.name.begin == '[') return refuse(r, n.name.begin, "one sequence or request is to be");
    if (size > SEQUENCE_NAME_MAX) return refuse(r, n.name.begin, "a name of over 256 bytes");
    *out = tt_idmap_find(&r->sequence_of, &key, is_sequence, &n);
    if (*out != TT_NONE) return true;
    if (r->n_sequences == TT_IMPORT_SEQUENCES_MAX || r->names_size + size > SEQUENCE_TEXT_MAX)
        return refuse(r, n.name.begin, "more than 1048576 sequences, or 64 MiB of their names");
    uint32_t was;
    if (!tt_array_room(r->names, r->names_capacity, r->names_size + size) ||
        !tt_array_one_more(r->name_ends, r->n_sequences, r->sequence_capacity) ||
        !tt_idmap_add(&r->sequence_of, key, r->n_sequences, &was))
        return no_memory(r);
    memcpy(r->names + r->names_size, n.name.begin, size);
    r->names_size += size;
    r->name_ends[r->n_sequences] = r->names_size;
    *out = r->n_sequences++;
    return true;
}

/* Whether the row says itself that it is of another token than the last one. */
static bool is_apart(const reader *r, const row *in)
{
    return !r->any || r->n_tokens == 0 || in->sequence != r->last.sequence ||
           in->batch != r->last.batch || in->number != r->last.number;
}

/* Whether a new token begins: without numbers, if the layer decreases, and where it stays, if the
 * row has all experts of a token in the layer. */
static bool is_new_token(reader *r, const row *in)
{
    const row *last = &r->last;
    if (is_apart(r, in)) return true;
    if (in->number >= 0) return false;
    if (in->layer != last->layer) return in->layer < last->layer;
    if (has(r, TT_IMPORT_RANK)) return in->rank <= last->rank;
    if (!in->listed && !last->listed)
        (void)refuse(r, r->line,
                     "a second expert of a layer: of the same token, or of the next one? A column "
                     "\"token\" is missing (or \"rank\": its place among the token's experts)");
    return true;
}

/* Without numbers, rows of one layer are of several tokens only if no other layer is near. */
static bool is_told_apart(reader *r, const row *in, bool is_other)
{
    if (r->status != TT_OK) return false;
    if (is_apart(r, in) || in->number >= 0 || in->layer < r->last.layer) {
        r->is_unsure = false;
        return true;
    }
    const bool stays = in->layer == r->last.layer && is_other;
    if (stays ? r->first_layer < in->layer : in->layer > r->last.layer && r->is_unsure)
        return refuse(r, r->line,
                      "several rows of one layer next to rows of another: which of them are one "
                      "token's? The columns \"token\" and \"batch\" are missing");
    r->is_unsure |= stays;
    return true;
}

static uint64_t token_key(uint32_t sequence, uint64_t number)
{
    return ((uint64_t)sequence + 1) << 32 | number;
}

/* The token with this key in the batch, perhaps a new one: UINT32_MAX if that fails. */
static uint32_t token_by_key(reader *r, uint64_t key, int64_t number, uint32_t sequence)
{
    const uint32_t place = tt_idmap_get(&r->tokens, key), end = r->n_tokens;
    uint32_t was;
    if (place != TT_NONE) return place;
    if (!begin_token(r, number, sequence)) return UINT32_MAX;
    if (tt_idmap_add(&r->tokens, key, end, &was)) return end;
    (void)no_memory(r);
    return UINT32_MAX;
}

/* Ends the batch before the row if it is of another one. */
static bool part_batches(reader *r, const row *in, bool is_other)
{
    const bool numbered = has(r, TT_IMPORT_BATCH);
    if (numbered ? r->any && in->batch == r->last.batch : !is_other) return true;
    if (!end_batch(r)) return false;
    if (r->any && in->layer > r->last.layer && (numbered || in->number >= 0))
        return refuse(r, r->line,
                      numbered ? "another batch, but a higher layer: all layers of a batch come "
                                 "before those of the next"
                               : "another token, but a higher layer: without a column \"batch\" "
                                 "all layers of a token come before those of the next");
    return true;
}

/* The index of the row's token in the batch: UINT32_MAX if it is invalid. */
static uint32_t place_token(reader *r, const row *in)
{
    const bool other = is_new_token(r, in);
    if (!is_told_apart(r, in, other) || !part_batches(r, in, other)) return UINT32_MAX;
    if (other) r->first_layer = (uint32_t)in->layer;
    if (in->number >= 0)
        return token_by_key(r, token_key(in->sequence, (uint64_t)in->number), in->number,
                            in->sequence);
    if (r->n_tokens && !other) return r->n_tokens - 1;
    return begin_token(r, -1, in->sequence) ? r->n_tokens - 1 : UINT32_MAX;
}

/* A layer of a batch: a list of experts for each of its tokens, which may have numbers. */
static bool add_tokens(reader *r, const row *in)
{
    value lists = r->values[TT_IMPORT_EXPERTS], weights = r->values[TT_IMPORT_WEIGHTS];
    value numbers = r->values[TT_IMPORT_TOKEN], list, weight = {0};
    if (!has(r, TT_IMPORT_BATCH))
        return refuse(r, lists.begin, "experts of several tokens: the key \"batch\" is missing");
    if (!part_batches(r, in, false) || !open_list(r, &lists) ||
        (weights.begin && !open_list(r, &weights)) || (numbers.begin && !open_list(r, &numbers)))
        return false;
    for (uint32_t i = 0; next_list(r, &lists, i == 0, &list); i++) {
        uint64_t number = (uint64_t)1 << 31 | i;
        if (numbers.begin) {
            if (!next_item(r, &numbers, i == 0))
                return refuse(r, list.begin, "this token has no number");
            r->at = numbers.begin;
            if (!take_whole(r, INT32_MAX, "a token", &number)) return false;
            numbers.begin = r->at;
        }
        if (weights.begin && !next_list(r, &weights, i == 0, &weight))
            return refuse(r, weights.begin, "as many lists of weights are to be as of experts");
        const uint32_t token = token_by_key(r, token_key(in->sequence, number),
                                            numbers.begin ? (int64_t)number : -1, in->sequence);
        if (token == UINT32_MAX || !add_experts(r, list, weight, token, in->layer, NULL))
            return false;
    }
    if (r->status == TT_OK && numbers.begin && next_item(r, &numbers, false))
        return refuse(r, numbers.begin, "more numbers than lists of experts");
    return r->status == TT_OK;
}

/* Of a sequence: for each token a list of its layers. */
static bool add_sequence(reader *r, uint32_t sequence)
{
    value tokens = r->values[TT_IMPORT_ROUTED], layers;
    if (!open_list(r, &tokens)) return false;
    for (uint32_t i = 0; next_list(r, &tokens, i == 0, &layers); i++)
        if (!end_batch(r) || !begin_token(r, i, sequence) || !add_layers(r, layers, (value){0}, 0))
            return false;
    return r->status == TT_OK;
}

/* A token with all its layers. */
static bool add_token(reader *r, const row *in)
{
    if (!has(r, TT_IMPORT_BATCH) || !r->any || in->batch != r->last.batch)
        if (!end_batch(r)) return false;
    return begin_token(r, in->number, in->sequence) &&
           add_layers(r, r->values[TT_IMPORT_LAYERS], r->values[TT_IMPORT_WEIGHTS],
                      r->n_tokens - 1);
}

static bool add_row(reader *r, const row *in)
{
    const bool ranked = has(r, TT_IMPORT_RANK);
    if (is_nested(&r->values[TT_IMPORT_EXPERTS])) return add_tokens(r, in);
    const uint32_t token = place_token(r, in);
    if (token == UINT32_MAX) return false;
    value list = r->values[TT_IMPORT_EXPERTS];
    if (open_list(r, &list) && list.begin == list.end)
        return refuse(r, list.begin, "which experts? The list is empty");
    return add_experts(r, r->values[TT_IMPORT_EXPERTS], r->values[TT_IMPORT_WEIGHTS], token,
                       in->layer, ranked ? &in->rank : NULL);
}

/* All rows say the same things: else a token without a number would belong to the one before. */
static bool is_of_shape(reader *r)
{
    static const struct {
        tt_import_field field;
        const char *name;
    } told[] = {{TT_IMPORT_TOKEN, "token"},
                {TT_IMPORT_BATCH, "batch"},
                {TT_IMPORT_SEQUENCE, "sequence or request"},
                {TT_IMPORT_RANK, "rank"},
                {TT_IMPORT_LAYERS, "layers"},
                {TT_IMPORT_EXPERTS, "experts"}};
    uint32_t shape = 1;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        shape |= (uint32_t)has(r, told[i].field) << told[i].field;
    if (is_nested(&r->values[TT_IMPORT_EXPERTS])) shape |= UINT32_C(1) << 31;
    if (!r->shape) r->shape = shape;
    if ((shape ^ r->shape) >> 31)
        return refuse(r, r->line,
                      "lists of the experts of several tokens in some lines, of one in others");
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if ((shape ^ r->shape) >> told[i].field & 1) {
            char text[120];
            (void)snprintf(text, sizeof text, "this line %s a %s, and those before %s",
                           has(r, told[i].field) ? "has" : "is without", told[i].name,
                           has(r, told[i].field) ? "are without" : "have one");
            return refuse(r, r->line, text);
        }
    return true;
}

static bool is_list_of_one(const value *experts)
{
    for (const char *at = experts->begin; at < experts->end; at++)
        if (*at < '0' || *at > '9') return false;
    return true;
}

/* Adds what r->values say. */
static bool add_record(reader *r)
{
    row in = {.number = -1, .sequence = TT_NONE};
    uint64_t number;
    const value *token = &r->values[TT_IMPORT_TOKEN], *experts = &r->values[TT_IMPORT_EXPERTS];
    const bool whole = has(r, TT_IMPORT_LAYERS) || has(r, TT_IMPORT_ROUTED);
    if (!is_of_shape(r)) return false;
    if (token->begin && !is_nested(experts)) {
        if (!take_value(r, TT_IMPORT_TOKEN, INT32_MAX, "a token", &number)) return false;
        in.number = (int64_t)number;
    }
    if (!whole && !take_value(r, TT_IMPORT_LAYER, TT_IMPORT_LAYERS_MAX, "a layer", &in.layer))
        return false;
    if (has(r, TT_IMPORT_BATCH) && !take_value(r, TT_IMPORT_BATCH, INT32_MAX, "a batch", &in.batch))
        return false;
    if (has(r, TT_IMPORT_SEQUENCE) && !take_sequence(r, &in.sequence)) return false;
    if (has(r, TT_IMPORT_RANK)) {
        if (!take_value(r, TT_IMPORT_RANK, TT_IMPORT_PICKED_MAX, "a rank", &number)) return false;
        in.rank = (uint32_t)number;
    }
    in.listed = !whole && !is_list_of_one(experts);
    const bool ok = has(r, TT_IMPORT_ROUTED)   ? add_sequence(r, in.sequence)
                    : has(r, TT_IMPORT_LAYERS) ? add_token(r, &in)
                                               : add_row(r, &in);
    r->last = in;
    r->any = true;
    return ok;
}

/* --- names --- */

/* A name of the file in a message, without what a terminal would obey. */
static void refuse_name(reader *r, const char *name, size_t n, tt_import_field f)
{
    char text[256], shown[41];
    const size_t most = n < sizeof shown - 1 ? n : sizeof shown - 1;
    for (size_t i = 0; i < most; i++)
        shown[i] = name[i] >= ' ' && name[i] < 127 ? name[i] : '?';
    shown[most] = '\0';
    if (f == TT_IMPORT_COUNTED)
        (void)snprintf(text, sizeof text,
                       "\"%s\" counts choices: which token picked which expert is not told; if it "
                       "says something else, --ignore %s skips it",
                       shown, shown);
    else if (f == TT_IMPORT_VOCABULARY)
        (void)snprintf(text, sizeof text,
                       "\"%s\": the token's number in its sequence (then call it \"token\"), or in "
                       "the vocabulary (then --ignore %s)?",
                       shown, shown);
    else
        (void)snprintf(text, sizeof text,
                       "\"%s\" is not understood, and may tell rows apart: --ignore %s skips it",
                       shown, shown);
    (void)refuse(r, name, text);
}

/* The field of that name; TT_IMPORT_FIELDS after an error. */
static tt_import_field named_field(reader *r, const char *name, size_t n)
{
    for (unsigned i = 0; r->ignored && i < r->ignored->n; i++)
        if (tt_import_is_named(r->ignored->names[i], name, n)) {
            r->ignored_seen |= UINT32_C(1) << i;
            return TT_IMPORT_IDLE;
        }
    const tt_import_field f = tt_import_field_named(name, n);
    if (f != TT_IMPORT_UNKNOWN && f != TT_IMPORT_COUNTED) return f;
    refuse_name(r, name, n, f);
    return TT_IMPORT_FIELDS;
}

/* Sets a field's value, once. */
static bool set_value(reader *r, tt_import_field f, const char *name, value v)
{
    if (f == TT_IMPORT_FIELDS) return false;
    if (f >= TT_IMPORT_LAYER && has(r, f)) return refuse(r, name, "a second column of this kind");
    r->values[f] = v;
    return true;
}

static bool is_complete(reader *r)
{
    const value *v = &r->values[TT_IMPORT_VOCABULARY];
    if (v->begin && !has(r, TT_IMPORT_TOKEN)) {
        refuse_name(r, v->begin, (size_t)(v->end - v->begin), TT_IMPORT_VOCABULARY);
        return false;
    }
    const tt_import_field whole = has(r, TT_IMPORT_ROUTED) ? TT_IMPORT_ROUTED : TT_IMPORT_LAYERS;
    if (has(r, whole)) {
        for (tt_import_field f = TT_IMPORT_LAYER; f < TT_IMPORT_FIELDS; f++) {
            const bool goes =
                f == whole || f == TT_IMPORT_SEQUENCE ||
                (whole == TT_IMPORT_LAYERS &&
                 (f == TT_IMPORT_TOKEN || f == TT_IMPORT_BATCH || f == TT_IMPORT_WEIGHTS));
            if (!goes && has(r, f))
                return refuse(r, r->values[f].begin,
                              "does not go with the experts of all layers in one list");
        }
        return true;
    }
    if (has(r, TT_IMPORT_LAYER) && has(r, TT_IMPORT_EXPERTS)) return true;
    return refuse(r, r->line,
                  !has(r, TT_IMPORT_LAYER)
                      ? "no column says which layer a row is of (layer, layer_id, layer_idx)"
                      : "no column says which experts were picked (expert, expert_ids, topk_ids, "
                        "topk_experts, selected_experts)");
}

/* --- CSV --- */

static bool take_quoted(reader *r, value *out)
{
    out->begin = ++r->at;
    while (*r->at && (*r->at != '"' || r->at[1] == '"'))
        r->at += *r->at == '"' ? 2 : 1;
    out->end = r->at;
    if (!*r->at) return refuse(r, r->at, "the text has no end");
    r->at++;
    return true;
}

/* The next cell; the last one if `is_last`, which may be a list separated like the columns if those
 * are separated by blanks. */
static bool take_cell(reader *r, bool is_last, value *out)
{
    const char ends[] = {r->separator, r->separator == ' ' ? '\t' : '\0', '\0'};
    while (*r->at == ' ' || (*r->at == '\t' && r->separator != '\t'))
        r->at++;
    if (*r->at == '"') {
        if (!take_quoted(r, out)) return false;
        while (*r->at == ' ' && r->separator != ' ')
            r->at++;
    } else {
        out->begin = r->at;
        const bool all = is_last && r->separator == ' ';
        if (*r->at == '[') r->at += strcspn(r->at, "]");
        r->at += all ? strlen(r->at) : strcspn(r->at, ends);
        out->end = r->at;
    }
    trim(out);
    return true;
}

/* Over what separates two cells. */
static bool skip_separator(reader *r)
{
    if (r->separator == ' ') {
        const char *begin = r->at;
        skip_blanks(r);
        return r->at > begin && *r->at;
    }
    return *r->at == r->separator && r->at++;
}

static bool read_header(reader *r)
{
    r->separator = strchr(r->at, ',')    ? ','
                   : strchr(r->at, '\t') ? '\t'
                   : strchr(r->at, ';')  ? ';'
                                         : ' ';
    do {
        value name;
        if (!take_cell(r, false, &name)) return false;
        const size_t n = (size_t)(name.end - name.begin);
        if (r->n_columns == COLUMNS_MAX) return refuse(r, name.begin, "more than 64 columns");
        const tt_import_field f = named_field(r, name.begin, n);
        if (!set_value(r, f, name.begin, name)) return false;
        if (f == TT_IMPORT_LAYERS || f == TT_IMPORT_ROUTED)
            return refuse(r, name.begin, "only JSON lines have lists by layer");
        r->columns[r->n_columns++] = f;
    } while (skip_separator(r));
    if (*r->at) return refuse(r, r->at, "here the column's name is to end");
    return is_complete(r);
}

static bool read_row(reader *r)
{
    memset(r->values, 0, sizeof r->values);
    for (size_t i = 0; i < r->n_columns; i++) {
        value v;
        if (i && !skip_separator(r)) return refuse(r, r->at, "a field is missing");
        if (!take_cell(r, i + 1 == r->n_columns, &v)) return false;
        r->values[r->columns[i]] = v;
    }
    if (*r->at)
        return refuse(r, r->at,
                      "more fields than columns (several experts in one are separated by "
                      "blanks, or quoted)");
    return add_record(r);
}

/* --- JSON lines --- */

static bool expect(reader *r, char c, const char *what)
{
    skip_blanks(r);
    if (*r->at != c) return refuse(r, r->at, what);
    r->at++;
    skip_blanks(r);
    return true;
}

static bool skip_text(reader *r)
{
    for (r->at++; *r->at && *r->at != '"'; r->at++)
        if (*r->at == '\\' && r->at[1]) r->at++;
    if (*r->at != '"') return refuse(r, r->at, "the text has no end");
    r->at++;
    return true;
}

/* Skips a value; only its brackets are checked. */
static bool skip_value(reader *r)
{
    unsigned depth = 0;
    do {
        skip_blanks(r);
        const char c = *r->at;
        if (c == '"') {
            if (!skip_text(r)) return false;
        } else if (c == '[' || c == '{') {
            if (++depth > DEPTH_MAX) return refuse(r, r->at, "more than 64 brackets in each other");
            r->at++;
        } else if (depth && (c == ']' || c == '}')) {
            depth--;
            r->at++;
        } else if (depth && (c == ',' || c == ':')) {
            r->at++;
        } else {
            size_t n = strcspn(r->at, " \t,:[]{}\"");
            if (n == 0)
                return refuse(r, r->at,
                              *r->at
                                  ? "a value is missing"
                                  : "the object has no end: one object a line is to be (jq -c .)");
            r->at += n;
        }
    } while (depth);
    return true;
}

/* A record that describes the others. */
static bool is_description(const value *kind)
{
    static const char *const names[] = {"meta", "metadata", "header"};
    for (size_t i = 0; kind->begin && i < sizeof names / sizeof *names; i++)
        if (tt_import_is_named(names[i], kind->begin, (size_t)(kind->end - kind->begin)))
            return true;
    return false;
}

/* The object's keys and values; `by_name`: with what they mean, otherwise only its kind. */
static bool take_object(reader *r, bool by_name)
{
    if (!expect(r, '{', "a line is a JSON object")) return false;
    for (bool first = true; *r->at != '}'; first = false) {
        if (!first && !expect(r, ',', "here a comma or } is to be")) return false;
        const char *key = r->at;
        if (*key != '"')
            return refuse(r, key,
                          *key ? "here a key is to be"
                               : "the object has no end: one object a line is to be (jq -c .)");
        if (!skip_text(r)) return false;
        const size_t n = (size_t)(r->at - key) - 2;
        if (!expect(r, ':', "here a colon is to be")) return false;
        value v = {.begin = r->at};
        if (!skip_value(r)) return false;
        v.end = r->at;
        const tt_import_field f =
            by_name ? named_field(r, key + 1, n) : tt_import_field_named(key + 1, n);
        /* As if it were not there; its name is understood all the same. */
        if (by_name && f != TT_IMPORT_FIELDS && f != TT_IMPORT_VOCABULARY && v.end - v.begin == 4 &&
            memcmp(v.begin, "null", 4) == 0) {
            skip_blanks(r);
            continue;
        }
        /* A vocabulary's number alone is an error at its name. */
        if (f == TT_IMPORT_VOCABULARY) v = (value){key + 1, key + 1 + n};
        if (f != TT_IMPORT_VOCABULARY && *v.begin == '"') {
            v.begin++;
            v.end--;
        }
        if (by_name ? !set_value(r, f, key, v) : f == TT_IMPORT_KIND && !set_value(r, f, key, v))
            return false;
        skip_blanks(r);
    }
    r->at++;
    return !*r->at || refuse(r, r->at, "text behind the object");
}

static bool read_object(reader *r)
{
    const char *begin = r->at;
    memset(r->values, 0, sizeof r->values);
    if (!take_object(r, false)) return false;
    if (is_description(&r->values[TT_IMPORT_KIND])) return true;
    memset(r->values, 0, sizeof r->values);
    r->at = begin;
    return take_object(r, true) && is_complete(r) && add_record(r);
}

/* --- lists --- */

/* "1,5 2,7": the layers of a token separated by blanks, from 0 on. "-": none for a layer. */
static bool read_list(reader *r)
{
    if (!end_batch(r) || !begin_token(r, -1, TT_NONE)) return false;
    for (uint64_t layer = 0; *r->at; layer++) {
        const size_t n = strcspn(r->at, " \t");
        const value list = {r->at, r->at + n};
        if (layer == TT_IMPORT_LAYERS_MAX) return refuse(r, r->at, "more than 4096 layers");
        if (strncmp(r->at, "-", n) != 0 && !add_experts(r, list, (value){0}, 0, layer, NULL))
            return false;
        r->at = list.end;
        skip_blanks(r);
    }
    return true;
}

/* Whether the first line tells layers from experts: a single number, or layers of several
 * experts. */
static bool is_list(reader *r)
{
    const bool blank = strpbrk(r->at, " \t"), comma = strchr(r->at, ',');
    if ((blank && (comma || strchr(r->at, '-'))) || (!blank && !comma)) return true;
    return refuse(r, r->at,
                  "numbers without names: a first line is missing that names the columns, as "
                  "token,layer,experts; lists have blanks between layers and commas between "
                  "experts, as 1,5 2,7");
}

/* --- everything --- */

static bool begin(reader *r, bool (**read)(reader *))
{
    *read = read_list;
    if (!next_line(r)) return false;
    if (*r->at == '[')
        return refuse(r, r->at, "a JSON array: one object a line is to be (jq -c '.[]')");
    if (*r->at == '{') {
        *read = read_object;
        return true;
    }
    if (!isalpha((unsigned char)*r->at) && *r->at != '"' && *r->at != '_') return is_list(r);
    *read = read_row;
    return read_header(r) && next_line(r);
}

static void check_ignored(reader *r)
{
    for (unsigned i = 0; r->ignored && r->status == TT_OK && i < r->ignored->n; i++)
        if (!(r->ignored_seen >> i & 1))
            r->status = tt_error_set(r->err, TT_E_USAGE, TT_NO_OFFSET,
                                     "--ignore %s: there is no such column", r->ignored->names[i]);
}

tt_status tt_import_read(FILE *in, const tt_import_ignored *ignored, tt_import_visit *visit,
                         void *context, tt_error *err)
{
    reader r = {.in = in,
                .ignored = ignored,
                .err = err,
                .visit = visit,
                .context = context,
                .line = malloc(TT_IMPORT_LINE_MAX + 1)};
    bool (*read)(reader *);
    if (!r.line) return tt_error_memory(err, "a line");
    for (bool ok = begin(&r, &read); ok;)
        ok = read(&r) && next_line(&r);
    (void)end_batch(&r);
    check_ignored(&r);
    free(r.line);
    free(r.picks);
    free(r.numbers);
    free(r.sequences);
    free(r.names);
    free(r.name_ends);
    tt_idmap_free(&r.sequence_of);
    tt_idmap_free(&r.tokens);
    return r.status;
}
