#include "import/read.h"

#include "base/array.h"
#include "base/idmap.h"
#include "base/order.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COLUMNS_MAX 64u
#define DEPTH_MAX 64u

enum field { FIELD_OTHER, FIELD_LAYER, FIELD_EXPERT, FIELD_TOKEN, FIELD_BATCH, FIELD_WEIGHT };

typedef struct reader {
    FILE *in;
    char *line;
    size_t length;
    uint64_t number;  /* of the line, from 1 */
    const char *at;   /* read position */
    tt_status status; /* not TT_OK: *err has the reason */
    tt_error *err;
    /* CSV: */
    enum field columns[COLUMNS_MAX];
    size_t n_columns;
    bool has[FIELD_WEIGHT + 1];
    bool several; /* some row had several experts */
    int64_t last_layer, last_token;
    /* The current batch: */
    int64_t batch; /* its number; -1: none */
    tt_import_pick *picks;
    size_t n, capacity;
    int64_t *numbers;
    tt_idmap tokens; /* by their numbers */
    uint32_t n_tokens, token_capacity;
    tt_import_visit *visit;
    void *context;
} reader;

/* Keeps the first error, at a position of the line. */
static bool refuse(reader *r, const char *at, const char *what)
{
    if (r->status != TT_OK) return false;
    r->status = tt_error_set(r->err, TT_E_FORMAT, TT_NO_OFFSET, "line %" PRIu64 ", column %zu: %s",
                             r->number, (size_t)(at - r->line) + 1, what);
    return false;
}

/* The next nonempty line, without its end. False at the end, or after an error. */
static bool next_line(reader *r)
{
    int c = 0;
    do {
        r->length = 0;
        r->number++;
        r->at = r->line;
        while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
            if (c == '\0') return refuse(r, r->line + r->length, "a NUL is no text");
            if (r->length == TT_IMPORT_LINE_MAX)
                return refuse(r, r->line + r->length, "the line is longer than 1 MiB");
            r->line[r->length++] = (char)c;
        }
        while (r->length && isspace((unsigned char)r->line[r->length - 1]))
            r->length--;
        r->line[r->length] = '\0';
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

static bool take_layer(reader *r, uint64_t *layer)
{
    return take_whole(r, TT_IMPORT_LAYERS_MAX, "a layer", layer);
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

/* Ranks were positions in the text; they become positions among the token's experts of the
 * layer. */
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
    const tt_import_batch b = {r->picks, r->n, r->numbers, r->n_tokens};
    if (r->status == TT_OK && r->n && rank_picks(r)) r->status = r->visit(r->context, &b, r->err);
    r->n = r->n_tokens = 0;
    tt_idmap_clear(&r->tokens);
    return r->status == TT_OK;
}

static bool begin_token(reader *r, int64_t number)
{
    if (!tt_array_one_more(r->numbers, r->n_tokens, r->token_capacity)) {
        r->status = tt_error_memory(r->err, "a batch");
        return false;
    }
    uint32_t was;
    if (number >= 0 && !tt_idmap_add(&r->tokens, (uint64_t)number, r->n_tokens, &was)) {
        r->status = tt_error_memory(r->err, "a batch");
        return false;
    }
    r->numbers[r->n_tokens++] = number;
    return true;
}

/* For the token that is `token` in the batch. */
static bool add_pick(reader *r, const char *at, uint32_t token, uint64_t layer, uint64_t expert,
                     float weight)
{
    const tt_import_pick one = {(uint32_t)layer, token, (uint32_t)r->n, (uint32_t)expert, weight};
    for (size_t i = r->n; i-- > 0 && is_same_list(&r->picks[i], &one);) {
        if (r->picks[i].expert == expert)
            return refuse(r, at, "the token has this expert in this layer already");
        if (r->n - i == TT_IMPORT_PICKED_MAX)
            return refuse(r, at, "more than 1024 experts of a token in a layer");
    }
    if (r->n == TT_IMPORT_PICKS_MAX) return refuse(r, at, "more than 4194304 picks in a batch");
    tt_import_pick *pick = tt_array_add(r->picks, r->n, r->capacity);
    if (!pick) {
        r->status = tt_error_memory(r->err, "a batch");
        return false;
    }
    *pick = one;
    return true;
}

/* --- CSV --- */

static enum field field_named(const char *name, size_t n)
{
    static const struct {
        const char *name;
        enum field field;
    } names[] = {
        {"layer", FIELD_LAYER},    {"layer_id", FIELD_LAYER},   {"expert", FIELD_EXPERT},
        {"experts", FIELD_EXPERT}, {"expert_id", FIELD_EXPERT}, {"expert_ids", FIELD_EXPERT},
        {"token", FIELD_TOKEN},    {"batch", FIELD_BATCH},      {"batch_id", FIELD_BATCH},
        {"weight", FIELD_WEIGHT},  {"score", FIELD_WEIGHT}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == n && strncasecmp(names[i].name, name, n) == 0)
            return names[i].field;
    return FIELD_OTHER;
}

static bool read_header(reader *r)
{
    const char *at = r->at;
    for (bool more = true; more;) {
        const char *begin = at;
        at += strcspn(at, ",");
        more = *at == ',';
        const char *end = at++;
        while (begin < end && (*begin == ' ' || *begin == '"'))
            begin++;
        while (begin < end && (end[-1] == ' ' || end[-1] == '"'))
            end--;
        if (r->n_columns == COLUMNS_MAX) return refuse(r, begin, "more than 64 columns");
        enum field f = field_named(begin, (size_t)(end - begin));
        if (f != FIELD_OTHER && r->has[f]) return refuse(r, begin, "a second column of this kind");
        r->has[f] = true;
        r->columns[r->n_columns++] = f;
    }
    if (!r->has[FIELD_LAYER] || !r->has[FIELD_EXPERT])
        return refuse(r, r->at,
                      "neither JSON lines nor lists of experts, and as a CSV header it is "
                      "without the columns layer and expert");
    return true;
}

typedef struct row {
    uint64_t layer, token, batch;
    const char *experts, *experts_end; /* of the field, in the line */
    float weight;
} row;

/* Skips a field that is not used. */
static bool skip_field(reader *r)
{
    if (*r->at != '"') {
        r->at += strcspn(r->at, ",");
        return true;
    }
    for (r->at++; *r->at && (*r->at != '"' || *++r->at == '"');)
        r->at++;
    return r->at[-1] == '"' || refuse(r, r->at, "the text has no end");
}

static bool take_field(reader *r, enum field f, row *out)
{
    const int64_t most = INT32_MAX;
    char *end;
    skip_blanks(r);
    if (f == FIELD_OTHER) return skip_field(r);
    const bool quoted = *r->at == '"';
    r->at += quoted;
    bool ok = true;
    if (f == FIELD_LAYER) ok = take_layer(r, &out->layer);
    if (f == FIELD_TOKEN) ok = take_whole(r, (uint64_t)most, "a token", &out->token);
    if (f == FIELD_BATCH) ok = take_whole(r, (uint64_t)most, "a batch", &out->batch);
    if (f == FIELD_WEIGHT) {
        out->weight = strtof(r->at, &end);
        if (end == r->at || !isfinite(out->weight)) return refuse(r, r->at, "a weight is a number");
        r->at = end;
    }
    if (f == FIELD_EXPERT) {
        out->experts = r->at;
        out->experts_end = r->at += strcspn(r->at, "\",");
    }
    if (ok && quoted && *r->at++ != '"') return refuse(r, r->at - 1, "the text has no end");
    skip_blanks(r);
    return ok;
}

/* Whether a new token begins: in the column "token" if its number changes, otherwise if the layer
 * decreases. */
static bool is_new_token(const reader *r, const row *in)
{
    if (r->n_tokens == 0) return true;
    if (r->has[FIELD_TOKEN]) return (int64_t)in->token != r->last_token;
    if ((int64_t)in->layer == r->last_layer) return r->several;
    return (int64_t)in->layer < r->last_layer;
}

/* The index of the row's token in the batch: UINT32_MAX if it is invalid. */
static uint32_t place_token(reader *r, const row *in)
{
    const int64_t number = r->has[FIELD_TOKEN] ? (int64_t)in->token : -1;
    const bool other = is_new_token(r, in);
    if (r->has[FIELD_BATCH] ? (int64_t)in->batch != r->batch : other)
        if (!end_batch(r)) return UINT32_MAX;
    if (!r->has[FIELD_BATCH] && other && r->last_layer >= 0 && r->has[FIELD_TOKEN] &&
        (int64_t)in->layer > r->last_layer) {
        (void)refuse(
            r, r->line,
            "another token, but a higher layer: without a column \"batch\" all layers of a "
            "token come before those of the next");
        return UINT32_MAX;
    }
    r->batch = r->has[FIELD_BATCH] ? (int64_t)in->batch : -1;
    const uint32_t end = r->n_tokens;
    if (number < 0 && end > 0 && !other) return end - 1;
    /* In a batch a token may recur, layer by layer. */
    const uint32_t place = number < 0 ? TT_NONE : tt_idmap_get(&r->tokens, (uint64_t)number);
    if (place != TT_NONE) return place;
    return begin_token(r, number) ? end : UINT32_MAX;
}

static bool read_row(reader *r)
{
    row in = {.weight = NAN};
    const char *begin = r->at;
    for (size_t i = 0; i < r->n_columns; i++) {
        if (i && *r->at++ != ',') return refuse(r, r->at - 1, "a field is missing");
        if (!take_field(r, r->columns[i], &in)) return false;
    }
    if (*r->at) return refuse(r, r->at, "more fields than columns, or a field that is no number");
    uint32_t token = place_token(r, &in);
    if (token == UINT32_MAX) return false;
    size_t n = 0;
    for (r->at = in.experts;;) {
        uint64_t expert;
        const char *at = r->at;
        if (!take_expert(r, &expert) || !add_pick(r, at, token, in.layer, expert, in.weight))
            return false;
        n++;
        at = r->at;
        r->at += strspn(r->at, " ;");
        if (r->at >= in.experts_end) break;
        if (r->at == at) return refuse(r, at, "experts are numbers with a blank between them");
    }
    if (n > 1 && !isnan(in.weight))
        return refuse(r, begin, "several experts, and one weight for all");
    r->several |= n > 1;
    r->last_layer = (int64_t)in.layer;
    r->last_token = (int64_t)in.token;
    return true;
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

/* Skips a value that is not used; only its brackets are checked. */
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
            if (n == 0) return refuse(r, r->at, "a value is missing");
            r->at += n;
        }
    } while (depth);
    return true;
}

/* [[1,5],[2,7]]: layers from 0 on. */
static bool read_layers(reader *r)
{
    if (!expect(r, '[', "\"layers\" is a list of lists of experts")) return false;
    for (uint64_t layer = 0; *r->at != ']'; layer++) {
        if (layer && !expect(r, ',', "here a comma or ] is to be")) return false;
        if (layer == TT_IMPORT_LAYERS_MAX) return refuse(r, r->at, "more than 4096 layers");
        if (!expect(r, '[', "a layer is a list of experts")) return false;
        for (bool first = true; *r->at != ']'; first = false) {
            uint64_t expert;
            if (!first && !expect(r, ',', "here a comma or ] is to be")) return false;
            const char *at = r->at;
            if (!take_expert(r, &expert) || !add_pick(r, at, r->n_tokens - 1, layer, expert, NAN))
                return false;
            skip_blanks(r);
        }
        r->at++;
        skip_blanks(r);
    }
    r->at++;
    return true;
}

static bool read_object(reader *r)
{
    bool has_layers = false;
    uint64_t number;
    if (!end_batch(r) || !begin_token(r, -1) || !expect(r, '{', "a line is a JSON object"))
        return false;
    for (bool first = true; *r->at != '}'; first = false) {
        if (!first && !expect(r, ',', "here a comma or } is to be")) return false;
        const char *key = r->at;
        if (*key != '"') return refuse(r, key, "here a key is to be");
        if (!skip_text(r)) return false;
        const size_t n = (size_t)(r->at - key);
        if (!expect(r, ':', "here a colon is to be")) return false;
        bool ok;
        if (n == 7 && strncmp(key, "\"token\"", n) == 0) {
            ok = take_whole(r, INT32_MAX, "a token", &number);
            if (ok) r->numbers[0] = (int64_t)number;
        } else if (n == 8 && strncmp(key, "\"layers\"", n) == 0) {
            ok = !has_layers ? read_layers(r) : refuse(r, key, "\"layers\" twice");
            has_layers = true;
        } else {
            ok = skip_value(r);
        }
        if (!ok) return false;
        skip_blanks(r);
    }
    r->at++;
    if (*r->at) return refuse(r, r->at, "text behind the object");
    return has_layers || refuse(r, r->line, "the object has no \"layers\"");
}

/* --- lists --- */

/* "1,5 2,7": the layers of a token separated by blanks, from 0 on. "-": none for a layer. */
static bool read_list(reader *r)
{
    if (!end_batch(r) || !begin_token(r, -1)) return false;
    for (uint64_t layer = 0; *r->at; layer++) {
        if (layer == TT_IMPORT_LAYERS_MAX) return refuse(r, r->at, "more than 4096 layers");
        bool more = *r->at != '-';
        r->at += !more;
        while (more) {
            uint64_t expert;
            const char *at = r->at;
            if (!take_expert(r, &expert) || !add_pick(r, at, r->n_tokens - 1, layer, expert, NAN))
                return false;
            more = *r->at == ',';
            r->at += more;
        }
        if (*r->at && *r->at != ' ' && *r->at != '\t')
            return refuse(r, r->at, "here a comma or a blank is to be");
        skip_blanks(r);
    }
    return true;
}

/* --- everything --- */

tt_status tt_import_read(FILE *in, tt_import_visit *visit, void *context, tt_error *err)
{
    reader r = {.in = in,
                .err = err,
                .visit = visit,
                .context = context,
                .batch = -1,
                .last_layer = -1,
                .line = malloc(TT_IMPORT_LINE_MAX + 1)};
    bool (*read)(reader *) = read_list;
    if (!r.line) return tt_error_memory(err, "a line");
    bool ok = next_line(&r);
    if (ok && *r.at == '{') read = read_object;
    if (ok && (isalpha((unsigned char)*r.at) || *r.at == '"' || *r.at == '_')) {
        read = read_row;
        ok = read_header(&r) && next_line(&r);
    }
    while (ok)
        ok = read(&r) && next_line(&r);
    (void)end_batch(&r);
    free(r.line);
    free(r.picks);
    free(r.numbers);
    tt_idmap_free(&r.tokens);
    return r.status;
}
