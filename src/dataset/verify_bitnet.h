/* Checks a folder of BitNet-style records (docs/bitnet.md). */
#ifndef TT_DATASET_VERIFY_BITNET_H
#define TT_DATASET_VERIFY_BITNET_H

#include "analyze/verify/verify.h"

/* As tt_dataset_verify: every file is read, also behind one that cannot be used. TT_E_NOT_FOUND: no
 * file of a record is in the folder. */
tt_status tt_bitnet_verify(const char *path, tt_check *checks, size_t *n,
                           tt_verify_progress *progress, void *context, tt_error *err);

#endif
