#include "analyze/values/values_keys.h"

#include "base/array.h"
#include "base/checksum.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where `mark` is in the name and followed by `end` or the end of the name; NULL when nowhere. */
static const char *find(const char *name, const char *mark, char end)
{
    size_t n = strlen(mark);
    for (const char *at = strstr(name, mark); at; at = strstr(at + 1, mark))
        if (at[n] == end || at[n] == '\0') return at;
    return NULL;
}

static bool is_number(const char *text)
{
    if (!*text) return false;
    while (isdigit((unsigned char)*text))
        text++;
    return *text == '\0';
}

/* What ggml calls a tensor that nobody named. */
static bool is_unnamed(const char *name)
{
    return !*name || (strncmp(name, "node_", 5) == 0 && is_number(name + 5));
}

char *tt_values_place(const tt_tensor *t, char out[TT_VALUES_KEY_TEXT])
{
    static const char *const marks[] = {"-", "_l"};
    const int32_t layer = t->place.layer_id;
    char mark[24];
    (void)snprintf(out, TT_VALUES_KEY_TEXT, "%s", is_unnamed(t->name) ? t->op_desc : t->name);
    if (layer < 0 || is_unnamed(t->name)) return out;
    (void)snprintf(mark, sizeof mark, "blk.%" PRId32 ".", layer);
    if (strncmp(t->name, mark, strlen(mark)) == 0) {
        (void)snprintf(out, TT_VALUES_KEY_TEXT, "%s", t->name + strlen(mark));
        return out;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        (void)snprintf(mark, sizeof mark, "%s%" PRId32, marks[i], layer);
        const char *at = find(t->name, mark, ' ');
        if (!at || at == t->name) continue;
        (void)snprintf(out, TT_VALUES_KEY_TEXT, "%.*s%s", (int)(at - t->name), t->name,
                       at + strlen(mark));
        return out;
    }
    return out;
}

static uint32_t number_of(tt_values_keys *k, const char *text)
{
    const uint64_t hash = tt_checksum(text, strlen(text));
    uint32_t number = tt_idmap_get(&k->by_text, hash), was;
    if (number != TT_NONE) return number;
    if (!tt_array_one_more(k->texts, k->n, k->capacity)) return TT_NONE;
    k->texts[k->n] = strdup(text);
    if (!k->texts[k->n]) return TT_NONE;
    number = k->n++;
    return tt_idmap_add(&k->by_text, hash, number, &was) ? number : TT_NONE;
}

static uint32_t make(tt_values_keys *k, tt_values_walk *w, const tt_values_seen *seen)
{
    char text[TT_VALUES_KEY_TEXT + 64];
    const tt_tensor *t = &k->m->graphs[seen->graph].tensors[seen->node];
    if (k->what == TT_VALUES_KEY_NAME) return number_of(k, t->name);
    if (k->what == TT_VALUES_KEY_OP) {
        const tt_op *op = tt_values_walk_op(w, seen);
        return op ? number_of(k, op->op) : TT_NONE;
    }
    tt_values_place(t, text);
    if (k->what == TT_VALUES_KEY_PLACE_AND_OP) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "\n%s", t->op_desc);
    }
    return number_of(k, text);
}

uint32_t tt_values_keys_of(tt_values_keys *k, tt_values_walk *w, const tt_values_seen *seen)
{
    if (!k->of_graph) k->of_graph = calloc((size_t)k->m->n_graphs + 1, sizeof *k->of_graph);
    if (!k->of_graph) return TT_NONE;
    uint32_t **of = &k->of_graph[seen->graph];
    if (!*of) *of = calloc((size_t)k->m->graphs[seen->graph].n_nodes + 1, sizeof **of);
    if (!*of) return TT_NONE;
    if (!(*of)[seen->node]) {
        uint32_t number = make(k, w, seen);
        if (number == TT_NONE) return TT_NONE;
        (*of)[seen->node] = number + 1;
    }
    return (*of)[seen->node] - 1;
}

void tt_values_keys_free(tt_values_keys *k)
{
    for (uint32_t i = 0; k->of_graph && i < k->m->n_graphs; i++)
        free(k->of_graph[i]);
    for (uint32_t i = 0; i < k->n; i++)
        free(k->texts[i]);
    free(k->of_graph);
    free(k->texts);
    tt_idmap_free(&k->by_text);
    memset(k, 0, sizeof *k);
}
