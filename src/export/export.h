/* The formats that a trace can be written as: one file of this room a format, one row each in
 * formats.c. They write what the model says and print nothing. */
#ifndef TT_EXPORT_EXPORT_H
#define TT_EXPORT_EXPORT_H

#include "analyze/cache/whatif.h"
#include "analyze/filter.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_compress { TT_COMPRESS_NONE, TT_COMPRESS_ZSTD, TT_COMPRESS_GZIP } tt_compress;

/* Called now and then, by one thread at a time; in units of the format's own. */
typedef void tt_export_progress(void *context, uint64_t done, uint64_t total);
/* A sentence for the person who exports: what was left out, what was assumed. */
typedef void tt_export_note(void *context, const char *text);

/* What was written, as far as the format counts it. */
typedef struct tt_export_sum {
    uint64_t n_items;
    const char *items;            /* what they are: "rows"; NULL: not counted */
    uint64_t n_files, size_bytes; /* of what was added to a folder; 0: all that is there is new */
} tt_export_sum;

typedef struct tt_export_options {
    const tt_filter *filter;   /* NULL: everything */
    unsigned threads;          /* 0: as many as there are processors */
    bool force;                /* replace what is there */
    const char *model_path;    /* where the model file is now; NULL: where the trace says */
    const char *command;       /* the command line, for formats that keep it; NULL: none */
    bool has_experts, experts; /* slices of expert tensors one by one; without has_experts: when
                                  the model has experts */
    tt_compress compress;
    tt_whatif_unit unit;
    uint64_t page_bytes; /* 0: TT_WHATIF_PAGE_BYTES */
    bool flows;          /* also from which op to which a value went */
    bool copies_as_file; /* reads of copies of weights count as reads of the file, at their place */
    bool lines;          /* records one to a line of one file */
    bool old_words;      /* the memory map in the words of earlier converters */
    bool as_ggml;        /* graphs as ggml itself dumps them */
    bool all; /* also what no stage map has a name for; more files than anybody may expect */
    tt_export_progress *progress; /* or NULL */
    void *progress_context;
    tt_export_note *note; /* or NULL */
    void *note_context;
    tt_export_sum *sum; /* set by the format, if it likes; or NULL */
} tt_export_options;

/* Which options mean something to a format; others are refused. */
enum {
    TT_EXPORT_TAKES_FILTER = 1,
    TT_EXPORT_TAKES_MODEL = 2, /* model_path */
    TT_EXPORT_TAKES_EXPERTS = 4,
    TT_EXPORT_TAKES_COMPRESS = 8,
    TT_EXPORT_TAKES_FLOWS = 16,
    TT_EXPORT_TAKES_ALL = 32,
    TT_EXPORT_TAKES_OPS = 64,     /* layer, op and tensor of the filter */
    TT_EXPORT_TAKES_UNIT = 128,   /* unit, page_bytes */
    TT_EXPORT_TAKES_COPIES = 256, /* copies_as_file; notes where there are any */
    TT_EXPORT_TAKES_GGML = 512,   /* as_ggml */
    TT_EXPORT_TAKES_WORDS = 1024, /* old_words */
    TT_EXPORT_TAKES_LINES = 2048  /* lines */
};

typedef struct tt_export_format {
    const char *name;    /* as in --format */
    const char *summary; /* one line, for --help */
    unsigned takes;      /* TT_EXPORT_TAKES_* */
    bool adds;           /* to a folder that may be there; others make or replace the path */
    /* Writes to `path`, whole or not at all: on failure nothing of it is left, and what was there
     * is as it was. */
    tt_status (*write)(const tt_model *m, const char *path, const tt_export_options *options,
                       tt_error *err);
} tt_export_format;

/* Tells options->note where weights were read from copies in buffers, unless those count as the
 * file. `placed`: the format takes copies_as_file. */
void tt_export_note_copies(const tt_model *m, const tt_export_options *options, bool placed);
/* All of them, in the order of --help. */
const tt_export_format *const *tt_export_formats(size_t *n);
/* NULL: there is no such format. */
const tt_export_format *tt_export_find(const char *name);

#endif
