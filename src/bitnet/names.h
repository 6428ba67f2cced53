/* Names of records and of their files. */
#ifndef TT_BITNET_NAMES_H
#define TT_BITNET_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BITNET_FILE_NAME 256u /* bytes of a file's name, NUL included */

/* The file of a record: its name with / and \ replaced by _, and ".trace". If that is taken (a
 * similar name, or the same name again), files are numbered from 2 on: "t0_embeddings.2.trace".
 * Names too long for a file system are cut (and then also numbered). False: the name is empty. */
bool tt_bitnet_file_name(const char *name, uint64_t number, char file[TT_BITNET_FILE_NAME]);
/* The number in a file's name; 1 without one. *n_base: the length before it. */
uint64_t tt_bitnet_file_number(const char *file, size_t *n_base);

/* The parts of a name: "t0/blk3/attn_norm" is seq 0, layer 3, stage "attn_norm". */
typedef struct tt_bitnet_parts {
    bool has_seq;
    uint64_t seq;
    bool has_layer;
    int32_t layer;
    const char *stage; /* the rest, inside the name; "" when empty */
} tt_bitnet_parts;

/* seq: from a leading "tN/"; layer: from "blkN/" after it, or of a stage outside all layers. */
void tt_bitnet_name_parts(const char *name, tt_bitnet_parts *out);

#endif
