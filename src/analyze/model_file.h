/* Finds a model's file again, long after it was traced. */
#ifndef TT_ANALYZE_MODEL_FILE_H
#define TT_ANALYZE_MODEL_FILE_H

#include "model/model.h"

#include <stdbool.h>

/* NULL: *fd is open for reading on `path`, a regular file with the size and the beginning of the
 * traced one; the caller closes it. Otherwise the reason against it, a static text or errno's, and
 * *fd is -1. */
const char *tt_model_file_open(const tt_model_file *f, const char *path, int *fd);
/* Whether it has been written to since (by its modification time, which a copy may not have). */
bool tt_model_file_is_modified(const tt_model_file *f, int fd);

#endif
