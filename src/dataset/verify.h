/* Checks that a folder is a complete and consistent dataset (docs/dataset.md). */
#ifndef TT_DATASET_VERIFY_H
#define TT_DATASET_VERIFY_H

#include "analyze/verify/verify.h"

/* Runs every check; fills checks (room for TT_CHECKS_MAX) and their number. progress (in files) may
 * be NULL. Files are read one at a time: memory is bounded by dataset/text.h and dataset/shape.h;
 * larger files fail the check `json`. Returns an error only if out of memory, if the folder cannot
 * be read, or TT_E_FORMAT: no file is of a dataset. */
tt_status tt_dataset_verify(const char *path, tt_check *checks, size_t *n,
                            tt_verify_progress *progress, void *context, tt_error *err);

/* Checks a folder of BitNet-style records (docs/bitnet.md). */

/* Like tt_dataset_verify: reads every file, even after an unusable one. TT_E_NOT_FOUND: the folder
 * has no file of records. */
tt_status tt_bitnet_verify(const char *path, tt_check *checks, size_t *n,
                           tt_verify_progress *progress, void *context, tt_error *err);

#endif
