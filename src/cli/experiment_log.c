#include "cli/experiment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_BYTES_MAX ((size_t)4 << 20)
#define LINE_MAX_BYTES 8192

void tt_log_begin(tt_log *log)
{
    memset(log, 0, sizeof *log);
    tt_bytes_init(&log->text, LOG_BYTES_MAX);
}

void tt_log_free(tt_log *log)
{
    tt_bytes_free(&log->text);
}

void tt_log_common(tt_log *log)
{
    log->n_common = log->text.size;
}

void tt_log_experiment(tt_log *log, size_t number, size_t n)
{
    log->text.size = log->n_common;
    if (n > 1) (void)snprintf(log->counter, sizeof log->counter, "%zu/%zu ", number + 1, n);
}

void tt_log_say(tt_log *log, const char *stage, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 128], stamp[16];
    time_t now = time(NULL);
    struct tm local;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* Names and other programs' words: nothing in them may move the cursor. */
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    (void)strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&now, &local));
    int n = snprintf(line, sizeof line, "[%s] %s%s: %s\n", stamp, log->counter, stage, text);
    (void)fflush(stdout);
    fputs(line, stderr);
    if (n > 0) tt_bytes_put(&log->text, line, (size_t)n);
}
