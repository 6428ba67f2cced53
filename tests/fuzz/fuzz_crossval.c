/* Bytes as the settings of `crossval`; a word of them with its placeholders filled in; and a list
 * of token ids. */
#include "crossval/settings.h"
#include "runner/token_ids.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const char *word, const char *scenario)
{
    static const tt_crossval_words w = {.model = "m", .out = "o", .token_ids = "1,2", .n = 3};
    tt_crossval_words words = w;
    words.scenario = scenario;
    char *filled = tt_crossval_fill(word, &words);
    if (!filled) abort();
    free(filled);
}

static void check_side(const tt_crossval_side *side, const char *scenario)
{
    bool as_kind = side->kind == TT_SIDE_ENGINE    ? side->model != NULL
                   : side->kind == TT_SIDE_COMMAND ? side->n_command > 0
                                                   : side->trace && side->trace[0] == '/';
    if (!as_kind || side->threads < 0 || side->threads > 512) abort();
    for (size_t i = 0; i < side->n_command; i++)
        check_word(side->command[i], scenario);
    for (size_t i = 0; i < side->n_environment; i++)
        if (!side->environment[i].name[0] || strchr(side->environment[i].name, '=')) abort();
}

/* What stands for all that was accepted. */
static void check_settings(const tt_crossval_settings *s)
{
    if (s->n_scenarios == 0 || s->n_scenarios > TT_CROSSVAL_SCENARIOS_MAX) abort();
    if (s->output[0] != '/' || s->timeout_s < 1) abort();
    for (size_t i = 0; i < s->n_scenarios; i++) {
        const tt_crossval_scenario *c = &s->scenarios[i];
        if (!c->name[0] || strchr(c->name, '/') || c->name[0] == '.' || c->tokens < 0) abort();
        bool given = c->prompt || c->prompt_file || c->token_ids.n;
        tt_crossval_lead lead = tt_crossval_leader(s, c);
        if (lead == TT_LEAD_SETTINGS ? c->token_ids.n == 0
                                     : given != (s->sides[lead].kind == TT_SIDE_ENGINE))
            abort();
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->name, s->scenarios[k].name) == 0) abort();
    }
    for (size_t i = 0; i < 2; i++)
        check_side(&s->sides[i], s->scenarios[0].name);
}

static void check_ids(const uint8_t *data, size_t size)
{
    tt_token_ids list = {.n = 0};
    tt_error err = {.status = TT_OK};
    tt_status status = tt_token_ids_parse(&list, (const char *)data, size, "ids", &err);
    if (status == TT_OK && (list.n == 0 || list.n > size)) abort();
    if (status != TT_OK && !err.message[0]) abort();
    for (size_t i = 0; i < list.n; i++)
        if (list.ids[i] < 0) abort();
    tt_token_ids_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_crossval_settings s;
    tt_diagnostics diagnostics = {.n = 0};
    tt_error err = {.status = TT_OK};
    tt_status status = tt_crossval_settings_parse(&s, (const char *)data, size, "crossval.json",
                                                  "/folder", &diagnostics, &err);
    if (status == TT_OK)
        check_settings(&s);
    else if (err.status != status || !err.message[0])
        abort();
    if ((status == TT_OK && diagnostics.n) || (status == TT_E_USAGE && !diagnostics.n)) abort();
    tt_diagnostics_free(&diagnostics);
    tt_crossval_settings_free(&s);
    check_ids(data, size);
    return 0;
}
