/* Recording from an engine's own code: what it computes, in a few calls.
 *
 * Link with -ltensortrace-record (pkg-config tensortrace-record, or the CMake target
 * tensortrace::record); docs/api.md has a complete example.
 *
 *   tt_record_start(&options, &err);          or: TENSORTRACE=FILE in the environment
 *   for each batch of tokens:
 *       tt_batch_begin(&batch);
 *       for each op:
 *           tt_op_begin(&output);             what it puts out, and of what it is made
 *           ...compute...
 *           tt_op_end();
 *       tt_batch_end(0);
 *   tt_record_stop(&err);                     or: at the exit of the program
 *
 * Recording is off until it is started. Each call is then one test of one flag: the arguments are
 * not evaluated. With TT_RECORD_OFF defined before the header is included (or -DTT_RECORD_OFF), the
 * calls are still checked by the compiler and leave nothing in the program: it need not be linked.
 *
 * Every call may come from any thread at any time. None exits, prints, raises a signal, or keeps a
 * pointer: texts and descriptions are copied. What makes no sense (no name, a shape that overflows,
 * an unknown type) is recorded as far as it can be, or counted in the trace as left out; only data
 * must be there: as many bytes can be read at `data` as type and shape say. Memory is bounded; what
 * does not fit is dropped and counted in the trace. While recording, at most a call waits for a
 * lock that others hold for some microseconds, and with values "full" for the disk, for some
 * seconds at most.
 *
 * A fork is followed: the child writes a trace of its own, FILE-PID. What was recorded survives the
 * program's death: `tensortrace recover FILE.part`.
 *
 * Environment, for every program that links the library:
 *   TENSORTRACE=FILE          recording starts by itself, at the first call below; a file that is
 *                             there already stays, and the trace is FILE-PID
 *   TENSORTRACE_VALUES=...    as tt_record_options.values, and stronger than it
 *   BITNET_TRACE_DIR=DIR      tt_value() writes a file a value there, see its comment; whether or
 *                             not a trace is recorded
 *   TENSORTRACE_BITNET_LINES=1  there all values are in one file, a line each
 *   TENSORTRACE_VERBOSE=1     at its end the program says on standard error where the trace is, or
 *                             why there is none, and what BITNET_TRACE_DIR lacks
 * Under `tensortrace run -- PROGRAM` nothing need be set: the trace is run's. */
#ifndef TENSORTRACE_RECORD_H
#define TENSORTRACE_RECORD_H

#include <tensortrace/types.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TT_RECORD_DIMS 4
#define TT_RECORD_SOURCES 10
/* Longest name of a tensor, op, stage or buffer, in bytes; the rest is cut off. */
#define TT_RECORD_NAME_MAX 63
/* The layer of what belongs to none, and a position that is not known. */
#define TT_NO_LAYER (-1)
#define TT_NO_POSITION INT64_MIN

/* Element types, with the numbers that ggml and GGUF files give them; any other type that a GGUF
 * file can have may be passed by its number too. */
typedef enum tt_type {
    TT_TYPE_F32 = 0,
    TT_TYPE_F16 = 1,
    TT_TYPE_Q4_0 = 2,
    TT_TYPE_Q4_1 = 3,
    TT_TYPE_Q5_0 = 6,
    TT_TYPE_Q5_1 = 7,
    TT_TYPE_Q8_0 = 8,
    TT_TYPE_I8 = 24,
    TT_TYPE_I16 = 25,
    TT_TYPE_I32 = 26,
    TT_TYPE_I64 = 27,
    TT_TYPE_F64 = 28,
    TT_TYPE_BF16 = 30
} tt_type;

/* A tensor: what an op puts out, or what it reads. Zero-filled, then what is known; it and what it
 * points to need to live for the call only. */
typedef struct tt_record_tensor {
    const char *name;            /* unique in its batch: "attn_norm-3", "blk.3.attn_q.weight" */
    const char *op;              /* of an output: what makes it, in ggml's words if it has one
                                    ("MUL_MAT", "RMS_NORM"); NULL of what is only read */
    tt_type type;                /* TT_TYPE_F32 is 0 */
    unsigned n_dims;             /* 1 to 4 */
    uint64_t ne[TT_RECORD_DIMS]; /* elements; the first dimension runs fastest */
    uint64_t nb[TT_RECORD_DIMS]; /* strides in bytes; nb[0] == 0: without gaps */
    const void *data;            /* where it is; NULL: not told */
    /* What the op reads, of an output. A source is the newest output of its name in the batch, or
     * else an input of the graph: a weight, found in the model file by its name, or a state. */
    unsigned n_sources;
    const struct tt_record_tensor *sources[TT_RECORD_SOURCES];
    /* What BitNet.rs calls its place in a layer ("q_proj"), for comparisons with engines that use
     * other names; NULL: told by its name. */
    const char *stage;
    int32_t layer; /* with a stage; TT_NO_LAYER: none */
} tt_record_tensor;

/* A batch of tokens that is computed at once. */
typedef struct tt_record_batch {
    uint32_t n_tokens;
    const int32_t *tokens;    /* ids, n_tokens of them; NULL: not told */
    const int32_t *positions; /* in their sequences, likewise */
    tt_phase phase;           /* TT_PHASE_UNKNOWN, TT_PHASE_MIXED: not told */
    uint32_t context;         /* whose it is, when several are computed in turns; from 1, 0: one */
    uint32_t n_threads;       /* that compute it; 0: not told */
} tt_record_batch;

typedef struct tt_record_options {
    const char *path;     /* of the trace; "<path>.part" until it is finished */
    const char *engine;   /* what records: name and version, for `info`; NULL: not told */
    const char *values;   /* LEVEL[:SELECT] as of `tensortrace run --values`: which ops' outputs and
                             tt_value()s are taken, and what of them. NULL: no outputs, and hashes
                             of the tt_value()s */
    uint64_t limit_bytes; /* of the trace, at which recording ends; 0: none */
    uint64_t keep_bytes;  /* of the trace, of which only the last stay; 0: all */
    uint64_t thread_bytes; /* memory for a thread's records on their way; 0: 1 MiB */
    int replace;           /* nonzero: an existing trace is replaced; otherwise TT_E_EXISTS */
} tt_record_options;

/* A node of the graph of a batch; 0: none, which every call takes and does nothing. */
typedef uint64_t tt_node;

/* --- recording as a whole --- */

/* Starts recording. TT_E_USAGE: it is on already (also by the environment), or the options make no
 * sense; TT_E_EXISTS, TT_E_IO: the trace cannot be made; then nothing is left behind, and
 * recording stays off. err may be NULL. After tt_record_stop it may start again, with another
 * trace. */
TT_API tt_status tt_record_start(const tt_record_options *options, tt_error *err);
/* Finishes the trace; batches under way end in it. TT_OK when nothing was recorded. The exit of the
 * program does the same. */
TT_API tt_status tt_record_stop(tt_error *err);
/* The path of the trace being written or written last, which is not always the one that was asked
 * for: in a forked child, and where the environment names a file that is there, it has the pid in
 * it ("run-4711.ttrace"). "" without. Valid until the next start. */
TT_API const char *tt_record_path(void);
/* The model file that the engine uses (GGUF): its weights then have their places in the file. Once
 * a file, before the batches that use it. TT_OK when recording is off: nothing is read then. */
TT_API tt_status tt_record_model(const char *path, tt_error *err);

/* Nonzero while something is recorded; what the calls below test. Not to be written to. */
TT_API extern int tt_recording;
#if defined(TT_RECORD_OFF)
#define TT_RECORDING() 0
#elif defined(__GNUC__)
#define TT_RECORDING() __builtin_expect(__atomic_load_n(&tt_recording, __ATOMIC_RELAXED) != 0, 0)
#else
#define TT_RECORDING() (tt_recording != 0)
#endif

/* --- memory --- */

/* What is there need not have been written yet. */
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define TT_UNREAD_(argument) __attribute__((access(none, argument)))
#else
#define TT_UNREAD_(argument)
#endif

/* What a buffer holds. */
typedef enum tt_buffer_use {
    TT_BUFFER_USE_ANY = 0,
    TT_BUFFER_USE_WEIGHTS = 1, /* the model's */
    TT_BUFFER_USE_COMPUTE = 2  /* outputs of ops */
} tt_buffer_use;

/* `size_bytes` of memory at `base` are a buffer from now on: allocated, or mapped from a file
 * (which is found out). Tensors whose data is in it are said to be in it. A buffer that is at that
 * address already is replaced. */
TT_UNREAD_(2)
TT_API void tt_buffer_add(const char *name, const void *base, uint64_t size_bytes,
                          tt_buffer_use use);
/* The buffer at `base` is about to be freed. */
TT_UNREAD_(1)
TT_API void tt_buffer_remove(const void *base);

/* --- batches and ops --- */

/* Begins a batch on this thread; one that it has under way ends. Ops of this thread belong to it
 * until its end. NULL: one of which nothing is told. */
TT_API void tt_batch_begin(const tt_record_batch *batch);
/* Ends it; status: 0 if it was computed whole. Of ops still under way on other threads the end is
 * not known. */
TT_API void tt_batch_end(int status);
/* The text of a token, for `log`: n bytes, valid UTF-8 or a part of it. Once a token. */
TT_API void tt_token_name(int32_t token, const char *text, size_t n);

/* An op begins on this thread, alone, that puts out `output`; one that the thread has under way
 * ends. Outside a batch, a batch begins of which nothing is told. */
TT_API tt_node tt_op_begin(const tt_record_tensor *output);
/* It has ended: its output is taken, if outputs are wanted (options.values). Does nothing when none
 * is under way. */
TT_API void tt_op_end(void);

/* An op that several threads share: one of them adds it, before any begins. Then each calls
 * tt_op_begin_lane with its number among them (0 to 510) and tt_op_end; and one of them, when all
 * have ended, tt_op_taken, by which the output is taken if it is wanted: `output` as it was added.
 * Once its batch has ended, a node is none. */
TT_API tt_node tt_op_add(const tt_record_tensor *output);
TT_API void tt_op_begin_lane(tt_node node, unsigned lane);
TT_API void tt_op_taken(tt_node node, const tt_record_tensor *output);

/* --- values --- */

/* A value by itself: its statistics and hashes are kept, on this thread, now, while nobody changes
 * the data. May be called anywhere. If the batch under way has an op's output of that name that was
 * not taken yet, it is that one's; otherwise it is a node "VALUE" of its own, whose time is what
 * taking it took. Outside a batch, values of one position are gathered into one of their own.
 *
 * ne: n_dims (1 to 4) numbers of elements, the first dimension runs fastest; no gaps.
 *
 * layer: or TT_NO_LAYER; BitNet.rs's -1 (embeddings, logits) and -2 (after all layers) are kept.
 *
 * stage: BitNet.rs's name of the place in the layer, or NULL.
 *
 * position: of the (first) token in its sequence, or TT_NO_POSITION: that of the batch.
 *
 * With BITNET_TRACE_DIR=DIR it is also written as a file DIR/NAME.trace as BitNet.rs does: made
 * whole under another name first. Values of the same name, of other positions say, do not replace
 * each other: they are numbered. With TENSORTRACE_BITNET_LINES=1 as a line of DIR/values.jsonl. */
TT_API void tt_value(const char *name, const void *data, tt_type type, unsigned n_dims,
                     const uint64_t *ne, int32_t layer, const char *stage, int64_t position);

/* --- values in memory --- */

/* For a program that looks at its own values, as tests do: no file is needed, and recording need
 * not be on. While a sink is open it gets the values of tt_value() and of the ops that tt_op_begin
 * or tt_op_taken report, of all threads, in the order in which they were taken. It is independent
 * of options.values. A forked child has a copy. */
typedef struct tt_value_sink tt_value_sink;

#define TT_SINK_FIRST 8

/* A value as BitNet.rs describes one. */
typedef struct tt_sink_value {
    char name[TT_RECORD_NAME_MAX + 1];
    char stage[TT_RECORD_NAME_MAX + 1]; /* "": none was told */
    int32_t layer;                      /* as it was told; TT_NO_LAYER */
    int64_t position;                   /* of the value, or of its thread's batch; TT_NO_POSITION */
    tt_type type;
    unsigned n_dims;
    uint64_t ne[TT_RECORD_DIMS]; /* the first dimension runs fastest */
    uint64_t n_elements;
    double rms;         /* NAN: there are no elements, or not all are finite */
    uint8_t blake3[32]; /* of the elements as little-endian float32 */
    unsigned n_first;   /* of `first` that are there */
    float first[TT_SINK_FIRST];
} tt_sink_value;

/* Opens a sink for values whose names match `names`, a pattern as of the shell ("blk.3.*",
 * "*attn_norm*"); NULL: all. values_max: of them that it keeps; 0: 65,536; those behind are
 * counted. NULL without memory, which the other calls take for an empty sink. tt_value_sink_close
 * ends it. */
TT_API tt_value_sink *tt_value_sink_open(const char *names, size_t values_max);
TT_API void tt_value_sink_close(tt_value_sink *sink);
/* How many values match the pattern `names`; NULL: of all. */
TT_API size_t tt_value_sink_count(tt_value_sink *sink, const char *names);
/* Copies the i-th of those, from 0. Zero, and nothing is copied: there is none. */
TT_API int tt_value_sink_get(tt_value_sink *sink, const char *names, size_t i, tt_sink_value *out);
/* Values that there was no room for. */
TT_API uint64_t tt_value_sink_left_out(tt_value_sink *sink);
/* Forgets all values. */
TT_API void tt_value_sink_clear(tt_value_sink *sink);

/* --- llama.cpp --- */

/* For a program that has a llama_context of its own, the one line that is needed:
 *
 *   cparams.cb_eval = tt_ggml_eval_callback;      cparams.cb_eval_user_data stays NULL
 *
 * Then every op of every batch is recorded while recording is on, its output as
 * options.values says, whichever backend computes it: the scheduler stops behind each op, which
 * slows it down (use `tensortrace run`, which needs no line at all, to measure time). What it needs
 * of ggml is looked up in the process; nothing is linked. With a ggml that it does not know it
 * records nothing, and the trace says why. It never ends a graph: what it answers is always
 * "go on". */
struct ggml_tensor;
TT_API bool tt_ggml_eval_callback(struct ggml_tensor *tensor, bool ask, void *user_data);

/* To keep a callback of your own: cparams.cb_eval_user_data = &chain, which lives as long as the
 * context. It is called as if it were alone; "stop" from it stops. */
typedef struct tt_ggml_chain {
    bool (*callback)(struct ggml_tensor *tensor, bool ask, void *user_data);
    void *user_data;
} tt_ggml_chain;

/* --- what the calls are in a program: the test of a flag, or nothing --- */

/* Results that need not be used. */
static inline tt_node tt_no_node_(void)
{
    return 0;
}
static inline tt_status tt_no_status_(void)
{
    return TT_OK;
}

#if defined(TT_RECORD_OFF)
#define TT_RECORD_CALL_(call) (0 ? call : (void)0)
#define TT_RECORD_NODE_(call) (0 ? call : tt_no_node_())
#define TT_RECORD_STATUS_(call) (0 ? call : tt_no_status_())
#define tt_record_start(...) TT_RECORD_STATUS_((tt_record_start)(__VA_ARGS__))
#define tt_record_stop(...) TT_RECORD_STATUS_((tt_record_stop)(__VA_ARGS__))
#define tt_record_path() (0 ? (tt_record_path)() : "")
#define tt_record_model(...) TT_RECORD_STATUS_((tt_record_model)(__VA_ARGS__))
#define tt_value_sink_open(...) (0 ? (tt_value_sink_open)(__VA_ARGS__) : (tt_value_sink *)0)
#define tt_value_sink_close(...) TT_RECORD_CALL_((tt_value_sink_close)(__VA_ARGS__))
#define tt_value_sink_count(...) (0 ? (tt_value_sink_count)(__VA_ARGS__) : (size_t)0)
#define tt_value_sink_get(...) (0 ? (tt_value_sink_get)(__VA_ARGS__) : 0)
#define tt_value_sink_left_out(...) (0 ? (tt_value_sink_left_out)(__VA_ARGS__) : (uint64_t)0)
#define tt_value_sink_clear(...) TT_RECORD_CALL_((tt_value_sink_clear)(__VA_ARGS__))
#define tt_ggml_eval_callback NULL
#else
#define TT_RECORD_CALL_(call) (TT_RECORDING() ? call : (void)0)
#define TT_RECORD_NODE_(call) (TT_RECORDING() ? call : tt_no_node_())
#endif
#define tt_buffer_add(...) TT_RECORD_CALL_((tt_buffer_add)(__VA_ARGS__))
#define tt_buffer_remove(...) TT_RECORD_CALL_((tt_buffer_remove)(__VA_ARGS__))
#define tt_batch_begin(...) TT_RECORD_CALL_((tt_batch_begin)(__VA_ARGS__))
#define tt_batch_end(...) TT_RECORD_CALL_((tt_batch_end)(__VA_ARGS__))
#define tt_token_name(...) TT_RECORD_CALL_((tt_token_name)(__VA_ARGS__))
#define tt_op_begin(...) TT_RECORD_NODE_((tt_op_begin)(__VA_ARGS__))
#define tt_op_end() TT_RECORD_CALL_((tt_op_end)())
#define tt_op_add(...) TT_RECORD_NODE_((tt_op_add)(__VA_ARGS__))
#define tt_op_begin_lane(...) TT_RECORD_CALL_((tt_op_begin_lane)(__VA_ARGS__))
#define tt_op_taken(...) TT_RECORD_CALL_((tt_op_taken)(__VA_ARGS__))
#define tt_value(...) TT_RECORD_CALL_((tt_value)(__VA_ARGS__))

#ifdef __cplusplus
}
#endif

#endif
