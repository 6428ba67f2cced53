#include "cli/runlog.h"

#include "cli/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_BYTES_MAX ((size_t)4 << 20)
#define LINE_MAX_BYTES 8192
#define LAST_LINES 10
#define LAST_BYTES 4096

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

void tt_log_line(tt_log *log, const char *stage, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 128], stamp[16];
    time_t now = time(NULL);
    struct tm local;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* Names and other programs' texts: nothing in them may move the cursor. */
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    (void)strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&now, &local));
    int n = snprintf(line, sizeof line, "[%s] %s%s: %s\n", stamp, log->counter, stage, text);
    (void)fflush(stdout);
    line[strcspn(line, "\n")] = '\0';
    tt_table_text(stderr, strlen("[HH:MM:SS] "), line);
    line[strlen(line)] = '\n';
    if (n > 0) tt_bytes_put(&log->text, line, (size_t)n);
}

void tt_log_last_lines(tt_log *log, const char *stage, const char *path, const char *name)
{
    char text[LAST_BYTES + 1];
    FILE *f = fopen(path, "rbe");
    if (!f) return;
    if (fseek(f, -LAST_BYTES, SEEK_END) != 0) rewind(f);
    size_t n = fread(text, 1, LAST_BYTES, f);
    (void)fclose(f);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    size_t lines = 0, at = n;
    while (at > 0 && lines < LAST_LINES)
        if (text[--at] == '\n') lines++;
    if (n == 0) return;
    tt_log_line(log, stage, "%s ends with:", name);
    char *save = NULL;
    for (char *line = strtok_r(text + at, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        tt_log_line(log, stage, "  %s", line);
}
