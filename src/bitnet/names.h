/* Names of records and of their files. */
#ifndef TT_BITNET_NAMES_H
#define TT_BITNET_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BITNET_FILE_NAME 256u /* bytes of a file's name, the NUL included */

/* The file of a record: its name with / and \ replaced by _, and ".trace". Where that is taken, by
 * another name that looks the same or by the same one at another time, files are numbered from 2
 * on: "t0_embeddings.2.trace". What is too long for a file system is cut off (and then numbered as
 * well). False: the name is empty. */
bool tt_bitnet_file_name(const char *name, uint64_t number, char file[TT_BITNET_FILE_NAME]);
/* The number in a file's name: 1 when there is none. *n_base: length of what is before it. */
uint64_t tt_bitnet_file_number(const char *file, size_t *n_base);

/* What a name says: "t0/blk3/attn_norm" is seq 0, layer 3, stage "attn_norm". */
typedef struct tt_bitnet_parts {
    bool has_seq;
    uint64_t seq;
    bool has_layer;
    int32_t layer;
    const char *stage; /* what is behind them, in the name; "" when nothing is */
} tt_bitnet_parts;

/* seq: from "tN/" at its front; layer: from "blkN/" behind that, or of the stages that are in none.
 */
void tt_bitnet_name_parts(const char *name, tt_bitnet_parts *out);

#endif
