#include "analyze/dumps/dump.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

unsigned tt_type_coarseness(const char *type)
{
    static const struct {
        const char *begin;
        unsigned coarseness;
    } types[] = {
        {"f16", 1}, {"bf16", 2}, {"q8", 3},    {"i8", 0},    {"q6", 4}, {"q5", 4},
        {"q4", 5},  {"iq4", 5},  {"mxfp4", 5}, {"nvfp4", 5}, {"q3", 6}, {"q2", 6},
        {"iq3", 6}, {"iq2", 6},  {"iq1", 6},   {"tq", 6},    {"q1", 6},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strncmp(type, types[i].begin, strlen(types[i].begin)) == 0) return types[i].coarseness;
    }
    return 0;
}

bool tt_op_only_moves(const char *op)
{
    static const char *const ops[] = {"GET_ROWS", "SET_ROWS", "CPY",    "CONT",
                                      "DUP",      "CONCAT",   "REPEAT", "PAD"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(op, ops[i]) == 0) return true;
    }
    return false;
}

/* Each value is the next one of its layer and stage. Steps of a network are some thousand values;
 * those of one stage and layer, a few. */
typedef struct key {
    int32_t layer;
    const char *stage;
    uint32_t value;
} key;

static int by_key(const void *left, const void *right)
{
    const key *a = left, *b = right;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    int order = strcmp(a->stage, b->stage);
    if (order) return order;
    return a->value < b->value ? -1 : a->value > b->value;
}

static bool count_occurrences(tt_dump_step *s)
{
    key *keys = malloc((s->n ? s->n : 1) * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < s->n; i++)
        keys[i] = (key){s->values[i].layer, s->values[i].stage, (uint32_t)i};
    qsort(keys, s->n, sizeof *keys, by_key);
    for (size_t i = 0; i < s->n; i++) {
        bool again = i && keys[i].layer == keys[i - 1].layer &&
                     strcmp(keys[i].stage, keys[i - 1].stage) == 0;
        s->values[keys[i].value].occurrence =
            again ? s->values[keys[i - 1].value].occurrence + 1 : 0;
    }
    free(keys);
    return true;
}

tt_status tt_dump_load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err)
{
    if (out->free_texts) out->free_texts(out->texts);
    out->texts = NULL;
    out->free_texts = NULL;
    out->n = 0;
    out->incomplete = 0;
    tt_status status = d->kind->load(d, step, out, err);
    if (status == TT_OK && !count_occurrences(out))
        status = tt_error_memory(err, "a step's values");
    return status;
}

tt_status tt_dump_data(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                       tt_error *err)
{
    if (!d->kind->data || !(v->known & TT_KNOWN_DATA) || first > v->print.n ||
        n > v->print.n - first)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no data was kept of %.100s",
                            v->name);
    tt_status status = d->kind->data(d, v, first, n, out, err);
    d->unreadable += status != TT_OK && status != TT_E_MEMORY;
    return status;
}

void tt_dump_close(tt_dump *d)
{
    if (!d) return;
    if (d->kind->close) d->kind->close(d->context);
    free(d->steps);
    free(d);
}

void tt_dump_step_free(tt_dump_step *s)
{
    if (s->free_texts) s->free_texts(s->texts);
    free(s->values);
    memset(s, 0, sizeof *s);
}

tt_dump *tt_dump_new(const tt_dump_kind *kind, void *context, const char *path,
                     const tt_stages *stages)
{
    tt_dump *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->kind = kind;
    d->context = context;
    d->path = path;
    d->stages = stages;
    return d;
}

tt_dump_value *tt_dump_add(tt_dump_step *s)
{
    if (s->n == TT_DUMP_VALUES_MAX) return NULL;
    if (!tt_array_one_more(s->values, s->n, s->capacity)) return NULL;
    tt_dump_value *v = &s->values[s->n++];
    memset(v, 0, sizeof *v);
    v->stage = v->name = v->op = v->type = v->coarsest_type = v->own_type = "";
    v->run = v->node = TT_NONE;
    return v;
}
