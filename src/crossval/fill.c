#include "crossval/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"{scenario}",  "{model}",      "{out}",       "{prompt}",
                                    "{token_ids}", "{prompt_ids}", "{force_ids}", "{n}"};
#define NAMES (sizeof names / sizeof *names)

/* The placeholder at the start of `at`, or NAMES. */
static size_t placeholder_at(const char *at)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strncmp(at, names[i], strlen(names[i])) == 0) return i;
    return NAMES;
}

static const char *text_of(const tt_crossval_words *w, size_t name, char number[24])
{
    const char *const texts[NAMES] = {w->scenario,  w->model,      w->out,       w->prompt,
                                      w->token_ids, w->prompt_ids, w->force_ids, number};
    (void)snprintf(number, 24, "%" PRId64, w->n);
    return texts[name] ? texts[name] : "";
}

char *tt_crossval_fill(const char *word, const tt_crossval_words *w)
{
    char *text = NULL, number[24];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    while (*word) {
        size_t name = *word == '{' ? placeholder_at(word) : NAMES;
        if (name == NAMES) {
            putc(*word++, out);
            continue;
        }
        fputs(text_of(w, name, number), out);
        word += strlen(names[name]);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

const char *tt_crossval_unknown_placeholder(const char *word, size_t *n)
{
    for (const char *at = strchr(word, '{'); at; at = strchr(at + 1, '{')) {
        size_t length = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
        if (length == 1 || at[length] != '}' || placeholder_at(at) < NAMES) continue;
        *n = length + 1;
        return at;
    }
    return NULL;
}
