#include "analyze/find.h"

#include "base/bytes.h"
#include "base/units.h"

#include <string.h>
#include <strings.h>

#define TEXTS_MAX ((size_t)16 << 20) /* of one batch; what is longer is not looked through */
#define BEFORE 40u                   /* bytes of an excerpt in front of what was found */

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
    const uint32_t number = tt_find_number(text, "token");
    bool going = true, ok = true;
    tt_bytes all;
    tt_bytes_init(&all, TEXTS_MAX);
    for (uint32_t i = 0; i < m->n_batches && going && length > 0; i++) {
        tt_find_batch found = {.batch = i, .by_number = tt_model_token(m, i) == number};
        /* A word may be of several batches: the end of what was before stays in front. */
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
