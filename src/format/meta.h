/* The META stream's records: what was observed besides ops. Specified in docs/format.md, record by
 * record. */
#ifndef TT_FORMAT_META_H
#define TT_FORMAT_META_H

#include "base/bytes.h"
#include "format/chunk.h"

#include <stdbool.h>
#include <stdint.h>

enum tt_meta_type {
    TT_META_ENVIRONMENT = 1,
    TT_META_STRING = 2,
    TT_META_MODEL = 3,
    TT_META_BUFFER = 4,
    TT_META_BUFFER_FREE = 5,
    TT_META_GRAPH = 6,
    TT_META_BATCH = 7,
    TT_META_BATCH_END = 8,
    TT_META_RUN = 9,
    TT_META_RUN_END = 10,
    TT_META_CLOCK = 11,
    TT_META_RING = 12,
    TT_META_COUNTS = 13,
    TT_META_DECODE = 14,
    TT_META_LOSS = 15,
    TT_META_TOKEN_TEXT = 16,
    TT_META_INDICES = 17,
    TT_META_USAGE = 18,
    TT_META_RESIDENCY = 19,
    TT_META_MODEL_CHECK = 20,
    TT_META_DETAIL_LOSS = 21,
    TT_META_FRONT = 22,
    TT_META_GRAPHS_END = 23,
    TT_META_MAPPING = 24,
    TT_META_PAGE_FAULTS = 25,
    TT_META_PAGE_FAULT_LOSS = 26,
    TT_META_EXTENTS = 27,
    TT_META_LOAD_STEP = 28,
    TT_META_POOL = 29,
    TT_META_THROTTLED = 30,
    TT_META_PAUSE = 31,
    TT_META_FATE = 32,
    TT_META_SEQUENCES = 34
};

#define TT_META_RECORD_MAX (16u << 20)
#define TT_DIMS 4u
#define TT_SRC_MAX 10u

enum {
    TT_BUFFER_HOST = 1,
    TT_BUFFER_FILE = 2,
    TT_BUFFER_ALLOC_SEEN = 4,
    TT_BUFFER_PLACE_UNKNOWN = 8 /* not observed whether it maps a file */
};

enum {
    TT_TENSOR_EXECUTES = 1,
    TT_TENSOR_INPUT = 2,
    TT_TENSOR_OUTPUT = 4,
    TT_TENSOR_UNTIMED = 8 /* executes on a device that nobody waits for: has no op records */
};

#define TT_PHASES 5u /* of enum tt_phase */
enum { TT_BATCH_TOKENS = 1, TT_BATCH_POSITIONS = 2, TT_BATCH_SEQUENCES = 4 };

/* FATE: what a later call showed of a batch. */
enum {
    TT_FATE_DRAFTS = 1,         /* another context verifies what its context computes */
    TT_FATE_PROBE = 2,          /* it only tried the context's memory */
    TT_FATE_GENERATES = 4,      /* its tokens are generated, although its phase is prompt */
    TT_FATE_DRAFTED_PROMPT = 8, /* its drafted tokens are, although it counts them as a prompt */
    TT_FATE_TRAINS = 16         /* the model is being trained, or its training evaluated */
};

/* SEQUENCES: what the program did with those that a context holds. */
enum tt_sequences_kind {
    TT_SEQUENCES_REMOVED = 0, /* positions of one; or of all */
    TT_SEQUENCES_COPIED = 1,
    TT_SEQUENCES_KEPT = 2, /* alone: all others are removed */
    TT_SEQUENCES_MOVED = 3,
    TT_SEQUENCES_DIVIDED = 4,
    TT_SEQUENCES_SAVED = 5,    /* its state, to the program's memory */
    TT_SEQUENCES_RESTORED = 6, /* from there */
    TT_SEQUENCES_KINDS
};
enum { TT_SEQUENCES_REFUSED = 1, TT_SEQUENCES_HELD = 2 };

/* MODEL_CHECK: the file at the model's path when recording ended. */
enum tt_model_state {
    TT_MODEL_SAME = 0,
    TT_MODEL_CHANGED = 1,  /* the same file, other size or mtime */
    TT_MODEL_REPLACED = 2, /* the path names another file */
    TT_MODEL_GONE = 3
};

/* EXTENTS. */
enum tt_extents_state {
    TT_EXTENTS_WHOLE = 0,       /* of the whole file */
    TT_EXTENTS_CUT = 1,         /* too many, or it took too long: of the file's start only */
    TT_EXTENTS_NOT_OBSERVED = 2 /* not supported by the file system */
};

#define TT_USAGE_DEVICES_MAX 16u

/* The time of an observation. */
enum tt_moment {
    TT_AT_BATCH_BEGIN = 0,
    TT_AT_BATCH_END = 1,
    TT_AT_BEGIN = 2, /* of recording; no batch */
    TT_AT_END = 3,   /* of recording; no batch */
    /* Of RESIDENCY alone; no batch: */
    TT_AT_MAP_BEGIN = 4, /* the program is about to map the file */
    TT_AT_MAP_END = 5,   /* it has */
    TT_AT_FIRST_BATCH = 6
};

/* LOAD_STEP. */
enum tt_load_kind {
    TT_LOAD_MAP = 0,         /* mmap of a model file; what: TT_MAP_* */
    TT_LOAD_FILE_ADVICE = 1, /* posix_fadvise; what: enum tt_advice */
    TT_LOAD_MAP_ADVICE = 2,  /* madvise, posix_madvise; what: enum tt_advice */
    TT_LOAD_FIRST_BATCH = 3, /* the first batch after the model's last mapping begins */
    TT_LOAD_END = 4          /* recording ends */
};
enum { TT_MAP_POPULATE = 1, TT_MAP_SHARED = 2, TT_MAP_LOCKED = 4, TT_MAP_HUGE = 8 };
enum tt_advice {
    TT_ADVICE_NORMAL = 0,
    TT_ADVICE_RANDOM = 1,
    TT_ADVICE_SEQUENTIAL = 2,
    TT_ADVICE_WILL_NEED = 3,
    TT_ADVICE_DONT_NEED = 4,
    TT_ADVICE_OTHER = 5
};

/* POOL: why a range of a model file was read into the pool. */
enum tt_read_cause {
    TT_READ_KEPT = 0, /* to stay in the pool: once, at first */
    TT_READ_AHEAD,    /* in graph order, before its op began */
    TT_READ_CHOSEN,   /* of an expert, after the router chose it and before its op began */
    TT_READ_AT_OP,    /* of an expert, when its op began */
    TT_READ_CAUSES
};
enum { TT_READ_FAILED = 1, TT_READ_DISCARDED = 2 /* not needed any more when it was read */ };

/* Which counters could be read. */
enum { TT_USAGE_FAULTS = 1, TT_USAGE_IO = 2, TT_USAGE_DEVICES = 4 };

/* --- the fields of each record, in order: F(kind, name) ---
 *
 * These lists define the structs below, their encoders and decoders (meta.c) and the table in
 * docs/format.md. Kinds: u8, u64, str and zigzag32/64, varint32/64 as in that document, in members
 * of as many bits; a reader rejects values that do not fit. Other kinds are explained at their
 * record and in meta.c. */

#define TT_META_PAIR_FIELDS(F)                                                                     \
    F(str, key)                                                                                    \
    F(str, value)

#define TT_META_STRING_FIELDS(F)                                                                   \
    F(varint32, id)                                                                                \
    F(str, text)

/* Followed by n_kv KVs, a varint n_weights, n_weights WEIGHTs. A count<N> is a varint32 that cannot
 * exceed the remaining bytes / N. */
#define TT_META_MODEL_FIELDS(F)                                                                    \
    F(varint32, id)                                                                                \
    F(str, path)                                                                                   \
    F(u64, size_bytes)                                                                             \
    F(u64, mtime_ns)                                                                               \
    F(u64, device)                                                                                 \
    F(u64, inode)                                                                                  \
    F(u64, head_hash)                                                                              \
    F(varint64, data_offset_bytes)                                                                 \
    F(count3, n_kv)

#define TT_META_KV_FIELDS(F)                                                                       \
    F(str, key)                                                                                    \
    F(varint32, type) /* GGUF value type */                                                        \
    F(str, value)     /* as text */

/* A tensor of a model file. dims: n_dims varints; n_dims 0: not observed. */
#define TT_META_WEIGHT_FIELDS(F)                                                                   \
    F(str, name)                                                                                   \
    F(varint32, type)      /* ggml type number */                                                  \
    F(varint32, type_name) /* string id */                                                         \
    F(varint32, n_dims)                                                                            \
    F(dims, ne)                                                                                    \
    F(varint64, offset_bytes) /* in the file */                                                    \
    F(varint64, size_bytes)

/* file32, file64: with TT_BUFFER_FILE only. late32: absent in older traces. */
#define TT_META_BUFFER_FIELDS(F)                                                                   \
    F(varint64, id)                                                                                \
    F(u64, ticks)                                                                                  \
    F(varint32, name) /* string id */                                                              \
    F(u8, usage)      /* ggml_backend_buffer_usage */                                              \
    F(u8, flags)      /* TT_BUFFER_* */                                                            \
    F(u64, base)                                                                                   \
    F(varint64, size_bytes)                                                                        \
    F(file32, path)              /* string id */                                                   \
    F(file64, file_offset_bytes) /* of base */                                                     \
    F(late32, model)             /* the model that the allocating thread opened last; 0: none */   \
    F(late32, allocator)         /* string id: file name of the library that requested it */

#define TT_META_BUFFER_FREE_FIELDS(F)                                                              \
    F(varint64, id)                                                                                \
    F(u64, ticks)

/* Followed by n_tensors TENSORs; then the backends of the nodes as intervals: a varint count, then
 * for each a string id and a number of nodes (varints); then, if a program records itself, a varint
 * count of STAGEs, and these. tensors: a count, not below n_nodes. */
#define TT_META_GRAPH_FIELDS(F)                                                                    \
    F(varint32, id)                                                                                \
    F(varint32, n_nodes)                                                                           \
    F(tensors, n_tensors)

/* A tensor of a graph: a node or a leaf. References to tensors are index + 1; 0 is none. four: four
 * varints; sources: n_src varints; view64: with a view_src only; place: a varint, or an u64 with
 * buffer 0. */
#define TT_META_TENSOR_FIELDS(F)                                                                   \
    F(varint32, name) /* string ids: name, op_name, op_desc, type_name */                          \
    F(varint32, op)                                                                                \
    F(varint32, op_name)                                                                           \
    F(varint32, op_desc)                                                                           \
    F(varint32, type)                                                                              \
    F(varint32, type_name)                                                                         \
    F(varint32, flags) /* TT_TENSOR_* */                                                           \
    F(four, ne)                                                                                    \
    F(four, nb) /* strides in bytes */                                                             \
    F(varint64, size_bytes)                                                                        \
    F(varint32, n_src)                                                                             \
    F(sources, src)                                                                                \
    F(varint32, view_src)                                                                          \
    F(view64, view_offset_bytes)                                                                   \
    F(varint64, buffer) /* id; 0: unknown, then location is an address */                          \
    F(place, location)  /* offset in the buffer, or address */

/* What a program reported as the stage of a node. */
#define TT_META_STAGE_FIELDS(F)                                                                    \
    F(varint32, node)                                                                              \
    F(varint32, stage) /* string id */                                                             \
    F(zigzag32, layer) /* in the program's numbering */

/* Followed by, depending on the flags: n_tokens zigzags of tokens, n_tokens of position
 * differences, n_tokens lists of sequences (a varint count, then zigzags); then the TAIL. */
#define TT_META_BATCH_FIELDS(F)                                                                    \
    F(varint32, id)                                                                                \
    F(varint32, context)                                                                           \
    F(u64, ticks)                                                                                  \
    F(varint32, thread)                                                                            \
    F(varint32, n_tokens)                                                                          \
    F(varint32, n_outputs_plus_1) /* 0: not observed */                                            \
    F(u8, phase)                  /* enum tt_phase */                                              \
    F(u8, flags)                  /* TT_BATCH_* */
/* mixed: a varint32 up to n_tokens, with TT_PHASE_MIXED only. */
#define TT_META_BATCH_TAIL_FIELDS(F)                                                               \
    F(late32, vocabulary) /* for the texts of its tokens, see TOKEN_TEXT; 0: unknown */            \
    F(mixed, n_generate)  /* generated tokens */

/* BATCH_END and RUN_END. */
#define TT_META_END_FIELDS(F)                                                                      \
    F(varint32, id)                                                                                \
    F(u64, ticks)                                                                                  \
    F(zigzag64, status) /* returned by the engine */

#define TT_META_RUN_FIELDS(F)                                                                      \
    F(varint32, id)                                                                                \
    F(varint32, batch)                                                                             \
    F(varint32, graph)                                                                             \
    F(u8, observed)      /* enum tt_observed */                                                    \
    F(varint32, threads) /* requested; 0: not observed */                                          \
    F(u64, ticks)                                                                                  \
    F(varint32, thread) /* the OS's id of the calling thread */

#define TT_META_CLOCK_FIELDS(F)                                                                    \
    F(u64, ticks)                                                                                  \
    F(u64, mono_ns)                                                                                \
    F(u64, unix_ns)

#define TT_META_RING_FIELDS(F)                                                                     \
    F(varint32, ring)                                                                              \
    F(varint32, thread)                                                                            \
    F(u64, ticks)

#define TT_META_TOTAL_FIELDS(F)                                                                    \
    F(str, name)                                                                                   \
    F(varint64, value)

#define TT_META_DECODE_FIELDS(F)                                                                   \
    F(u64, begin_ticks)                                                                            \
    F(u64, end_ticks)                                                                              \
    F(varint32, n_tokens)                                                                          \
    F(zigzag64, status)                                                                            \
    F(varint32, thread)

/* LOSS and DETAIL_LOSS. */
#define TT_META_LOSS_FIELDS(F)                                                                     \
    F(varint32, ring)                                                                              \
    F(varint64, position)                                                                          \
    F(varint64, dropped)

#define TT_META_TOKEN_TEXT_FIELDS(F)                                                               \
    F(varint32, vocabulary)                                                                        \
    F(zigzag32, token)                                                                             \
    F(str, text)

/* The values of a leaf with row numbers (for GET_ROWS, SET_ROWS) in one run; followed by n zigzag
 * differences, the first from 0. */
#define TT_META_INDICES_FIELDS(F)                                                                  \
    F(varint32, run)                                                                               \
    F(varint32, tensor) /* in the run's graph */                                                   \
    F(count1, n)

/* Totals of the process since it started. faults: with TT_USAGE_FAULTS only (getrusage); io: with
 * TT_USAGE_IO (/proc/self/io); devices: with TT_USAGE_DEVICES. */
#define TT_META_USAGE_FIELDS(F)                                                                    \
    F(varint32, batch) /* id; 0: none */                                                           \
    F(u8, moment)      /* enum tt_moment */                                                        \
    F(u64, ticks)                                                                                  \
    F(u8, flags) /* TT_USAGE_* */                                                                  \
    F(faults, minor)                                                                               \
    F(faults, major)                                                                               \
    F(faults, user_ns)                                                                             \
    F(faults, system_ns)                                                                           \
    F(io, read_bytes) /* read from a device for the process, including page faults */              \
    F(io, rchar)      /* returned by read() and similar calls, cached or not */                    \
    F(devices, devices)

/* A block device's totals since the machine started, for all its users. */
#define TT_META_DEVICE_FIELDS(F)                                                                   \
    F(varint64, device) /* st_dev of the files on it */                                            \
    F(varint64, read_bytes)                                                                        \
    F(varint64, reads) /* requests completed */

/* Pages of a model file in the page cache; followed by n_intervals varint lengths in pages, whose
 * sum is n_pages: absent, present, absent, ... (the first may be 0). */
#define TT_META_RESIDENCY_FIELDS(F)                                                                \
    F(varint32, model) /* id */                                                                    \
    F(varint32, batch) /* id; 0: none */                                                           \
    F(u8, moment)      /* enum tt_moment */                                                        \
    F(u64, begin_ticks)                                                                            \
    F(u64, end_ticks)                                                                              \
    F(varint32, page_bytes)                                                                        \
    F(varint64, first_page) /* of the file: a large file takes several records */                  \
    F(varint64, n_pages)                                                                           \
    F(count1, n_intervals)

/* Totals of the control groups with a quota of processor time that the process is in, since they
 * were made: how long their threads were kept from running because it was used up, on all
 * processors. */
#define TT_META_THROTTLED_FIELDS(F)                                                                \
    F(varint32, batch) /* id; 0: none */                                                           \
    F(u8, moment)      /* enum tt_moment */                                                        \
    F(u64, ticks)                                                                                  \
    F(varint64, throttled_ns)                                                                      \
    F(varint64, periods) /* in which that happened */

/* The recorder's own thread slept from begin_ticks on, was to wake at due_ticks and ran at
 * end_ticks only, though it was ready to run for delay_ns at most: the process, or the machine, was
 * stopped. */
#define TT_META_PAUSE_FIELDS(F)                                                                    \
    F(u64, begin_ticks)                                                                            \
    F(u64, due_ticks)                                                                              \
    F(u64, end_ticks)                                                                              \
    F(varint64, delay_ns)

#define TT_META_MODEL_CHECK_FIELDS(F)                                                              \
    F(varint32, model)                                                                             \
    F(u64, ticks)                                                                                  \
    F(u8, state) /* enum tt_model_state */

/* Of a flight recorder's trace: counts of what was discarded. */
#define TT_META_FRONT_FIELDS(F)                                                                    \
    F(varint64, ring_bytes) /* size to keep */                                                     \
    F(varint64, last_run)   /* runs up to this one have lost some or all ops */                    \
    F(varint64, ops)        /* records of discarded OPS chunks */                                  \
    F(varint64, details)    /* of DETAIL chunks */                                                 \
    F(varint64, bytes)      /* of the chunks */

#define TT_META_GRAPHS_END_FIELDS(F) F(varint32, graph) /* later runs use later graphs */

/* Memory of the process in which page faults occurred. */
#define TT_META_MAPPING_FIELDS(F)                                                                  \
    F(varint32, id)                                                                                \
    F(u64, ticks)                                                                                  \
    F(u64, address)                                                                                \
    F(varint64, size_bytes)                                                                        \
    F(varint64, file_offset_bytes)                                                                 \
    F(varint64, device) /* st_dev; 0: no file */                                                   \
    F(varint64, inode)                                                                             \
    F(str, path)

/* The faults of an interval; followed by the columns of format/page_faults.h. */
#define TT_META_PAGE_FAULTS_FIELDS(F)                                                              \
    F(u64, begin_ticks)                                                                            \
    F(u64, end_ticks)                                                                              \
    F(varint32, n)

#define TT_META_PAGE_FAULT_LOSS_FIELDS(F)                                                          \
    F(u64, begin_ticks)                                                                            \
    F(u64, end_ticks)                                                                              \
    F(varint64, lost) /* 0: an unknown number */

/* The location of a model file on its disk when it was opened; followed by n_listed FRAGMENTs, the
 * first ones. A fragment is contiguous in the file and on the disk. */
#define TT_META_EXTENTS_FIELDS(F)                                                                  \
    F(varint32, model)                                                                             \
    F(u64, ticks)                                                                                  \
    F(u8, state)              /* enum tt_extents_state */                                          \
    F(str, why)               /* it was not observed */                                            \
    F(varint64, walked_bytes) /* from the file's start: the counts below are for these */          \
    F(varint64, n_extents)    /* as counted by the file system */                                  \
    F(varint64, n_fragments)                                                                       \
    F(varint64, n_backward)    /* fragments that are before the previous one's end on the disk */  \
    F(varint64, mapped_bytes)  /* the rest are holes */                                            \
    F(varint64, largest_bytes) /* of one fragment */                                               \
    F(varint64, long_bytes)    /* in fragments of 1 MiB and more */                                \
    F(u8, flags)               /* of any fragment: TT_HOST_EXTENT_* of host/disk.h */              \
    F(count4, n_listed)

#define TT_META_FRAGMENT_FIELDS(F)                                                                 \
    F(varint64, hole_bytes) /* from the end of the previous one to this one, in the file */        \
    F(varint64, size_bytes)                                                                        \
    F(zigzag64, jump_bytes) /* the same on the disk; negative: backwards */                        \
    F(u8, flags)

/* A step from opening a model to computing with it. minor .. rchar: totals of the process since it
 * started, when the step began; the call's: the increase until it ended. */
#define TT_META_LOAD_STEP_FIELDS(F)                                                                \
    F(varint32, model) /* id; 0: not about one file */                                             \
    F(u8, kind)        /* enum tt_load_kind */                                                     \
    F(u64, begin_ticks)                                                                            \
    F(u64, end_ticks)                                                                              \
    F(varint64, file_offset_bytes)                                                                 \
    F(varint64, size_bytes) /* 0 with an advice: to the end */                                     \
    F(u8, what)                                                                                    \
    F(varint32, error) /* errno of a failed call; 0: success */                                    \
    F(u8, flags)       /* TT_USAGE_FAULTS, TT_USAGE_IO */                                          \
    F(faults, minor)                                                                               \
    F(faults, major)                                                                               \
    F(faults, call_minor)                                                                          \
    F(faults, call_major)                                                                          \
    F(io, read_bytes)                                                                              \
    F(io, rchar)                                                                                   \
    F(io, call_read_bytes)

/* The pool of weights of `tensortrace boost`, at the end of a computation; followed by n POOL_READs
 * since the previous record. used .. evictions: totals of the process. */
#define TT_META_POOL_FIELDS(F)                                                                     \
    F(u64, ticks)                                                                                  \
    F(varint32, run) /* id; 0: none that was recorded */                                           \
    F(varint64, budget_bytes)                                                                      \
    F(varint64, present_bytes) /* in the pool, including ongoing reads */                          \
    F(varint64, peak_bytes)                                                                        \
    F(varint64, used)   /* slices of experts, once per op */                                       \
    F(varint64, missed) /* of them: missing when requested */                                      \
    F(varint64, left)   /* of them: no space in the pool, left to the kernel's paging */           \
    F(varint64, evictions)                                                                         \
    F(varint64, waited_ns) /* by compute threads at the start of ops; summed over threads */       \
    F(varint64, lost)      /* reads since the previous record that are not listed */               \
    F(count4, n)

#define TT_META_POOL_READ_FIELDS(F)                                                                \
    F(varint32, model) /* id */                                                                    \
    F(varint64, file_offset_bytes)                                                                 \
    F(varint64, size_bytes)                                                                        \
    F(zigzag64, requested_ticks) /* relative to the record; negative: earlier */                   \
    F(varint64, queued_ticks)    /* from then until the read began */                              \
    F(varint64, read_ticks)      /* from then until it ended */                                    \
    F(u8, cause)                 /* enum tt_read_cause */                                          \
    F(u8, flags)                 /* TT_READ_FAILED, TT_READ_DISCARDED */                           \
    F(varint32, waiters)         /* threads that waited for it at the start of an op */            \
    F(varint32, thread)          /* the first of them; 0: none */                                  \
    F(varint64, waited_ticks)    /* by that thread */

/* What became known of a batch's tokens after it began; of several records, the numbers add up. */
#define TT_META_FATE_FIELDS(F)                                                                     \
    F(varint32, batch)      /* id */                                                               \
    F(u8, flags)            /* TT_FATE_* */                                                        \
    F(varint32, n_drafted)  /* tokens that were only guessed */                                    \
    F(varint32, n_accepted) /* of these: the sequence went on behind them */                       \
    F(varint32, n_rejected) /* of these: it did not */

/* The program changes what a context holds of its sequences, or saves it. */
#define TT_META_SEQUENCES_FIELDS(F)                                                                \
    F(varint32, context)                                                                           \
    F(u64, ticks)                                                                                  \
    F(u8, kind)             /* enum tt_sequences_kind */                                           \
    F(u8, flags)            /* TT_SEQUENCES_REFUSED, TT_SEQUENCES_HELD */                          \
    F(zigzag32, sequence)   /* negative: all */                                                    \
    F(zigzag32, source)     /* COPIED: the sequence that is copied */                              \
    F(zigzag32, from)       /* position; negative: the first */                                    \
    F(zigzag32, to)         /* before this one; negative: to the last */                           \
    F(zigzag32, by)         /* MOVED: so many positions; DIVIDED: the divisor */                   \
    F(zigzag32, held_first) /* with HELD: the positions that the context held of it, before it     \
                               was REMOVED, or once it was RESTORED; -1: none */                   \
    F(zigzag32, held_last)                                                                         \
    F(u64, state) /* SAVED, RESTORED: a hash of its size, begin and end; 0: not known */

/* R(name, fields, where they are): defines a struct tt_meta_NAME, tt_meta_put_NAME and
 * tt_meta_get_NAME. BATCH, with lists in its middle, is separate. */
#define TT_META_RECORDS(R)                                                                         \
    R(pair, TT_META_PAIR_FIELDS, "1 ENVIRONMENT, n times")                                         \
    R(string, TT_META_STRING_FIELDS, "2 STRING")                                                   \
    R(model, TT_META_MODEL_FIELDS, "3 MODEL")                                                      \
    R(kv, TT_META_KV_FIELDS, "3 MODEL, n_kv times")                                                \
    R(weight, TT_META_WEIGHT_FIELDS, "3 MODEL, n_tensors times")                                   \
    R(buffer, TT_META_BUFFER_FIELDS, "4 BUFFER")                                                   \
    R(buffer_free, TT_META_BUFFER_FREE_FIELDS, "5 BUFFER_FREE")                                    \
    R(graph, TT_META_GRAPH_FIELDS, "6 GRAPH")                                                      \
    R(tensor, TT_META_TENSOR_FIELDS, "6 GRAPH, n_tensors times")                                   \
    R(stage, TT_META_STAGE_FIELDS, "6 GRAPH, each stage")                                          \
    R(end, TT_META_END_FIELDS, "8 BATCH_END, 10 RUN_END")                                          \
    R(run, TT_META_RUN_FIELDS, "9 RUN")                                                            \
    R(clock, TT_META_CLOCK_FIELDS, "11 CLOCK")                                                     \
    R(ring, TT_META_RING_FIELDS, "12 RING")                                                        \
    R(total, TT_META_TOTAL_FIELDS, "13 COUNTS, n times")                                           \
    R(decode, TT_META_DECODE_FIELDS, "14 DECODE")                                                  \
    R(loss, TT_META_LOSS_FIELDS, "15 LOSS, 21 DETAIL_LOSS")                                        \
    R(token_text, TT_META_TOKEN_TEXT_FIELDS, "16 TOKEN_TEXT")                                      \
    R(indices, TT_META_INDICES_FIELDS, "17 INDICES")                                               \
    R(device, TT_META_DEVICE_FIELDS, "18 USAGE, each device")                                      \
    R(usage, TT_META_USAGE_FIELDS, "18 USAGE")                                                     \
    R(residency, TT_META_RESIDENCY_FIELDS, "19 RESIDENCY")                                         \
    R(model_check, TT_META_MODEL_CHECK_FIELDS, "20 MODEL_CHECK")                                   \
    R(front, TT_META_FRONT_FIELDS, "22 FRONT")                                                     \
    R(graphs_end, TT_META_GRAPHS_END_FIELDS, "23 GRAPHS_END")                                      \
    R(mapping, TT_META_MAPPING_FIELDS, "24 MAPPING")                                               \
    R(page_faults, TT_META_PAGE_FAULTS_FIELDS, "25 PAGE_FAULTS")                                   \
    R(page_fault_loss, TT_META_PAGE_FAULT_LOSS_FIELDS, "26 PAGE_FAULT_LOSS")                       \
    R(extents, TT_META_EXTENTS_FIELDS, "27 EXTENTS")                                               \
    R(fragment, TT_META_FRAGMENT_FIELDS, "27 EXTENTS, n_listed times")                             \
    R(load_step, TT_META_LOAD_STEP_FIELDS, "28 LOAD_STEP")                                         \
    R(pool, TT_META_POOL_FIELDS, "29 POOL")                                                        \
    R(pool_read, TT_META_POOL_READ_FIELDS, "29 POOL, n times")                                     \
    R(throttled, TT_META_THROTTLED_FIELDS, "30 THROTTLED")                                         \
    R(pause, TT_META_PAUSE_FIELDS, "31 PAUSE")                                                     \
    R(fate, TT_META_FATE_FIELDS, "32 FATE")                                                        \
    R(sequences, TT_META_SEQUENCES_FIELDS, "34 SEQUENCES")

/* --- structs --- */

#define TT_META_MEMBER_u8(name) uint8_t name;
#define TT_META_MEMBER_u64(name) uint64_t name;
#define TT_META_MEMBER_str(name) tt_span name;
#define TT_META_MEMBER_varint32(name) uint32_t name;
#define TT_META_MEMBER_varint64(name) uint64_t name;
#define TT_META_MEMBER_zigzag32(name) int32_t name;
#define TT_META_MEMBER_zigzag64(name) int64_t name;
#define TT_META_MEMBER_count1(name) uint32_t name;
#define TT_META_MEMBER_count3(name) uint32_t name;
#define TT_META_MEMBER_count4(name) uint32_t name;
#define TT_META_MEMBER_tensors(name) uint32_t name;
#define TT_META_MEMBER_dims(name) uint64_t name[TT_DIMS];
#define TT_META_MEMBER_four(name) uint64_t name[TT_DIMS];
#define TT_META_MEMBER_sources(name) uint32_t name[TT_SRC_MAX];
#define TT_META_MEMBER_file32(name) uint32_t name;
#define TT_META_MEMBER_file64(name) uint64_t name;
#define TT_META_MEMBER_late32(name) uint32_t name;
#define TT_META_MEMBER_view64(name) uint64_t name;
#define TT_META_MEMBER_place(name) uint64_t name;
#define TT_META_MEMBER_mixed(name) uint32_t name;
#define TT_META_MEMBER_faults(name) uint64_t name;
#define TT_META_MEMBER_io(name) uint64_t name;
#define TT_META_MEMBER_devices(name)                                                               \
    uint32_t n_##name;                                                                             \
    tt_meta_device name[TT_USAGE_DEVICES_MAX];
#define TT_META_MEMBER(kind, name) TT_META_MEMBER_##kind(name)

#define TT_META_DECLARE(name, fields, where)                                                       \
    typedef struct tt_meta_##name {                                                                \
        fields(TT_META_MEMBER)                                                                     \
    } tt_meta_##name;                                                                              \
    void tt_meta_put_##name(tt_bytes *out, const tt_meta_##name *r);                               \
    bool tt_meta_get_##name(tt_cursor *c, tt_meta_##name *r);

/* tt_meta_put_NAME appends the payload of a record, or of a part of it. tt_meta_get_NAME reads it,
 * absent fields as 0; spans point into the payload. False (c->failed set) if it is truncated or out
 * of range. */
TT_META_RECORDS(TT_META_DECLARE)

typedef struct tt_meta_batch {
    TT_META_BATCH_FIELDS(TT_META_MEMBER)
    TT_META_BATCH_TAIL_FIELDS(TT_META_MEMBER)
} tt_meta_batch;

/* The sequences of each token of a batch. Token i's are ids[first[i]] .. ids[first[i + 1] - 1];
 * first has n_tokens + 1 entries. */
typedef struct tt_batch_sequences {
    const uint32_t *first;
    const int32_t *ids;
} tt_batch_sequences;

/* tokens and positions: n_tokens each, NULL without the flag; likewise the sequences. */
void tt_meta_put_batch(tt_bytes *out, const tt_meta_batch *r, const int32_t *tokens,
                       const int32_t *positions, const tt_batch_sequences *sequences);
/* Read the fields before the lists; then those after them. */
bool tt_meta_get_batch(tt_cursor *c, tt_meta_batch *r);
bool tt_meta_get_batch_end(tt_cursor *c, tt_meta_batch *r);

/* --- whole records --- */

/* A record of the stream: type, length and a payload made by one of the functions above. A failed
 * payload makes out fail. */
void tt_meta_put_record(tt_bytes *out, uint8_t type, const tt_bytes *payload);
void tt_meta_put_pairs(tt_bytes *out, const tt_meta_pair *pairs, uint32_t n);
/* The next record of a META chunk's payload. False at the end (c->failed: because of damage). */
bool tt_meta_next(tt_cursor *c, uint8_t *type, tt_span *payload);
/* A varint count that cannot exceed the remaining bytes / min_bytes. */
bool tt_meta_get_count(tt_cursor *c, uint32_t *count, uint32_t min_bytes);
/* A summary of the records of a META payload, and their number. Stops at a malformed record: then
 * `kinds` is 0. */
void tt_meta_describe(tt_span meta, tt_index_meta *about, uint32_t *n);
/* The value of `key` in the first ENVIRONMENT record of a META payload that has it, truncated to
 * size and NUL-terminated; false if there is none. */
bool tt_meta_find_environment(tt_span meta, const char *key, char *out, size_t size);

#endif
