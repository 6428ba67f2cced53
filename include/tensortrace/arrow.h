/* A trace as columns: the tables of `export` and the rows of the analyses, through the Arrow C
 * stream interface, which polars, pandas, duckdb, pyarrow, nanoarrow, R and others read without a
 * copy. Nothing of Arrow is needed to build or to link.
 *
 *     const char *const options[] = {"batch=0..9", "columns=op_id,name,duration_ns", NULL};
 *     struct ArrowArrayStream stream;
 *     if (tt_arrow_table(reader, "ops", options, &stream, &err) != TT_OK) ...
 *     struct ArrowArray batch;
 *     while (stream.get_next(&stream, &batch) == 0 && batch.release) {
 *         ... batch.length rows; batch.children[1]->buffers[1] are the codes of the names ...
 *         batch.release(&batch);
 *     }
 *     stream.release(&stream);
 *
 * Ownership: what a stream hands out is the caller's, and lives until its own release, whatever is
 * released or closed before: the stream, the reader, other batches. A stream keeps what it needs of
 * the trace: the reader may be closed.
 *
 * Threads: a reader is of one thread at a time, and so is a stream; different streams, also of one
 * reader, may be read at the same time. A stream of a table may use threads of its own to make
 * batches ahead (option `threads`); they end with its release. Batches may be released in any
 * thread.
 *
 * After a fork, a stream that was begun is the parent's: the child gets an error, and may release
 * it.
 *
 * Errors: get_schema and get_next return an errno value (ENOMEM, EIO, EINVAL for what is wrong in
 * the trace), and get_last_error has the sentence, until the stream is used again or released.
 * After an error of get_next every further call returns it again. A batch is handed out whole or
 * not at all.
 *
 * Types and units: as docs/tables.md and docs/columns.md say; the end of a column's name is its
 * unit (`_bytes`, `_ns`, `_per_s`). Each field has the metadata `tensortrace.about`, what it is.
 *
 *     bool                                 boolean
 *     u8 u16 u32 u64, i32 i64, f32 f64     integers, reals of that width
 *     time                                 timestamp in ns, UTC
 *     text                                 dictionary of utf8 with int32 codes, one of each batch
 *
 * What was not observed, or does not apply, is null. Bytes of texts that are not UTF-8 are U+FFFD.
 * C99 and later, C++11 and later. */
#ifndef TENSORTRACE_ARROW_H
#define TENSORTRACE_ARROW_H

#include <tensortrace/read.h>

#ifdef __cplusplus
extern "C" {
#endif

/* These three are the Arrow C data and C stream interfaces, as specified: every program that knows
 * them has the same definitions, under the same guards. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* The names of the tables (docs/tables.md) and of the analyses, NULL behind the last. */
TT_API const char *tt_arrow_table_name(uint32_t index);
TT_API const char *tt_arrow_analysis_name(uint32_t index);
/* One line on what its rows are; NULL: there is no such table, or analysis. */
TT_API const char *tt_arrow_table_about(const char *name);
TT_API const char *tt_arrow_analysis_about(const char *name);

/* A table of the trace. `options` are texts "NAME=VALUE", NULL behind the last; or NULL. They are
 * read here and not kept. Rows that they leave out are not made.
 *
 *     columns=a,b,c      only these, in this order
 *     batch=N, N..M      only what is of these batches, from 0 (batch_id)
 *     phase=NAME         prompt, generate, mixed or warmup
 *     layer=N, none      only ops of this layer, or of none        } of the tables
 *     op=NAME            only ops of this kind, as MUL_MAT         } ops, lanes and
 *     tensor=GLOB        only ops whose node or a source has such a name } sources
 *     threads=N          that make batches; 0 (default): as many as there are processors
 *
 * Batches have about 131,072 to 262,144 rows, more where a single graph computation has more.
 *
 * TT_E_NOT_FOUND: no such table; TT_E_USAGE: an option that it does not take, or a value that is
 * none; else what is wrong with the trace, or memory. *out is released then. err may be NULL. */
TT_API tt_status tt_arrow_table(tt_reader *reader, const char *name, const char *const *options,
                                struct ArrowArrayStream *out, tt_error *err);

/* The rows of an analysis, as the command of that name prints them with --csv: the same columns,
 * rows and order. It is computed here, before this returns.
 *
 * Options are those of the command, without the dashes, as "by=expert", "ram=8G", "pages"; of all:
 * columns=, sort=, limit= (rows; 0, the default, all). docs/python.md lists those of each. */
TT_API tt_status tt_arrow_analysis(tt_reader *reader, const char *name, const char *const *options,
                                   struct ArrowArrayStream *out, tt_error *err);

/* For a binding to Python that is no extension module: the destructor of PyCapsules of that name,
 * "arrow_array_stream" or "arrow_schema"; NULL: it is neither. It releases the struct, unless
 * somebody did, and frees it by `give_back`. Unlike a destructor in Python it may run while an
 * exception is raised, and at the interpreter's end. `pointer_of` is PyCapsule_GetPointer. Both are
 * the same for all capsules of a process. */
typedef void tt_arrow_destructor(void *capsule);
typedef void tt_arrow_give_back(void *memory);
typedef void *tt_arrow_pointer_of(void *capsule, const char *name);
TT_API tt_arrow_destructor *tt_arrow_capsule_destructor(const char *name,
                                                        tt_arrow_pointer_of *pointer_of,
                                                        tt_arrow_give_back *give_back);

#ifdef __cplusplus
}
#endif

#endif
