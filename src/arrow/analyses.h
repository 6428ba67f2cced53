/* The analyses by the names of their commands, with the commands' options. */
#ifndef TT_ARROW_ANALYSES_H
#define TT_ARROW_ANALYSES_H

#include "arrow/options.h"
#include "arrow/stream.h"

#include <stdint.h>

typedef struct tt_arrow_analysis_kind {
    const char *name; /* as the command */
    const char *about;
    const char *takes; /* options besides columns, sort and limit, with blanks in between */
    /* Adds the rows to l. */
    tt_status (*run)(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                     tt_error *err);
} tt_arrow_analysis_kind;

/* NULL: there is none of that number, or name. */
const tt_arrow_analysis_kind *tt_arrow_analysis_at(uint32_t index);
const tt_arrow_analysis_kind *tt_arrow_analysis_find(const char *name);
/* Computes it, and makes a stream of its rows. */
tt_status tt_arrow_analysis_stream(const tt_model *m, const tt_arrow_analysis_kind *kind,
                                   const char *const *options, struct ArrowArrayStream *out,
                                   tt_error *err);

/* For analyses: lists the rows of a set as the options say; `sort` where they say nothing (NULL: as
 * they are). */
tt_status tt_arrow_list(tt_arrow_listed *l, const tt_model *m, const tt_rowset *set,
                        const tt_arrow_options *o, const char *sort,
                        bool (*passes)(const void *context, const void *row), tt_error *err);
/* The error that an option has no such value; `names` says which there are. */
tt_status tt_arrow_no_value(const char *option, const char *value, const char *names,
                            tt_error *err);

/* analyses_whatif.c */
tt_status tt_arrow_whatif(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                          tt_error *err);
/* analyses_values.c */
tt_status tt_arrow_values(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                          tt_error *err);

#endif
