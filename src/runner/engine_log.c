#include "runner/engine_log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void tt_engine_log_init(tt_engine_log *log, tt_engine_log_sink sink, void *user)
{
    memset(log, 0, sizeof *log);
    (void)pthread_mutex_init(&log->lock, NULL);
    log->sink = sink;
    log->user = user;
}

static void keep_error(tt_engine_log *log, const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strcspn(text, "\r\n");
    if (length == 0) return;
    if (log->n_errors == TT_ENGINE_LOG_LINES) {
        memmove(log->errors[0], log->errors[1], sizeof log->errors - sizeof log->errors[0]);
        log->n_errors--;
    }
    (void)snprintf(log->errors[log->n_errors++], TT_ENGINE_LOG_LINE, "%.*s",
                   length < TT_ENGINE_LOG_LINE ? (int)length : TT_ENGINE_LOG_LINE - 1, text);
}

/* "llama_context: flash_attn    = auto" */
static void note_flash_attn(tt_engine_log *log, const char *text)
{
    const char *key = strstr(text, "flash_attn ");
    const char *value = key ? strchr(key, '=') : NULL;
    if (!value) return;
    value++;
    while (*value == ' ')
        value++;
    size_t length = strcspn(value, " \r\n");
    if (length == 0 || length >= sizeof log->flash_attn) return;
    memcpy(log->flash_attn, value, length);
    log->flash_attn[length] = '\0';
}

void tt_engine_log_callback(int level, const char *text, void *user)
{
    tt_engine_log *log = user;
    if (!text) return;
    (void)pthread_mutex_lock(&log->lock);
    if (level == TT_ENGINE_LOG_ERROR) keep_error(log, text);
    note_flash_attn(log, text);
    if (strstr(text, "CPU_REPACK model buffer")) log->is_repacking = true;
    if (log->sink) log->sink(log->user, level, text);
    (void)pthread_mutex_unlock(&log->lock);
}

void tt_engine_log_errors(tt_engine_log *log, char *out, size_t n)
{
    size_t used = 0;
    (void)pthread_mutex_lock(&log->lock);
    if (n) out[0] = '\0';
    for (size_t i = 0; i < log->n_errors && used < n; i++) {
        int length = snprintf(out + used, n - used, "%s%s", i ? "; " : "", log->errors[i]);
        if (length > 0) used += (size_t)length;
    }
    (void)pthread_mutex_unlock(&log->lock);
}
