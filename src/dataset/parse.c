#include "dataset/parse.h"

#include <stdbool.h>
#include <string.h>

/* The string's end, behind its quote; n when it has none. */
static size_t skip_string(const char *text, size_t at, size_t n)
{
    while (at < n && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at < n ? at + 1 : n;
}

/* The parser keeps a value in some hundred bytes and calls itself for each that is inside another:
 * both are counted before it begins. */
static tt_status check_bounds(const char *text, size_t n, tt_error *err)
{
    size_t values = 1, depth = 0;
    for (size_t at = 0; at < n; at++) {
        char c = text[at];
        if (c == '"') {
            at = skip_string(text, at + 1, n) - 1;
        } else if (c == '{' || c == '[') {
            values++;
            if (++depth > TT_DATASET_DEPTH_MAX)
                return tt_error_set(err, TT_E_FORMAT, at,
                                    "byte %zu: more than %u objects and arrays in each other", at,
                                    TT_DATASET_DEPTH_MAX);
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        } else if (c == ',') {
            values++;
        }
    }
    if (values <= TT_DATASET_VALUES_MAX) return TT_OK;
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "it holds %zu values; the most that is checked of one file is %u", values,
                        TT_DATASET_VALUES_MAX);
}

json_t *tt_dataset_parse(const char *text, size_t n, tt_error *err)
{
    json_error_t why;
    if (n == 0) {
        (void)tt_error_set(err, TT_E_TRUNCATED, TT_NO_OFFSET, "it is empty");
        return NULL;
    }
    if (check_bounds(text, n, err) != TT_OK) return NULL;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j) {
        bool memory = json_error_code(&why) == json_error_out_of_memory;
        (void)tt_error_set(err, memory ? TT_E_MEMORY : TT_E_FORMAT, (uint64_t)why.position,
                           "line %d, byte %d: %s", why.line, why.position, why.text);
        return NULL;
    }
    if (json_is_object(j)) return j;
    json_decref(j);
    (void)tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "it is no JSON object");
    return NULL;
}
