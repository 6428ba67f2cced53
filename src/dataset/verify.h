/* Proves that a folder is a whole and consistent dataset (docs/dataset.md), check by check. */
#ifndef TT_DATASET_VERIFY_H
#define TT_DATASET_VERIFY_H

#include "analyze/verify/verify.h"

/* Runs every check; fills checks (room for TT_CHECKS_MAX) and their number. progress (in files) may
 * be NULL. Files are read one at a time: memory is bounded by dataset/text.h, dataset/shape.h,
 * and what is larger fails the check `json`. Fails itself only for want of memory, for a folder
 * that cannot be read, or TT_E_FORMAT: nothing of a dataset is in it. */
tt_status tt_dataset_verify(const char *path, tt_check *checks, size_t *n,
                            tt_verify_progress *progress, void *context, tt_error *err);

/* Checks a folder of BitNet-style records (docs/bitnet.md). */

/* As tt_dataset_verify: every file is read, also behind one that cannot be used. TT_E_NOT_FOUND: no
 * file of a record is in the folder. */
tt_status tt_bitnet_verify(const char *path, tt_check *checks, size_t *n,
                           tt_verify_progress *progress, void *context, tt_error *err);

#endif
