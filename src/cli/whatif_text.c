#include "base/units.h"
#include "cli/table.h"
#include "cli/whatif_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 10
#define FIRST 5 /* the column */
/* Below this width the columns marked optional are left out. */
#define WIDTH_FULL 110

static const struct {
    const char *title;
    bool optional;
    bool disk; /* only with a disk's rate */
} columns[COLUMNS] = {
    {"POLICY", false, false},  {"RAM", false, false},          {"OF TOUCHED", true, false},
    {"MISSED", true, false},   {"PROMPT", false, false},       {"FIRST", true, false},
    {"TOKEN", false, false},   {"TOKEN MISSES", false, false}, {"DISK TIME", false, true},
    {"TOKENS/S", false, true},
};

static bool shown(const tt_whatif_view *v, size_t column)
{
    size_t width = tt_table_width(stdout);
    if (columns[column].disk && !v->has_disk) return false;
    return width == 0 || width >= WIDTH_FULL || !columns[column].optional;
}

static void share(char *out, size_t room, uint64_t part, uint64_t all)
{
    out[0] = '\0';
    if (all && part >= all)
        (void)snprintf(out, room, "%s", part > all ? "> 100 %" : "100.0 %");
    else if (all)
        (void)snprintf(out, room, "%.1f %%", 100.0 * (double)part / (double)all);
}

static void per_token(char out[TT_UNITS_TEXT], uint64_t bytes, uint64_t tokens)
{
    out[0] = '\0';
    if (tokens) tt_units_bytes(out, bytes / tokens);
}

/* 0.0123, 1.23, 12.3, 123: three digits that matter. */
static void rate(char *out, size_t room, double tokens_per_s)
{
    int decimals = tokens_per_s < 0.0995 ? 4 : tokens_per_s < 9.995 ? 2 : tokens_per_s < 99.95;
    (void)snprintf(out, room, "%.*f", decimals, tokens_per_s);
}

static void rates(char *out, size_t room, const tt_whatif_part *p)
{
    char slow[32], fast[32];
    rate(slow, sizeof slow, tt_whatif_rate_apart(p));
    rate(fast, sizeof fast, tt_whatif_rate_overlap(p));
    (void)snprintf(out, room, "%s to %s", slow, fast);
}

static void table_row(tt_table *t, const tt_whatif_view *v, size_t i)
{
    const tt_whatif_result *r = &v->results[i];
    const tt_whatif_part *p = &r->steady;
    const uint64_t first = r->generate.missed_bytes - p->missed_bytes;
    char ram[TT_UNITS_TEXT], of[32], missed[32], prompt[TT_UNITS_TEXT], begin[TT_UNITS_TEXT];
    char token[TT_UNITS_TEXT], token_missed[32], disk[TT_UNITS_TEXT] = "", speed[80] = "";
    share(of, sizeof of, r->ram_bytes, v->touched_bytes);
    share(missed, sizeof missed, r->total.missed_bytes, r->total.read_bytes);
    share(token_missed, sizeof token_missed, p->missed_bytes, p->read_bytes);
    per_token(prompt, r->prompt.missed_bytes, r->prompt.tokens);
    per_token(begin, first, r->generate.tokens - p->tokens);
    per_token(token, p->missed_bytes, p->tokens);
    if (p->timed_tokens) {
        tt_units_ns(disk, tt_whatif_disk_ns(p));
        rates(speed, sizeof speed, p);
    }
    const char *all[COLUMNS] = {v->policies[i / v->n_sizes],
                                tt_units_bytes(ram, r->ram_bytes + v->reserve_bytes),
                                of,
                                missed,
                                prompt,
                                begin,
                                token,
                                token_missed,
                                disk,
                                speed};
    const char *cells[COLUMNS];
    size_t n = 0;
    for (size_t k = 0; k < COLUMNS; k++)
        if (shown(v, k)) cells[n++] = all[k];
    tt_table_row(t, cells);
}

static void print_compute(const tt_whatif_view *v)
{
    const tt_whatif_result *r = &v->results[0];
    char prompt[TT_UNITS_TEXT] = "", token[TT_UNITS_TEXT] = "";
    if (r->prompt.timed_tokens) tt_units_ns(prompt, tt_whatif_compute_ns(&r->prompt));
    if (r->steady.timed_tokens) tt_units_ns(token, tt_whatif_compute_ns(&r->steady));
    printf("compute   as traced, a token: %s%s%s%s%s\n", prompt[0] ? "prompt " : "", prompt,
           prompt[0] && token[0] ? ", generated "
           : token[0]            ? "generated "
                                 : "",
           token, prompt[0] || token[0] ? "" : "not observed");
}

static void print_head(const tt_whatif_view *v)
{
    const tt_whatif_result *r = &v->results[0];
    char touched[TT_UNITS_TEXT], model[TT_UNITS_TEXT], text[TT_UNITS_TEXT], count[TT_UNITS_TEXT];
    const char *bound = v->at_most ? "<= " : "";
    printf("weights   %s; %s reads touch %s%s, in whole %s%s",
           tt_units_bytes(model, v->model_bytes), tt_units_count(count, v->reads), bound,
           tt_units_bytes(touched, v->touched_bytes),
           v->page_bytes                    ? "pages of "
           : strcmp(v->unit, "expert") == 0 ? "tensors or experts"
                                            : "tensors",
           v->page_bytes ? tt_units_bytes(text, v->page_bytes) : "");
    printf("\ndemand    ");
    if (r->prompt.tokens)
        printf("prompt %s%s a token", bound,
               tt_units_bytes(text, r->prompt.read_bytes / r->prompt.tokens));
    if (r->generate.tokens)
        printf("%sgenerated %s%s a token", r->prompt.tokens ? ", " : "", bound,
               tt_units_bytes(text, r->generate.read_bytes / r->generate.tokens));
    putchar('\n');
    print_compute(v);
    printf("start     %s\n", v->warm ? "warm: the cache holds what the same reads left in it"
                                     : "cold: the first read of each byte comes from disk");
    if (v->readahead_bytes)
        printf("readahead %s are fetched around each missing page\n",
               tt_units_bytes(text, v->readahead_bytes));
    if (v->has_disk)
        printf("disk      %s; TOKENS/S: from where computing waits for each read\n"
               "          to where all reading hides behind computing\n",
               tt_units_rate(text, v->disk_bytes_per_s));
    if (v->reserve_bytes)
        printf("reserved  %s of the RAM are not for weights\n",
               tt_units_bytes(text, v->reserve_bytes));
    if (v->traced_readahead_bytes && !v->readahead_bytes)
        printf("not told  what the kernel reads ahead in vain, here up to %s at a time:\n"
               "          see --readahead\n",
               tt_units_bytes(text, v->traced_readahead_bytes));
    printf("\nFrom disk, for each token: of the PROMPT, %s\n",
           shown(v, FIRST) ? "the FIRST generated, each TOKEN after it"
                           : "each TOKEN generated after the first");
}

bool tt_whatif_print_text(const tt_whatif_view *v)
{
    print_head(v);
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown(v, i))
            tt_table_column(t, columns[i].title, i == 0 ? TT_COLUMN_LEFT : TT_COLUMN_RIGHT);
    for (size_t i = 0; i < v->n_policies * v->n_sizes; i++)
        table_row(t, v, i);
    return tt_table_print(t);
}
