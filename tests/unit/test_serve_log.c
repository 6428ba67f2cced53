/* The log's endpoints and find, over a real socket: what they count is what tt_log_walk visits,
 * rows asked for in parts are those of the whole, and what makes no sense is refused. */
#include "serve_client.h"

#include "analyze/log/log.h"
#include "serve/generation.h"
#include "serve/log_cache.h"

#include <inttypes.h>
#include <pthread.h>

#define TRACE TT_SOURCE_DIR "/tests/golden/good-memory-experts.ttrace"
#define LOG "/api/v1/traces/0/log/"
#define ASKERS 6u

static client_of c;
static tt_model *m;

static int start(void **state)
{
    static const char *const paths[] = {TRACE};
    tt_serve_options o = {.paths = paths, .n_paths = 1, .workers = 4};
    (void)state;
    if (tt_model_open(TRACE, &m, NULL) != TT_OK) return -1;
    if (tt_server_start(&o, &c.server, NULL) != TT_OK) return -1;
    client_learn(&c);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tt_server_stop(c.server);
    tt_model_close(m);
    return 0;
}

typedef struct asked {
    const char *params;
    tt_filter filter;
    bool by_lane;
} asked;

static const asked questions[] = {
    {"", {0}, false},
    {"lanes=1", {0}, true},
    {"lanes=0", {0}, false},
    {"batch=1", {.has_batch = true, .batch_first = 1, .batch_last = 1}, false},
    {"batch=1&batch_to=2", {.has_batch = true, .batch_first = 1, .batch_last = 2}, false},
    {"layer=1", {.has_layer = true, .layer = 1}, false},
    {"layer=none", {.has_layer = true, .layer = TT_LAYER_NONE}, false},
    {"op=mul_mat_id", {.op = "MUL_MAT_ID"}, false},
    {"tensor=blk.*.ffn_*", {.tensor = "blk.*.ffn_*"}, false},
    {"tensor=%2Aattn%2A&layer=0", {.tensor = "*attn*", .has_layer = true}, false},
    {"text=NORM", {.text = "norm"}, false},
    {"text=", {0}, false},
    {"thread=1", {.has_lane = true, .lane = 1}, true},
    {"origin=file", {.origin = TT_ORIGIN_FILE}, false},
    {"origin=buffer&phase=prompt", {.origin = TT_ORIGIN_BUFFER, .phase = TT_PHASE_PROMPT}, false},
    {"phase=generate", {.phase = TT_PHASE_GENERATE}, false},
    {"from_ns=100000&to_ns=400000",
     {.has_from = true, .from_ns = 100000, .has_to = true, .to_ns = 400000, .overlaps = true},
     false},
    {"min_duration_ns=2000", {.has_least = true, .least_ns = 2000}, false},
    {"max_duration_ns=2000&text=q", {.has_most = true, .most_ns = 2000, .text = "q"}, false},
    {"layer=77", {.has_layer = true, .layer = 77}, false},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

static bool count_one(void *context, const tt_log_op *op)
{
    (void)op;
    ++*(uint64_t *)context;
    return true;
}

static uint64_t walked(const asked *q)
{
    uint64_t n = 0;
    assert_int_equal(tt_log_walk(m, &q->filter, q->by_lane, count_one, &n, NULL), TT_OK);
    return n;
}

/* The answer to GET target?params; the caller frees. */
static char *ask(const char *target, const char *params, const char *more, int status)
{
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s?%s%s%s", target, params, *params && *more ? "&" : "",
                   more);
    char *answer = client_ask(&c, "GET", whole, "", NULL);
    if (client_status(answer) != status)
        fail_msg("%s: %d wanted, got: %.300s", whole, status, answer);
    return answer;
}

/* A number in the answer; UINT64_MAX: it is not there. */
static uint64_t number(const char *answer, const char *key)
{
    uint64_t value = UINT64_MAX;
    char pattern[64];
    (void)snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *at = strstr(client_body(answer), pattern);
    if (at) (void)sscanf(at + strlen(pattern), "%" SCNu64, &value);
    return value;
}

static void counts(void **state)
{
    const uint64_t all[] = {walked(&questions[0]), walked(&questions[1])};
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const uint64_t n = walked(&questions[i]);
        char *answer = ask(LOG "count", questions[i].params, "", 200);
        if (number(answer, "rows") != n)
            fail_msg("%s: %" PRIu64 " wanted, got %s", questions[i].params, n, client_body(answer));
        assert_non_null(strstr(answer, "\"done\":true"));
        free(answer);
        /* What the whole filter leaves out shows that it was asked for. */
        if (i > 2 && strcmp(questions[i].params, "text=") != 0 && n == all[questions[i].by_lane])
            fail_msg("%s leaves nothing out", questions[i].params);
    }
}

/* The objects between two texts, appended to a buffer of the right size. */
static void append_ops(char *to, const char *answer, const char *end)
{
    const char *from = strstr(client_body(answer), "\"ops\":[");
    assert_non_null(from);
    from += strlen("\"ops\":[");
    const char *until = strstr(from, end);
    assert_non_null(until);
    if (until == from) return;
    if (*to) strcat(to, ",");
    strncat(to, from, (size_t)(until - from));
}

static void rows_in_parts_are_the_export(void **state)
{
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i += 3) {
        char *whole = ask(LOG "export", questions[i].params, "format=json", 200);
        size_t room = strlen(whole) + 1;
        char *expected = calloc(room, 1), *parts = calloc(room, 1);
        assert_true(expected && parts);
        append_ops(expected, whole, "],\"more\":false}");
        const uint64_t n = walked(&questions[i]);
        for (uint64_t first = 0; first <= n; first += 37) {
            char more[64];
            (void)snprintf(more, sizeof more, "first=%" PRIu64 "&n=37", first);
            char *answer = ask(LOG "rows", questions[i].params, more, 200);
            append_ops(parts, answer, "],\"run\":[");
            free(answer);
        }
        assert_string_equal(parts, expected);
        free(parts);
        free(expected);
        free(whole);
    }
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void tables_have_a_line_a_row(void **state)
{
    static const char *const formats[] = {"format=csv", "format=tsv", ""};
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const uint64_t n = walked(&questions[i]);
        char *answer = ask(LOG "export", questions[i].params, formats[i % 3], 200);
        assert_non_null(strcasestr(answer, "Content-Disposition: attachment"));
        assert_int_equal(lines_of(client_body(answer)), n + 1);
        bool by_lane = strstr(answer, "thread_id") != NULL;
        assert_int_equal(by_lane, questions[i].by_lane);
        free(answer);
    }
}

static void rows_are_located(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < 300; at += 23) {
        char more[64];
        (void)snprintf(more, sizeof more, "first=%" PRIu64 "&n=1", at);
        char *row = ask(LOG "rows", "layer=1", more, 200);
        uint64_t node = number(row, "node");
        const char *runs = strstr(row, "\"run\":[");
        assert_non_null(runs);
        if (node == UINT64_MAX) {
            free(row);
            break;
        }
        (void)snprintf(more, sizeof more, "run=%u&node=%" PRIu64, (unsigned)atoi(runs + 7), node);
        char *place = ask(LOG "locate", "layer=1", more, 200);
        assert_int_equal(number(place, "row"), at);
        assert_non_null(strstr(place, "\"found\":true"));
        free(place);
        place = ask(LOG "locate", "layer=0", more, 200);
        assert_non_null(strstr(place, "\"found\":false"));
        free(place);
        free(row);
    }
    char *answer = ask(LOG "locate", "", "time_ns=-5", 200);
    assert_int_equal(number(answer, "row"), 0);
    free(answer);
    answer = ask(LOG "locate", "", "time_ns=1e15", 200);
    assert_int_equal(number(answer, "row"), walked(&questions[0]));
    assert_non_null(strstr(answer, "\"found\":false"));
    free(answer);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const char *const targets[] = {
        LOG "count?layer=x",
        LOG "count?layer=-2",
        LOG "count?thread=two",
        LOG "count?lanes=2",
        LOG "count?origin=moon",
        LOG "count?min_duration_ns=-1",
        LOG "count?max_duration_ns=nan",
        LOG "count?from_ns=soon",
        LOG "count?tensor=*a*b*c*d*e*f*g*h*i",
        LOG "count?rows=5",
        LOG "rows?first=-1",
        LOG "rows?n=0",
        LOG "rows?n=1001",
        LOG "rows?first=99999999999999999999",
        LOG "export?format=exe",
        LOG "locate",
        LOG "locate?run=0&time_ns=5",
        LOG "locate?run=4294967295&node=1",
        LOG "locate?run=99999&node=1",
        LOG "locate?node=1",
        LOG "locate?run=0",
        LOG "locate?time_ns=5&node=1",
        LOG "locate?time_ns=x",
        "/api/v1/traces/0/find",
        "/api/v1/traces/0/find?q=",
        "/api/v1/traces/0/find?q=a&limit=0",
        "/api/v1/traces/0/find?q=a&limit=1001",
    };
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char *answer = client_ask(&c, "GET", targets[i], "", NULL);
        if (client_status(answer) != 400) fail_msg("%s: %.300s", targets[i], answer);
        assert_non_null(strstr(answer, "\"message\":"));
        free(answer);
    }
    /* Numbers at their ends are no mistake. */
    free(ask(LOG "rows", "", "first=9223372036854775807&n=1000", 200));
    free(ask(LOG "locate", "", "run=0&node=4294967294", 200));
}

typedef struct asker {
    pthread_t thread;
    unsigned seed;
    bool wrong;
} asker;

/* Assertions are the main thread's. */
static void *ask_many(void *context)
{
    asker *a = context;
    for (unsigned i = 0; i < 40 && !a->wrong; i++) {
        const asked *q = &questions[(a->seed + i * 7) % QUESTIONS];
        char target[512], wanted[64];
        uint64_t n = 0;
        (void)snprintf(target, sizeof target, LOG "%s?%s", i % 2 ? "count" : "rows", q->params);
        tt_model *own;
        if (tt_model_share(m, &own, NULL) != TT_OK) return NULL;
        (void)tt_log_walk(own, &q->filter, q->by_lane, count_one, &n, NULL);
        tt_model_close(own);
        (void)snprintf(wanted, sizeof wanted, "\"rows\":%" PRIu64 ",\"done\":true", n);
        char *answer = client_ask(&c, "GET", target, "", NULL);
        a->wrong = !strstr(answer, wanted);
        free(answer);
    }
    return NULL;
}

/* More filters than are kept, asked for at the same time. */
static void many_at_once(void **state)
{
    asker askers[ASKERS];
    (void)state;
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (asker){.seed = i * 5};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_many, &askers[i]), 0);
    }
    for (unsigned i = 0; i < ASKERS; i++) {
        (void)pthread_join(askers[i].thread, NULL);
        assert_false(askers[i].wrong);
    }
}

/* How many the group of that kind has. */
static uint64_t found(const char *q, const char *kind)
{
    char pattern[64];
    char *answer = ask("/api/v1/traces/0/find", "limit=3", q, 200);
    (void)snprintf(pattern, sizeof pattern, "\"kind\":\"%s\"", kind);
    const char *at = strstr(answer, pattern);
    assert_non_null(at);
    const char *count = strstr(at, "],\"count\":");
    assert_non_null(count);
    uint64_t n = strtoull(count + strlen("],\"count\":"), NULL, 10);
    free(answer);
    return n;
}

static void texts_are_found(void **state)
{
    uint64_t weights = 0;
    (void)state;
    for (uint32_t i = 0; i < m->n_weights; i++)
        weights += strstr(m->weights[i].name, "attn_q.weight") != NULL;
    assert_true(weights > 0);
    assert_int_equal(found("q=ATTN_Q.weight", "tensor"), weights);
    assert_int_equal(found("q=mul_mat", "op"), 2); /* and MUL_MAT_ID */
    assert_int_equal(found("q=layer+1", "layer"), 1);
    assert_true(found("q=layers", "layer") > 1);
    assert_int_equal(found("q=layer+2000000000", "layer"), 0);
    assert_int_equal(found("q=token+2", "batch"), 1);
    assert_true(found("q=kv_cache", "buffer") > 0);
    assert_int_equal(found("q=no+such+thing", "tensor"), 0);
    /* A text of a token, and one of two batches together. */
    size_t n = 0;
    const tt_batch *b = &m->batches[1];
    const char *text = b->tokens ? tt_model_token_text(m, b->vocabulary, b->tokens[0], &n) : NULL;
    assert_non_null(text);
    char q[128] = "q=";
    for (size_t i = 0; i < n && i < 30; i++)
        (void)snprintf(q + strlen(q), sizeof q - strlen(q), "%%%02X", (unsigned char)text[i]);
    assert_true(found(q, "batch") > 0);
}

/* Two requests hold the log of one trace at once: with one filter, and with two. */
static void leases_do_not_wait_for_each_other(void **state)
{
    static const tt_filter all = {0}, some = {.has_layer = true, .layer = 1};
    tt_request a = {.client = -1}, b = {.client = -1};
    tt_log_lease first, same, other;
    tt_model *mine;
    (void)state;
    assert_int_equal(tt_model_open(TRACE, &mine, NULL), TT_OK);
    assert_int_equal(tt_generation_new(mine, 1, &a.source, NULL), TT_OK);
    b.source = a.source;
    assert_int_equal(tt_generation_take(a.source, &a.m, NULL), TT_OK);
    assert_int_equal(tt_generation_take(b.source, &b.m, NULL), TT_OK);
    assert_int_equal(tt_log_cache_acquire(&a, &all, false, UINT64_MAX, &first, NULL), TT_OK);
    assert_int_equal(tt_log_cache_acquire(&b, &all, false, UINT64_MAX, &same, NULL), TT_OK);
    assert_int_equal(tt_log_cache_acquire(&b, &some, false, UINT64_MAX, &other, NULL), TT_OK);
    assert_ptr_equal(first.index, same.index);
    assert_ptr_not_equal(first.index, other.index);
    assert_int_equal(first.count.rows, same.count.rows);
    assert_true(other.count.rows < first.count.rows);
    tt_log_cache_release(&first);
    /* As many filters as are kept, and more: what is on lease stays. */
    for (int32_t layer = 0; layer < 40; layer++) {
        const tt_filter f = {.has_layer = true, .layer = layer, .phase = TT_PHASE_PROMPT};
        assert_int_equal(tt_log_cache_acquire(&a, &f, false, 0, &first, NULL), TT_OK);
        tt_log_cache_release(&first);
    }
    tt_log_count again;
    tt_log_index_count(other.index, &again);
    assert_int_equal(again.rows, other.count.rows);
    tt_log_cache_release(&same);
    tt_log_cache_release(&other);
    tt_generation_give(a.source, a.m);
    tt_generation_give(b.source, b.m);
    tt_generation_unref(a.source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(rows_in_parts_are_the_export),
        cmocka_unit_test(tables_have_a_line_a_row),
        cmocka_unit_test(rows_are_located),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(texts_are_found),
        cmocka_unit_test(leases_do_not_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
