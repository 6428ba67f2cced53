#include "analyze/find.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names by their text. */
typedef struct set {
    tt_name *list;
    uint32_t n, capacity;
    tt_idmap by_hash;
    const char *wanted; /* searched text */
    bool failed, cut;
} set;

static bool is_wanted(const void *context, uint32_t index)
{
    const set *s = context;
    return strcmp(s->list[index].name, s->wanted) == 0;
}

/* The entry of that name, zero-filled if new; NULL if there is no room. */
static tt_name *entry_of(set *s, const char *name)
{
    uint64_t key = tt_checksum(name, strlen(name));
    s->wanted = name;
    uint32_t was = tt_idmap_find(&s->by_hash, &key, is_wanted, s);
    if (was != TT_NONE) return &s->list[was];
    if (s->n == TT_NAMES_MAX) {
        s->cut = true;
        return NULL;
    }
    if (!tt_array_one_more(s->list, s->n, s->capacity) ||
        !tt_idmap_add(&s->by_hash, key, s->n, &was)) {
        s->failed = true;
        return NULL;
    }
    s->list[s->n] = (tt_name){.name = name, .weight = TT_NONE, .graph = TT_NONE};
    return &s->list[s->n++];
}

static void add_graph(set *tensors, set *ops, const tt_model *m, uint32_t graph)
{
    const tt_graph *g = &m->graphs[graph];
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        tt_name *name = *t->name ? entry_of(tensors, t->name) : NULL;
        if (name && name->count++ == 0) {
            name->graph = graph;
            name->tensor = i;
            name->layer_id = t->place.layer_id;
        }
        if (i >= g->n_nodes || !(t->flags & TT_TENSOR_EXECUTES)) continue;
        tt_name *op = entry_of(ops, t->op_name);
        if (op && op->count++ == 0) {
            op->graph = graph;
            op->tensor = i;
            op->layer_id = TT_LAYER_NONE;
        }
    }
}

bool tt_names_make(const tt_model *m, tt_names *out)
{
    set tensors = {0}, ops = {0};
    for (uint32_t i = 0; i < m->n_weights; i++) {
        tt_name *name = entry_of(&tensors, m->weights[i].name);
        if (!name || name->weight != TT_NONE) continue;
        name->weight = i;
        name->layer_id = m->weights[i].place.layer_id;
    }
    for (uint32_t i = 0; i < m->n_graphs && !tensors.failed && !ops.failed; i++)
        add_graph(&tensors, &ops, m, i);
    tt_idmap_free(&tensors.by_hash);
    tt_idmap_free(&ops.by_hash);
    *out = (tt_names){.tensors = tensors.list,
                      .ops = ops.list,
                      .n_tensors = tensors.n,
                      .n_ops = ops.n,
                      .cut = tensors.cut || ops.cut};
    if (!tensors.failed && !ops.failed) return true;
    tt_names_free(out);
    return false;
}

void tt_names_free(tt_names *names)
{
    free(names->tensors);
    free(names->ops);
    memset(names, 0, sizeof *names);
}

#define TEXTS_MAX ((size_t)16 << 20) /* of one batch; longer ones are not searched */
#define BEFORE 40u                   /* bytes of an excerpt before the match */

bool tt_find_in(const char *in, const char *text)
{
    return strcasestr(in, text) != NULL;
}

uint32_t tt_find_number(const char *text, const char *word)
{
    uint32_t number;
    size_t n = strlen(word);
    if (strncasecmp(text, word, n) == 0) text += n;
    while (*text == ' ')
        text++;
    return tt_units_parse_u32(text, text + strlen(text), &number) ? number : TT_NONE;
}

/* Appends the texts of the batch's tokens. */
static void add_texts(tt_bytes *out, const tt_model *m, const tt_batch *b)
{
    for (uint32_t i = 0; b->tokens && i < b->n_tokens; i++) {
        size_t n, at = out->size;
        const char *text = tt_model_token_text(m, b->vocabulary, b->tokens[i], &n);
        if (!text) continue;
        if (n >= TEXTS_MAX - out->size) return;
        tt_bytes_put(out, text, n);
        for (; at < out->size; at++)
            if (out->data[at] == 0) out->data[at] = ' ';
    }
}

static void set_excerpt(tt_find_batch *found, const char *all, const char *at)
{
    size_t before = (size_t)(at - all) < BEFORE ? (size_t)(at - all) : BEFORE;
    found->n = strnlen(at - before, TT_FIND_EXCERPT_MAX);
    memcpy(found->excerpt, at - before, found->n);
    found->excerpt[found->n] = '\0';
}

bool tt_find_batches(const tt_model *m, const char *text, tt_find_visit *visit, void *context)
{
    const size_t length = strlen(text);
    uint32_t number = tt_find_number(text, "batch");
    if (number == TT_NONE) number = tt_find_number(text, "token");
    bool going = true, ok = true;
    tt_bytes all;
    tt_bytes_init(&all, TEXTS_MAX);
    for (uint32_t i = 0; i < m->n_batches && going && length > 0; i++) {
        tt_find_batch found = {.batch = i, .by_number = tt_model_batch_number(m, i) == number};
        /* A word may span batches: keep the end of the previous text. */
        size_t kept = all.size < length - 1 ? all.size : length - 1;
        if (kept) memmove(all.data, all.data + all.size - kept, kept);
        all.size = kept;
        add_texts(&all, m, &m->batches[i]);
        size_t n = all.size;
        tt_bytes_u8(&all, 0);
        ok = !all.failed;
        if (!ok) break;
        const char *at = strcasestr((const char *)all.data, text);
        if (at) set_excerpt(&found, (const char *)all.data, at);
        all.size = n;
        if (at || found.by_number) going = visit(context, &found);
    }
    tt_bytes_free(&all);
    return ok;
}

/* Of a name: a damaged trace may have one of megabytes for each of its tensors. */
#define TEXT_MAX 512u

typedef struct word {
    const char *text;
    size_t n;
} word;

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool occurs(const char *text, const word *w)
{
    size_t n = text ? strnlen(text, TEXT_MAX) : 0;
    for (size_t at = 0; at + w->n <= n; at++) {
        size_t same = 0;
        while (same < w->n && small(text[at + same]) == small(w->text[same]))
            same++;
        if (same == w->n) return true;
    }
    return false;
}

static uint32_t split(const char *text, word out[TT_GRAPH_SEARCH_WORDS_MAX])
{
    uint32_t n = 0;
    while (n < TT_GRAPH_SEARCH_WORDS_MAX) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, " \t");
        if (length == 0) break;
        out[n++] = (word){text, length};
        text += length;
    }
    return n;
}

static bool matches(const tt_tensor *t, const word *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!occurs(t->name, &words[i]) && !occurs(t->op_desc, &words[i]) &&
            !occurs(t->op_name, &words[i]) && !occurs(t->place.component, &words[i]) &&
            !occurs(t->type_name, &words[i]))
            return false;
    return true;
}

uint32_t tt_graph_search(const tt_graph *g, const char *text, uint32_t *out, size_t room)
{
    word words[TT_GRAPH_SEARCH_WORDS_MAX];
    uint32_t n = split(text, words), found = 0;
    for (uint32_t i = 0; n > 0 && i < g->n_tensors; i++) {
        if (!matches(&g->tensors[i], words, n)) continue;
        if (found < room) out[found] = i;
        found++;
    }
    return found;
}
