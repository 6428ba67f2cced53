/* The map of a model file as rows: an entry for each tensor, or for each expert's slice. */
#ifndef TT_ANALYZE_TENSOR_MAP_H
#define TT_ANALYZE_TENSOR_MAP_H

#include "gguf/memory_map.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_tensor_map_style {
    bool experts;     /* a slice for each expert */
    bool old_words;   /* tt_layout_old_words */
    bool old_numbers; /* a layer_id of -1, where others leave it out */
} tt_tensor_map_style;

/* The entries in file order, to be freed by the caller in every case. Each takes bytes of the file,
 * so there are no more than it has. */
tt_status tt_tensor_map_make(const tt_gguf *model, tt_tensor_map_style style,
                             tt_memory_entry **entries, size_t *n, tt_error *err);

/* Rows are tt_memory_entry; context: the tt_gguf. CSV begins with the columns that readers of
 * earlier pipelines expect. */
extern const tt_schema tt_tensor_map_schema;
/* The columns of an entry in memory-map.json. */
extern const char tt_tensor_map_columns[];

/* The memory-map.json document, written into `j` as one object with the listed entries. `source`
 * goes into the metadata. experiment_id NULL: without that key. */
void tt_tensor_map_json(const tt_gguf *model, const char *source, const char *experiment_id,
                        const tt_listing *entries, tt_json *j);

#endif
