/* What the engine says while it works: kept quiet, but its complaints are kept
 * for the error message, and two of its statements confirm options we set. */
#ifndef TT_RUNNER_ENGINE_LOG_H
#define TT_RUNNER_ENGINE_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define TT_ENGINE_LOG_LINES 3
#define TT_ENGINE_LOG_LINE 200

/* ggml's levels. */
enum { TT_ENGINE_LOG_WARN = 3, TT_ENGINE_LOG_ERROR = 4, TT_ENGINE_LOG_CONT = 5 };

/* Called from any of the engine's threads, one at a time. `text` is a piece of a
 * line or a whole one, as the engine sent it. */
typedef void (*tt_engine_log_sink)(void *user, int level, const char *text);

typedef struct tt_engine_log {
    pthread_mutex_t lock;
    tt_engine_log_sink sink; /* NULL: quiet */
    void *user;
    char errors[TT_ENGINE_LOG_LINES][TT_ENGINE_LOG_LINE]; /* the last ones, oldest first */
    size_t n_errors;
    char flash_attn[16]; /* the engine's own word: "auto", "enabled", "0", ... */
    bool is_repacking;   /* it reported a CPU_REPACK buffer */
} tt_engine_log;

void tt_engine_log_init(tt_engine_log *log, tt_engine_log_sink sink, void *user);
/* For llama_log_set: user is the tt_engine_log, which must outlive the engine's use. */
void tt_engine_log_callback(int level, const char *text, void *user);
/* The kept error lines joined with "; " ("" when there are none). */
void tt_engine_log_errors(tt_engine_log *log, char *out, size_t n);

#endif
