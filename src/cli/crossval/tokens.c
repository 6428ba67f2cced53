/* The token ids that are the input of both sides of a scenario. */
#include "cli/crossval/crossval.h"
#include "cli/runner_options.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool append(tt_token_ids *list, const int32_t *ids, size_t n, tt_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (tt_token_ids_add(list, ids[i], err) != TT_OK) return false;
    return true;
}

char *tt_cv_tokens_text(const tt_token_ids *first, const tt_token_ids *second)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (size_t i = 0; i < first->n; i++)
        fprintf(out, "%s%" PRId32, i ? "," : "", first->ids[i]);
    for (size_t i = 0; second && i < second->n; i++)
        fprintf(out, "%s%" PRId32, i || first->n ? "," : "", second->ids[i]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

tt_token_ids tt_cv_tokens_fed(const tt_cv_tokens *t)
{
    size_t most = t->n > 0 ? (size_t)t->n - 1 : 0;
    return (tt_token_ids){t->taken.ids, t->taken.n < most ? t->taken.n : most, 0};
}

bool tt_cv_tokens_given(tt_cv_scenario *c)
{
    tt_error err;
    const tt_crossval_scenario *s = c->settings;
    c->tokens.n = s->tokens;
    size_t n = (size_t)s->tokens < s->force_ids.n ? (size_t)s->tokens : s->force_ids.n;
    return (append(&c->tokens.prompt, s->token_ids.ids, s->token_ids.n, &err) &&
            append(&c->tokens.taken, s->force_ids.ids, n, &err)) ||
           tt_cv_fail(c, 2, "%s", err.message);
}

/* --- of an engine --- */

static bool same(const tt_token_ids *a, const tt_token_ids *b, size_t n)
{
    return a->n >= n && b->n >= n && (n == 0 || memcmp(a->ids, b->ids, n * sizeof *a->ids) == 0);
}

/* The leader's tokens become those of the other side. */
static void lead_by(tt_cv_tokens *t, tt_token_ids *prompt, tt_token_ids *taken)
{
    t->n = (int64_t)taken->n;
    t->prompt = *prompt;
    t->taken = *taken;
    memset(prompt, 0, sizeof *prompt);
    memset(taken, 0, sizeof *taken);
}

/* Reads the file that the runner wrote. */
static bool read_engine(tt_cv_scenario *c, size_t side, bool leads)
{
    char path[TT_CV_PATH];
    tt_cv_path(c, path, side, ".ids.json");
    tt_token_ids prompt = {.n = 0}, taken = {.n = 0};
    bool ok = tt_runner_ids_read(path, &prompt, &taken, &c->chosen[side]);
    if (!ok)
        (void)tt_cv_fail(c, side, "the built-in runner did not say which tokens it was fed");
    else if (leads)
        lead_by(&c->tokens, &prompt, &taken);
    else if (prompt.n != c->tokens.prompt.n || !same(&prompt, &c->tokens.prompt, prompt.n) ||
             !same(&taken, &c->tokens.taken, c->tokens.taken.n))
        ok = tt_cv_fail(c, side, "it was fed other tokens than side %c", "ba"[side]);
    tt_token_ids_free(&prompt);
    tt_token_ids_free(&taken);
    return ok;
}

/* --- of a command --- */

static bool read_printed(tt_cv_scenario *c, size_t side)
{
    char path[TT_CV_PATH], word[TT_CV_PATH + 1];
    tt_error err;
    tt_cv_path(c, path, side, ".txt");
    (void)snprintf(word, sizeof word, "@%s", path);
    return tt_token_ids_load(&c->chosen[side], word, path, &err) == TT_OK ||
           tt_cv_fail(c, side, "its output is not the list of ids it chose: %s", err.message);
}

/* --- of a trace --- */

/* NULL: the batch continues a text from its start; else why not. */
static const char *unfit(const tt_batch *b, uint64_t position)
{
    if (!b->tokens) return "the tokens of a batch are not in it (--no-text?)";
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        if (b->positions && (int64_t)b->positions[i] != (int64_t)(position + i))
            return "its tokens are not those of one text from its begin on";
        if (b->sequence_first && b->sequence_first[b->n_tokens] != b->n_tokens)
            return "a token in it belongs to several sequences";
        if (b->sequence_first && b->sequences[i] != b->sequences[0])
            return "a batch in it is of several sequences";
    }
    return NULL;
}

/* The prompt is in batches of several tokens at the start: at least the first batch. */
static const char *read_batches(const tt_model *m, tt_cv_tokens *t, tt_error *err)
{
    uint64_t position = 0;
    bool in_prompt = true;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        const char *why = unfit(b, position);
        if (why) return why;
        in_prompt = i == 0 || (in_prompt && b->n_tokens > 1);
        if (!append(in_prompt ? &t->prompt : &t->taken, b->tokens, b->n_tokens, err))
            return err->message;
        position += b->n_tokens;
    }
    t->n = (int64_t)t->taken.n + 1;
    return t->prompt.n ? NULL : "no batch is in it";
}

static bool read_trace(tt_cv_scenario *c, size_t side)
{
    char path[TT_CV_PATH];
    tt_model *m = NULL;
    tt_error err;
    tt_cv_values_path(c, path, side);
    if (tt_model_open(path, &m, &err) != TT_OK) {
        tt_model_close(m);
        return tt_cv_fail(c, side, "%s", err.message);
    }
    const char *why = read_batches(m, &c->tokens, &err);
    bool ok = !why || tt_cv_fail(c, side, "%s cannot say what both sides are fed: %s", path, why);
    tt_model_close(m);
    if (ok && !append(&c->chosen[side], c->tokens.taken.ids, c->tokens.taken.n, &err))
        ok = tt_cv_fail(c, side, "%s", err.message);
    return ok;
}

bool tt_cv_tokens_read(tt_cv_scenario *c, size_t side, bool leads)
{
    switch (c->x->settings.sides[side].kind) {
    case TT_SIDE_ENGINE:
        return read_engine(c, side, leads);
    case TT_SIDE_COMMAND:
        return !c->x->settings.sides[side].prints_ids || read_printed(c, side);
    default:
        return !leads || read_trace(c, side);
    }
}

void tt_cv_tokens_free(tt_cv_scenario *c)
{
    tt_token_ids_free(&c->tokens.prompt);
    tt_token_ids_free(&c->tokens.taken);
    tt_token_ids_free(&c->chosen[0]);
    tt_token_ids_free(&c->chosen[1]);
}
