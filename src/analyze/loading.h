/* Loading: which bytes of each model file came into RAM before the first batch, by what means, and
 * what became of them: read by ops, evicted before that, or fetched again.
 *
 * Pages are known at each sample (`run --residency`). A page that is in one sample and not in the
 * next was evicted; so was one for which a fault had to wait for the device, if faults were
 * recorded (`run --faults`). A page that left and returned between two samples without such a
 * fault, because another page's fault brought it, is assumed to have stayed: bytes evicted or
 * fetched again are lower bounds. All processes share the page cache: what one fetches, another may
 * have fetched before. */
#ifndef TT_ANALYZE_LOADING_H
#define TT_ANALYZE_LOADING_H

#include "analyze/ranges.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_loading_phase {
    TT_LOADING_OPENED, /* until the file is mapped: what was in RAM already */
    TT_LOADING_MAPPED, /* during the mapping: MAP_POPULATE fetches */
    TT_LOADING_LOADED, /* from then to the first batch */
    TT_LOADING_WARM_UP,
    TT_LOADING_PROMPT,
    TT_LOADING_GENERATE,
    TT_LOADING_MIXED,
    TT_LOADING_UNKNOWN, /* batches of unknown phase */
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
    char advice[64];           /* given, of MAPPED: "sequential, willneed"; "": none */
    bool looked;               /* observed_bytes and resident_bytes, at the end of the phase */
    uint64_t observed_bytes;   /* of the file: observed pages */
    uint64_t resident_bytes;   /* of these, in RAM */
    bool has_io, has_faults;   /* read_bytes; minor and major */
    uint64_t read_bytes;       /* by the process, from any device */
    uint64_t minor, major;     /* of the process */
    bool has_fetched;          /* fetched_bytes */
    uint64_t fetched_bytes;    /* not in RAM at the start of the phase, there at its end */
    bool evaluated;            /* the members below, of fetched_bytes; for OPENED of
                               resident_bytes */
    uint64_t used_bytes;       /* read by ops in the mapping */
    uint64_t unused_bytes;     /* there until the end, and not read by any op */
    uint64_t evicted_bytes;    /* evicted before an op read them: at least */
    uint64_t again_bytes;      /* fetched again after their eviction: at least */
    bool has_again_most;       /* again_most_bytes */
    uint64_t again_most_bytes; /* the process read no more than that later */
    bool unplaced; /* of some reads it is not known where: used_bytes is at most, unused_bytes at
                      least */
} tt_loading_row;

#define TT_LOADING_SETS 3u /* of OPENED, MAPPED and LOADED */

/* The same as sets of bytes of a file; merged. */
typedef struct tt_loading_pages {
    bool known[TT_LOADING_SETS];     /* for `came` */
    tt_ranges came[TT_LOADING_SETS]; /* present when the file was opened, fetched by the mapping,
                                        fetched from then to the first batch */
    bool evaluated[TT_LOADING_SETS]; /* for the members below */
    tt_ranges used, unused, evicted, again;
} tt_loading_pages;

typedef struct tt_loading {
    const tt_model *m;
    tt_loading_pages *pages; /* by tt_model.files */
    tt_loading_row *rows;    /* by file, then phase; only phases with data */
    size_t n;
} tt_loading;

extern const tt_schema tt_loading_schema;

/* with_ops: walks all ops, which `used_bytes` and similar need. Zero-filled or freed with
 * tt_loading_free, also after an error. No rows: nothing was recorded. */
tt_status tt_loading_find(tt_loading *l, const tt_model *m, bool with_ops, tt_error *err);
void tt_loading_free(tt_loading *l);
tt_rowset tt_loading_rowset(const tt_loading *l);
/* "populated, sequential, willneed" for a row of MAPPED. */
void tt_loading_describe(const tt_loading_row *r, char *out, size_t size);
/* The same for a file (index in tt_model.files); "": unknown. */
void tt_loading_how(const tt_model *m, uint32_t file, char *out, size_t size);
/* In words: how a file was mapped, what that read, and what was read from then to the first batch.
 * Cheap: uses only the steps. "": unknown. */
void tt_loading_text(const tt_model *m, uint32_t file, char *out, size_t size);

#endif
