/* `tensortrace buffers` for people. */
#include "base/units.h"
#include "cli/buffers/buffers.h"
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

#define CELL 320u

typedef struct column {
    const char *title;
    int flags;
} column;

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

static tt_table *new_table(const column *columns, size_t n)
{
    tt_table *t = tt_table_new(stdout);
    for (size_t i = 0; t && i < n; i++)
        tt_table_column(t, columns[i].title, columns[i].flags);
    return t;
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

static void peak_line(const tt_buffers_report *r, const char *what, tt_backing backing)
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

static void cache_line(const tt_buffers_report *r, const tt_kv_cache *c, const char *what)
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

static void summary(const tt_buffers_report *r)
{
    peak_line(r, "allocated", TT_BACKING_ALLOCATED);
    peak_line(r, "mapped", TT_BACKING_FILE);
    peak_line(r, "not observed", TT_BACKING_UNKNOWN);
    for (uint32_t i = 0; i < r->kv->n_caches; i++)
        cache_line(r, &r->kv->caches[i], i == 0 ? "KV cache" : "");
    putchar('\n');
}

/* --- the buffers --- */

static const column buffer_columns[] = {
    {"ID", TT_COLUMN_RIGHT},
    {"NAME", TT_COLUMN_SHRINK | TT_COLUMN_KEY},
    {"KIND", TT_COLUMN_LEFT},
    {"USAGE", TT_COLUMN_LEFT | TT_COLUMN_WIDE},
    {"SIZE", TT_COLUMN_RIGHT},
    {"USED", TT_COLUMN_RIGHT},
    {"TENSORS", TT_COLUMN_RIGHT | TT_COLUMN_WIDE},
    {"LAYERS", TT_COLUMN_SHRINK | TT_COLUMN_WIDE},
    {"FROM", TT_COLUMN_RIGHT},
    {"TO", TT_COLUMN_RIGHT},
    {"LIFETIME", TT_COLUMN_RIGHT | TT_COLUMN_WIDE},
    {"PLACE", TT_COLUMN_SHRINK},
};
#define BUFFER_COLUMNS (sizeof buffer_columns / sizeof *buffer_columns)

/* "0-21", "0-3, 8" */
static void layers_text(const tt_buffer_life *u, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < u->n_layers;) {
        uint32_t last = i;
        char text[40];
        while (last + 1 < u->n_layers && u->layers[last + 1] == u->layers[last] + 1)
            last++;
        int n = last == i ? snprintf(text, sizeof text, "%s%" PRId32, i ? ", " : "", u->layers[i])
                          : snprintf(text, sizeof text, "%s%" PRId32 "-%" PRId32, i ? ", " : "",
                                     u->layers[i], u->layers[last]);
        if (n < 0 || used + (size_t)n + 5 > room) {
            memcpy(out + used, ", ..", 5);
            return;
        }
        memcpy(out + used, text, (size_t)n + 1);
        used += (size_t)n;
        i = last + 1;
    }
}

static void place_text(const tt_buffer *b, char *out, size_t room)
{
    char path[CELL];
    if (b->flags & TT_BUFFER_FILE)
        (void)snprintf(out, room, "%s + %" PRIu64, tt_trace_text(path, sizeof path, b->path),
                       b->file_offset_bytes);
    else if (b->flags & TT_BUFFER_PLACE_UNKNOWN)
        (void)snprintf(out, room, "not observed");
    else
        (void)snprintf(out, room, "allocated%s%s", b->allocator[0] ? " by " : "",
                       tt_trace_text(path, sizeof path, b->allocator));
}

/* An allocation that was not seen was before the first use. */
static void times_text(const tt_model *m, const tt_buffer *b, char from[TT_UNITS_TEXT + 4],
                       char to[TT_UNITS_TEXT], char life[TT_UNITS_TEXT + 4])
{
    char text[TT_UNITS_TEXT];
    bool seen = b->flags & TT_BUFFER_ALLOC_SEEN;
    bool sane = b->free_ticks >= b->alloc_ticks;
    from[0] = to[0] = life[0] = '\0';
    if (!m->clock.known) return;
    (void)snprintf(from, TT_UNITS_TEXT + 4, "%s%s",
                   seen ? "" : "<= ", time_text(m, text, b->alloc_ticks));
    if (!b->free_ticks) return;
    tt_units_ns(to, tt_model_ns(m, b->free_ticks));
    if (sane)
        (void)snprintf(life, TT_UNITS_TEXT + 4, "%s%s", seen ? "" : ">= ",
                       tt_units_ns(text, tt_model_span_ns(m, b->free_ticks - b->alloc_ticks)));
}

static void buffer_row(tt_table *t, const tt_buffers_report *r, uint32_t i)
{
    const tt_buffer *b = &r->m->buffers[i];
    const tt_buffer_life *u = &r->buffers->uses[i];
    char id[24], name[CELL], size[TT_UNITS_TEXT], used[TT_UNITS_TEXT] = "", layers[64], place[CELL];
    char tensors[TT_UNITS_TEXT] = "", from[TT_UNITS_TEXT + 4], to[TT_UNITS_TEXT];
    char life[TT_UNITS_TEXT + 4];
    (void)snprintf(id, sizeof id, "%" PRIu64, b->id);
    layers_text(u, layers, sizeof layers);
    place_text(b, place, sizeof place);
    times_text(r->m, b, from, to, life);
    /* No graph has a tensor in it: what it is used for was not observed. */
    if (u->n_tensors) {
        tt_units_bytes(used, u->used_bytes);
        tt_units_count(tensors, u->n_tensors);
    }
    const char *all[BUFFER_COLUMNS] = {id,
                                       tt_trace_text(name, sizeof name, b->name),
                                       tt_buffer_kind_name(b->kind),
                                       tt_buffer_usage_name(b->usage),
                                       tt_units_bytes(size, b->size_bytes),
                                       used,
                                       tensors,
                                       layers,
                                       from,
                                       to,
                                       life,
                                       place};
    tt_table_row(t, all);
}

static bool print_buffers(const tt_buffers_report *r)
{
    tt_table *t = new_table(buffer_columns, BUFFER_COLUMNS);
    if (!t) return false;
    for (uint32_t i = 0; i < r->m->n_buffers; i++)
        buffer_row(t, r, i);
    return tt_table_print(t);
}

/* --- the timeline --- */

static const column event_columns[] = {
    {"TIME", TT_COLUMN_RIGHT},    {"EVENT", TT_COLUMN_LEFT},
    {"ID", TT_COLUMN_RIGHT},      {"NAME", TT_COLUMN_SHRINK | TT_COLUMN_WIDE},
    {"KIND", TT_COLUMN_LEFT},     {"SIZE", TT_COLUMN_RIGHT},
    {"BUFFERS", TT_COLUMN_RIGHT}, {"ALLOCATED", TT_COLUMN_RIGHT},
    {"MAPPED", TT_COLUMN_RIGHT},
};
#define EVENT_COLUMNS (sizeof event_columns / sizeof *event_columns)

static void event_row(tt_table *t, const tt_buffers_report *r, const tt_buffer_event *e)
{
    const tt_buffer *b = &r->m->buffers[e->buffer];
    char id[24], name[CELL], text[5][TT_UNITS_TEXT];
    (void)snprintf(id, sizeof id, "%" PRIu64, b->id);
    const char *what = e->is_free                        ? "free"
                       : b->flags & TT_BUFFER_ALLOC_SEEN ? "alloc"
                                                         : "first use";
    const char *all[EVENT_COLUMNS] = {time_text(r->m, text[0], e->ticks),
                                      what,
                                      id,
                                      tt_trace_text(name, sizeof name, b->name),
                                      tt_buffer_kind_name(b->kind),
                                      tt_units_bytes(text[1], b->size_bytes),
                                      tt_units_count(text[2], e->n_active),
                                      tt_units_bytes(text[3], e->bytes[TT_BACKING_ALLOCATED]),
                                      tt_units_bytes(text[4], e->bytes[TT_BACKING_FILE])};
    tt_table_row(t, all);
}

static void note_more(uint64_t more)
{
    tt_report_note("%" PRIu64 " more row%s; --limit 0 shows all", more, more == 1 ? "" : "s");
}

static bool print_timeline(const tt_buffers_report *r)
{
    const tt_buffers *b = r->buffers;
    tt_table *t = tt_buffers_plot(r) ? new_table(event_columns, EVENT_COLUMNS) : NULL;
    if (!t) return false;
    uint32_t n = r->limit && r->limit < b->n_events ? (uint32_t)r->limit : b->n_events;
    for (uint32_t i = 0; i < n; i++)
        event_row(t, r, &b->events[i]);
    bool ok = tt_table_print(t);
    if (n < b->n_events) note_more(b->n_events - n);
    return ok;
}

/* --- the KV caches --- */

static const column tensor_columns[] = {
    {"BUFFER", TT_COLUMN_RIGHT},
    {"LAYER", TT_COLUMN_RIGHT},
    {"TENSOR", TT_COLUMN_SHRINK | TT_COLUMN_KEY},
    {"TYPE", TT_COLUMN_LEFT},
    {"OFFSET", TT_COLUMN_RIGHT},
    {"SIZE", TT_COLUMN_RIGHT},
    {"CELLS", TT_COLUMN_RIGHT},
    {"WRITTEN", TT_COLUMN_RIGHT},
};
#define TENSOR_COLUMNS (sizeof tensor_columns / sizeof *tensor_columns)

static void tensor_row(tt_table *t, const tt_buffers_report *r, const tt_kv_tensor *k)
{
    char buffer[24] = "-", layer[16], name[CELL], type[64], offset[24], text[3][TT_UNITS_TEXT];
    char written[TT_UNITS_TEXT + 4] = "-";
    if (k->buffer != TT_NONE)
        (void)snprintf(buffer, sizeof buffer, "%" PRIu64, r->m->buffers[k->buffer].id);
    (void)snprintf(layer, sizeof layer, "%" PRId32, k->layer_id);
    (void)snprintf(offset, sizeof offset, "%" PRIu64, k->offset_bytes);
    if (k->observed)
        (void)snprintf(written, sizeof written, "%s%s", k->at_least ? ">= " : "",
                       tt_units_count(text[0], k->written));
    const char *all[TENSOR_COLUMNS] = {buffer,
                                       layer,
                                       tt_trace_text(name, sizeof name, k->name),
                                       tt_trace_text(type, sizeof type, k->type_name),
                                       offset,
                                       tt_units_bytes(text[1], k->size_bytes),
                                       k->cells ? tt_units_count(text[2], k->cells) : "-",
                                       written};
    tt_table_row(t, all);
}

static const column step_columns[] = {
    {"BUFFER", TT_COLUMN_RIGHT},  {"BATCH", TT_COLUMN_RIGHT}, {"PHASE", TT_COLUMN_LEFT},
    {"WRITTEN", TT_COLUMN_RIGHT}, {"SHARE", TT_COLUMN_RIGHT}, {"BYTES", TT_COLUMN_RIGHT},
};
#define STEP_COLUMNS (sizeof step_columns / sizeof *step_columns)

static void step_row(tt_table *t, const tt_buffers_report *r, const tt_kv_cache *c,
                     const tt_kv_step *s)
{
    char buffer[24] = "-", token[16], share[16], text[2][TT_UNITS_TEXT];
    if (c->buffer != TT_NONE)
        (void)snprintf(buffer, sizeof buffer, "%" PRIu64, r->m->buffers[c->buffer].id);
    (void)snprintf(token, sizeof token, "%" PRIu32, tt_model_batch_number(r->m, s->batch));
    (void)snprintf(share, sizeof share, "%.1f %%",
                   100 * (double)s->cells_written / (double)c->cells);
    const char *all[STEP_COLUMNS] = {buffer,
                                     token,
                                     tt_phase_name(r->m->batches[s->batch].phase),
                                     tt_units_count(text[0], s->cells_written),
                                     share,
                                     tt_units_bytes(text[1], s->written_bytes)};
    tt_table_row(t, all);
}

static bool print_steps(const tt_buffers_report *r)
{
    uint64_t rows = 0, left = 0;
    tt_table *t = NULL;
    for (uint32_t i = 0; i < r->kv->n_caches; i++) {
        const tt_kv_cache *c = &r->kv->caches[i];
        for (uint32_t k = 0; k < c->n_steps && c->observed; k++) {
            if (r->limit && rows == r->limit) {
                left += c->n_steps - k;
                break;
            }
            if (rows++ == 0) {
                putchar('\n');
                t = new_table(step_columns, STEP_COLUMNS);
                if (!t) return false;
            }
            step_row(t, r, c, &c->steps[k]);
        }
    }
    bool ok = rows == 0 || tt_table_print(t);
    if (left) note_more(left);
    return ok;
}

static bool print_cache(const tt_buffers_report *r)
{
    tt_table *t = new_table(tensor_columns, TENSOR_COLUMNS);
    if (!t) return false;
    for (uint32_t i = 0; i < r->kv->n_tensors; i++)
        tensor_row(t, r, &r->kv->tensors[i]);
    return tt_table_print(t) && print_steps(r);
}

bool tt_buffers_print_text(const tt_buffers_report *r)
{
    bool ok = true;
    if (r->m->n_buffers == 0 && r->kv->n_tensors == 0) {
        tt_report_note("the trace holds no buffer");
        return true;
    }
    summary(r);
    if (r->timeline) ok = print_timeline(r);
    if (r->timeline && r->cache) putchar('\n');
    if (r->cache && r->kv->n_tensors == 0) tt_report_note("no KV cache was seen");
    if (r->cache && r->kv->n_tensors > 0) ok = print_cache(r) && ok;
    return r->timeline || r->cache ? ok : print_buffers(r);
}
