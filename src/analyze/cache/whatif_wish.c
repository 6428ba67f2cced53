#include "analyze/cache/whatif_wish.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURVE_SIZES 10u

/* The next of the words with commas in between; *at is NULL after the last. TT_E_USAGE: too long.
 */
static tt_status next_word(const char **at, char *word, size_t room, tt_error *err)
{
    const size_t n = strcspn(*at, ",");
    if (n >= room)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "\"%.40s...\" is too long", *at);
    memcpy(word, *at, n);
    word[n] = '\0';
    *at = (*at)[n] ? *at + n + 1 : NULL;
    return TT_OK;
}

tt_status tt_whatif_wish_sizes(tt_whatif_wish *w, const char *text, tt_error *err)
{
    char word[48];
    for (const char *at = text; at;) {
        tt_status status = next_word(&at, word, sizeof word, err);
        if (status == TT_OK && w->n_ram == TT_WHATIF_SIZES_MAX)
            status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "more than %u sizes",
                                  TT_WHATIF_SIZES_MAX);
        if (status == TT_OK) status = tt_units_parse_amount(word, &w->ram[w->n_ram], err);
        if (status != TT_OK) return status;
        w->n_ram++;
    }
    return TT_OK;
}

static tt_status refuse_policy(const char *name, tt_error *err)
{
    char names[160];
    size_t used = 0;
    for (size_t i = 0; i < TT_POLICIES && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", tt_policies[i].name);
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "\"%.40s\" is not one of %sor all", name,
                        names);
}

tt_status tt_whatif_wish_policies(tt_whatif_wish *w, const char *text, tt_error *err)
{
    char word[48];
    for (const char *at = text; at;) {
        bool known = false;
        const tt_status status = next_word(&at, word, sizeof word, err);
        if (status != TT_OK) return status;
        for (size_t i = 0; i < TT_POLICIES; i++) {
            if (strcmp(word, "all") != 0 && strcmp(word, tt_policies[i].name) != 0) continue;
            w->policy[i] = known = true;
        }
        if (!known) return refuse_policy(word, err);
    }
    return TT_OK;
}

tt_status tt_whatif_wish_guess(tt_whatif_wish *w, const char *text, tt_error *err)
{
    char *end;
    double share = strtod(text, &end);
    if (end > text && strcmp(end, "%") == 0)
        share /= 100;
    else if (end == text || *end)
        share = -1;
    if (!(share >= 0 && share <= 1))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "\"%.40s\" is not a share from 0 to 1, or to 100%%", text);
    w->plan.guessed = share;
    return TT_OK;
}

tt_status tt_whatif_wish_end(tt_whatif_wish *w, bool has_reader, tt_error *err)
{
    tt_whatif_plan *p = &w->plan;
    const char *wrong = NULL;
    bool any = false;
    for (size_t i = 0; i < TT_POLICIES; i++)
        any |= w->policy[i];
    if (!any) w->policy[TT_POLICY_LRU] = true;
    if (p->boost) p->unit = TT_WHATIF_EXPERT;
    if (!has_reader) p->reader = p->unit == TT_WHATIF_PAGE ? TT_WHATIF_MMAP : TT_WHATIF_DIRECT;
    for (size_t i = 0; i < w->n_ram; i++)
        if (w->ram[i] < w->reserve_bytes)
            wrong = "reserve takes more than all of the RAM";
        else if (p->boost && w->ram[i] - w->reserve_bytes < TT_POLICY_RAM_MIN)
            wrong = "boost takes no less than 64 KiB for weights";
    if (p->order != TT_TENSORS_AS_IN_FILE && p->unit != TT_WHATIF_PAGE)
        wrong = "order: the order of the file matters for pages only";
    else if (p->readahead_bytes && p->unit != TT_WHATIF_PAGE)
        wrong = "readahead goes with pages only";
    else if (p->readahead_bytes % p->page_bytes)
        wrong = "readahead: not a multiple of the page size";
    else if (p->readahead_bytes > TT_WHATIF_READAHEAD_MAX)
        wrong = "readahead: more than 1G";
    return wrong ? tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s", wrong) : TT_OK;
}

tt_status tt_whatif_wish_run(const tt_whatif_wish *w, tt_whatif *sim, tt_whatif_view *v,
                             tt_whatif_result **results, tt_error *err)
{
    uint64_t sizes[TT_WHATIF_SIZES_MAX];
    const size_t n = w->curve ? CURVE_SIZES : w->n_ram;
    for (size_t i = 0; i < w->n_ram; i++)
        sizes[i] = w->ram[i] - w->reserve_bytes;
    if (w->curve) tt_whatif_curve(sim, CURVE_SIZES, sizes);
    v->reserve_bytes = w->reserve_bytes;
    v->results = *results = calloc(TT_POLICIES * n, sizeof **results);
    tt_status status = *results ? TT_OK : tt_error_memory(err, "the results");
    for (size_t i = 0; i < TT_POLICIES && status == TT_OK; i++) {
        if (!w->policy[i]) continue;
        status = tt_whatif_run(sim, (tt_policy)i, sizes, n, *results + v->n_results, err);
        if (status == TT_OK) v->n_results += n;
    }
    return status;
}
