#include "analyze/graph_search.h"

#include <stdbool.h>
#include <string.h>

/* Of a name: a damaged trace may hold one of megabytes, for each of its tensors. */
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
