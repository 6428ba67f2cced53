/* Options as texts, "NAME=VALUE" or the name of what is either asked for or not. */
#ifndef TT_ARROW_OPTIONS_H
#define TT_ARROW_OPTIONS_H

#include "analyze/filter.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What was asked for; zero: nothing. */
typedef struct tt_arrow_options {
    const char *columns, *sort;
    uint64_t limit;
    uint32_t threads;
    tt_filter filter;
    bool filtered; /* by anything */
    /* Of analyses: */
    const char *by, *ram, *policy, *unit, *reader, *disk, *reserve, *readahead, *ahead, *page_size;
    const char *order;
    const char *guess, *base_name, *only, *name;
    uint32_t depth, over_time;
    bool cold, curve, warm, boost, pages, mappings, loading, pool, pool_reads, transitions;
    bool timeline, kv, lanes, outliers, growth, samples;
    char *memory; /* private: of all texts */
} tt_arrow_options;

/* Reads a list that ends with NULL, or is NULL, for `what` ("the table ops"), which takes the
 * options that `takes` names, with blanks in between. Freed with tt_arrow_options_free, also after
 * an error. TT_E_USAGE: an option that is unknown, not taken, given twice, or has no such value. */
tt_status tt_arrow_options_read(tt_arrow_options *o, const char *what, const char *takes,
                                const char *const *list, tt_error *err);
void tt_arrow_options_free(tt_arrow_options *o);

#endif
