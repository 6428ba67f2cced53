/* Memory over time as a few lines of text. */
#include "base/units.h"
#include "cli/buffers/buffers.h"
#include "cli/table.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 72u
#define PLACES_MIN 16u
#define AROUND 32u /* what stands left and right of the bars */

static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
#define LEVELS 8u

/* What there was after an event. */
typedef uint64_t sums[TT_BACKINGS][TT_BUFFER_KINDS];

typedef struct plot {
    const tt_buffers_report *r;
    sums *after;       /* by event */
    uint64_t from, to; /* ticks */
    uint32_t places;
    uint64_t scale_bytes; /* of a full bar */
} plot;

/* The most of that kind and backing at any moment of that place in the line. */
static uint64_t most_at(const plot *p, tt_buffer_kind kind, tt_backing backing, uint32_t place)
{
    const tt_buffers *b = p->r->buffers;
    uint64_t most = 0;
    unsigned __int128 span = p->to - p->from;
    uint64_t begin = p->from + (uint64_t)(span * place / p->places);
    uint64_t end = p->from + (uint64_t)(span * (place + 1) / p->places);
    for (uint32_t i = 0; i < b->n_events && b->events[i].ticks <= end; i++) {
        /* What was there when the place began, and all that happened in it. */
        if (i + 1 < b->n_events && b->events[i + 1].ticks <= begin) continue;
        if (p->after[i][backing][kind] > most) most = p->after[i][backing][kind];
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
        /* Little is not nothing. */
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

/* The sums after each event; a full bar is the most there ever was of one kind. */
static bool sum_up(plot *p)
{
    const tt_buffers *b = p->r->buffers;
    p->scale_bytes = 1;
    p->after = calloc(b->n_events, sizeof *p->after);
    for (uint32_t i = 0; p->after && i < b->n_events; i++)
        for (unsigned k = 0; k < TT_BACKINGS; k++) {
            tt_buffers_by_kind(b, p->r->m, i, (tt_backing)k, p->after[i][k]);
            for (unsigned kind = 0; kind < TT_BUFFER_KINDS; kind++)
                if (p->after[i][k][kind] > p->scale_bytes) p->scale_bytes = p->after[i][k][kind];
        }
    return p->after != NULL;
}

/* A plot looks at each event for each place and kind; past this many it would take long and
 * show little. */
#define EVENTS_MAX 2048u

bool tt_buffers_plot(const tt_buffers_report *r)
{
    const tt_buffers *b = r->buffers;
    size_t width = tt_table_width(stdout);
    char from[TT_UNITS_TEXT], to[TT_UNITS_TEXT];
    if (b->n_events == 0 || b->n_events > EVENTS_MAX) return true;
    plot p = {.r = r, .places = PLACES_MAX, .from = b->events[0].ticks};
    if (width > 0 && width < PLACES_MAX + AROUND)
        p.places = width < PLACES_MIN + AROUND ? PLACES_MIN : (uint32_t)(width - AROUND);
    p.to = last_moment(r->m, b);
    if (!sum_up(&p)) return false;
    tt_units_ns(from, tt_model_ns(r->m, p.from));
    tt_units_ns(to, tt_model_ns(r->m, p.to));
    int gap = (int)p.places - (int)strlen(from) - (int)strlen(to);
    if (r->m->clock.known) printf("%-17s%s%*s%s\n", "", from, gap > 1 ? gap : 1, "", to);
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        for (unsigned kind = 0; kind < TT_BUFFER_KINDS; kind++)
            print_line(&p, (tt_buffer_kind)kind, (tt_backing)k);
    putchar('\n');
    free(p.after);
    return true;
}
