#include "experiment/reader.h"

#include "base/nearest.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_TEXT 600
/* The prefix for printing a key by "%s%s%s": "section.key", or "key". */
#define DOT(section) ((section)[0] ? "." : "")
#define KEY_WORDS(k) (k)->section, DOT((k)->section), (k)->key

const char *tt_json_type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

const char *tt_key_type_name(tt_key_type type)
{
    switch (type) {
    case TT_KEY_INTEGER:
    case TT_KEY_COUNT:
        return "a whole number";
    case TT_KEY_NUMBER:
        return "a number";
    case TT_KEY_BOOL:
        return "true or false";
    case TT_KEY_SIZE:
        return "a size as 400M, or null";
    case TT_KEY_TEXTS:
        return "an array of texts";
    default:
        return "a text";
    }
}

/* --- paths --- */

/* Stores the text with the settings and returns it; "" and no_memory for NULL. */
static const char *reader_keep(tt_settings_reader *r, char *text)
{
    char **made = text ? realloc(r->made->texts, (r->made->n + 1) * sizeof *made) : NULL;
    if (!made) {
        free(text);
        r->no_memory = true;
        return "";
    }
    r->made->texts = made;
    made[r->made->n++] = text;
    return text;
}

static bool has_dots(const char *path)
{
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        size_t n = strcspn(p + 1, "/");
        if ((n == 1 || n == 2) && strncmp(p + 1, "..", n) == 0) return true;
    }
    return false;
}

/* Shortens "a/../b" for messages by resolving folders that exist, as "a" may be a link. The rest
 * of the path is unchanged, as is a path that does not exist. */
static char *without_dots(char *path)
{
    for (char *end = path ? path + strlen(path) : NULL; end && end > path && has_dots(path);) {
        char *real, *whole = NULL;
        while (end > path && *end != '/')
            end--;
        *end = '\0';
        real = realpath(end == path ? "/" : path, NULL);
        *end = '/';
        if (!real) {
            end--;
            continue;
        }
        if (!has_dots(end) && asprintf(&whole, "%s%s", real[1] ? real : "", end) < 0) whole = NULL;
        free(real);
        if (!whole) return path;
        free(path);
        return whole;
    }
    return path;
}

const char *tt_reader_join(tt_settings_reader *r, const char *folder, const char *path)
{
    char *joined = NULL;
    if (path[0] == '/') return path;
    if (asprintf(&joined, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, path) < 0) joined = NULL;
    return reader_keep(r, without_dots(joined));
}

void tt_made_free(tt_made *made)
{
    for (size_t i = 0; i < made->n; i++)
        free(made->texts[i]);
    free(made->texts);
    memset(made, 0, sizeof *made);
}

static const char *resolve(tt_settings_reader *r, tt_key_type type, const char *path)
{
    return tt_reader_join(r, type == TT_KEY_PATH ? r->folder : r->other_folder, path);
}

/* --- values --- */

static bool is_choice(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = choices; *p;) {
        size_t length = strcspn(p, " ");
        if (length == n && strncmp(p, text, n) == 0) return true;
        p += length + (p[length] == ' ');
    }
    return false;
}

static bool read_text(tt_settings_reader *r, const tt_key *k, const char *text,
                      tt_setting_value *out)
{
    bool is_path = k->type == TT_KEY_PATH || k->type == TT_KEY_MODEL || k->type == TT_KEY_BINARY;
    if (k->type == TT_KEY_CHOICE && !is_choice(k->choices, text)) {
        tt_diagnose(r->diagnostics, "%s%s%s: \"%.60s\" is none of: %s", KEY_WORDS(k), text,
                    k->choices);
        return false;
    }
    if (is_path && !text[0]) {
        tt_diagnose(r->diagnostics, "%s%s%s: an empty path", KEY_WORDS(k));
        return false;
    }
    if (is_path && strlen(text) >= PATH_MAX / 2) {
        tt_diagnose(r->diagnostics, "%s%s%s: the path is too long: %.60s...", KEY_WORDS(k), text);
        return false;
    }
    out->text = is_path ? resolve(r, k->type, text) : text;
    return true;
}

static bool read_integer(tt_settings_reader *r, const tt_key *k, int64_t v, tt_setting_value *out)
{
    if (v < k->min || v > k->max) {
        tt_diagnose(r->diagnostics,
                    "%s%s%s: %" PRId64 " is out of range (%" PRId64 " to %" PRId64 ")",
                    KEY_WORDS(k), v, k->min, k->max);
        return false;
    }
    out->integer = v;
    return true;
}

static bool read_number(tt_settings_reader *r, const tt_key *k, double v, tt_setting_value *out)
{
    if (!isfinite(v) || v < (double)k->min || v > (double)k->max) {
        tt_diagnose(r->diagnostics, "%s%s%s: %g is out of range (%" PRId64 " to %" PRId64 ")",
                    KEY_WORDS(k), v, k->min, k->max);
        return false;
    }
    out->number = v;
    return true;
}

/* "60%": a share of at most k->max. */
static bool read_share(const tt_key *k, const char *text, tt_setting_value *out)
{
    char *end;
    const double percent = k->max ? strtod(text, &end) : 0;
    if (!(percent > 0 && percent <= (double)k->max) || strcmp(end, "%") != 0) return false;
    out->number = percent;
    return true;
}

static bool read_size(tt_settings_reader *r, const tt_key *k, const json_t *v,
                      tt_setting_value *out)
{
    const char *text = json_string_value(v);
    uint64_t bytes = 0;
    tt_error err;
    *out = (tt_setting_value){.text = json_is_null(v) ? "none" : text};
    if (json_is_null(v)) out->integer = -1;
    if (json_is_null(v) || (text && read_share(k, text, out))) return true;
    if (text && tt_units_parse_amount(text, &bytes, &err) != TT_OK) {
        tt_diagnose(r->diagnostics, "%s%s%s: %s%s", KEY_WORDS(k), err.message,
                    k->max ? ", or a share as 60%" : "");
        return false;
    }
    const int64_t n = text ? (int64_t)bytes : json_integer_value(v);
    if (n >= k->min && (n == 0 || n >= 4096) && (!text || bytes <= INT64_MAX)) {
        out->integer = n;
        return true;
    }
    tt_diagnose(r->diagnostics, "%s%s%s: less than a page, or more than there can be",
                KEY_WORDS(k));
    return false;
}

bool tt_reader_value(tt_settings_reader *r, const tt_key *k, const json_t *v, tt_setting_value *out)
{
    bool takes_integer = k->type == TT_KEY_INTEGER || k->type == TT_KEY_COUNT;
    bool takes_text = !takes_integer && k->type != TT_KEY_NUMBER && k->type != TT_KEY_BOOL &&
                      k->type != TT_KEY_SIZE;
    if (k->type == TT_KEY_SIZE && (json_is_string(v) || json_is_integer(v) || json_is_null(v)))
        return read_size(r, k, v, out);
    if (takes_integer && json_is_integer(v)) return read_integer(r, k, json_integer_value(v), out);
    if (k->type == TT_KEY_NUMBER && json_is_number(v))
        return read_number(r, k, json_number_value(v), out);
    if (takes_text && json_is_string(v)) return read_text(r, k, json_string_value(v), out);
    if (k->type == TT_KEY_BOOL && json_is_boolean(v)) {
        out->integer = json_is_true(v);
        return true;
    }
    bool is_real = json_is_real(v) && takes_integer;
    if (is_real && !read_number(r, k, json_real_value(v), out)) return false; /* 1e99 */
    tt_diagnose(r->diagnostics, "%s%s%s: %s is expected, not %s", KEY_WORDS(k),
                tt_key_type_name(k->type),
                is_real ? "a number with a fraction or an exponent" : tt_json_type_name(v));
    return false;
}

static void list_known(const tt_key *keys, size_t n_keys, const char *section, char out[KEYS_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n_keys && used + 1 < KEYS_TEXT; i++) {
        if (strcmp(keys[i].section, section) != 0) continue;
        int n = snprintf(out + used, KEYS_TEXT - used, "%s%s", used ? ", " : "", keys[i].key);
        if (n > 0) used += (size_t)n;
    }
}

void tt_reader_unknown(tt_settings_reader *r, const tt_key *keys, size_t n, const char *section,
                       const char *shown, const char *key)
{
    char known[KEYS_TEXT];
    tt_nearest nearest = tt_nearest_begin(key);
    for (size_t i = 0; i < n; i++)
        if (strcmp(keys[i].section, section) == 0) tt_nearest_try(&nearest, keys[i].key);
    if (nearest.name) {
        tt_diagnose(r->diagnostics, "%s%s%.60s: no such key; did you mean \"%s\"?", shown,
                    DOT(shown), key, nearest.name);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(keys[i].key, key) != 0) continue;
        tt_diagnose(r->diagnostics, "%s%s%.60s: no such key here; it belongs into \"%s\"", shown,
                    DOT(shown), key, keys[i].section[0] ? keys[i].section : "the whole");
        return;
    }
    list_known(keys, n, section, known);
    tt_diagnose(r->diagnostics, "%s%s%.60s: no such key; there are %s", shown, DOT(shown), key,
                known);
}

/* --- JSON --- */

/* The JSON library's message in plainer words. */
static tt_status refuse_json(const char *name, const char *text, size_t size, json_error_t *where,
                             tt_error *err)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == size) return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%.100s is empty", name);
    enum json_error_code code = json_error_code(where);
    if (code == json_error_numeric_overflow)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%.100s: line %d, column %d: a number that is too large", name,
                            where->line, where->column);
    for (char *p = where->text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    return tt_error_set(err, code == json_error_stack_overflow ? TT_E_LIMIT : TT_E_FORMAT,
                        TT_NO_OFFSET, "%.100s: line %d, column %d: %s", name, where->line,
                        where->column, where->text);
}

tt_status tt_json_load(const char *text, size_t size, const char *name, json_t **root,
                       tt_error *err)
{
    json_error_t where;
    if (size > TT_SETTINGS_BYTES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.200s: more than %zu MiB of settings",
                            name, TT_SETTINGS_BYTES_MAX >> 20);
    *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    return *root ? TT_OK : refuse_json(name, text, size, &where, err);
}
