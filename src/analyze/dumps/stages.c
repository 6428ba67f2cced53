#include "analyze/dumps/stages.h"

#include "analyze/dumps/stages_text.h"
#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number of digits there, and their value; 0 if there are none, or too many. */
static size_t digits(const char *text, int32_t *number)
{
    size_t n = 0;
    int32_t v = 0;
    while (is_digit(text[n])) {
        if (n == TT_STAGE_DIGITS_MAX) return 0;
        v = v * 10 + (text[n++] - '0');
    }
    if (n) *number = v;
    return n;
}

bool tt_stage_match(const char *pattern, const char *text, int32_t *number)
{
    /* The position of the last `*`, and where the text after it was last tried. Earlier ones need
     * not be tried again, because the first match of what follows is enough. */
    const char *star = NULL, *from = NULL;
    for (;;) {
        size_t n;
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (!*pattern && !*text) {
            return true;
        } else if (*pattern == '%' && (n = digits(text, number)) > 0) {
            pattern++;
            text += n;
        } else if (*pattern && *pattern != '%' && *text && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else {
            if (!star || !*from) return false;
            text = ++from;
            pattern = star;
        }
    }
}

/* "node_21", "leaf_3": ggml's names of unnamed tensors. */
static bool is_numbered(const char *name)
{
    int32_t number;
    return !*name || tt_stage_match("node_%*", name, &number) ||
           tt_stage_match("leaf_%*", name, &number);
}

/* The name without its bytes [from, to). */
static void cut(const char *name, size_t from, size_t to, tt_stage *out)
{
    size_t room = sizeof out->name - 1, n = from < room ? from : room;
    size_t rest = strlen(name + to);
    memcpy(out->name, name, n);
    if (rest > room - n) rest = room - n;
    memcpy(out->name + n, name + to, rest);
    out->name[n + rest] = '\0';
}

/* The layer in a prefix: "t0/blk3/", "blk.3."; returns its length. */
static size_t front(const char *name, int32_t *layer)
{
    int32_t number;
    size_t at = 0, n;
    if (name[0] == 't' && (n = digits(name + 1, &number)) > 0 && name[1 + n] == '/') at = n + 2;
    if (strncmp(name + at, "blk", 3) != 0) return at;
    size_t dot = name[at + 3] == '.';
    n = digits(name + at + 3 + dot, &number);
    const char *end = name + at + 3 + dot + n;
    if (!n || (*end != '/' && *end != '.')) return at;
    *layer = number;
    return (size_t)(end + 1 - name);
}

bool tt_stage_strip(const char *name, tt_stage *out)
{
    out->layer = TT_STAGE_LAYER_UNKNOWN;
    size_t begin = front(name, &out->layer);
    cut(name, 0, begin, out);
    if (out->layer != TT_STAGE_LAYER_UNKNOWN) return !is_numbered(name + begin);
    for (size_t i = begin; name[i]; i++) {
        size_t mark = name[i] == '-' ? 1 : name[i] == '_' && name[i + 1] == 'l' ? 2 : 0;
        size_t n = mark && i > begin ? digits(name + i + mark, &out->layer) : 0;
        char after = n ? name[i + mark + n] : 'x';
        if (after == '\0' || after == ' ' || after == '.' || after == '/') {
            cut(name + begin, i - begin, i - begin + mark + n, out);
            break;
        }
        out->layer = TT_STAGE_LAYER_UNKNOWN;
    }
    return !is_numbered(name + begin);
}

#define PATTERN_BYTES 128u

typedef struct rule {
    char name[PATTERN_BYTES], op[TT_STAGE_TEXT], stage[TT_STAGE_TEXT];
    bool has_layer;
    int32_t layer;
} rule;

struct tt_stages {
    rule *rules;
    size_t n, capacity;
};

/* The position of a rule, for errors. */
typedef struct place {
    const char *what;
    unsigned long line;
} place;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line; its length, 0 at the end or at a comment. */
static size_t word(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        ++*at;
    const char *from = *at;
    if (from == end || *from == '#') return 0;
    while (*at < end && !is_blank(**at))
        ++*at;
    return (size_t)(*at - from);
}

static tt_status take_word(const char *from, size_t n, const char *title, char *out, size_t room,
                           const place *p, tt_error *err)
{
    if (n >= room)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%.200s:%lu: %s has %zu bytes; at most %zu are possible", p->what,
                            p->line, title, n, room - 1);
    memcpy(out, from, n);
    out[n] = '\0';
    return TT_OK;
}

static tt_status take_layer(const char *text, rule *r, const place *p, tt_error *err)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < TT_STAGE_LAYER_AFTER_ALL || v > 999999)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%.200s:%lu: \"%.40s\" is no layer: a number from 0 on, -1 (outside "
                            "the layers) or -2 (after all of them)",
                            p->what, p->line, text);
    r->has_layer = true;
    r->layer = (int32_t)v;
    return TT_OK;
}

/* Parses a line of a map; *is_rule: it is not empty. */
static tt_status parse_line(const char *at, const char *end, rule *r, bool *is_rule, const place *p,
                            tt_error *err)
{
    static const char *const titles[] = {"the name", "the op", "the stage", "the layer"};
    char layer[16];
    char *const texts[] = {r->name, r->op, r->stage, layer};
    const size_t rooms[] = {sizeof r->name, sizeof r->op, sizeof r->stage, sizeof layer};
    size_t words = 0, n;
    tt_status status = TT_OK;
    memset(r, 0, sizeof *r);
    while ((n = word(&at, end)) > 0) {
        if (words == 4)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                                "%.200s:%lu: more than four words; a blank in a name is written "
                                "as \"?\"",
                                p->what, p->line);
        status = take_word(at - n, n, titles[words], texts[words], rooms[words], p, err);
        if (status != TT_OK) return status;
        words++;
    }
    *is_rule = words > 0;
    if (words > 0 && words < 3)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%.200s:%lu: a rule is NAME OP STAGE [LAYER]", p->what, p->line);
    return words == 4 ? take_layer(layer, r, p, err) : TT_OK;
}

static tt_status add(tt_stages *s, const rule *r, const place *p, tt_error *err)
{
    if (s->n == TT_STAGE_RULES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.200s:%lu: more than %u rules",
                            p->what, p->line, TT_STAGE_RULES_MAX);
    if (!tt_array_one_more(s->rules, s->n, s->capacity)) return tt_error_memory(err, "a map");
    s->rules[s->n++] = *r;
    return TT_OK;
}

tt_status tt_stages_parse(const char *text, size_t n, const char *what, tt_stages **out,
                          tt_error *err)
{
    tt_stages *s = calloc(1, sizeof *s);
    place p = {what, 0};
    tt_status status = s ? TT_OK : tt_error_memory(err, "a map");
    *out = NULL;
    for (size_t at = 0; status == TT_OK && at < n;) {
        const char *newline = memchr(text + at, '\n', n - at);
        size_t end = newline ? (size_t)(newline - text) : n;
        rule r;
        bool is_rule = false;
        p.line++;
        status = parse_line(text + at, text + end, &r, &is_rule, &p, err);
        if (status == TT_OK && is_rule) status = add(s, &r, &p, err);
        at = end + 1;
    }
    if (status == TT_OK && s->n == 0)
        status =
            tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                         "%.200s: there is no rule in it; a rule is NAME OP STAGE [LAYER]", what);
    if (status == TT_OK)
        *out = s;
    else
        tt_stages_free(s);
    return status;
}

tt_status tt_stages_read(const char *path, tt_stages **out, tt_error *err)
{
    *out = NULL;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                            "cannot read the map of stages %.200s: %s", path, strerror(errno));
    char *text = malloc(TT_STAGES_BYTES_MAX + 1);
    size_t n = text ? fread(text, 1, TT_STAGES_BYTES_MAX + 1, f) : 0;
    tt_status status = TT_OK;
    if (!text)
        status = tt_error_memory(err, "a map");
    else if (ferror(f))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                              "cannot read the map of stages %.200s: %s", path, strerror(errno));
    else if (n > TT_STAGES_BYTES_MAX)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                              "%.200s has more than %zu bytes: no map of stages", path,
                              TT_STAGES_BYTES_MAX);
    else
        status = tt_stages_parse(text, n, path, out, err);
    free(text);
    (void)fclose(f);
    return status;
}

tt_stages *tt_stages_builtin(void)
{
    tt_stages *s;
    tt_status status = tt_stages_parse((const char *)tt_stages_text, tt_stages_text_size,
                                       "stages/llama.cpp.map", &s, NULL);
    return status == TT_OK ? s : NULL;
}

void tt_stages_free(tt_stages *s)
{
    if (s) free(s->rules);
    free(s);
}

static void op_in_small(const char *op, tt_stage *out)
{
    size_t n = 0;
    for (; op[n] && n + 1 < sizeof out->name; n++)
        out->name[n] = (char)tolower((unsigned char)op[n]);
    out->name[n] = '\0';
}

tt_stage tt_stages_of(const tt_stages *s, const char *name, const char *op)
{
    tt_stage own;
    int32_t number;
    bool named = tt_stage_strip(name, &own);
    /* BitNet-style names have a prefix with their position. */
    const char *slash = strrchr(name, '/');
    if (!named && *op) op_in_small(op, &own);
    for (size_t i = 0; i < s->n; i++) {
        const rule *r = &s->rules[i];
        tt_stage found = own;
        number = own.layer;
        if (*op && !tt_stage_match(r->op, op, &number)) continue;
        number = own.layer;
        if (!tt_stage_match(r->name, name, &number) &&
            !(slash && tt_stage_match(r->name, slash + 1, &number)))
            continue;
        /* Without an op, a rule for any name would match everything. */
        if (!*op && strcmp(r->name, "*") == 0) continue;
        found.layer = r->has_layer ? r->layer : number;
        if (strcmp(r->stage, "=") != 0) memcpy(found.name, r->stage, sizeof found.name);
        return found;
    }
    return own;
}

uint32_t tt_stages_rank(const tt_stages *s, const char *stage)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->rules[i].stage, stage) == 0) return (uint32_t)i;
    }
    return UINT32_MAX;
}
