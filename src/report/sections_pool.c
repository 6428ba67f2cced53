/* What `tensortrace boost` did, and how close it came to what is possible. */
#include "report/sections.h"

#include <math.h>

static const char *say_hits(tt_page *p, const tt_pool_row *r)
{
    const uint64_t gone = r->missed + r->left;
    if (!r->used) return "";
    return tt_page_format(
        p, ", and %s of the experts' slices that it used were there",
        tt_percent(p, gone < r->used ? (double)(r->used - gone) : 0, (double)r->used));
}

static void say_sums(tt_page *p, const tt_analysis *a)
{
    const tt_pool_sums *g = a->pool_generated.tokens ? &a->pool_generated : &a->pool_all;
    const tt_pool_row *t = &a->pool_all.total;
    const double tokens = g->tokens ? (double)g->tokens : NAN;
    tt_page_add(p, TT_BLOCK_ANSWER,
                "%s token took %s%s from the file%s; threads stood still for that for %s.",
                g == &a->pool_generated ? "A generated" : "A", t->lost ? "at least " : "",
                tt_format_bytes(p, (double)g->total.read_bytes / tokens), say_hits(p, &g->total),
                isnan(g->pause_ns) ? "an unknown time" : tt_format_ns(p, g->pause_ns / tokens));
    tt_page_add(p, TT_BLOCK_TEXT,
                "In all it read %s in %s reads, and held %s at most of the %s that it might.",
                tt_format_bytes(p, (double)t->read_bytes), tt_format_count(p, (double)t->reads),
                tt_format_bytes(p, (double)t->peak_bytes),
                tt_format_bytes(p, (double)t->budget_bytes));
}

static void say_bounds(tt_page *p, const tt_analysis *a)
{
    const tt_pool_bounds *b = &a->pool_bounds;
    if (!b->known) return;
    tt_page_add(p, TT_BLOCK_TEXT,
                "%s generated tokens after the first came at %s tokens/s: %s of the %s that are "
                "possible when everything is read as early as it can be known, and %s of the %s "
                "when also the experts are known beforehand.",
                tt_format_count(p, (double)b->tokens), tt_format_number(p, b->rate),
                tt_percent(p, b->rate, b->at_most_rate), tt_format_number(p, b->at_most_rate),
                tt_percent(p, b->rate, b->overlap_rate), tt_format_number(p, b->overlap_rate));
    tt_page_add(p, TT_BLOCK_NOTE,
                "The bounds are those of tensortrace whatif --boost, with lru for experts (%s a "
                "token from disk), for computing as in this run without what its threads waited "
                "for reads, and for a disk of %s%s.",
                tt_format_bytes(p, b->predicted_bytes), tt_format_rate(p, b->disk_bytes_per_s),
                b->disk_given ? ""
                              : ": so fast came the fastest tenth of what was read at a time while "
                                "tokens were generated (--disk sets another rate)");
}

void tt_section_pool(tt_page *p, const tt_analysis *a)
{
    if (!a->has_pool) return;
    tt_page_section_begin(p, "pool", "What did boost read, and who waited for it?");
    say_sums(p, a);
    say_bounds(p, a);
    const tt_listing_wish wish = {.text = true};
    const tt_rowset causes = tt_pool_causes_rowset(&a->pool_all);
    (void)tt_page_rows(p, "The reads by cause", &causes, &wish);
    const tt_rowset rows = tt_pool_rowset(&a->pool);
    tt_page_table *t = tt_page_rows(p, "By batch", &rows, &wish);
    if (t) t->shown = 20;
    tt_page_add(p, TT_BLOCK_NOTE,
                "A pause is time in which at least one thread waited at the start of an op; it "
                "counts for the read that ended last. Waited is a sum over threads. tensortrace "
                "faults --pool-reads lists each read.");
}
