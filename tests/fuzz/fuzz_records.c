/* Bytes as a script that changes the records of a made-up trace (records.h): the first says of
 * which one, the second what is looked at afterwards: analyses, what `serve` answers, an export, a
 * report, or the trace compared with the unchanged one. */
#include "records.h"

#include "../golden/facts.h"
#include "analyze/diff/diff.h"
#include "analyze/dumps/valuediff.h"
#include "answer/info.h"
#include "answer/valuediff.h"
#include "base/checksum.h"
#include "export/export.h"
#include "looks.h"
#include "report/analysis.h"
#include "report/json.h"
#include "report/render.h"
#include "report/sections.h"
#include "serve/endpoint.h"
#include "serve/generation.h"
#include "serve/reply.h"
#include "serve/traces.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_MAX (64u * RECORDS_STEP_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef __clang__

/* Half of the time would go into the record of what is compared with what, from which the fuzzer
 * takes numbers to try (the linker is told to take these instead). Scripts do not hold such
 * numbers: they say which number to take. */
#define IGNORED(type, name)                                                                        \
    void name(type a, type b);                                                                     \
    __attribute__((no_sanitize("coverage"))) void name(type a, type b)                             \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
    }

IGNORED(uint8_t, __wrap___sanitizer_cov_trace_cmp1)
IGNORED(uint16_t, __wrap___sanitizer_cov_trace_cmp2)
IGNORED(uint32_t, __wrap___sanitizer_cov_trace_cmp4)
IGNORED(uint64_t, __wrap___sanitizer_cov_trace_cmp8)
IGNORED(uint8_t, __wrap___sanitizer_cov_trace_const_cmp1)
IGNORED(uint16_t, __wrap___sanitizer_cov_trace_const_cmp2)
IGNORED(uint32_t, __wrap___sanitizer_cov_trace_const_cmp4)
IGNORED(uint64_t, __wrap___sanitizer_cov_trace_const_cmp8)

/* What was freed is kept from being used again, 16 MiB of it: many inputs' memory, and the same
 * pages again. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:malloc_context_size=6";
}

#endif

static void no_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    (void)done;
    (void)total;
}

static void must_say(tt_status status, const tt_error *err)
{
    if (status != TT_OK && (err->status != status || !err->message[0])) abort();
}

/* --- all of it --- */

/* All of a trace is read. */
static void read_all(const tt_model *m)
{
    bool whole;
    facts f = facts_of(m, &whole);
    allocations_take_off(f.capacity * sizeof *f.list);
    free(f.list);
}

/* --- what is served --- */

static void ask(tt_request *q, const tt_endpoint *e)
{
    tt_reply r;
    tt_error err = {TT_OK, 0, ""};
    tt_reply_init(&r);
    tt_status status = e->answer(q, &r, &err);
    must_say(status, &err);
    if (status == TT_OK) status = tt_reply_finish(&r, &err);
    must_say(status, &err);
    tt_reply_free(&r);
}

/* A number, or a word, for each parameter that the endpoint knows. */
static void fill_params(tt_request *q, const tt_endpoint *e, const uint8_t *choice)
{
    static const struct {
        const char *name, *values[4];
    } known[] = {
        {"token", {"0", "1", "2", "4294967294"}},
        {"token_to", {"1", "2", "3", "4294967294"}},
        {"run", {"1", "2", "3", "4294967295"}},
        {"node", {"0", "5", "20", "1048575"}},
        {"by", {"op", "layer", "tensor", "token"}},
        {"phase", {"prompt", "generate", "prompt", "generate"}},
        {"layer", {"0", "1", "-1", "2147483647"}},
        {"tensor", {"*", "blk.*", "output*", "?"}},
        {"q", {"a", "blk", "0", "norm"}},
        {"region", {"0", "1", "7", "4294967295"}},
        {"buckets", {"1", "16", "512", "100"}},
        {"points", {"2", "16", "512", "100"}},
        {"tracks", {"ops", "tokens", "threads", "0"}},
        {"first", {"0", "1", "100", "4294967295"}},
        {"n", {"1", "10", "100", "1000"}},
        {"format", {"csv", "tsv", "json", "jsonl"}},
        {"lanes", {"0", "1", "true", "false"}},
        {"time_ns", {"0", "1000", "-1e9", "1e18"}},
        {"from_ns", {"0", "1000", "-1e9", "1e17"}},
        {"to_ns", {"1", "100000", "1e9", "1e18"}},
        {"which", {"all", "bad", "outliers", "rms"}},
        {"limit", {"1", "10", "100", "1000"}},
    };
    q->n_params = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known && q->n_params < 8; i++) {
        const char *at = e->params ? strstr(e->params, known[i].name) : NULL;
        const uint8_t c = choice[i % 8];
        if (!at || !(c & 4)) continue;
        q->params[q->n_params++] = (tt_param){known[i].name, known[i].values[c & 3]};
    }
}

/* The endpoint that `choice` names, of those that answer for a trace: one run, one endpoint, so
 * that the fuzzer sees what each input does. */
static const tt_endpoint *endpoint_of(uint8_t choice)
{
    size_t n = 0;
    for (const tt_endpoint *e = tt_endpoints; e->name; e++)
        n += e->of_trace && !e->early;
    size_t at = choice % n;
    for (const tt_endpoint *e = tt_endpoints;; e++)
        if (e->of_trace && !e->early && at-- == 0) return e;
}

/* The other trace of a comparison is the trace itself. Takes the model. */
static void serve(tt_model *m, const uint8_t *choice)
{
    static tt_traces *traces;
    static const char *const paths[] = {"/nonexistent/fuzz.ttrace", "/nonexistent/fuzz.ttrace"};
    tt_request q = {.client = -1, .other_id = 1};
    const tt_endpoint *e = endpoint_of(choice[0]);
    tt_error err;
    if (!traces && tt_traces_open(paths, 2, false, &traces, &err) != TT_OK) abort();
    q.traces = traces;
    if (tt_generation_new(m, 1, &q.source, &err) != TT_OK) return;
    q.other_source = q.source;
    if (tt_generation_take(q.source, &q.m, &err) == TT_OK &&
        tt_generation_take(q.source, &q.other, &err) == TT_OK) {
        fill_params(&q, e, choice);
        ask(&q, e);
    }
    if (q.m) tt_generation_give(q.source, q.m);
    if (q.other) tt_generation_give(q.source, q.other);
    tt_generation_unref(q.source);
}

/* --- files --- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void export(const tt_model *m, uint8_t choice)
{
    static char path[64];
    size_t n;
    const tt_export_format *const *formats = tt_export_formats(&n);
    const tt_export_format *f = formats[choice % n];
    const tt_filter filter = {.phase = choice & 128 ? TT_PHASE_GENERATE : 0};
    const tt_export_options options = {.filter = f->takes & TT_EXPORT_TAKES_FILTER ? &filter : NULL,
                                       .threads = 1,
                                       .force = true,
                                       .all = true,
                                       .flows = choice & 64};
    tt_error err = {.status = TT_OK};
    if (!path[0]) (void)snprintf(path, sizeof path, "/dev/shm/fuzz-%d", (int)getpid());
    tt_status status = f->write(m, path, &options, &err);
    must_say(status, &err);
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void report(const tt_model *m)
{
    const tt_analysis_options options = {.progress = no_progress};
    tt_analysis a;
    tt_page page;
    tt_error err;
    FILE *out = fopen("/dev/null", "w");
    tt_page_open(&page);
    tt_status status = tt_analysis_make(m, "a.ttrace", &options, &a, &err);
    must_say(status, &err);
    if (status == TT_OK) tt_report_page(&page, &a);
    if (status == TT_OK && !page.failed && out) {
        tt_page_html(&page, out);
        tt_page_markdown(&page, NULL, out);
        (void)tt_report_json(&page, &a, out);
    }
    if (out) (void)fclose(out);
    tt_page_close(&page);
    tt_analysis_free(&a);
}

static void info(const tt_model *m)
{
    static tt_json j;
    tt_info i = {0};
    tt_error err;
    FILE *out = fopen("/dev/null", "w");
    tt_status status = tt_info_collect(&i, m, "a.ttrace", true, NULL, NULL, &err);
    must_say(status, &err);
    if (status == TT_OK && out) {
        tt_json_begin(&j, out, 0);
        tt_info_json(&j, &i);
        (void)tt_json_end(&j);
    }
    if (out) (void)fclose(out);
    tt_info_free(&i);
}

/* --- two sides --- */

static void compare_values(const tt_model *m, const tt_model *other)
{
    static tt_json j;
    static const char *const paths[2] = {"a.ttrace", "b.ttrace"};
    const tt_valuediff_options options = {.items_max = 100};
    tt_stages *stages = tt_stages_builtin();
    tt_dump *a = NULL, *b = NULL;
    tt_valuediff *d = NULL;
    tt_error err;
    FILE *out = fopen("/dev/null", "w");
    if (stages && tt_dump_of_trace(m, paths[0], stages, &a, &err) == TT_OK &&
        tt_dump_of_trace(other, paths[1], stages, &b, &err) == TT_OK &&
        tt_valuediff_make(a, b, &options, &d, &err) == TT_OK && out) {
        tt_json_begin(&j, out, 0);
        tt_valuediff_json(&j, d, paths);
        (void)tt_json_end(&j);
    }
    if (out) (void)fclose(out);
    tt_valuediff_free(d);
    tt_dump_close(a);
    tt_dump_close(b);
    tt_stages_free(stages);
}

static void compare(const tt_model *m, unsigned seed)
{
    static tt_bytes unchanged[SEEDS];
    const tt_diff_options options = {.threshold = 0.03, .level = 0.01};
    tt_bytes *file = &unchanged[seed];
    tt_model *other;
    tt_diff *d = NULL;
    tt_error err;
    if (!file->data) records_build(seed, NULL, 0, file);
    if (tt_model_open_memory(file->data, file->size, &other, &err) != TT_OK) abort();
    const tt_model *files[] = {m, other};
    must_say(tt_diff_make(files, 2, 1, &options, &d, &err), &err);
    tt_diff_free(d);
    compare_values(m, other);
    tt_model_close(other);
}

enum {
    LOOK_ALL = LOOKS,
    LOOK_SERVE, /* several times: so many endpoints */
    LOOK_SERVE_2,
    LOOK_SERVE_3,
    LOOK_SERVE_4,
    LOOK_EXPORT,
    LOOK_EXPORT_2,
    LOOK_REPORT,
    LOOK_INFO,
    LOOK_COMPARE,
    ALL_LOOKS
};

/* What takes ten times as long as the others. */
static bool is_costly(unsigned look, uint8_t choice)
{
    if (look >= LOOK_SERVE && look <= LOOK_SERVE_4) {
        const char *params = endpoint_of(choice)->params;
        return params && strstr(params, "other");
    }
    return look >= LOOK_EXPORT && look != LOOK_INFO;
}

/* What a look may hold besides the trace itself. */
static uint64_t bytes_of(unsigned look)
{
    if (look < LOOKS) return look_bytes(look);
    if (look == LOOK_ALL) return 0;
    return look == LOOK_REPORT ? LIMITS_PAGES_BYTES : LIMITS_ANSWER_BYTES;
}

/* Of eight inputs that ask for what is costly, or for a whole trace, one gets it: their coverage is
 * the largest, so that the fuzzer would soon try nothing else. Which one, it cannot steer. */
static bool gets_all(const uint8_t *data, size_t size)
{
    return tt_checksum(data, size) % 8 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_bytes file;
    tt_model *m = NULL;
    tt_error err = {TT_OK, 0, ""};
    if (size < 2 + 8) return 0;
    const uint8_t *choice = data + 2, *script = data + 10;
    const size_t n = size - 10 < SCRIPT_MAX ? size - 10 : SCRIPT_MAX;
    const bool all = gets_all(data, size);
    const unsigned asked = data[1] % ALL_LOOKS, seed = seed_of(data[0], all),
                   look = all || !is_costly(asked, choice[0]) ? asked : asked % LOOKS;
    records_build(seed, script, n, &file);
    limits_begin();
    if (tt_model_open_memory(file.data, file.size, &m, &err) != TT_OK) {
        if (m || err.status == TT_OK || !err.message[0]) abort();
    } else if (n < RECORDS_STEP_BYTES && (m->n_problems || m->meta_damage.status != TT_OK)) {
        abort(); /* what nobody changed is as it was: else all others would be refused at once */
    } else if (look < LOOKS) {
        look_at(m, look, choice[0]);
    } else if (look == LOOK_ALL) {
        read_all(m);
    } else if (look <= LOOK_SERVE_4) {
        serve(m, choice);
        m = NULL;
    } else if (look == LOOK_EXPORT || look == LOOK_EXPORT_2) {
        export(m, choice[0]);
    } else if (look == LOOK_REPORT) {
        report(m);
    } else if (look == LOOK_INFO) {
        info(m);
    } else {
        compare(m, seed);
    }
    tt_model_close(m);
    limits_check(allocations_allowed(file.size) + bytes_of(look));
    tt_bytes_free(&file);
    return 0;
}
