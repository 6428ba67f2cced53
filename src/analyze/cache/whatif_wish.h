/* What a user asks a replay for: sizes, policies and a plan, from texts; and its results. */
#ifndef TT_ANALYZE_CACHE_WHATIF_WISH_H
#define TT_ANALYZE_CACHE_WHATIF_WISH_H

#include "analyze/cache/whatif_columns.h"

#define TT_WHATIF_SIZES_MAX 64u
#define TT_WHATIF_DEPTH_MAX 1024u
#define TT_WHATIF_READAHEAD_MAX (1u << 30)

typedef struct tt_whatif_wish {
    tt_whatif_plan plan;
    uint64_t ram[TT_WHATIF_SIZES_MAX];
    size_t n_ram;
    bool curve; /* ten sizes, up to all bytes read, in place of ram */
    bool policy[TT_POLICIES];
    uint64_t reserve_bytes; /* that each of ram holds besides weights */
} tt_whatif_wish;

/* Add to the wish. TT_E_USAGE: the text is not like that, in words. "8G,16G"; "lru,arc" or "all";
 * "0.8" or "80%". */
tt_status tt_whatif_wish_sizes(tt_whatif_wish *w, const char *text, tt_error *err);
tt_status tt_whatif_wish_policies(tt_whatif_wish *w, const char *text, tt_error *err);
tt_status tt_whatif_wish_guess(tt_whatif_wish *w, const char *text, tt_error *err);

/* Last: lru if there is no policy, experts with boost, and the unit's reader unless has_reader; the
 * plan's page_bytes and depth are the caller's to check before. TT_E_USAGE: it is contradictory, in
 * words that begin with an option's name. */
tt_status tt_whatif_wish_end(tt_whatif_wish *w, bool has_reader, tt_error *err);

/* Fills in v->results and what belongs to them. *results owns them: free it, also after an error.
 */
tt_status tt_whatif_wish_run(const tt_whatif_wish *w, tt_whatif *sim, tt_whatif_view *v,
                             tt_whatif_result **results, tt_error *err);

#endif
