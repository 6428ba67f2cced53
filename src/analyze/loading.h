/* Loading: what came into RAM of each model file before the first batch, by what, and what became
 * of it: whether ops read it, whether it was gone before they did, whether it had to be fetched
 * again.
 *
 * Pages are known where they were looked at (`run --residency`). A page that was there at one look
 * and not at the next one is gone; so is one that a fault had to wait for the device for, where
 * faults were recorded one by one (`run --faults`). A page that went and came between two looks
 * without such a fault of its own, because another page's fault brought it, is taken to have
 * stayed: what is said to be evicted or fetched again is the least there was. Pages are in RAM for
 * all processes: what one of them fetches, another one may have fetched already. */
#ifndef TT_ANALYZE_LOADING_H
#define TT_ANALYZE_LOADING_H

#include "analyze/ranges.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_loading_phase {
    TT_LOADING_OPENED, /* until the file is mapped; what was in RAM already */
    TT_LOADING_MAPPED, /* while it was: MAP_POPULATE fetches */
    TT_LOADING_LOADED, /* from then to the first batch */
    TT_LOADING_WARM_UP,
    TT_LOADING_PROMPT,
    TT_LOADING_GENERATE,
    TT_LOADING_MIXED,
    TT_LOADING_UNKNOWN, /* batches of which it is not known */
    TT_LOADING_END,     /* from the first batch to the end of recording */
    TT_LOADING_PHASES
} tt_loading_phase;

/* "opened", "mapped", ... */
const char *tt_loading_phase_name(unsigned phase);

/* A file in a phase. */
typedef struct tt_loading_row {
    uint32_t file;             /* in tt_model.files */
    const char *path;          /* of the file */
    uint8_t phase;             /* tt_loading_phase */
    bool has_begin, has_end;   /* of begin_ns; of end_ns */
    double begin_ns, end_ns;   /* since the trace's first batch */
    const tt_load_step *map;   /* of MAPPED: its mapping; else NULL */
    char advice[64];           /* that was taken, of MAPPED: "sequential, willneed"; "": none */
    bool looked;               /* observed_bytes and resident_bytes, at the end of the phase */
    uint64_t observed_bytes;   /* of the file: pages that were looked at */
    uint64_t resident_bytes;   /* of these, in RAM */
    bool has_io, has_faults;   /* read_bytes; minor and major */
    uint64_t read_bytes;       /* by the process, from any device */
    uint64_t minor, major;     /* of the process */
    bool has_fetched;          /* fetched_bytes */
    uint64_t fetched_bytes;    /* not in RAM when the phase began, there when it ended */
    bool judged;               /* what follows, of fetched_bytes; of OPENED: of resident_bytes */
    uint64_t used_bytes;       /* read by ops in the mapping */
    uint64_t unused_bytes;     /* there until the end, and not read by any op */
    uint64_t evicted_bytes;    /* gone before an op read them: at least */
    uint64_t again_bytes;      /* fetched again after they were gone: at least */
    bool has_again_most;       /* again_most_bytes */
    uint64_t again_most_bytes; /* the process read no more than that afterwards */
} tt_loading_row;

#define TT_LOADING_SETS 3u /* of OPENED, MAPPED and LOADED */

/* The same of a file as bytes of it; merged. */
typedef struct tt_loading_pages {
    bool known[TT_LOADING_SETS];     /* came */
    tt_ranges came[TT_LOADING_SETS]; /* there when it was opened, fetched by the mapping, fetched
                                        from then to the first batch */
    bool judged[TT_LOADING_SETS];    /* what follows is of these */
    tt_ranges used, unused, evicted, again;
} tt_loading_pages;

typedef struct tt_loading {
    const tt_model *m;
    tt_loading_pages *pages; /* of each file, in the order of tt_model.files */
    tt_loading_row *rows;    /* by file, then phase; phases of which something is known */
    size_t n;
} tt_loading;

extern const tt_schema tt_loading_schema;

/* with_ops: walks all ops, which `used_bytes` and the like need. Zero-filled or freed with
 * tt_loading_free, also after an error. No rows: nothing was recorded. */
tt_status tt_loading_find(tt_loading *l, const tt_model *m, bool with_ops, tt_error *err);
void tt_loading_free(tt_loading *l);
tt_rowset tt_loading_rowset(const tt_loading *l);
/* "populated, sequential, willneed" of a row of MAPPED. */
void tt_loading_describe(const tt_loading_row *r, char *out, size_t size);
/* The same of a file (in tt_model.files); "": it is not known. */
void tt_loading_how(const tt_model *m, uint32_t file, char *out, size_t size);
/* How a file was mapped, what that read, and what was read from then to the
 * first batch, in words. Cheap: of the steps alone. "": it is not known. */
void tt_loading_text(const tt_model *m, uint32_t file, char *out, size_t size);

#endif
