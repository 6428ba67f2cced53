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
/* For lines that stay: the first, and the longest gap; each gap is twice the previous one. */
#define PROGRESS_LINE_NS UINT64_C(10000000000)
#define PROGRESS_LINE_MOST_NS UINT64_C(120000000000)
#define PROGRESS_TEXT 192
#define BAR_WIDTH 20
#define INDENT 2 /* of continuation lines */

static void print_message(const char *fmt, va_list args)
{
    /* Earlier output comes first, even if both go to the same file. */
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
    return err->status == TT_E_MEMORY ? TT_EXIT_NO_MEMORY : TT_EXIT_USAGE;
}

int tt_report_memory(void)
{
    tt_report_note("out of memory");
    return TT_EXIT_NO_MEMORY;
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
    static bool reported;
    int why = errno; /* of an earlier write, if this one succeeds */
    const bool flushed = fflush(stdout) == 0, wrote = flushed && !ferror(stdout);
    if (wrote && ok) return TT_EXIT_OK;
    if (!flushed) why = errno;
    if (!reported && wrote) (void)tt_report_memory();
    if (!reported && !wrote)
        tt_report_note("cannot write to standard output: %s", strerror(why ? why : EIO));
    reported = true;
    return wrote ? TT_EXIT_NO_MEMORY : TT_EXIT_USAGE;
}

static bool only_drawn;

void tt_progress_only_drawn(void)
{
    only_drawn = true;
}

void tt_progress_begin(tt_progress *p, const char *what, uint64_t total, const char *unit)
{
    const char *term = getenv("TERM");
    const bool redraws = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
    memset(p, 0, sizeof *p);
    p->what = what;
    p->total = total;
    p->unit = unit;
    p->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    p->gap_ns = redraws ? 0 : PROGRESS_LINE_NS;
    p->next_ns = p->begin_ns + (redraws ? PROGRESS_AFTER_NS : PROGRESS_LINE_NS);
    p->on = redraws || !only_drawn;
}

static void amount(const tt_progress *p, char out[TT_UNITS_TEXT], uint64_t n)
{
    if (strcmp(p->unit, "bytes") == 0)
        tt_units_bytes(out, n);
    else
        tt_units_count(out, n);
}

/* "43 %, 12 of 28 parts, 3/s, 5 s left"; of an unknown total "12 parts, 3/s". */
static void describe(const tt_progress *p, uint64_t done, double seconds, char out[PROGRESS_TEXT])
{
    char have[TT_UNITS_TEXT], all[TT_UNITS_TEXT], rate[TT_UNITS_TEXT], left[TT_UNITS_TEXT];
    const bool sizes = strcmp(p->unit, "bytes") == 0;
    const char *blank = sizes ? "" : " ", *unit = sizes ? "" : p->unit;
    const double per_second = (double)done / seconds;
    amount(p, have, done);
    amount(p, all, p->total);
    if (!sizes && per_second < 10)
        (void)snprintf(rate, sizeof rate, "%.2g", per_second);
    else
        amount(p, rate, (uint64_t)per_second);
    if (p->total == 0) {
        (void)snprintf(out, PROGRESS_TEXT, "%s%s%s, %s/s", have, blank, unit, rate);
        return;
    }
    const double share = (double)(done < p->total ? done : p->total) / (double)p->total;
    const bool is_under_way = share > 0 && share < 1;
    tt_units_wait(left, is_under_way ? seconds * 1e9 * (1 - share) / share : 0);
    (void)snprintf(out, PROGRESS_TEXT, "%3.0f %%, %s of %s%s%s, %s/s%s%s%s", share * 100, have, all,
                   blank, unit, rate, is_under_way ? ", " : "", is_under_way ? left : "",
                   is_under_way ? " left" : "");
}

/* With a bar if there is room for it; cut if there is not enough for the text. */
static void draw(const tt_progress *p, uint64_t done, const char *text)
{
    const size_t width = tt_table_width(stderr), needed = strlen(p->what) + strlen(text) + 3;
    fprintf(stderr, "\r\033[K%s  ", p->what);
    if (p->total && (!width || needed + BAR_WIDTH + 3 <= width)) {
        const uint64_t most = done < p->total ? done : p->total;
        const int filled = (int)((double)most / (double)p->total * BAR_WIDTH);
        fprintf(stderr, "[%.*s%*s] ", filled, "####################", BAR_WIDTH - filled, "");
    }
    const size_t over = width && needed > width ? needed - width : 0, length = strlen(text);
    fprintf(stderr, "%.*s", (int)(over < length ? length - over : 0), text);
    (void)fflush(stderr);
}

void tt_progress_update(tt_progress *p, uint64_t done)
{
    char text[PROGRESS_TEXT];
    if (!p->on) return;
    const uint64_t now = tt_clock_ns(CLOCK_MONOTONIC);
    if (now < p->next_ns) return;
    describe(p, done, (double)(now - p->begin_ns) / 1e9, text);
    if (p->gap_ns == 0) {
        draw(p, done, text);
        p->next_ns = now + PROGRESS_EVERY_NS;
        p->drawn = true;
        return;
    }
    p->gap_ns = p->gap_ns < PROGRESS_LINE_MOST_NS / 2 ? 2 * p->gap_ns : PROGRESS_LINE_MOST_NS;
    p->next_ns = now + p->gap_ns;
    const char *line = text + strspn(text, " ");
    if (p->note)
        p->note(p->context, line);
    else
        tt_report_note("%s: %s", p->what, line);
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
