/* Writes a synthetic llama model: valid GGUF v3 that engines load and run, with
 * random weights that keep every activation finite. The same configuration gives
 * the same bytes, whatever the number of threads. */
#ifndef TT_GGUF_SYNTH_H
#define TT_GGUF_SYNTH_H

#include "gguf/synth_config.h"
#include "gguf/synth_file.h"

/* Checks the configuration, then writes the model to `path`, or, with n_parts > 1,
 * to "NAME-00001-of-0000N.gguf" and its siblings where path is "NAME.gguf". Each
 * file appears whole or not at all; existing ones are TT_E_EXISTS unless `force`.
 * progress may be NULL. *total_bytes (may be NULL): of all files. */
tt_status tt_synth_write(const tt_synth_config *c, const char *path, bool force,
                         tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                         tt_error *err);

#endif
