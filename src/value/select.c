#include "value/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char *const LEVELS[] = {"off", "stats", "hash", "full"};

const char *tt_value_level_name(tt_value_level level)
{
    return LEVELS[level];
}

static tt_status wrong(tt_error *err, const char *term, size_t n, const char *why)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "\"%.*s\": %s", (int)n, term, why);
}

static bool parse_number(const char *text, const char *end, uint64_t *v)
{
    *v = 0;
    if (text == end || end - text > 15) return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') return false;
        *v = *v * 10 + (uint64_t)(*text - '0');
    }
    return true;
}

/* "A..B", "A..", "..B" or "N". */
static bool parse_range(const char *text, const char *end, tt_select_range *r)
{
    const char *dots = memmem(text, (size_t)(end - text), "..", 2);
    if (!dots) {
        if (!parse_number(text, end, &r->first)) return false;
        r->last = r->first;
        return true;
    }
    r->first = 0;
    r->last = UINT64_MAX;
    if (end - text == 2) return false;
    return (dots == text || parse_number(text, dots, &r->first)) &&
           (dots + 2 == end || parse_number(dots + 2, end, &r->last)) && r->first <= r->last;
}

static tt_status add_range(tt_select_range *list, uint32_t *n, const char *term, const char *value,
                           const char *end, tt_error *err)
{
    if (*n == TT_SELECT_TERMS_MAX) return wrong(err, term, (size_t)(end - term), "too many terms");
    if (!parse_range(value, end, &list[*n]))
        return wrong(err, term, (size_t)(end - term), "not a number or a range like 3..9");
    ++*n;
    return TT_OK;
}

static tt_status add_text(char (*list)[TT_SELECT_TEXT_MAX], uint32_t *n, const char *term,
                          const char *value, const char *end, tt_error *err)
{
    size_t size = (size_t)(end - value);
    if (*n == TT_SELECT_TERMS_MAX) return wrong(err, term, (size_t)(end - term), "too many terms");
    if (size == 0) return wrong(err, term, (size_t)(end - term), "an empty term selects nothing");
    if (size >= TT_SELECT_TEXT_MAX)
        return wrong(err, term, (size_t)(end - term), "longer than any name of a node");
    memcpy(list[*n], value, size);
    list[(*n)++][size] = '\0';
    return TT_OK;
}

static tt_status add_term(tt_select *s, const char *term, const char *end, tt_error *err)
{
    const char *equals = memchr(term, '=', (size_t)(end - term));
    size_t key = equals ? (size_t)(equals - term) : 0;
    const char *value = equals ? equals + 1 : term;
    if (equals && key == 5 && memcmp(term, "layer", key) == 0)
        return add_range(s->layers, &s->n_layers, term, value, end, err);
    if (equals && key == 5 && (memcmp(term, "batch", key) == 0 || memcmp(term, "token", key) == 0))
        return add_range(s->tokens, &s->n_tokens, term, value, end, err);
    if (equals && key == 2 && memcmp(term, "op", key) == 0)
        return add_text(s->ops, &s->n_ops, term, value, end, err);
    if (!equals || (key == 4 && memcmp(term, "name", key) == 0))
        return add_text(s->names, &s->n_names, term, value, end, err);
    return wrong(err, term, (size_t)(end - term), "not name=, op=, layer= or batch=");
}

tt_status tt_select_parse(const char *text, tt_select *s, tt_error *err)
{
    size_t n = strcspn(text, ":");
    memset(s, 0, sizeof *s);
    size_t level = 0;
    while (level < sizeof LEVELS / sizeof *LEVELS &&
           (strlen(LEVELS[level]) != n || memcmp(LEVELS[level], text, n) != 0))
        level++;
    if (level == sizeof LEVELS / sizeof *LEVELS)
        return wrong(err, text, n, "not off, stats, hash or full");
    s->level = (tt_value_level)level;
    for (const char *at = text[n] ? text + n + 1 : NULL; at;) {
        const char *end = strchrnul(at, ',');
        tt_status status = add_term(s, at, end, err);
        if (status != TT_OK) return status;
        at = *end ? end + 1 : NULL;
    }
    return TT_OK;
}

static bool in_ranges(const tt_select_range *list, uint32_t n, uint64_t v)
{
    for (uint32_t i = 0; i < n; i++)
        if (v >= list[i].first && v <= list[i].last) return true;
    return n == 0;
}

static bool matches(const char (*list)[TT_SELECT_TEXT_MAX], uint32_t n, const char *text, int flags)
{
    for (uint32_t i = 0; i < n; i++)
        if (fnmatch(list[i], text, flags) == 0) return true;
    return n == 0;
}

bool tt_select_token(const tt_select *s, uint64_t token)
{
    return s->level != TT_VALUES_OFF && in_ranges(s->tokens, s->n_tokens, token);
}

bool tt_select_node(const tt_select *s, const char *name, const char *op, int32_t layer)
{
    if (s->level == TT_VALUES_OFF) return false;
    if (s->n_layers && (layer < 0 || !in_ranges(s->layers, s->n_layers, (uint64_t)layer)))
        return false;
    return matches(s->names, s->n_names, name, 0) && matches(s->ops, s->n_ops, op, FNM_CASEFOLD);
}
