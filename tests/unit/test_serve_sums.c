/* What the server says about sums, buffers and experts: to the byte what the same analysis says
 * when asked directly; and what it refuses. */
#include "serve_client.h"

#include "analyze/faults.h"
#include "answer/buffers.h"
#include "answer/routing.h"
#include "answer/stats.h"

#define TRACE TT_SOURCE_DIR "/tests/golden/good-memory-experts.ttrace"
#define CUT TT_SOURCE_DIR "/tests/golden/bad-no-clock.ttrace"

static client_of c;

static int start(void **state)
{
    static const char *const paths[] = {TRACE, CUT};
    tt_serve_options o = {.paths = paths, .n_paths = 2, .workers = 3};
    (void)state;
    if (tt_server_start(&o, &c.server, NULL) != TT_OK) return -1;
    client_learn(&c);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tt_server_stop(c.server);
    return 0;
}

static tt_model *open_trace(void)
{
    tt_model *m;
    assert_int_equal(tt_model_open(TRACE, &m, NULL), TT_OK);
    return m;
}

/* The body of an answer that must be fine; the caller frees. */
static char *ask(const char *target)
{
    char *answer = client_ask(&c, "GET", target, "", NULL);
    if (client_status(answer) != 200) fail_msg("%s: %.300s", target, answer);
    char *body = strdup(client_body(answer));
    free(answer);
    return body;
}

static void refuses(const char *target, const char *says)
{
    char *answer = client_ask(&c, "GET", target, "", NULL);
    if (client_status(answer) != 400 || !strstr(client_body(answer), says))
        fail_msg("%s: 400 with \"%s\" wanted, got: %.300s", target, says, answer);
    free(answer);
}

/* A document as it is built; tt_json is too large for every caller's stack. */
typedef struct document {
    char *text;
    size_t size;
    FILE *file;
    tt_json json;
} document;

static tt_json *begin(document *d)
{
    d->file = open_memstream(&d->text, &d->size);
    assert_non_null(d->file);
    tt_json_begin(&d->json, d->file, 0);
    return &d->json;
}

static void is_what(document *d, const char *target)
{
    assert_true(tt_json_end(&d->json));
    assert_int_equal(fclose(d->file), 0);
    char *body = ask(target);
    assert_string_equal(body, d->text);
    free(body);
    free(d->text);
}

/* A view of a walk, as a command makes it. */
typedef struct listed {
    tt_stats_view v;
    tt_stats_context context;
    tt_rowset set;
    tt_listing rows;
} listed;

static void list(listed *l, const tt_model *m, const tt_stats *s, const tt_stats_dimension *by,
                 const char *sort, uint64_t limit)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    assert_true(n > 0);
    l->context.total = tt_stats_total(s);
    l->set = tt_stats_rowset(&l->context, by->by, rows, n);
    const tt_listing_wish wish = {.sort = sort, .limit = limit};
    assert_int_equal(tt_listing_make(&l->rows, &l->set, &wish, NULL), TT_OK);
    l->v = (tt_stats_view){.path = TRACE,
                           .m = m,
                           .by = by,
                           .rows = &l->rows,
                           .total = tt_stats_total(s),
                           .orphan = tt_stats_orphan(s)};
}

static void check_stats(const tt_model *m, const tt_stats_dimension *by, const tt_filter *filter,
                        const char *sort, uint64_t limit, const char *target)
{
    document d;
    listed l;
    tt_stats *s = tt_stats_new(m, by->by, filter);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    list(&l, m, s, by, sort, limit);
    tt_stats_json(begin(&d), &l.v);
    is_what(&d, target);
    tt_listing_free(&l.rows);
    tt_stats_free(s);
}

static void stats_are_those_of_the_command(void **state)
{
    char target[200];
    tt_model *m = open_trace();
    (void)state;
    for (size_t i = 0; i < TT_STATS_DIMENSIONS; i++) {
        const tt_stats_dimension *by = &tt_stats_dimensions[i];
        (void)snprintf(target, sizeof target, "/api/v1/traces/0/stats?by=%s", by->name);
        /* Twice: what is kept is said again. */
        for (int k = 0; k < 2; k++)
            check_stats(m, by, NULL, by->sort, 0, target);
    }
    const tt_stats_dimension *op = &tt_stats_dimensions[0];
    const tt_filter token = {.has_batch = true, .batch_first = 1, .batch_last = 1};
    check_stats(m, op, &token, "work_ns", 0, "/api/v1/traces/0/stats?batch=1");
    const tt_filter layer = {.has_layer = true, .layer = 1, .op = "mul_mat_id"};
    check_stats(m, op, &layer, "wait_ns", 1,
                "/api/v1/traces/0/stats?layer=1&op=mul_mat_id&sort=wait&limit=1");
    const tt_filter name = {.tensor = "blk.0.*"};
    check_stats(m, op, &name, "work_ns", 0, "/api/v1/traces/0/stats?tensor=blk.0.*");
    const tt_filter time = {.has_from = true, .has_to = true, .overlaps = true, .to_ns = 5e6};
    check_stats(m, op, &time, "work_ns", 0, "/api/v1/traces/0/stats?from_ns=0&to_ns=5e6");
    tt_model_close(m);
}

static void series_are_those_of_the_walk(void **state)
{
    document d;
    tt_model *m = open_trace();
    const tt_filter filter = {.phase = TT_PHASE_GENERATE};
    const tt_stats_dimension *by = &tt_stats_dimensions[3];
    (void)state;
    tt_stats *s = tt_stats_new(m, by->by, &filter);
    assert_true(tt_stats_keep_series(s, 2));
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    listed l;
    list(&l, m, s, by, "total_ns", 2);
    tt_stats_series_json(begin(&d), &l.v, s);
    assert_non_null(strstr(d.json.buffer, "\"other\":{\"rows\":"));
    is_what(&d, "/api/v1/traces/0/series?by=category&phase=generate&points=2&limit=2");
    tt_listing_free(&l.rows);
    tt_stats_free(s);
    /* The row with the least time is listed when it is asked for. */
    char target[200];
    s = tt_stats_new(m, by->by, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    list(&l, m, s, by, "total_ns", 0);
    const tt_stats_row *least = tt_listing_row(&l.rows, l.rows.n - 1);
    (void)snprintf(target, sizeof target, "/api/v1/traces/0/series?by=category&limit=2&with=%s",
                   least->key);
    char *text = ask(target), *key = NULL;
    assert_true(asprintf(&key, "\"rows\":[{\"category\":\"%s\"", least->key) > 0);
    assert_null(strstr(text, key)); /* not the first */
    assert_non_null(strstr(text, key + strlen("\"rows\":[")));
    free(key);
    free(text);
    tt_listing_free(&l.rows);
    tt_stats_free(s);
    /* No token passes: nothing, not zeros. */
    char *body = ask("/api/v1/traces/0/series?batch=999");
    assert_non_null(
        strstr(body, "\"first_batch_id\":[],\"last_batch_id\":[],\"batches\":[],\"rows\":[],"));
    assert_null(strstr(body, "\"all\""));
    free(body);
    tt_model_close(m);
}

static void check_experts(tt_model *m, const tt_filter *filter, const char *target)
{
    document d;
    tt_expert_reads reads;
    tt_routing_view v = {.path = TRACE, .m = m};
    v.routers = tt_routers_new(m, filter, TT_PHASE_PROMPT);
    assert_int_equal(tt_routers_walk(v.routers, NULL, NULL, NULL), TT_OK);
    assert_true(tt_routing_sum_up(&v));
    assert_true(v.n_layers > 0);
    assert_int_equal(tt_expert_reads_measure(m, filter, v.layers, v.n_layers, NULL, &reads, NULL),
                     TT_OK);
    tt_experts_json(begin(&d), &v, &reads);
    is_what(&d, target);
    tt_routers_free(v.routers);
    tt_routing_rows_free(&v.rows);
    free(reads.bytes);
}

static void experts_are_those_of_the_routers(void **state)
{
    tt_model *m = open_trace();
    const tt_filter all = {0}, one = {.has_batch = true, .batch_first = 1, .batch_last = 1};
    const tt_filter up_to = {.has_batch = true, .batch_first = 0, .batch_last = 1};
    (void)state;
    check_experts(m, &all, "/api/v1/traces/0/experts");
    check_experts(m, &one, "/api/v1/traces/0/experts?batch=1");
    check_experts(m, &up_to, "/api/v1/traces/0/experts?batch=0&batch_to=1");
    tt_model_close(m);
}

typedef struct slow_reads {
    const tt_routing_view *v;
    uint64_t *layers;
} slow_reads;

/* All that ops of experts read, by the layer of the weight. */
static bool add_reads(void *context, const tt_fault_op *op)
{
    slow_reads *slow = context;
    if (op->counts.observed_reads == 0 || op->n_accesses == 0 || op->accesses[0].expert < 0)
        return true;
    for (size_t i = 0; i < slow->v->n_layers; i++)
        for (uint32_t k = 0; k < slow->v->layers[i].n_slices; k++)
            if (slow->v->layers[i].slices[k].weight == op->accesses[0].weight)
                slow->layers[i] += op->counts.read_bytes;
    return true;
}

/* What is shared among experts adds up to what their ops read. */
static void reads_of_experts_add_up(void **state)
{
    tt_model *m = open_trace();
    const tt_filter all = {0};
    tt_expert_reads reads;
    tt_routing_view v = {.path = TRACE, .m = m};
    uint64_t sum = 0;
    (void)state;
    v.routers = tt_routers_new(m, &all, TT_PHASE_PROMPT);
    assert_int_equal(tt_routers_walk(v.routers, NULL, NULL, NULL), TT_OK);
    assert_true(tt_routing_sum_up(&v));
    assert_int_equal(tt_expert_reads_measure(m, &all, v.layers, v.n_layers, NULL, &reads, NULL),
                     TT_OK);
    assert_true(reads.observed);
    slow_reads slow = {&v, calloc(v.n_layers, sizeof(uint64_t))};
    tt_faults_walker w = {.filter = &all, .visit = add_reads, .context = &slow};
    assert_int_equal(tt_faults_walk(m, &w, NULL), TT_OK);
    for (size_t i = 0; i < v.n_layers; i++) {
        uint64_t experts = 0;
        for (uint32_t e = 0; e < v.layers[i].n_experts; e++)
            experts += reads.bytes[v.layers[i].first_count + e];
        assert_true(experts == slow.layers[i]);
        sum += experts;
    }
    assert_true(sum > 0); /* else this shows nothing */
    free(slow.layers);
    free(reads.bytes);
    tt_routers_free(v.routers);
    tt_routing_rows_free(&v.rows);
    tt_model_close(m);
}

static bool is_one_of_the_largest(const tt_model *m, uint32_t buffer, uint64_t most)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < m->n_buffers; i++)
        before += m->buffers[i].size_bytes > m->buffers[buffer].size_bytes ||
                  (i < buffer && m->buffers[i].size_bytes == m->buffers[buffer].size_bytes);
    return before < most;
}

static void put_buffers(document *d, const tt_buffers_context *x, uint64_t most)
{
    const tt_rowset all = TT_ROWSET(&tt_buffer_schema, 0, x, x->m->buffers, x->m->n_buffers);
    const tt_rowset moments =
        TT_ROWSET(&tt_buffer_event_schema, 0, x, x->buffers->events, x->buffers->n_events);
    const tt_listing_wish whole = {0}, first = {.limit = most};
    tt_listing buffers, events;
    assert_int_equal(tt_listing_make(&buffers, &all, &whole, NULL), TT_OK);
    assert_int_equal(tt_listing_make(&events, &moments, &first, NULL), TT_OK);
    buffers.n = 0;
    for (uint32_t i = 0; i < x->m->n_buffers; i++)
        if (is_one_of_the_largest(x->m, i, most)) buffers.order[buffers.n++] = i;
    tt_buffers_json(begin(d), TRACE, x, &buffers, &events);
    tt_listing_free(&buffers);
    tt_listing_free(&events);
}

static void buffers_are_those_of_the_command(void **state)
{
    document d;
    tt_model *m = open_trace();
    tt_buffers_point *points;
    uint32_t n;
    tt_buffers *b;
    tt_kv *kv;
    (void)state;
    assert_int_equal(tt_buffers_analyze(m, &b, NULL), TT_OK);
    assert_int_equal(tt_kv_analyze(m, &kv, NULL), TT_OK);
    tt_buffers_context x = {m, b, kv, 1000};
    put_buffers(&d, &x, 1000);
    is_what(&d, "/api/v1/traces/0/buffers");
    x.steps_most = 2;
    put_buffers(&d, &x, 2);
    is_what(&d, "/api/v1/traces/0/buffers?limit=2");
    assert_true(b->n_events > 4);
    assert_int_equal(tt_buffers_curve(b, m, 0, UINT64_MAX, 4, &points, &n, NULL), TT_OK);
    tt_buffers_curve_json(begin(&d), m, b, points, n);
    is_what(&d, "/api/v1/traces/0/buffers_curve?points=4");
    free(points);
    /* From the trace's zero on. */
    assert_int_equal(
        tt_buffers_curve(b, m, m->clock.zero_ticks, UINT64_MAX, 1000, &points, &n, NULL), TT_OK);
    tt_buffers_curve_json(begin(&d), m, b, points, n);
    is_what(&d, "/api/v1/traces/0/buffers_curve?from_ns=0");
    free(points);
    tt_buffers_free(b);
    tt_kv_free(kv);
    tt_model_close(m);
}

/* Only when asked; then the roofline knows it. */
static void the_machine_is_measured_on_request(void **state)
{
    (void)state;
    char *body = ask("/api/v1/machine");
    assert_non_null(strstr(body, "\"measured\":null"));
    free(body);
    body = ask("/api/v1/traces/0/roofline");
    assert_non_null(strstr(body, "\"op\":\"MUL_MAT"));
    assert_non_null(strstr(body, "\"bound\":\"unknown\""));
    assert_null(strstr(body, "\"bound\":\"neither\""));
    free(body);
    body = ask("/api/v1/machine?measure=1&threads=1");
    assert_non_null(strstr(body, "\"measured\":{\"threads\":1,\"bandwidth_bytes_per_s\":"));
    free(body);
    body = ask("/api/v1/traces/0/roofline");
    assert_non_null(strstr(body, "\"edge_share\":0."));
    free(body);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    refuses("/api/v1/traces/0/stats?by=colour", "by=colour");
    refuses("/api/v1/traces/0/stats?sort=%00", "");
    refuses("/api/v1/traces/0/stats?sort=none", "sort: there is no column");
    refuses("/api/v1/traces/0/stats?limit=0", "limit");
    refuses("/api/v1/traces/0/stats?limit=99999999999999999999", "limit");
    refuses("/api/v1/traces/0/stats?batch=-1", "batch");
    refuses("/api/v1/traces/0/stats?batch=4&batch_to=3", "batch_to");
    refuses("/api/v1/traces/0/stats?from_ns=nan", "from_ns");
    refuses("/api/v1/traces/0/stats?layer=x", "layer");
    refuses("/api/v1/traces/0/stats?tensor=*********", "stars");
    free(ask("/api/v1/traces/0/stats?tensor=%5C*%5C*%5C*%5C*%5C*%5C*%5C*%5C*%5C*"));
    refuses("/api/v1/traces/0/series?by=batch", "by must be another");
    refuses("/api/v1/traces/0/series?points=1025", "points");
    refuses("/api/v1/traces/0/buffers_curve?points=3", "points");
    refuses("/api/v1/traces/0/experts?layer=1", "no parameter");
    refuses("/api/v1/machine?threads=513", "threads");
    refuses("/api/v1/machine?measure=2", "measure");
}

/* Without a clock there are no sums of times; buffers are there all the same. */
static void a_trace_without_a_clock_says_so(void **state)
{
    static const char *const targets[] = {"/api/v1/traces/1/stats", "/api/v1/traces/1/series",
                                          "/api/v1/traces/1/roofline",
                                          "/api/v1/traces/1/buffers_curve"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char *answer = client_ask(&c, "GET", targets[i], "", NULL);
        assert_true(client_status(answer) >= 400);
        assert_non_null(strcasestr(client_body(answer), "clock"));
        free(answer);
    }
    free(ask("/api/v1/traces/1/buffers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_are_those_of_the_command),
        cmocka_unit_test(series_are_those_of_the_walk),
        cmocka_unit_test(experts_are_those_of_the_routers),
        cmocka_unit_test(reads_of_experts_add_up),
        cmocka_unit_test(buffers_are_those_of_the_command),
        cmocka_unit_test(the_machine_is_measured_on_request),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_trace_without_a_clock_says_so),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
