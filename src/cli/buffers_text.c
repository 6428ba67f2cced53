/* `tensortrace buffers` as text. */
#include "base/units.h"
#include "cli/buffers_view.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory over time as a few lines of text. */

#define PLACES_MAX 72u
#define PLACES_MIN 16u
#define AROUND 32u /* width of the text left and right of the bars */

static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
#define LEVELS 8u

/* Each is checked for each column and kind. */
#define POINTS_MAX 2048u

typedef struct plot {
    tt_buffers_point *points;
    uint32_t n;
    uint64_t from, to; /* ticks */
    uint32_t places;
    uint64_t scale_bytes; /* of a full bar */
} plot;

/* The maximum of that kind and backing within the column's time. */
static uint64_t most_at(const plot *p, tt_buffer_kind kind, tt_backing backing, uint32_t place)
{
    uint64_t most = 0;
    unsigned __int128 span = p->to - p->from;
    uint64_t begin = p->from + (uint64_t)(span * place / p->places);
    uint64_t end = p->from + (uint64_t)(span * (place + 1) / p->places);
    for (uint32_t i = 0; i < p->n && p->points[i].ticks <= end; i++) {
        /* The state at the column's start, and all changes in it. */
        if (i + 1 < p->n && p->points[i + 1].ticks <= begin) continue;
        if (p->points[i].bytes[backing][kind] > most) most = p->points[i].bytes[backing][kind];
    }
    return most;
}

static void print_line(const plot *p, tt_buffer_kind kind, tt_backing backing)
{
    static const char *const notes[] = {"", " (file)", " (?)"};
    const char *const *levels = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? blocks : letters;
    uint64_t at[PLACES_MAX], most = 0;
    char name[32], size[TT_UNITS_TEXT];
    for (uint32_t i = 0; i < p->places; i++) {
        at[i] = most_at(p, kind, backing, i);
        if (at[i] > most) most = at[i];
    }
    if (most == 0) return;
    (void)snprintf(name, sizeof name, "%s%s", tt_buffer_kind_name(kind), notes[backing]);
    printf("%-16s|", name);
    for (uint32_t i = 0; i < p->places; i++) {
        /* Non-zero values are visible. */
        uint64_t level = (uint64_t)((unsigned __int128)at[i] * LEVELS / p->scale_bytes);
        fputs(levels[level > 0 || at[i] == 0 ? level : 1], stdout);
    }
    printf("| %s\n", tt_units_bytes(size, most));
}

static uint64_t last_moment(const tt_model *m, const tt_buffers *b)
{
    uint64_t to = b->events[b->n_events - 1].ticks;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].ended && m->runs[i].end_ticks > to) to = m->runs[i].end_ticks;
    return to;
}

/* A full bar is the maximum over all kinds. */
static uint64_t largest(const plot *p)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < p->n; i++)
        for (unsigned k = 0; k < TT_BACKINGS; k++)
            for (unsigned kind = 0; kind < TT_BUFFER_KINDS; kind++)
                if (p->points[i].bytes[k][kind] > most) most = p->points[i].bytes[k][kind];
    return most;
}

bool tt_buffers_plot(const tt_buffers_context *r)
{
    const tt_buffers *b = r->buffers;
    size_t width = tt_table_width(stdout);
    char from[TT_UNITS_TEXT], to[TT_UNITS_TEXT];
    if (b->n_events == 0) return true;
    plot p = {.places = PLACES_MAX, .from = b->events[0].ticks, .to = last_moment(r->m, b)};
    if (width > 0 && width < PLACES_MAX + AROUND)
        p.places = width < PLACES_MIN + AROUND ? PLACES_MIN : (uint32_t)(width - AROUND);
    const tt_status status =
        tt_buffers_curve(b, r->m, 0, UINT64_MAX, POINTS_MAX, &p.points, &p.n, NULL);
    p.scale_bytes = largest(&p);
    tt_units_ns(from, tt_model_ns(r->m, p.from));
    tt_units_ns(to, tt_model_ns(r->m, p.to));
    int gap = (int)p.places - (int)strlen(from) - (int)strlen(to);
    if (r->m->clock.known) printf("%-17s%s%*s%s\n", "", from, gap > 1 ? gap : 1, "", to);
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        for (unsigned kind = 0; kind < TT_BUFFER_KINDS; kind++)
            print_line(&p, (tt_buffer_kind)kind, (tt_backing)k);
    putchar('\n');
    free(p.points);
    return status == TT_OK;
}

static void line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *what, const char *fmt, ...)
{
    char text[1024], shown[1024], whole[1048];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)snprintf(whole, sizeof whole, "%-13s%s", what, tt_trace_text(shown, sizeof shown, text));
    tt_table_text(stdout, 13, whole);
}

static const char *time_text(const tt_model *m, char out[TT_UNITS_TEXT], uint64_t ticks)
{
    if (!m->clock.known) return "";
    return tt_units_ns(out, tt_model_ns(m, ticks));
}

/* --- the lines above --- */

/* "weights 14.9 MiB, compute 13.5 MiB", the largest first. */
static void kinds_text(const uint64_t bytes[TT_BUFFER_KINDS], char *out, size_t room)
{
    bool done[TT_BUFFER_KINDS] = {false};
    size_t used = 0;
    out[0] = '\0';
    for (unsigned n = 0; n < TT_BUFFER_KINDS; n++) {
        unsigned best = TT_BUFFER_KINDS;
        for (unsigned k = 0; k < TT_BUFFER_KINDS; k++)
            if (!done[k] && bytes[k] && (best == TT_BUFFER_KINDS || bytes[k] > bytes[best]))
                best = k;
        if (best == TT_BUFFER_KINDS) return;
        done[best] = true;
        char size[TT_UNITS_TEXT];
        int length =
            snprintf(out + used, room - used, "%s%s %s", used ? ", " : "",
                     tt_buffer_kind_name((tt_buffer_kind)best), tt_units_bytes(size, bytes[best]));
        if (length > 0 && (size_t)length < room - used) used += (size_t)length;
    }
}

static void peak_line(const tt_buffers_context *r, const char *what, tt_backing backing)
{
    const tt_buffers *b = r->buffers;
    uint32_t at = b->peak[backing];
    uint64_t bytes[TT_BUFFER_KINDS];
    char size[TT_UNITS_TEXT], when[TT_UNITS_TEXT], kinds[256];
    if (at == TT_NONE) return;
    tt_buffers_by_kind(b, r->m, at, backing, bytes);
    kinds_text(bytes, kinds, sizeof kinds);
    const char *time = time_text(r->m, when, b->events[at].ticks);
    line(what, "%s at the peak%s%s", tt_units_bytes(size, b->events[at].bytes[backing]),
         time[0] ? ", reached at " : "", time);
    line("", "%s", kinds);
}

static void cache_line(const tt_buffers_context *r, const tt_kv_cache *c, const char *what)
{
    char cells[TT_UNITS_TEXT], of[TT_UNITS_TEXT], bytes[TT_UNITS_TEXT], size[TT_UNITS_TEXT];
    char where[40] = "buffer not observed";
    if (c->buffer != TT_NONE)
        (void)snprintf(where, sizeof where, "buffer %" PRIu64, r->m->buffers[c->buffer].id);
    tt_units_bytes(size, c->size_bytes);
    if (!c->observed) {
        line(what, "%s: %s%s%s; which cells were written was not observed", where, size,
             c->cells ? ", cells: " : "", c->cells ? tt_units_count(of, c->cells) : "");
        return;
    }
    line(what, "%s: %s%s of %s cells written (%.1f %%), %s of %s", where,
         c->at_least ? "at least " : "", tt_units_count(cells, c->written),
         tt_units_count(of, c->cells), 100 * (double)c->written / (double)c->cells,
         tt_units_bytes(bytes, c->written_bytes), size);
}

void tt_buffers_print_summary(const tt_buffers_context *r)
{
    peak_line(r, "allocated", TT_BACKING_ALLOCATED);
    peak_line(r, "mapped", TT_BACKING_FILE);
    peak_line(r, "not observed", TT_BACKING_UNKNOWN);
    for (uint32_t i = 0; i < r->kv->n_caches; i++)
        cache_line(r, &r->kv->caches[i], i == 0 ? "KV cache" : "");
    putchar('\n');
}
