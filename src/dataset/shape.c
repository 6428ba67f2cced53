#include "dataset/shape.h"

#include <stdio.h>
#include <string.h>

static unsigned kind_of(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_STRING:
        return TT_IS_STRING;
    case JSON_INTEGER:
        return json_integer_value(v) < 0 ? TT_IS_NUMBER : TT_IS_NUMBER | TT_IS_COUNT;
    case JSON_REAL:
        return TT_IS_NUMBER;
    case JSON_ARRAY:
        return TT_IS_ARRAY;
    case JSON_OBJECT:
        return TT_IS_OBJECT;
    case JSON_NULL:
        return TT_IS_NULL;
    default:
        return TT_IS_BOOL;
    }
}

static const char *expected(unsigned kinds)
{
    if (kinds & TT_IS_STRING) return "a text";
    if (kinds & TT_IS_COUNT) return "a whole number, not negative";
    if (kinds & TT_IS_NUMBER) return "a number";
    if (kinds & TT_IS_ARRAY) return "an array";
    if (kinds & TT_IS_BOOL) return "true or false";
    return "an object";
}

/* Puts a step in front of the path to the value that is wrong. */
static bool wrong_below(char path[TT_SHAPE_PATH], const char *name, size_t at, bool in_array)
{
    char below[TT_SHAPE_PATH], step[TT_SHAPE_PATH];
    memcpy(below, path, sizeof below);
    if (in_array)
        (void)snprintf(step, sizeof step, "%.40s[%zu]", name, at);
    else
        (void)snprintf(step, sizeof step, "%.40s", name);
    (void)snprintf(path, TT_SHAPE_PATH, "%.60s%s%.56s", step, *below ? "." : "", below);
    return false;
}

static bool wrong(char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH], const char *name,
                  const char *is, const char *what)
{
    (void)snprintf(path, TT_SHAPE_PATH, "%.40s", name);
    (void)snprintf(why, TT_SHAPE_PATH, "%s %s", is, what);
    return false;
}

static bool is_word(const json_t *v, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(json_string_value(v), *words) == 0) return true;
    return false;
}

static bool check_array(const json_t *array, const tt_shape_key *key, uint64_t *examined,
                        char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH])
{
    size_t i;
    const json_t *v;
    unsigned kinds = key->elements ? key->elements : key->inside ? TT_IS_OBJECT : 0;
    json_array_foreach(array, i, v)
    {
        ++*examined;
        path[0] = '\0';
        if (kinds && !(kind_of(v) & kinds)) {
            (void)snprintf(why, TT_SHAPE_PATH, "is not %s", expected(kinds));
            return wrong_below(path, key->name, i, true);
        }
        if (key->inside && !tt_shape_check(v, key->inside, examined, path, why))
            return wrong_below(path, key->name, i, true);
    }
    return true;
}

bool tt_shape_check(const json_t *object, const tt_shape_key *shape, uint64_t *examined,
                    char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH])
{
    for (const tt_shape_key *key = shape; key->name; key++) {
        const json_t *v = json_object_get(object, key->name);
        if (!v && key->optional) continue;
        ++*examined;
        if (!v) return wrong(path, why, key->name, "is", "missing");
        if (!(kind_of(v) & key->kinds))
            return wrong(path, why, key->name, "is not", expected(key->kinds));
        if (key->words && json_is_string(v) && !is_word(v, key->words))
            return wrong(path, why, key->name, "is", "none of the words that it may be");
        path[0] = '\0';
        if (json_is_object(v) && key->inside &&
            !tt_shape_check(v, key->inside, examined, path, why))
            return wrong_below(path, key->name, 0, false);
        if (json_is_array(v) && !check_array(v, key, examined, path, why)) return false;
    }
    return true;
}
