/* The format `perfetto`: a trace for Perfetto's UI and trace processor. docs/perfetto.md describes
 * its content.
 *
 * Messages and field numbers are those of the published schema, protos/perfetto/trace in
 * https://github.com/google/perfetto (also in PyPI's package `perfetto`): trace_packet.proto,
 * track_event/{track_event,track_descriptor,counter_descriptor,debug_annotation}.proto,
 * interned_data/interned_data.proto, clock_snapshot.proto, common/trace_attributes.proto.
 *
 * All packets are of one sequence. Repeated texts of ops are interned once, at its start; the rest
 * is made in parts of several graph computations, by several threads. The bytes do not depend on
 * the number of threads. Everything but the format is private to src/export/perfetto. */
#ifndef TT_EXPORT_PERFETTO_PERFETTO_H
#define TT_EXPORT_PERFETTO_PERFETTO_H

#include "analyze/access.h"
#include "analyze/ops.h"
#include "base/bytes.h"
#include "base/idmap.h"
#include "export/export.h"
#include "export/perfetto/protobuf.h"
#include "export/runs.h"
#include "export/tables/columns.h"
#include "model/model.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

extern const tt_export_format tt_format_perfetto;

/* --- field numbers --- */

enum { PB_TRACE_PACKET = 1 };
enum { /* TracePacket */
       PB_CLOCK_SNAPSHOT = 6,
       PB_TIMESTAMP = 8,
       PB_SEQUENCE_ID = 10,
       PB_TRACK_EVENT = 11,
       PB_INTERNED_DATA = 12,
       PB_SEQUENCE_FLAGS = 13,
       PB_COMPRESSED_PACKETS = 50,
       PB_PACKET_DEFAULTS = 59,
       PB_TRACK_DESCRIPTOR = 60,
       PB_TRACE_ATTRIBUTES = 126
};
enum { PB_STATE_CLEARED = 1, PB_NEEDS_STATE = 2 };      /* TracePacket.SequenceFlags */
enum { PB_CLOCK_REALTIME = 1, PB_CLOCK_MONOTONIC = 3 }; /* BuiltinClock */
enum {                                                  /* TrackEvent */
       PB_CATEGORY_IIDS = 3,
       PB_DEBUG_ANNOTATIONS = 4,
       PB_TYPE = 9,
       PB_NAME_IID = 10,
       PB_TRACK_UUID = 11,
       PB_NAME = 23,
       PB_COUNTER_VALUE = 30,
       PB_DOUBLE_COUNTER_VALUE = 44,
       PB_FLOW_IDS = 47,
       PB_TERMINATING_FLOW_IDS = 48
};
enum { PB_SLICE_BEGIN = 1, PB_SLICE_END = 2, PB_INSTANT = 3, PB_COUNTER = 4 }; /* its Type */
enum {                                                                         /* DebugAnnotation */
       PB_ANNOTATION_NAME_IID = 1,
       PB_BOOL_VALUE = 2,
       PB_UINT_VALUE = 3,
       PB_INT_VALUE = 4,
       PB_DOUBLE_VALUE = 5,
       PB_STRING_VALUE = 6,
       PB_DICT_ENTRIES = 11,
       PB_ARRAY_VALUES = 12,
       PB_STRING_VALUE_IID = 17
};

/* --- tracks --- */

enum {
    TT_PERFETTO_PROCESS = 1,
    TT_PERFETTO_RUN, /* the parent of all other tracks, so that their order can be given */
    TT_PERFETTO_ABOUT,
    TT_PERFETTO_TOKEN_RATE,
    TT_PERFETTO_BUFFERS = 0x20,    /* + backing x kinds + kind */
    TT_PERFETTO_KV = 0x100,        /* + 2 x cache: cells, bytes */
    TT_PERFETTO_RESIDENT = 0x800,  /* + file */
    TT_PERFETTO_TOKENS = 0x1000,   /* + row */
    TT_PERFETTO_GRAPHS = 0x2000,   /* + row */
    TT_PERFETTO_FAULTS = 0x4000,   /* + 4 x row: minor, major, bytes */
    TT_PERFETTO_THREADS = 0x100000 /* + row x lanes + lane */
};
#define TT_PERFETTO_ROWS_MAX 256u
#define TT_PERFETTO_CACHES_MAX 64u
#define TT_PERFETTO_FILES_MAX 2048u

/* An interval of a graph computation or a batch, placed among others of its kind. */
typedef struct tt_perfetto_span {
    uint32_t item;  /* in tt_model.runs or .batches */
    uint32_t row;   /* spans of a row do not overlap; TT_NONE: no row was free */
    uint64_t begin; /* ticks */
    uint64_t end;   /* likewise; UINT64_MAX: its end was not observed, and nothing follows in the
                       row */
} tt_perfetto_span;

typedef struct tt_perfetto_row {
    uint32_t context; /* of llama; TT_NONE: unknown */
    uint32_t nth;     /* of the rows of that context, from 0 */
    uint32_t last;    /* private: its last span */
} tt_perfetto_row;

/* Spans in the order of their start. */
typedef struct tt_perfetto_rows {
    tt_perfetto_span *spans;
    uint32_t n;
    tt_perfetto_row rows[TT_PERFETTO_ROWS_MAX];
    uint32_t n_rows;
    uint64_t left_out; /* spans that overlap with too many others */
} tt_perfetto_rows;

tt_status tt_perfetto_rows_of_runs(tt_perfetto_rows *r, const tt_model *m, const tt_runs *runs,
                                   tt_error *err);
tt_status tt_perfetto_rows_of_batches(tt_perfetto_rows *r, const tt_model *m,
                                      const tt_filter *filter, tt_error *err);
void tt_perfetto_rows_free(tt_perfetto_rows *r);
/* "NAME", or "NAME, context 2 (3)" if there are several. Returns out. */
char *tt_perfetto_row_name(char out[96], const tt_perfetto_rows *r, uint32_t row, const char *name);

/* --- texts --- */

/* Texts of the model and of static storage, each with an interning id, which is found by address.
 * Equal texts have one id, whether or not a linker has merged them. */
typedef struct tt_perfetto_names {
    tt_dictionary texts;
    tt_idmap by_address;
    bool *is_event; /* for each text: it names slices */
    uint32_t capacity;
} tt_perfetto_names;

tt_status tt_perfetto_names_collect(tt_perfetto_names *n, const tt_model *m, tt_error *err);
void tt_perfetto_names_free(tt_perfetto_names *n);
/* Its id, or 0: not interned. */
uint64_t tt_perfetto_name_iid(const tt_perfetto_names *n, const char *text);

/* The event categories, which are also their ids. */
enum { TT_PERFETTO_OP = 1, TT_PERFETTO_WAIT, TT_PERFETTO_BATCH, TT_PERFETTO_GRAPH };

/* Names of arguments; the ids are the order in perfetto_args.c. */
typedef enum tt_perfetto_arg {
    ARG_NONE,
    ARG_BATCH_ID,
    ARG_PHASE,
    ARG_GRAPH_RUN,
    ARG_THREAD_ID,
    ARG_GRAPH_ID,
    ARG_NODE,
    ARG_NODES,
    ARG_OP,
    ARG_NAME,
    ARG_LAYER_ID,
    ARG_CATEGORY,
    ARG_COMPONENT,
    ARG_WEIGHT_BYTES,
    ARG_WEIGHT_BYTES_AT_MOST,
    ARG_SOURCES,
    ARG_DESTINATION,
    ARG_VIEW_OF,
    ARG_TYPE,
    ARG_SHAPE,
    ARG_SIZE_BYTES,
    ARG_ORIGIN,
    ARG_MODEL_FILE,
    ARG_FILE_OFFSET_BYTES,
    ARG_BUFFER_ID,
    ARG_BUFFER_OFFSET_BYTES,
    ARG_READ_BYTES,
    ARG_READ_BYTES_AT_MOST,
    ARG_ROWS,
    ARG_EXPERTS,
    ARG_EXPERT_ID,
    ARG_FIRST,
    ARG_COUNT,
    ARG_UNFINISHED,
    ARG_MINOR_FAULTS,
    ARG_MAJOR_FAULTS,
    ARG_CPU_NS,
    ARG_DEVICE_READ_BYTES,
    ARG_THREADS,
    ARG_OBSERVED,
    ARG_OS_THREAD_ID,
    ARG_STATUS,
    ARG_TEXT,
    ARG_POSITION,
    ARG_SEQUENCES,
    ARG_CONTEXT_ID,
    ARG_TOKENS,
    ARG_N_TOKENS,
    ARGS
} tt_perfetto_arg;
const char *tt_perfetto_arg_name(tt_perfetto_arg arg);

/* Arguments as a field of their event (PB_DEBUG_ANNOTATIONS), of a dictionary (PB_DICT_ENTRIES) or,
 * without a name, of a list (PB_ARRAY_VALUES). */
void tt_perfetto_put_uint(tt_bytes *b, uint32_t field, tt_perfetto_arg name, uint64_t v);
void tt_perfetto_put_int(tt_bytes *b, uint32_t field, tt_perfetto_arg name, int64_t v);
void tt_perfetto_put_true(tt_bytes *b, uint32_t field, tt_perfetto_arg name);
/* Interned if it is one of the names, else inline. */
void tt_perfetto_put_text(tt_bytes *b, uint32_t field, tt_perfetto_arg name,
                          const tt_perfetto_names *names, const char *text);
/* n bytes; NUL is an ordinary character */
void tt_perfetto_put_text_n(tt_bytes *b, uint32_t field, tt_perfetto_arg name, const char *text,
                            size_t n);
/* A dictionary or list: everything until tt_proto_end. */
size_t tt_perfetto_put_begin(tt_bytes *b, uint32_t field, tt_perfetto_arg name);

/* --- packets --- */

/* A packet of the sequence, until two calls of tt_proto_end. */
size_t tt_perfetto_packet(tt_bytes *b);
/* A packet with a TrackEvent of that type on that track, until tt_perfetto_event_end. */
typedef struct tt_perfetto_event {
    size_t packet, event;
} tt_perfetto_event;
tt_perfetto_event tt_perfetto_event_begin(tt_bytes *b, uint64_t time_ns, uint32_t type,
                                          uint64_t track);
void tt_perfetto_event_end(tt_bytes *b, tt_perfetto_event e);
void tt_perfetto_counter(tt_bytes *b, uint64_t time_ns, uint64_t track, int64_t value);
void tt_perfetto_counter_real(tt_bytes *b, uint64_t time_ns, uint64_t track, double value);

typedef struct tt_perfetto_track {
    uint64_t uuid, parent;
    const char *name;
    int32_t rank;      /* its position among its siblings */
    const char *unit;  /* of a counter; the UI knows "bytes"; NULL: not a counter */
    const char *about; /* or NULL */
    bool ordered;      /* its children are sorted by rank */
} tt_perfetto_track;
void tt_perfetto_track_put(tt_bytes *b, const tt_perfetto_track *t);

/* --- an export --- */

typedef struct tt_perfetto {
    const tt_model *m;
    const tt_export_options *options;
    const tt_filter *filter;
    tt_perfetto_names names;
    tt_perfetto_rows runs, batches;
    tt_runs parts; /* of the same runs */
    bool has_faults;
    FILE *out;
    const char *path;          /* its path */
    tt_bytes packed;           /* of what the calling thread compresses */
    _Atomic uint64_t n_slices; /* of threads */
    _Atomic uint64_t moved;    /* ops whose times were outside of their computation or overlapped */
    _Atomic uint64_t orphan;   /* records of nodes that their graph does not have */
} tt_perfetto;

/* Writes the content of b, compressed if wanted, and empties it. */
tt_status tt_perfetto_write(tt_perfetto *p, tt_bytes *b, tt_error *err);
/* Replaces the content of b from `from` on by a packet of compressed packets. */
tt_status tt_perfetto_pack(tt_bytes *b, tt_bytes *spare, tt_error *err);

/* Clock, process, tracks, interned texts. */
tt_status tt_perfetto_front(tt_perfetto *p, tt_error *err);
/* The tracks of batches and their counters. */
tt_status tt_perfetto_put_batches(tt_perfetto *p, tt_error *err);
/* Buffers, caches, pages in RAM. */
tt_status tt_perfetto_put_memory(tt_perfetto *p, tt_error *err);
/* At the end: facts about the whole trace, such as losses. */
tt_status tt_perfetto_back(tt_perfetto *p, tt_error *err);

/* An op's event without what differs between executions: category, name, arguments. `list`: what it
 * selected, if it selects. */
void tt_perfetto_op_body(const tt_perfetto *p, const tt_op *op, const tt_access *list, size_t n,
                         tt_bytes *b);
/* The same for the wait after it. */
void tt_perfetto_wait_body(const tt_perfetto *p, const tt_op *op, tt_bytes *b);

/* Parts of graph computations, for tt_workers_run. */
void *tt_perfetto_maker_open(void *perfetto);
void tt_perfetto_maker_close(void *maker);
tt_status tt_perfetto_make(void *perfetto, void *maker, const tt_model *m, uint32_t part,
                           tt_bytes *out, tt_error *err);

#endif
