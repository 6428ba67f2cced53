/* Reads BitNet-style traces, whoever wrote them. What cannot be read is an error that names file
 * and line: never a record that is silently missing. */
#ifndef TT_BITNET_READ_H
#define TT_BITNET_READ_H

#include "base/status.h"
#include "bitnet/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BITNET_LINE_MAX (1u << 20)    /* bytes of one record's JSON */
#define TT_BITNET_FIRST_MAX 64u          /* first_values that are kept */
#define TT_BITNET_DIMS_MAX 16u           /* of a shape */
#define TT_BITNET_RECORDS_MAX (2u << 20) /* of one folder */
#define TT_BITNET_FILES_MAX (2u << 20)

/* A record and where it was read. seq, layer and stage are those of the keys, or else of the name
 * (bitnet/names.h). */
typedef struct tt_bitnet_item {
    tt_bitnet_record record;
    const char *file;    /* in the folder */
    uint64_t line;       /* of a .jsonl, from 1 on; 1 of a .trace */
    uint32_t occurrence; /* how many records of the same name and seq come before it */
} tt_bitnet_item;

/* In the order of execution as far as a folder tells it: by seq (those without one last); then
 * embeddings, layers from 0 on, what is after all layers, logits; in a layer by the known stages'
 * order, others last; then by name, file (by its number), line. */
typedef struct tt_bitnet_folder {
    char *path;
    tt_bitnet_item *items;
    size_t n;
    uint64_t n_files;
    struct tt_bitnet_memory *memory; /* private */
} tt_bitnet_folder;

/* Whether the path is a folder in which *.trace or *.jsonl files are, or a single *.trace or
 * *.jsonl file. Only looks at names. */
bool tt_bitnet_is(const char *path);

/* Reads every *.trace and *.jsonl in the folder (not in folders below it); or one such file. Each
 * file may hold one object, laid out anyhow, or one on each line. TT_E_NOT_FOUND: there is no such
 * file in the folder, or no record in the files. TT_E_FORMAT, TT_E_TRUNCATED, TT_E_LIMIT: the first
 * file (by name) that cannot be used, and why. Freed with tt_bitnet_free, also on failure. */
tt_status tt_bitnet_read(tt_bitnet_folder *f, const char *path, tt_error *err);
void tt_bitnet_free(tt_bitnet_folder *f);

#endif
