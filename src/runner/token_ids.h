/* Lists of token ids, as text. */
#ifndef TT_RUNNER_TOKEN_IDS_H
#define TT_RUNNER_TOKEN_IDS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define TT_TOKEN_IDS_MAX ((size_t)1 << 24)

/* Zero-initialised is empty. */
typedef struct tt_token_ids {
    int32_t *ids;
    size_t n, capacity;
} tt_token_ids;

/* On TT_E_LIMIT and TT_E_MEMORY the list is unchanged. */
tt_status tt_token_ids_add(tt_token_ids *list, int32_t id, tt_error *err);
/* Appends the ids in `text`: numbers from 0 on, separated by commas, white space or both. `what`
 * is for messages. TT_E_USAGE: no ids, or anything else in the text. */
tt_status tt_token_ids_parse(tt_token_ids *list, const char *text, size_t size, const char *what,
                             tt_error *err);
/* The same for a command-line argument: a list, or "@FILE" with one. */
tt_status tt_token_ids_load(tt_token_ids *list, const char *word, const char *what, tt_error *err);
void tt_token_ids_free(tt_token_ids *list);

#endif
