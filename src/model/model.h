/* The content of a trace as an immutable index: environment, model files and weights, buffers,
 * graphs, batches (tokens), runs, the clock, counts and losses.
 *
 * The op records stay in the file: tt_pieces walks them run by run. Inconsistency is no error: a
 * reference to something missing is TT_NONE or an empty string and is listed under `problems`.
 * Everything is owned by the tt_model and lives until tt_model_close. Several threads may read it
 * (const); pieces, details and data are for one thread at a time, see tt_model_share. */
#ifndef TT_MODEL_MODEL_H
#define TT_MODEL_MODEL_H

#include "base/idmap.h"
#include "base/layer.h"
#include "base/status.h"
#include "format/meta.h"
#include "format/page_faults.h"
#include "model/arena.h"
#include "read/details.h"
#include "read/pieces.h"
#include "read/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of a model: at most FREE + FACTOR x the size of its file, and at most MAX. A chunk
 * unpacks to at most 64 times its size, and the largest structs are about 16 times their META
 * record. */
#define TT_MODEL_MEMORY_MAX ((size_t)2 << 30)
#define TT_MODEL_MEMORY_FREE ((size_t)16 << 20)
#define TT_MODEL_MEMORY_FACTOR 1024u
#define TT_MODEL_PROBLEMS_MAX 32u
#define TT_VIEW_DEPTH_MAX 32u
#define TT_LAYER_NONE (-1)

/* The part of the network that a name implies (gguf/memory_map.h). */
typedef struct tt_place {
    int32_t layer_id;      /* with its stack and model (base/layer.h); TT_LAYER_NONE: none */
    const char *category;  /* TT_CATEGORY_... of gguf/memory_map.h */
    const char *component; /* "attn_q", "ffn_down", "kq" */
} tt_place;

typedef struct tt_pair {
    const char *key;
    const char *value;
} tt_pair;

typedef struct tt_file_kv {
    const char *key;
    const char *value;
    uint32_t type;
} tt_file_kv;

/* A range that is contiguous in a model file and on its disk. */
typedef struct tt_fragment {
    uint64_t offset_bytes, disk_bytes, size_bytes; /* in the file; on the block device; of it */
    uint8_t flags;                                 /* TT_HOST_EXTENT_* of host/disk.h */
} tt_fragment;

/* The location of a model file on its disk when it was opened. Totals are for its first
 * walked_bytes. */
typedef struct tt_file_extents {
    uint8_t state;   /* enum tt_extents_state */
    const char *why; /* it was not observed */
    uint64_t walked_bytes, n_extents, n_fragments;
    uint64_t n_backward; /* fragments that begin before the end of the previous one */
    uint64_t mapped_bytes, largest_bytes;
    uint64_t long_bytes; /* in fragments of 1 MiB and more */
    uint8_t flags;       /* of any fragment */
    uint32_t n_listed;
    const tt_fragment *fragments; /* the first n_listed */
} tt_file_extents;

typedef struct tt_model_file {
    uint32_t id;
    const char *path;
    uint64_t size_bytes;
    uint64_t mtime_ns;
    uint64_t device;
    uint64_t inode;
    uint64_t head_hash;
    uint64_t data_offset_bytes;
    const tt_file_kv *kvs;
    uint32_t n_kvs;
    uint32_t first_weight; /* in tt_model.weights */
    uint32_t n_weights;
    /* Derived. The parts of a split model are one model, numbered from 0; adapters belong to the
     * one opened before them. */
    uint32_t model;
    bool is_adapter;                /* or a control vector, ...: it is no model */
    bool checked_at_end;            /* then end_state is valid */
    uint8_t end_state;              /* enum tt_model_state */
    const tt_file_extents *extents; /* NULL: older recorders did not record them */
} tt_model_file;

/* A tensor of a model file. */
typedef struct tt_weight {
    const char *name;
    const char *type_name;
    uint32_t type;
    uint32_t n_dims; /* 0: the shape was not observed */
    uint64_t ne[TT_DIMS];
    uint64_t offset_bytes; /* absolute, in its file */
    uint64_t size_bytes;
    uint32_t file;           /* in tt_model.files */
    uint32_t next_same_name; /* another weight of that name (of a second model), or TT_NONE */
    tt_place place;
} tt_weight;

/* The use of a buffer, derived from its usage and the tensors in it. */
typedef enum tt_buffer_kind {
    TT_BUFFER_OTHER = 0, /* none of the uses below was observed */
    TT_BUFFER_WEIGHTS,
    TT_BUFFER_KV_CACHE, /* keys and values of attention, or a recurrent state */
    TT_BUFFER_COMPUTE,
    TT_BUFFER_OUTPUT /* logits and embeddings for the program */
} tt_buffer_kind;

typedef struct tt_buffer {
    uint64_t id;
    const char *name;
    uint64_t alloc_ticks;
    uint64_t record_ticks; /* of its last record; unique among records of the buffer */
    uint64_t free_ticks;   /* 0: not freed while traced */
    uint64_t base;
    uint64_t size_bytes;
    const char *path; /* with TT_BUFFER_FILE */
    uint64_t file_offset_bytes;
    uint8_t usage;
    uint8_t flags;         /* TT_BUFFER_* */
    uint32_t last_file;    /* in tt_model.files: the last one that its thread had opened before; or
                              TT_NONE */
    const char *allocator; /* file name of the library that requested it; "" not observed */
    tt_buffer_kind kind;   /* derived */
} tt_buffer;

/* A node or leaf of a graph. */
typedef struct tt_tensor {
    const char *name;
    const char *op_name;
    const char *op_desc; /* the name of a unary or gated function; else the op's name */
    const char *type_name;
    const char *backend; /* computes this node; "" not observed, or a leaf */
    uint32_t op;
    uint32_t type;
    uint32_t flags; /* TT_TENSOR_* */
    uint32_t n_src;
    uint32_t src[TT_SRC_MAX]; /* tensor index in the graph, or TT_NONE */
    uint32_t view_src;        /* tensor index, or TT_NONE */
    uint64_t view_offset_bytes;
    uint64_t ne[TT_DIMS];
    uint64_t nb[TT_DIMS];
    uint64_t size_bytes;
    uint32_t buffer;   /* in tt_model.buffers, or TT_NONE */
    uint64_t location; /* offset in the buffer; an address without one */
    /* Derived: */
    uint32_t root;   /* the tensor of which this is finally a view; itself if it is
                        none */
    uint32_t weight; /* of the root, in tt_model.weights, or TT_NONE */
    bool is_weight;  /* it, or its root, is a weight: of a known file, or what lies in a buffer of
                        weights while no file that was recorded has its name (weight is TT_NONE) */
    uint64_t root_offset_bytes; /* offset of its bytes in the root's */
    tt_origin origin;
    tt_place place;
    /* Of a node that a program recorded itself: its stage (BitNet.rs's names: "q_proj"), and its
     * layer in the program's numbering; NULL: none. */
    const char *stage;
    int32_t stage_layer;
} tt_tensor;

typedef struct tt_graph {
    uint32_t id;
    uint32_t n_nodes; /* the first n_nodes tensors, in execution order */
    uint32_t n_tensors;
    uint32_t n_executed; /* nodes with TT_TENSOR_EXECUTES */
    uint32_t n_untimed;  /* ... of which these have no op records: TT_TENSOR_UNTIMED */
    tt_tensor *tensors;
    uint64_t chunk_offset_bytes; /* of its META chunk */
    uint32_t model; /* tt_model_file.model of its weights, or of its context; TT_NONE: not known */
} tt_graph;

/* One scheduler graph computation; numbered from 0 (see tt_model_batch_number). */
typedef struct tt_batch {
    uint32_t number; /* the number in commands, see tt_model_batch_number */
    uint32_t id;
    uint32_t context;
    uint32_t thread;
    uint32_t n_tokens;
    uint32_t n_outputs_plus_1; /* 0: not observed */
    uint32_t n_generate; /* generated tokens, if the phase is known; the others are of a prompt or a
                            warm-up */
    /* Of the generated tokens: guesses; of these: that the sequence went on behind, or not. Of the
     * others it is not known. */
    uint32_t n_drafted, n_accepted, n_rejected;
    bool trains;   /* the model; its phase is unknown */
    bool drafts;   /* another context verifies what its context computes */
    uint8_t phase; /* enum tt_phase */
    bool ended;
    const int32_t *tokens;    /* n_tokens, or NULL: not observed */
    const int32_t *positions; /* likewise */
    /* Token i belongs to sequences[sequence_first[i]] .. sequences[sequence_first[i + 1] - 1];
     * both NULL: not observed. */
    const uint32_t *sequence_first;
    const int32_t *sequences;
    uint32_t vocabulary; /* for tt_model_token_text; 0: not observed */
    uint64_t begin_ticks;
    uint64_t end_ticks; /* when ended */
    int64_t status;
    uint32_t n_runs;
    uint32_t last_run; /* in tt_model.runs, or TT_NONE */
} tt_batch;

/* One computation of one graph on one backend. */
typedef struct tt_run {
    uint32_t id;
    uint32_t batch; /* in tt_model.batches, or TT_NONE: none */
    uint32_t graph; /* in tt_model.graphs, or TT_NONE: unknown */
    uint32_t threads;
    uint32_t thread;
    uint8_t observed; /* enum tt_observed */
    bool ended;
    uint64_t begin_ticks;
    uint64_t end_ticks; /* when ended */
    int64_t status;
} tt_run;

/* The values of a leaf with row numbers (for GET_ROWS, SET_ROWS) in one run. */
typedef struct tt_indices {
    uint32_t run;    /* in tt_model.runs */
    uint32_t tensor; /* in the run's graph */
    uint32_t n;
    const int64_t *values;
} tt_indices;

/* Which pages of a model file were in RAM. The intervals alternate absent, present, ... */
typedef struct tt_residency {
    uint32_t file;  /* in tt_model.files */
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    uint8_t moment; /* enum tt_moment */
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint32_t page_bytes;
    uint64_t first_page;
    uint64_t n_pages;
    uint32_t n_intervals;
    const uint64_t *intervals; /* in pages */
} tt_residency;

/* A step of loading a model: like LOAD_STEP, but `model` is an index in tt_model.files, or
 * TT_NONE. */
typedef tt_meta_load_step tt_load_step;

/* The pool of `tensortrace boost` when a computation ended: like POOL, but `run` is an index in
 * tt_model.runs, or TT_NONE, and n counts its reads in tt_model.pool_reads, from first_read on. */
typedef struct tt_pool_state {
    tt_meta_pool at;
    uint32_t first_read;
} tt_pool_state;

/* A read of the pool: like POOL_READ, with times in ticks of the trace. */
typedef struct tt_pool_read {
    uint32_t file; /* in tt_model.files */
    uint32_t waiters, thread;
    uint8_t cause, flags;
    uint64_t file_offset_bytes, size_bytes;
    uint64_t requested_ticks, begin_ticks, end_ticks, waited_ticks;
} tt_pool_read;

/* Memory of the process in which page faults occurred. */
typedef struct tt_mapping {
    uint32_t id;
    uint32_t file; /* in tt_model.files, or TT_NONE: not of a model */
    uint64_t ticks;
    uint64_t address;
    uint64_t size_bytes;
    uint64_t file_offset_bytes; /* of `address` */
    uint64_t device, inode;     /* 0: no file */
    const char *path;           /* the kernel's name: "//anon", "[heap]" */
} tt_mapping;

/* An interval in which every page fault was recorded. */
typedef struct tt_fault_span {
    uint64_t begin_ticks, end_ticks;
} tt_fault_span;

typedef struct tt_fault_ref {
    uint64_t ticks;
    uint32_t thread;
    uint32_t fault; /* in tt_model.page_faults */
} tt_fault_ref;

typedef struct tt_token_text {
    uint32_t vocabulary;
    int32_t token;
    const char *text; /* n bytes and a NUL; may hold parts of characters */
    size_t n;
} tt_token_text;

typedef struct tt_count {
    const char *name;
    uint64_t value;
} tt_count;

/* An inconsistency, for `verify`. */
typedef struct tt_problem {
    uint64_t offset_bytes; /* of the META chunk, or TT_NO_OFFSET */
    char text[200];
} tt_problem;

typedef struct tt_clock_fit {
    bool known;   /* ticks can be converted to time */
    bool assumed; /* from the tick_hz of the environment, not from two CLOCK records */
    double ns_per_tick;
    uint64_t ticks;      /* a time in ticks ... */
    uint64_t mono_ns;    /* ... on CLOCK_MONOTONIC ... */
    uint64_t unix_ns;    /* ... and on CLOCK_REALTIME; 0: not observed */
    uint64_t zero_ticks; /* times are shown relative to this: the start of the first batch or run */
} tt_clock_fit;

/* Of a flight recorder's trace, which starts in the middle of the run. */
typedef struct tt_front {
    bool present;
    tt_meta_front was; /* what was discarded */
    uint32_t runs_cut; /* incomplete runs up to this id are left out */
} tt_front;
/* The requested part of a trace: some batches, or an interval of time. */
typedef struct tt_part {
    bool has_tokens;
    uint32_t batch_first, batch_last; /* batch numbers */
    bool has_from, has_to;
    double from_ns, to_ns; /* since the trace's first batch */
    bool first_only;       /* loading only the first part of that interval is enough */
} tt_part;

typedef struct tt_model {
    tt_trace trace;
    tt_pieces *pieces;
    tt_front front;       /* what was discarded before the trace's start */
    tt_error meta_damage; /* status TT_OK, or why reading META stopped */
    tt_pair *environment;
    tt_model_file *files;
    tt_weight *weights;
    tt_buffer *buffers;
    tt_graph *graphs;
    tt_batch *batches; /* in the order observed */
    tt_run *runs;      /* by ascending id */
    tt_meta_decode *decodes;
    tt_meta_ring *rings; /* by ring and time */
    tt_count *counts;    /* the last COUNTS record */
    tt_meta_loss *losses;
    tt_meta_loss *detail_losses;
    tt_indices *indices;          /* by ascending run, tensor */
    tt_meta_usage *usages;        /* in the order observed; `batch` is an index, or TT_NONE */
    tt_meta_throttled *throttled; /* likewise */
    tt_meta_pause *pauses;        /* by ascending time */
    tt_meta_sequences *sequence_changes; /* in the order observed */
    tt_residency *residencies;           /* in the order observed */
    tt_load_step *load_steps;            /* likewise */
    tt_pool_state *pool_states;          /* likewise */
    tt_pool_read *pool_reads;            /* likewise */
    tt_token_text *token_texts;
    tt_mapping *mappings;
    tt_page_fault *page_faults;            /* by ascending time */
    tt_fault_ref *faults_by_thread;        /* all of them, by thread and time */
    tt_fault_span *fault_spans;            /* by ascending time */
    tt_meta_page_fault_loss *fault_losses; /* ascending, disjoint; `lost` is not summed */
    tt_details *details;                   /* observed of ops, besides their times */
    tt_data *data;                         /* of outputs, if it was recorded */
    uint32_t n_environment, n_files, n_weights, n_buffers, n_graphs, n_batches, n_runs, n_decodes,
        n_rings, n_counts, n_losses, n_detail_losses, n_indices, n_usages, n_throttled, n_pauses,
        n_sequence_changes, n_residencies, n_load_steps, n_token_texts, n_mappings, n_page_faults,
        n_fault_spans, n_fault_losses, n_pool_states, n_pool_reads;
    uint32_t n_models; /* of the files */
    tt_clock_fit clock;
    uint32_t n_clocks, n_clocks_back; /* CLOCK records; how many of them are earlier than the
                                         previous one */
    uint64_t losses_total, detail_losses_total;
    /* Whether it is known which generated tokens are guesses (see tt_model_delivered). */
    bool fates_known;
    uint64_t unknown_records; /* META records of an unknown type */
    tt_problem problems[TT_MODEL_PROBLEMS_MAX];
    uint32_t n_problems; /* found; only the first TT_MODEL_PROBLEMS_MAX are kept */
    /* Not all of META was read: batches and runs of other parts are missing, and references to them
     * are among the problems. Ops that began after until_ticks may be missing. */
    bool partial;
    uint64_t until_ticks;
    /* Why the threads' waits are unknown for all computations, or NULL. Then an op's duration on a
     * thread includes its wait. */
    const char *waits_unknown;
    const char *remote; /* why ops of TT_TENSOR_UNTIMED were not observed; NULL: there are none */
    bool waits_known;   /* of all computations; see tt_model_waits_known */
    bool off_cpu_known; /* of threads, in ops of hooked runs */
    bool delay_known;   /* likewise, of that, how long they waited for a processor */
    bool waits_inside_known; /* whether waits at barriers inside ops are in the trace */
    /* Private: */
    bool is_share;         /* only pieces, details, data and run_faults are its own */
    struct tt_run_faults { /* of the last run, derived from events */
        tt_detail *list;
        size_t n, capacity;
    } *run_faults;
    tt_arena arena;
    tt_idmap run_by_id, batch_by_id, graph_by_id, buffer_by_id, file_by_id, weight_by_name,
        text_by_token, mapping_by_id;
} tt_model;

/* A token of a vocabulary in tt_model.text_by_token. */
static inline uint64_t tt_token_key(uint32_t vocabulary, int32_t token)
{
    return (uint64_t)vocabulary << 32 | (uint32_t)token;
}

/* Whether the waits of the computation's threads are known. */
static inline bool tt_model_waits_known(const tt_model *m, const tt_run *run)
{
    return !m->waits_unknown && run->observed == TT_OBSERVED_HOOK;
}

/* Opens and indexes the trace at `path`. *out is closed with tt_model_close; NULL on failure.
 * Traces that were cut off or are damaged after their header open: see trace.complete, meta_damage,
 * tt_pieces_damaged. */
tt_status tt_model_open(const char *path, tt_model **out, tt_error *err);
/* tt_model_open, but if the index lists which descriptions a part of the trace needs, others may be
 * skipped: then model.partial is set, and opening takes time in proportion to the part. Files,
 * weights, buffers and graphs are always complete. */
tt_status tt_model_open_part(const char *path, const tt_part *part, tt_model **out, tt_error *err);
/* For bytes in memory, which the caller keeps until tt_model_close. */
tt_status tt_model_open_memory(const void *data, size_t size, tt_model **out, tt_error *err);
/* The same model for another thread, which can then walk ops and details at the same time. m stays
 * open until *out is closed. */
tt_status tt_model_share(const tt_model *m, tt_model **out, tt_error *err);
/* Releases what only walking needs, of a share that is referenced but not walked any more; close it
 * as before. */
void tt_model_share_rest(tt_model *share);
void tt_model_close(tt_model *m);

/* Index by id, or TT_NONE. */
uint32_t tt_model_run(const tt_model *m, uint32_t id);
uint32_t tt_model_batch(const tt_model *m, uint32_t id);
/* The batch (index in tt_model.batches) that was computed at that time, or TT_NONE. */
uint32_t tt_model_batch_at(const tt_model *m, uint64_t ticks);
/* The number of a batch (index in tt_model.batches) in commands: counted from 0 since recording
 * began, including batches that the trace does not hold. */
static inline uint32_t tt_model_batch_number(const tt_model *m, uint32_t batch)
{
    return m->batches[batch].number;
}
/* The tokens of a batch that somebody got: generated ones that were chosen before, or guesses that
 * were right; none of a context that drafts for another. Only with m->fates_known. */
static inline uint32_t tt_model_delivered(const tt_batch *b)
{
    return b->drafts ? 0 : b->n_generate - b->n_drafted + b->n_accepted;
}
/* The same with the tokens of prompts; of any batch: guesses that are not known count as got. */
static inline uint32_t tt_model_got(const tt_batch *b)
{
    return b->drafts ? 0 : b->n_tokens - b->n_drafted + b->n_accepted;
}
/* The first weight of that name, or TT_NONE; others by next_same_name. */
uint32_t tt_model_weight(const tt_model *m, const char *name);
/* A token's text (perhaps partly invalid UTF-8), or NULL: not observed. *n, if not NULL, gets its
 * length. */
const char *tt_model_token_text(const tt_model *m, uint32_t vocabulary, int32_t token, size_t *n);
/* The place of an op that reads a weight of that place: in models with tied embeddings, the table
 * is input if rows are gathered, and the output projection if it is multiplied. */
tt_place tt_model_place_of_use(tt_place weight, const char *op_name);
/* The path of a model's first file (< n_models; TT_NONE: NULL). */
const char *tt_model_path(const tt_model *m, uint32_t model);
/* For lists for people: its name, or "" if there are no others to tell it from. */
const char *tt_model_label(const tt_model *m, uint32_t model);
/* The values of the leaf `tensor` in that run (index in tt_model.runs); NULL: not observed. */
const tt_indices *tt_model_indices(const tt_model *m, uint32_t run, uint32_t tensor);
/* The value of an environment key, or NULL. */
const char *tt_model_environment(const tt_model *m, const char *key);
/* Whether the recorder captured what is under that key of the environment ("capture_off_cpu"). */
bool tt_model_captured(const tt_model *m, const char *key);
/* The size of a page of memory in the traced process. */
uint64_t tt_model_page_bytes(const tt_model *m);
/* Whether nothing was executed: the trace was made from somebody else's recording (`tensortrace
 * import`), and has no times. */
bool tt_model_is_imported(const tt_model *m);
/* A total of the recorder; false if it was not observed. */
bool tt_model_count(const tt_model *m, const char *name, uint64_t *value);
/* Whether the program computed batches that were not recorded: "never" is then "not in these". */
bool tt_model_lacks_batches(const tt_model *m);
/* A key of the model files' metadata, or NULL. */
const tt_file_kv *tt_model_file_kv(const tt_model *m, const char *key);
/* That of one file. */
const tt_file_kv *tt_model_kv_of_file(const tt_model_file *f, const char *key);
/* The phase's name in commands: "prompt", "generate", "unknown". */
const char *tt_phase_name(unsigned phase);
/* The phases in the order of listings, i < TT_PHASES: the unknown one last. */
static inline unsigned tt_phase_listed(unsigned i)
{
    return (i + 1) % TT_PHASES;
}
const char *tt_origin_name(tt_origin origin); /* "file" (mapped), "buffer", "unknown" */
/* "weights", "kv_cache", "compute", "output", "other" */
const char *tt_buffer_kind_name(tt_buffer_kind kind);

/* TT_OK if ticks can be converted to time; else the error names what is missing. */
tt_status tt_model_need_clock(const tt_model *m, tt_error *err);
/* ns since clock.zero_ticks; negative before it. 0 without a clock. */
double tt_model_ns(const tt_model *m, uint64_t ticks);
/* ns on CLOCK_MONOTONIC. 0 without a clock. Inline, because exported tables convert each
 * record's. */
static inline uint64_t tt_model_mono_ns(const tt_model *m, uint64_t ticks)
{
    if (!m->clock.known) return 0;
    double ns = (double)(int64_t)(ticks - m->clock.ticks) * m->clock.ns_per_tick;
    /* A damaged trace's times may not fit; a clock does not run before its start. */
    if (ns < -(double)m->clock.mono_ns) return 0;
    if (ns > 9e18) return UINT64_MAX;
    return m->clock.mono_ns + (uint64_t)(int64_t)ns;
}
/* A duration in ticks as ns. */
double tt_model_span_ns(const tt_model *m, uint64_t ticks);

#endif
