/* Recording from an engine's own code: what it computes, in a few calls.
 *
 * Link with -ltensortrace-record (pkg-config tensortrace-record, or the CMake target
 * tensortrace::record); docs/api.md has a complete example.
 *
 *   tt_record_start(&options, &err);          or: TENSORTRACE=FILE in the environment
 *   for each batch of tokens:
 *       tt_batch_begin(&batch);
 *       for each op:
 *           tt_op_begin(&output);             describes the output and its sources
 *           ...compute...
 *           tt_op_end();
 *       tt_batch_end(0);
 *   tt_record_stop(&err);                     or: at the exit of the program
 *
 * Recording is off until it is started. Until then each call is a test of a flag, and its arguments
 * are not evaluated. With TT_RECORD_OFF defined before the header is included (or -DTT_RECORD_OFF),
 * the compiler checks the calls but generates no code: the library need not be linked.
 *
 * Every call may be made from any thread at any time. None exits, prints, raises a signal, or keeps
 * a pointer: texts and descriptions are copied. Invalid input (no name, a shape that overflows, an
 * unknown type) is recorded as far as possible, or counted in the trace as left out. Only `data`
 * must be valid: as many bytes must be readable as type and shape imply. Memory is bounded; what
 * does not fit is dropped and counted in the trace. While recording, a call may wait some
 * microseconds for a lock, and with values "full" some seconds for the disk.
 *
 * A forked child writes a trace of its own, FILE-PID. Records survive the death of the program:
 * `tensortrace recover FILE.part`.
 *
 * Environment, for every program that links the library:
 *   TENSORTRACE=FILE          recording starts at the first call below; an existing file is
 *                             kept, and the trace is FILE-PID
 *   TENSORTRACE_VALUES=...    overrides tt_record_options.values
 *   BITNET_TRACE_DIR=DIR      tt_value() writes one file per value there (see its comment),
 *                             whether or not a trace is recorded
 *   TENSORTRACE_BITNET_LINES=1  writes all values there to one file, one line per value
 *   TENSORTRACE_VERBOSE=1     at exit, prints on standard error where the trace is, or why
 *                             there is none, and what is missing in BITNET_TRACE_DIR
 * Under `tensortrace run -- PROGRAM` no variable is needed: run's trace is used. */
#ifndef TENSORTRACE_RECORD_H
#define TENSORTRACE_RECORD_H

#include <tensortrace/types.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TT_RECORD_DIMS 4
#define TT_RECORD_SOURCES 10
/* Longest name of a tensor, op, stage or buffer, in bytes; longer names are cut. */
#define TT_RECORD_NAME_MAX 63
/* No layer; an unknown position. */
#define TT_NO_LAYER (-1)
#define TT_NO_POSITION INT64_MIN

/* Element types, with the numbers of ggml and GGUF; any other type of a GGUF file may be passed by
 * its number. */
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

/* A tensor: the output of an op, or a source. Zero-fill it, then set what is known. It, and what it
 * points to, need to live only during the call. */
typedef struct tt_record_tensor {
    const char *name;            /* unique in its batch: "attn_norm-3", "blk.3.attn_q.weight" */
    const char *op;              /* of an output: the operation, by ggml's name if it has one
                                    ("MUL_MAT", "RMS_NORM"); NULL for a source */
    tt_type type;                /* TT_TYPE_F32 is 0 */
    unsigned n_dims;             /* 1 to 4 */
    uint64_t ne[TT_RECORD_DIMS]; /* elements; the first dimension varies fastest */
    uint64_t nb[TT_RECORD_DIMS]; /* strides in bytes; nb[0] == 0: no gaps */
    const void *data;            /* address of the elements; NULL: not given */
    /* Of an output: what the op reads. A source is the newest output of its name in the batch, or
     * else an input of the graph: a weight, which is found in the model file by its name, or a
     * state. */
    unsigned n_sources;
    const struct tt_record_tensor *sources[TT_RECORD_SOURCES];
    /* BitNet.rs's name of the stage ("q_proj"), for comparison with engines that use other names;
     * NULL: derived from the name. */
    const char *stage;
    int32_t layer; /* used with a stage; TT_NO_LAYER: none */
} tt_record_tensor;

/* A batch of tokens that are computed together. */
typedef struct tt_record_batch {
    uint32_t n_tokens;
    const int32_t *tokens;    /* n_tokens ids; NULL: unknown */
    const int32_t *positions; /* n_tokens positions in their sequences; NULL: unknown */
    tt_phase phase;           /* TT_PHASE_UNKNOWN, TT_PHASE_MIXED: derived */
    uint32_t context;         /* number of the engine's context, if it has several; from 1; 0: only
                                 one */
    uint32_t n_threads;       /* number of computing threads; 0: unknown */
} tt_record_batch;

typedef struct tt_record_options {
    const char *path;      /* path of the trace; "<path>.part" until it is finished */
    const char *engine;    /* name and version of the engine, for `info`; NULL: unknown */
    const char *values;    /* LEVEL[:SELECT] as in `tensortrace run --values`: which outputs and
                              tt_value()s are captured, and how much of them. NULL: no outputs, and
                              hashes of the tt_value()s */
    uint64_t limit_bytes;  /* size of the trace at which recording stops; 0: no limit */
    uint64_t keep_bytes;   /* keep only the last bytes of the trace, this many; 0: keep all */
    uint64_t thread_bytes; /* size of a thread's ring of records; 0: 1 MiB */
    int replace;           /* nonzero: replace an existing trace; otherwise TT_E_EXISTS */
} tt_record_options;

/* A node of a batch's graph; 0: no node, which every call accepts and ignores. */
typedef uint64_t tt_node;

/* --- recording as a whole --- */

/* Starts recording. TT_E_USAGE: it is already on (perhaps by the environment), or the options are
 * invalid; TT_E_EXISTS, TT_E_IO: the trace cannot be created. On failure no file is left behind and
 * recording stays off. err may be NULL. After tt_record_stop, recording may be started again with
 * another trace. */
TT_API tt_status tt_record_start(const tt_record_options *options, tt_error *err);
/* Finishes the trace; open batches end in it. TT_OK if nothing was recorded. Program exit does the
 * same. */
TT_API tt_status tt_record_stop(tt_error *err);
/* The path of the current or last trace. It has the pid in it ("run-4711.ttrace") in a forked
 * child, and if the file that the environment names exists. "" if there is none. Valid until the
 * next start. */
TT_API const char *tt_record_path(void);
/* The model file (GGUF) that the engine uses, which gives its weights their file offsets. Call it
 * once per file, before the batches that use it. TT_OK if recording is off: the file is not read.
 * */
TT_API tt_status tt_record_model(const char *path, tt_error *err);

/* Nonzero while recording; the calls below test it. Read only. */
TT_API extern int tt_recording;
#if defined(TT_RECORD_OFF)
#define TT_RECORDING() 0
#elif defined(__GNUC__)
#define TT_RECORDING() __builtin_expect(__atomic_load_n(&tt_recording, __ATOMIC_RELAXED) != 0, 0)
#else
#define TT_RECORDING() (tt_recording != 0)
#endif

/* --- memory --- */

/* The memory need not be initialised. */
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

/* Reports that `size_bytes` at `base` are a buffer: allocated, or mapped from a file (this is
 * detected). Tensors whose data is inside belong to it. Replaces a buffer at the same address. */
TT_UNREAD_(2)
TT_API void tt_buffer_add(const char *name, const void *base, uint64_t size_bytes,
                          tt_buffer_use use);
/* The buffer at `base` is about to be freed. */
TT_UNREAD_(1)
TT_API void tt_buffer_remove(const void *base);

/* --- batches and ops --- */

/* Begins a batch on this thread, and ends one that it has open. Ops of this thread belong to the
 * batch until its end. NULL: nothing is known about it. */
TT_API void tt_batch_begin(const tt_record_batch *batch);
/* Ends the batch; status: 0 if it was computed completely. The end times of ops still open on other
 * threads stay unknown. */
TT_API void tt_batch_end(int status);
/* The text of a token, for `log`: n bytes, valid UTF-8 or a part of it. Call it once per token. */
TT_API void tt_token_name(int32_t token, const char *text, size_t n);

/* Begins an op that this thread computes alone, and ends one that it has open. Outside a batch,
 * begins a batch about which nothing is known. */
TT_API tt_node tt_op_begin(const tt_record_tensor *output);
/* Ends the op and captures its output if options.values selects it. Does nothing if no op is open.
 * */
TT_API void tt_op_end(void);

/* An op that several threads share. One of them adds it before any begins. Then each calls
 * tt_op_begin_lane with its number (0 to 510), and tt_op_end. When all have ended, one calls
 * tt_op_taken, which captures the output if it is selected: pass `output` as it was added. A node
 * is valid until its batch ends. */
TT_API tt_node tt_op_add(const tt_record_tensor *output);
TT_API void tt_op_begin_lane(tt_node node, unsigned lane);
TT_API void tt_op_taken(tt_node node, const tt_record_tensor *output);

/* --- values --- */

/* Captures one value: its statistics and hashes are computed in this call, on this thread; the data
 * must not change meanwhile. It may be called anywhere. If the open batch has an op's output of
 * that name that was not captured yet, the value is that output's; otherwise it is a node "VALUE"
 * of its own, whose duration is that of the capture. Outside a batch, values of one position form a
 * batch.
 *
 * ne: n_dims (1 to 4) numbers of elements, the first dimension varies fastest; no gaps.
 *
 * layer: or TT_NO_LAYER; BitNet.rs's -1 (embeddings, logits) and -2 (after all layers) are kept.
 *
 * stage: BitNet.rs's name of the stage, or NULL.
 *
 * position: of the (first) token in its sequence, or TT_NO_POSITION: that of the batch.
 *
 * With BITNET_TRACE_DIR=DIR it is also written as the file DIR/NAME.trace, in BitNet.rs's format,
 * under a temporary name first. Values of the same name, for example of other positions, are
 * numbered. With TENSORTRACE_BITNET_LINES=1 it is a line of DIR/values.jsonl. */
TT_API void tt_value(const char *name, const void *data, tt_type type, unsigned n_dims,
                     const uint64_t *ne, int32_t layer, const char *stage, int64_t position);

/* --- values in memory --- */

/* For a program that inspects its own values, as tests do; it needs no file, and recording may be
 * off. An open sink receives the values of tt_value(), tt_op_begin and tt_op_taken of all threads,
 * in the order of capture. It is independent of options.values. A forked child has a copy. */
typedef struct tt_value_sink tt_value_sink;

#define TT_SINK_FIRST 8

/* A value as BitNet.rs describes it. */
typedef struct tt_sink_value {
    char name[TT_RECORD_NAME_MAX + 1];
    char stage[TT_RECORD_NAME_MAX + 1]; /* "": none was given */
    int32_t layer;                      /* as given; TT_NO_LAYER */
    int64_t position;                   /* of the value, or of its thread's batch; TT_NO_POSITION */
    tt_type type;
    unsigned n_dims;
    uint64_t ne[TT_RECORD_DIMS]; /* the first dimension varies fastest */
    uint64_t n_elements;
    double rms;         /* NAN: no elements, or not all are finite */
    uint8_t blake3[32]; /* of the elements as little-endian float32 */
    unsigned n_first;   /* elements in `first` */
    float first[TT_SINK_FIRST];
} tt_sink_value;

/* Opens a sink for values whose names match the shell pattern `names` ("blk.3.*", "*attn_norm*");
 * NULL: all. It keeps at most values_max values (0: 65,536) and counts the rest. Returns NULL if
 * out of memory; the other calls treat NULL as an empty sink. Close it with tt_value_sink_close. */
TT_API tt_value_sink *tt_value_sink_open(const char *names, size_t values_max);
TT_API void tt_value_sink_close(tt_value_sink *sink);
/* Number of kept values that match the pattern `names`; NULL: all. */
TT_API size_t tt_value_sink_count(tt_value_sink *sink, const char *names);
/* Copies the i-th of those, from 0. Returns 0, and copies nothing, if there is none. */
TT_API int tt_value_sink_get(tt_value_sink *sink, const char *names, size_t i, tt_sink_value *out);
/* Number of values that did not fit. */
TT_API uint64_t tt_value_sink_left_out(tt_value_sink *sink);
/* Removes all values. */
TT_API void tt_value_sink_clear(tt_value_sink *sink);

/* --- llama.cpp --- */

/* For a program that has a llama_context of its own, the one line that is needed:
 *
 *   cparams.cb_eval = tt_ggml_eval_callback;      cparams.cb_eval_user_data stays NULL
 *
 * While recording is on, it records every op of every batch, on whichever backend, and its output
 * as options.values selects. The scheduler stops after each op, which slows it down: to measure
 * time use `tensortrace run`, which needs no such line. ggml's functions are looked up in the
 * process; nothing is linked. With an unknown ggml it records nothing, and the trace gives the
 * reason. It never stops a graph: it always returns "continue". */
struct ggml_tensor;
TT_API bool tt_ggml_eval_callback(struct ggml_tensor *tensor, bool ask, void *user_data);

/* To keep a callback of your own: cparams.cb_eval_user_data = &chain, which must live as long as
 * the context. The callback is called as if it were the only one; if it returns "stop", the graph
 * stops. */
typedef struct tt_ggml_chain {
    bool (*callback)(struct ggml_tensor *tensor, bool ask, void *user_data);
    void *user_data;
} tt_ggml_chain;

/* --- the calls as macros: the test of a flag, or nothing --- */

/* Results that may be ignored. */
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
