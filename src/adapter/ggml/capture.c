#include "adapter/ggml/capture.h"

#include "record/session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tt_capture tt_capture_options = TT_CAPTURE_DEFAULTS;

uint64_t tt_capture_number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

uint64_t tt_capture_bytes(const char *name)
{
    static const char suffixes[] = "KMGT";
    const char *text = getenv(name);
    char *end = NULL;
    uint64_t n = text ? strtoull(text, &end, 10) : 0;
    const char *suffix = n && *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    return n > UINT64_MAX >> shift ? UINT64_MAX : n << shift;
}

bool tt_capture_chooses(void)
{
    const tt_capture *c = &tt_capture_options;
    return c->batch_first > 0 || c->batch_last != UINT64_MAX || c->token_every > 1;
}

bool tt_capture_wants(uint64_t from, uint64_t to)
{
    const tt_capture *c = &tt_capture_options;
    if (to > c->batch_last) to = c->batch_last;
    if (to < c->batch_first || from > to) return false;
    uint64_t next =
        from <= c->batch_first
            ? c->batch_first
            : from + (c->token_every - (from - c->batch_first) % c->token_every) % c->token_every;
    return next <= to;
}

/* "A..B", "A..", "..B" or "N". */
static void read_tokens(const char *text)
{
    tt_capture *c = &tt_capture_options;
    const char *dots = strstr(text, "..");
    c->batch_first = strtoull(text, NULL, 10);
    c->batch_last = dots ? UINT64_MAX : c->batch_first;
    if (dots && dots[2]) c->batch_last = strtoull(dots + 2, NULL, 10);
}

/* Values, their statistics and hashes reveal the tokens to anyone with the model: embedding rows
 * (and what is made of them) can be looked up, all other values computed again. */
static void keep_text_out(void)
{
    tt_capture *c = &tt_capture_options;
    if (c->text || c->values.level == TT_VALUES_OFF) return;
    c->values.level = TT_VALUES_OFF;
    (void)snprintf(c->values_problem, sizeof c->values_problem,
                   "%s: values tell the text, which %s=0 keeps out", TT_ENV_VALUES, TT_ENV_TEXT);
}

void tt_capture_read(void)
{
    const char *tokens = getenv(TT_ENV_TOKENS);
    uint64_t token_every = tt_capture_number(TT_ENV_EVERY);
    if (tokens && tokens[0]) read_tokens(tokens);
    if (token_every) tt_capture_options.token_every = token_every;
    const char *text = getenv(TT_ENV_TEXT);
    tt_capture_options.text = !text || strcmp(text, "0") != 0;
    uint64_t way = tt_capture_number(TT_ENV_FAULTS);
    tt_capture_options.faults_way = way <= TT_FAULTS_BOTH ? (unsigned)way : TT_FAULTS_AUTO;
    const char *values = getenv(TT_ENV_VALUES);
    tt_error why;
    tt_capture_options.values_asked = values;
    if (values && tt_select_parse(values, &tt_capture_options.values, &why) != TT_OK) {
        tt_capture_options.values.level = TT_VALUES_OFF;
        (void)snprintf(tt_capture_options.values_problem, sizeof tt_capture_options.values_problem,
                       "%s: %.110s", TT_ENV_VALUES, why.message);
    }
    keep_text_out();
    uint64_t every = tt_capture_number(TT_ENV_RESIDENCY);
    tt_capture_options.residency_every = every > UINT32_MAX ? UINT32_MAX : (uint32_t)every;
}
