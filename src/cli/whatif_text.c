#include "base/units.h"
#include "cli/table.h"
#include "cli/whatif_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 13
#define FIRST 5 /* the column */
#define MIXED 8 /* the first of three */
/* Below this width the columns marked optional are left out. */
#define WIDTH_FULL 110

static const struct {
    const char *title;
    bool optional;
    bool disk;      /* only with a disk's rate */
    unsigned phase; /* only where the trace has tokens of it; 0: always */
} columns[COLUMNS] = {
    {"POLICY", false, false, 0},
    {"RAM", false, false, 0},
    {"OF TOUCHED", true, false, 0},
    {"MISSED", true, false, 0},
    {"PROMPT", false, false, 0},
    {"FIRST", true, false, 0},
    {"TOKEN", false, false, 0},
    {"TOKEN MISSES", false, false, 0},
    {"MIXED", false, false, TT_PHASE_MIXED},
    {"WARM-UP", true, false, TT_PHASE_WARMUP},
    {"OTHER", true, false, TT_PHASES},
    {"DISK TIME", false, true, 0},
    {"TOKENS/S", false, true, 0},
};

/* The part of a column that is of a phase; TT_PHASES stands for the unknown one. */
static const tt_whatif_part *part_of(const tt_whatif_result *r, size_t column)
{
    return &r->of_phase[columns[column].phase % TT_PHASES];
}

static bool shown(const tt_whatif_view *v, size_t column)
{
    size_t width = tt_table_width(stdout);
    if (columns[column].disk && !v->has_disk) return false;
    if (columns[column].phase && part_of(&v->results[0], column)->tokens == 0) return false;
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
    const uint64_t first = r->of_phase[TT_PHASE_GENERATE].missed_bytes - p->missed_bytes;
    char ram[TT_UNITS_TEXT], of[32], missed[32], prompt[TT_UNITS_TEXT], begin[TT_UNITS_TEXT];
    char token[TT_UNITS_TEXT], token_missed[32], disk[TT_UNITS_TEXT] = "", speed[80] = "";
    char others[3][TT_UNITS_TEXT];
    for (size_t k = 0; k < 3; k++)
        per_token(others[k], part_of(r, MIXED + k)->missed_bytes, part_of(r, MIXED + k)->tokens);
    share(of, sizeof of, r->ram_bytes, v->touched_bytes);
    share(missed, sizeof missed, r->total.missed_bytes, r->total.read_bytes);
    share(token_missed, sizeof token_missed, p->missed_bytes, p->read_bytes);
    per_token(prompt, r->of_phase[TT_PHASE_PROMPT].missed_bytes,
              r->of_phase[TT_PHASE_PROMPT].tokens);
    per_token(begin, first, r->of_phase[TT_PHASE_GENERATE].tokens - p->tokens);
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
                                others[0],
                                others[1],
                                others[2],
                                disk,
                                speed};
    const char *cells[COLUMNS];
    size_t n = 0;
    for (size_t k = 0; k < COLUMNS; k++)
        if (shown(v, k)) cells[n++] = all[k];
    tt_table_row(t, cells);
}

/* "prompt 1 MiB, generated 2 MiB", of the phases that there are: what `say` makes of each. */
static void of_phases(char *out, size_t room, const tt_whatif_result *r,
                      bool say(char out[TT_UNITS_TEXT], const tt_whatif_part *p),
                      const char *before, const char *after)
{
    static const char *const words[TT_PHASES] = {"other", "prompt", "generated", "mixed",
                                                 "warm-up"};
    char text[TT_UNITS_TEXT];
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < TT_PHASES && used < room; i++) {
        const unsigned phase = tt_phase_told(i);
        if (!say(text, &r->of_phase[phase])) continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s %s%s%s", used ? ", " : "",
                                 words[phase], before, text, after);
    }
}

static bool say_read(char out[TT_UNITS_TEXT], const tt_whatif_part *p)
{
    per_token(out, p->read_bytes, p->tokens);
    return p->tokens > 0;
}

static bool say_time(char out[TT_UNITS_TEXT], const tt_whatif_part *p)
{
    tt_units_ns(out, tt_whatif_compute_ns(p));
    return p->timed_tokens > 0;
}

static void print_compute(const tt_whatif_view *v)
{
    char times[256], line[320];
    tt_whatif_result r = v->results[0];
    r.of_phase[TT_PHASE_GENERATE] = r.steady; /* the first batch is told apart */
    of_phases(times, sizeof times, &r, say_time, "", "");
    (void)snprintf(line, sizeof line, "compute   as traced, a token: %s",
                   times[0] ? times : "not observed");
    tt_table_text(stdout, 10, line);
}

static void print_head(const tt_whatif_view *v)
{
    const tt_whatif_result *r = &v->results[0];
    char touched[TT_UNITS_TEXT], model[TT_UNITS_TEXT], text[TT_UNITS_TEXT], count[TT_UNITS_TEXT];
    char demand[256], line[320];
    const char *bound = v->at_most ? "<= " : "";
    printf("weights   %s; %s reads touch %s%s, in whole %s%s",
           tt_units_bytes(model, v->model_bytes), tt_units_count(count, v->reads), bound,
           tt_units_bytes(touched, v->touched_bytes),
           v->page_bytes                    ? "pages of "
           : strcmp(v->unit, "expert") == 0 ? "tensors or experts"
                                            : "tensors",
           v->page_bytes ? tt_units_bytes(text, v->page_bytes) : "");
    putchar('\n');
    of_phases(demand, sizeof demand, r, say_read, bound, " a token");
    (void)snprintf(line, sizeof line, "demand    %s", demand);
    tt_table_text(stdout, 10, line);
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
