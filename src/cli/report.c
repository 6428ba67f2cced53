#include "cli/report.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_EVERY_NS 100000000u
#define BAR_WIDTH 20
#define INDENT 2 /* of what goes on in a further line */

static void print_message(const char *fmt, va_list args)
{
    /* What was already printed comes first, also when both go to one place. */
    (void)fflush(stdout);
    char *text = NULL, *line = NULL;
    if (vasprintf(&text, fmt, args) >= 0 && asprintf(&line, "tensortrace: %s", text) >= 0) {
        tt_table_text(stderr, INDENT, line);
        free(line);
    }
    free(text);
}

void tt_report_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_message(fmt, args);
    va_end(args);
}

int tt_report_usage(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_message(fmt, args);
    va_end(args);
    return TT_EXIT_USAGE;
}

int tt_report_error(const tt_error *err)
{
    if (err->status == TT_OK) return TT_EXIT_OK;
    if (err->offset == TT_NO_OFFSET)
        tt_report_note("%s", err->message);
    else
        tt_report_note("%s (at byte %llu)", err->message, (unsigned long long)err->offset);
    return TT_EXIT_USAGE;
}

static const char *program = "tensortrace";

void tt_report_called_as(const char *argv0)
{
    if (argv0 && strchr(argv0, '/')) program = argv0;
}

const char *tt_report_program(void)
{
    return program;
}

int tt_report_output(bool ok)
{
    static bool told;
    int why = errno; /* of an earlier write, if this one works */
    bool flushed = fflush(stdout) == 0;
    if (flushed && !ferror(stdout) && ok) return TT_EXIT_OK;
    if (!flushed) why = errno;
    if (!told) tt_report_note("cannot write to standard output: %s", strerror(why ? why : EIO));
    told = true;
    return TT_EXIT_USAGE;
}

void tt_progress_begin(tt_progress *p, const char *what, uint64_t total, const char *unit)
{
    const char *term = getenv("TERM");
    memset(p, 0, sizeof *p);
    p->what = what;
    p->total = total;
    p->unit = unit;
    p->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    p->on = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

static void amount(const tt_progress *p, char out[TT_UNITS_TEXT], uint64_t n)
{
    if (strcmp(p->unit, "bytes") == 0)
        tt_units_bytes(out, n);
    else
        tt_units_count(out, n);
}

static void draw(const tt_progress *p, uint64_t done, double seconds)
{
    char have[TT_UNITS_TEXT], all[TT_UNITS_TEXT], rate[TT_UNITS_TEXT], left[TT_UNITS_TEXT];
    bool sizes = strcmp(p->unit, "bytes") == 0;
    double per_second = (double)done / seconds;
    amount(p, have, done);
    amount(p, rate, (uint64_t)per_second);
    fprintf(stderr, "\r\033[K%s  ", p->what);
    if (p->total == 0) {
        fprintf(stderr, "%s%s%s, %s/s", have, sizes ? "" : " ", sizes ? "" : p->unit, rate);
    } else {
        uint64_t most = done < p->total ? done : p->total;
        double share = (double)most / (double)p->total;
        int filled = (int)(share * BAR_WIDTH);
        amount(p, all, p->total);
        fprintf(stderr, "[%.*s%*s] %3.0f %%  %s of %s%s%s, %s/s", filled, "####################",
                BAR_WIDTH - filled, "", share * 100, have, all, sizes ? "" : " ",
                sizes ? "" : p->unit, rate);
        if (most > 0) {
            double left_ns = seconds * 1e9 * (1 - share) / share;
            fprintf(stderr, ", %s left", tt_units_ns(left, left_ns));
        }
    }
    (void)fflush(stderr);
}

void tt_progress_update(tt_progress *p, uint64_t done)
{
    if (!p->on) return;
    uint64_t now = tt_clock_ns(CLOCK_MONOTONIC);
    if (now - p->begin_ns < PROGRESS_AFTER_NS || now - p->drawn_ns < PROGRESS_EVERY_NS) return;
    draw(p, done, (double)(now - p->begin_ns) / 1e9);
    p->drawn_ns = now;
    p->drawn = true;
}

void tt_progress_callback(void *progress, uint64_t done, uint64_t total)
{
    tt_progress *p = progress;
    p->total = total;
    tt_progress_update(p, done);
}

void tt_progress_end(tt_progress *p)
{
    if (p->drawn) {
        fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    p->drawn = false;
    p->on = false;
}
