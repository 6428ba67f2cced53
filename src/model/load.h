/* Fills a tt_model from META records. Private to this room. */
#ifndef TT_MODEL_LOAD_H
#define TT_MODEL_LOAD_H

#include "model/model.h"

/* A string of the trace, with the place its name implies (derived on demand). */
typedef struct tt_text {
    const char *text;
    bool placed;
    tt_place place;
} tt_text;

/* State that is needed only while loading. */
typedef struct tt_loader {
    tt_model *m;
    tt_text *strings; /* by id; 0 is the empty string */
    uint32_t n_strings, string_gaps;
    const tt_part *part;    /* NULL: all of it */
    uint64_t first_ticks;   /* of a part: of the trace's first batch or run */
    uint64_t chunk_offset;  /* of the META chunk being read */
    uint64_t next_position; /* in the META stream, after what was read */
    bool skipped;           /* records before the next ones were skipped on purpose */
    bool no_memory;
    uint64_t bare_tokens;    /* of batches of which nothing else is recorded */
    uint64_t base;           /* META before this position is in the BASE chunk */
    uint32_t last_cut_batch; /* batches up to this one have lost runs */
    struct tt_capacities {   /* of the model's arrays */
        size_t environment, strings, files, weights, buffers, graphs, batches, runs, decodes, rings,
            losses, detail_losses, indices, usages, throttled, pauses, sequence_changes,
            residencies, load_steps, pool_states, pool_reads, token_texts, mappings, page_faults,
            fault_spans, fault_losses;
    } capacity;
    tt_page_fault *faults; /* of one record */
    tt_meta_clock first_clock, last_clock;
} tt_loader;

/* Room for one more item in a growing array; false (and no_memory) if out of memory. */
#define TT_GROW(l, array, n, cap) tt_loader_grow((l), &(array), (n), &(cap), sizeof *(array))
bool tt_loader_grow(tt_loader *l, void *array, size_t n, size_t *capacity, size_t size);
void tt_loader_problem(tt_loader *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Whether it is a valid id: 0 never is, and is reported as a problem. */
bool tt_loader_id(tt_loader *l, const char *what, uint64_t id);
tt_text *tt_loader_string(tt_loader *l, uint32_t id);
const char *tt_loader_text(tt_loader *l, tt_span s);
tt_place tt_loader_place(tt_loader *l, tt_text *t);

/* Each loads the payload of one record; false if it is malformed. */
bool tt_load_model_file(tt_loader *l, tt_cursor *c);
bool tt_load_graph(tt_loader *l, tt_cursor *c);

bool tt_load_batch(tt_loader *l, tt_cursor *c);
bool tt_load_fate(tt_loader *l, tt_cursor *c);
bool tt_load_sequences(tt_loader *l, tt_cursor *c);
bool tt_load_token_text(tt_loader *l, tt_cursor *c);
bool tt_load_indices(tt_loader *l, tt_cursor *c);
bool tt_load_usage(tt_loader *l, tt_cursor *c);
bool tt_load_throttled(tt_loader *l, tt_cursor *c);
bool tt_load_pause(tt_loader *l, tt_cursor *c);
bool tt_load_residency(tt_loader *l, tt_cursor *c);
bool tt_load_load_step(tt_loader *l, tt_cursor *c);
bool tt_load_pool(tt_loader *l, tt_cursor *c);
bool tt_load_mapping(tt_loader *l, tt_cursor *c);
bool tt_load_page_faults(tt_loader *l, tt_cursor *c);
bool tt_load_page_fault_loss(tt_loader *l, tt_cursor *c);
bool tt_load_model_check(tt_loader *l, tt_cursor *c);
bool tt_load_extents(tt_loader *l, tt_cursor *c);

/* Which chunks l->part does not need, one flag per chunk, malloc'ed; NULL: all are needed. Sets
 * m->partial, m->until_ticks and l->first_ticks. */
tt_status tt_part_choose(tt_loader *l, bool **skip, tt_error *err);
/* After all records: references, views, weights, origins, the clock. */
void tt_model_link(tt_loader *l);
/* Replaces ids in indices, usages, residencies and buffers by indices; the runs must be sorted. Ids
 * that do not exist are reported as problems; records that are useless without them are dropped. */
void tt_link_files(tt_loader *l); /* before the graphs are linked */
void tt_link_records(tt_loader *l);
void tt_link_page_faults(tt_loader *l);
void tt_link_fates(tt_loader *l);

#endif
