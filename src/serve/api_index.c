/* /api/v1: the list of endpoints. */
#include "serve/endpoints.h"
#include "serve/traces.h"

#include <string.h>

/* /api/v1/traces/ID/state: whether the trace can be read, and whether it still grows. */

typedef struct state_row {
    uint32_t id;
    const char *name, *path, *state, *reading, *error;
    tt_trace_news news;
} state_row;

static void state_of(state_row *row, tt_traces *t, uint32_t id)
{
    tt_traces_news(t, id, &row->news);
    row->id = id;
    row->name = tt_traces_name(t, id);
    row->path = tt_traces_path(t, id);
    row->state = tt_trace_state_name(row->news.state);
    row->reading = *row->news.path ? row->news.path : NULL;
    row->error = row->news.why.status != TT_OK ? row->news.why.message : NULL;
}

TT_COLUMN_KNOWN(was_opened, state_row, r, r->news.generation > 0)

static const tt_column state_columns[] = {
    TT_FIELD("id", "as in addresses", TT_MEMBER(state_row, id)),
    TT_FIELD("name", "of the file", TT_MEMBER(state_row, name)),
    TT_FIELD("path", "of the file", TT_MEMBER(state_row, path)),
    TT_FIELD("state", "whether it can be read", TT_MEMBER(state_row, state)),
    TT_FIELD("generation", "how often it was opened", TT_MEMBER(state_row, news.generation)),
    TT_FIELD("size_bytes", "when it was opened", TT_MEMBER(state_row, news.size_bytes),
             .known = was_opened),
    TT_FIELD("complete", "it has its end", TT_MEMBER(state_row, news.complete),
             .known = was_opened),
    TT_FIELD("opening_s", "that it took", TT_MEMBER(state_row, news.opening_s)),
    TT_FIELD("reading", "the file that was opened", TT_MEMBER(state_row, reading)),
    TT_FIELD("error", "why it cannot be read", TT_MEMBER(state_row, error)),
};
static const tt_schema state_schema = TT_SCHEMA("state", "of a trace", state_columns);

tt_status tt_answer_state(tt_request *q, tt_reply *r, tt_error *err)
{
    state_row row;
    (void)err;
    state_of(&row, q->traces, q->trace_id);
    return tt_reply_row(r, &state_schema, NULL, &row);
}

TT_COLUMN_JSON(json_params, tt_endpoint, e, {
    tt_json_array(j);
    for (const char *p = e->params ? e->params : ""; *p;) {
        size_t n = strcspn(p, " ");
        tt_json_string_n(j, p, n);
        p += n;
        p += strspn(p, " ");
    }
    tt_json_array_end(j);
})

static const tt_column endpoint_columns[] = {
    TT_FIELD("name", "behind the trace's address", TT_MEMBER(tt_endpoint, name)),
    TT_FIELD("of_trace", "else of the server", TT_MEMBER(tt_endpoint, of_trace)),
    TT_FIELD("params", "that it knows", .type = TT_CELL_ROWS, .json = json_params),
};
static const tt_schema endpoint_schema = TT_SCHEMA("endpoints", "what to ask", endpoint_columns);

TT_COLUMN_GET(get_api, tt_request, q, (void)q; cell->known = true; cell->u64 = 1;)
TT_COLUMN_GET(get_version, tt_request, q, (void)q; tt_cell_text(cell, TT_VERSION);)
TT_COLUMN_VALUE(get_live, tt_request, q, boolean, tt_traces_live(q->traces))
TT_COLUMN_JSON(json_traces, tt_request, q, {
    state_row one;
    tt_json_array(j);
    for (uint32_t i = 0; i < tt_traces_count(q->traces); i++) {
        state_of(&one, q->traces, i);
        tt_row_json(j, NULL, &state_schema, NULL, &one);
    }
    tt_json_array_end(j);
})
static void endpoints(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    (void)row;
    out->rows = tt_endpoints;
    out->row_bytes = sizeof *tt_endpoints;
    out->n = 0;
    while (tt_endpoints[out->n].name)
        out->n++;
}

static const tt_column index_columns[] = {
    TT_FIELD("api", "its version", .type = TT_CELL_U64, .get = get_api),
    TT_FIELD("version", "of the program", .type = TT_CELL_NAME, .get = get_version),
    TT_FIELD("live", "traces may grow", .type = TT_CELL_BOOL, .get = get_live),
    TT_FIELD("traces", "that are served", .type = TT_CELL_ROWS, .json = json_traces),
    TT_FIELD("endpoints", "what to ask", .type = TT_CELL_ROWS, .inner = &endpoint_schema,
             .rows = endpoints),
};
static const tt_schema index_schema = TT_SCHEMA("index", "the API", index_columns);

tt_status tt_answer_index(tt_request *q, tt_reply *r, tt_error *err)
{
    (void)err;
    return tt_reply_row(r, &index_schema, NULL, q);
}
