#include "answer/buffers.h"

/* --- memory over time --- */

/* The columns' context. */
typedef struct curve {
    const tt_model *m;
    const tt_buffers *buffers;
    const tt_buffers_point *points;
    uint32_t n;
} curve;

/* The memory of one backing and kind. */
typedef struct curve_line {
    uint32_t backing, kind;
} curve_line;

TT_COLUMN_GET(get_time, tt_buffers_point, p, const tt_model *m = ((const curve *)context)->m;
              tt_cell_ns(cell, m->clock.known, tt_model_ns(m, p->ticks));)

static const tt_column time_columns[] = {
    TT_FIELD("time", "of a point", .type = TT_CELL_I64, .get = get_time)};
static const tt_schema time_schema = TT_SCHEMA("times", "of the points", time_columns);

TT_COLUMN_ROWS(points, curve, c, c->points, c->n)
TT_COLUMN_GET(get_kind, curve_line, s,
              tt_cell_text(cell, tt_buffer_kind_name((tt_buffer_kind)s->kind));)
TT_COLUMN_GET(get_backing, curve_line, s,
              tt_cell_text(cell, tt_backing_name((tt_backing)s->backing));)
TT_COLUMN_JSON(json_sizes, curve_line, s, {
    const curve *c = context;
    tt_json_array(j);
    for (uint32_t i = 0; i < c->n; i++)
        tt_json_u64(j, c->points[i].bytes[s->backing][s->kind]);
    tt_json_array_end(j);
})

static const tt_column line_columns[] = {
    TT_FIELD("kind", "of the buffers", .type = TT_CELL_NAME, .get = get_kind),
    TT_FIELD("backing", "of their memory", .type = TT_CELL_NAME, .get = get_backing),
    TT_FIELD("size_bytes", "of all of them, by point", .type = TT_CELL_LIST, .json = json_sizes),
};
static const tt_schema line_schema = TT_SCHEMA("series", "memory of a kind", line_columns);

static bool is_used(const void *context, const void *row)
{
    const curve *c = context;
    const curve_line *s = row;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->points[i].bytes[s->backing][s->kind]) return true;
    return false;
}

TT_COLUMN_JSON(json_series, curve, c, {
    tt_json_array(j);
    for (uint32_t b = 0; b < TT_BACKINGS; b++) {
        for (uint32_t k = 0; k < TT_BUFFER_KINDS; k++) {
            const curve_line s = {b, k};
            if (is_used(c, &s)) tt_row_json(j, NULL, &line_schema, c, &s);
        }
    }
    tt_json_array_end(j);
})

static const tt_column curve_columns[] = {
    TT_FIELD("time_relative_ns", "of the points", .type = TT_CELL_LIST, .inner = &time_schema,
             .rows = points),
    TT_FIELD("series", "memory by backing and kind", .type = TT_CELL_ROWS, .json = json_series),
    TT_FIELD("events_total", "allocations and frees", TT_THROUGH(curve, buffers),
             TT_MEMBER(tt_buffers, n_events)),
};
static const tt_schema curve_schema = TT_SCHEMA("curve", "memory over time", curve_columns);

void tt_buffers_curve_json(tt_json *j, const tt_model *m, const tt_buffers *buffers,
                           const tt_buffers_point *points, uint32_t n)
{
    const curve c = {m, buffers, points, n};
    tt_row_json(j, NULL, &curve_schema, &c, &c);
}

/* --- buffers, and what happened to them --- */

typedef struct view {
    const char *path;
    const tt_buffers_context *x;
    const tt_listing *buffers, *events;
} view;

TT_COLUMN_LISTING(buffers, view, v, v->buffers)
TT_COLUMN_LISTING(events, view, v, v->events)
TT_COLUMN_ROWS(caches, view, v, v->x->kv->caches, v->x->kv->n_caches)
TT_COLUMN_JSON(json_peaks, view, v, {
    tt_json_object(j);
    for (unsigned k = 0; k < TT_BACKINGS; k++) {
        const uint32_t *peak = &v->x->buffers->peak[k];
        tt_row_json(j, tt_backing_name((tt_backing)k), &tt_buffer_peak_schema, v->x,
                    *peak == TT_NONE ? NULL : peak);
    }
    tt_json_object_end(j);
})

#define TOTAL(key_, list_)                                                                         \
    TT_FIELD(key_, "also those behind the limit", TT_THROUGH(view, list_),                         \
             TT_MEMBER(tt_listing, n_all))

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(view, path)),
    TT_FIELD("buffers", "of the engine", .type = TT_CELL_ROWS, .rows = buffers),
    TOTAL("buffers_total", buffers),
    TT_FIELD("events", "allocations and frees", .type = TT_CELL_ROWS, .rows = events),
    TOTAL("events_total", events),
    TT_FIELD("peak", "the most at one moment, by backing", .type = TT_CELL_OBJECT,
             .json = json_peaks),
    TT_FIELD("kv_caches", "of the contexts", .type = TT_CELL_ROWS, .inner = &tt_kv_cache_schema,
             .rows = caches),
};
static const tt_schema schema = TT_SCHEMA("buffers", "of the engine", columns);

void tt_buffers_json(tt_json *j, const char *path, const tt_buffers_context *x,
                     const tt_listing *list, const tt_listing *happened)
{
    tt_row_json(j, NULL, &schema, x, &(view){path, x, list, happened});
}
