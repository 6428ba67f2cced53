/* The formats that a trace can be exported to: one file of this room per format, one row each in
 * formats.c. They write the content of the model and print nothing. */
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

/* Called occasionally, by one thread at a time; in units of the format. */
typedef void tt_export_progress(void *context, uint64_t done, uint64_t total);
/* A sentence for the user: what was left out, what was assumed. */
typedef void tt_export_note(void *context, const char *text);

/* What was written, if the format counts it. */
typedef struct tt_export_sum {
    uint64_t n_items;
    const char *items;            /* their name: "rows"; NULL: not counted */
    uint64_t n_files, size_bytes; /* of what was added to a folder; 0: everything in it is new */
} tt_export_sum;

typedef struct tt_export_options {
    const tt_filter *filter;   /* NULL: everything */
    unsigned threads;          /* 0: the number of processors */
    bool force;                /* replace existing output */
    const char *model_path;    /* the model file's present path; NULL: as in the trace */
    const char *command;       /* the command line, for formats that store it; NULL: none */
    bool has_experts, experts; /* single slices of expert tensors; without has_experts: if the model
                                  has experts */
    tt_compress compress;
    tt_whatif_unit unit;
    uint64_t page_bytes; /* 0: TT_WHATIF_PAGE_BYTES */
    bool flows;          /* also arrows from op to op along values */
    bool copies_as_file; /* reads of copies of weights count as reads of the file, at their
                            offset */
    bool lines;          /* all records in one file, one per line */
    bool old_words;      /* the memory map with the words of earlier converters */
    bool as_ggml;        /* graphs as ggml dumps them */
    bool all; /* also outputs without a name in the stage map; more files than the usual limit */
    tt_export_progress *progress; /* or NULL */
    void *progress_context;
    tt_export_note *note; /* or NULL */
    void *note_context;
    tt_export_sum *sum; /* may be set by the format; or NULL */
} tt_export_options;

/* Which options a format accepts; others are rejected. */
enum {
    TT_EXPORT_TAKES_FILTER = 1,
    TT_EXPORT_TAKES_MODEL = 2, /* model_path */
    TT_EXPORT_TAKES_EXPERTS = 4,
    TT_EXPORT_TAKES_COMPRESS = 8,
    TT_EXPORT_TAKES_FLOWS = 16,
    TT_EXPORT_TAKES_ALL = 32,
    TT_EXPORT_TAKES_OPS = 64,     /* layer, op and tensor of the filter */
    TT_EXPORT_TAKES_UNIT = 128,   /* unit, page_bytes */
    TT_EXPORT_TAKES_COPIES = 256, /* copies_as_file; notes if there are copies */
    TT_EXPORT_TAKES_GGML = 512,   /* as_ggml */
    TT_EXPORT_TAKES_WORDS = 1024, /* old_words */
    TT_EXPORT_TAKES_LINES = 2048  /* lines */
};

typedef struct tt_export_format {
    const char *name;    /* for --format */
    const char *summary; /* one line, for --help */
    unsigned takes;      /* TT_EXPORT_TAKES_* */
    bool adds;           /* into a folder that may exist; others create or replace the path */
    /* Writes to `path`, completely or not at all: on failure nothing of it is left, and existing
     * output is unchanged. */
    tt_status (*write)(const tt_model *m, const char *path, const tt_export_options *options,
                       tt_error *err);
} tt_export_format;

/* Calls options->note if weights were read from copies in buffers, unless those count as the file.
 * `placed`: the format accepts copies_as_file. */
void tt_export_note_copies(const tt_model *m, const tt_export_options *options, bool placed);
/* All of them, in the order of --help. */
const tt_export_format *const *tt_export_formats(size_t *n);
/* NULL: no such format. */
const tt_export_format *tt_export_find(const char *name);

#endif
