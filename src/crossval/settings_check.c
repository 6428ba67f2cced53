/* Checks crossval's settings as a whole, after the single keys. */
#include "crossval/parse.h"

#include <stdio.h>
#include <string.h>

tt_crossval_lead tt_crossval_leader(const tt_crossval_settings *s, const tt_crossval_scenario *c)
{
    bool given = c->prompt || c->prompt_file || c->token_ids.n;
    tt_side_kind wanted = given ? TT_SIDE_ENGINE : TT_SIDE_TRACE;
    for (size_t i = 0; i < 2; i++)
        if (s->sides[i].kind == wanted) return (tt_crossval_lead)i;
    return TT_LEAD_SETTINGS;
}

/* It becomes a folder beside the summary. */
static bool is_folder_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= TT_CROSSVAL_NAME_MAX && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == n &&
           strncmp(name, "summary.", 8) != 0 && strcmp(name, "log.txt") != 0;
}

static void check_name(tt_cv_reading *r, const char *shown, size_t number)
{
    const tt_crossval_scenario *list = r->s->scenarios;
    const char *name = list[number].name;
    if (!name) return;
    if (!is_folder_name(name))
        tt_cv_diagnose(r, shown, "name",
                       "\"%.80s\" cannot be the folder of its results: 1 to %u letters, digits, "
                       "_, - and . are taken, and no names of ours",
                       name, TT_CROSSVAL_NAME_MAX);
    for (size_t i = 0; i < number; i++)
        if (list[i].name && strcmp(list[i].name, name) == 0)
            tt_cv_diagnose(r, shown, "name", "\"%.80s\" is the name of scenarios[%zu], too", name,
                           i);
}

/* Both sides get the same ids, which must come from somewhere. */
static void check_tokens(tt_cv_reading *r, const char *shown, const tt_crossval_scenario *c)
{
    tt_crossval_lead lead = tt_crossval_leader(r->s, c);
    bool text = c->prompt || c->prompt_file;
    if (lead == TT_LEAD_SETTINGS && !text && !c->token_ids.n)
        tt_cv_diagnose(r, shown, NULL, "a prompt, prompt_file or token_ids is missing");
    else if (lead == TT_LEAD_SETTINGS && text)
        tt_cv_diagnose(r, shown, NULL,
                       "token_ids is needed instead of the prompt: without an engine neither "
                       "side can be asked for its tokens");
    else if (lead == TT_LEAD_SETTINGS && c->tokens > 1 && !c->force_ids.n)
        tt_cv_diagnose(r, shown, "tokens",
                       "without an engine neither side can be asked what to generate: give "
                       "force_ids, or 1");
    if (lead != TT_LEAD_SETTINGS && r->s->sides[lead].kind == TT_SIDE_TRACE && c->force_ids.n)
        tt_cv_diagnose(r, shown, "force_ids", "the tokens are those of sides.%c.trace", "ab"[lead]);
    if (c->force_ids.n && c->tokens > (int64_t)c->force_ids.n)
        tt_cv_diagnose(r, shown, "tokens", "%lld is more than force_ids has", (long long)c->tokens);
}

void tt_cv_check(tt_cv_reading *r)
{
    const tt_crossval_settings *s = r->s;
    bool has_sides = true;
    for (size_t i = 0; i < 2; i++)
        has_sides &= s->sides[i].model || s->sides[i].n_command || s->sides[i].trace;
    for (size_t i = 0; i < s->n_scenarios; i++) {
        char shown[TT_CV_SHOWN];
        (void)snprintf(shown, sizeof shown, "scenarios[%zu]", i);
        check_name(r, shown, i);
        if (has_sides) check_tokens(r, shown, &s->scenarios[i]);
    }
}
