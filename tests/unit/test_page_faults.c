/* Page faults one by one: as bytes, in this process, and in a whole trace. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/faults.h"
#include "analyze/page_faults.h"
#include "model/faults.h"
#include "record/fault_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 100u

/* --- bytes --- */

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 20;
}

static void bytes_come_back(void **state)
{
    static tt_page_fault faults[TT_PAGE_FAULTS_MAX], back[TT_PAGE_FAULTS_MAX];
    (void)state;
    for (uint32_t n = 0; n <= TT_PAGE_FAULTS_MAX; n = n < 130 ? n + 1 : n * 4 / 3 + 1) {
        tt_meta_page_faults r;
        tt_bytes b;
        uint64_t ticks = 1000;
        for (uint32_t i = 0; i < n; i++)
            faults[i] =
                (tt_page_fault){.ticks = ticks += next_random() % 5000,
                                .address = next_random() << next_random() % 21,
                                .thread = (uint32_t)next_random(),
                                .mapping = next_random() % TT_MAPPING_NONE & TT_MAPPING_NONE,
                                .major = next_random() & 1};
        tt_bytes_init(&b, 1 << 20);
        tt_page_faults_put(&b, 1000, ticks + 1, faults, n);
        tt_cursor c = tt_cursor_of(b.data, b.size);
        assert_true(tt_meta_get_page_faults(&c, &r));
        assert_int_equal(r.n, n);
        assert_int_equal(r.end_ticks, ticks + 1);
        assert_true(tt_page_faults_get(&c, &r, back));
        assert_int_equal(c.at, b.size);
        for (uint32_t i = 0; i < n; i++)
            assert_memory_equal(&faults[i], &back[i], sizeof *back);
        /* Cut off anywhere it is no record. */
        for (size_t size = 0; n > 0 && size < b.size; size += 1 + b.size / 50) {
            tt_cursor cut = tt_cursor_of(b.data, size);
            assert_false(tt_meta_get_page_faults(&cut, &r) && tt_page_faults_get(&cut, &r, back));
        }
        tt_bytes_free(&b);
    }
}

static void times_stay_in_their_record(void **state)
{
    const tt_page_fault late = {.ticks = 500, .address = 1, .thread = 1};
    tt_page_fault back[TT_PAGE_FAULTS_MAX];
    tt_meta_page_faults r;
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 1 << 20);
    tt_page_faults_put(&b, 100, 400, &late, 1);
    tt_cursor c = tt_cursor_of(b.data, b.size);
    assert_true(tt_meta_get_page_faults(&c, &r));
    assert_false(tt_page_faults_get(&c, &r, back));
    tt_bytes_free(&b);
}

/* --- this process --- */

typedef struct seen {
    tt_meta_mapping mappings[4096];
    char paths[4096][128];
    tt_page_fault faults[65536];
    uint32_t n, n_records;
    uint64_t end;
    bool gap;
} seen;

static bool take_record(void *context, uint8_t type, const tt_bytes *payload)
{
    seen *s = context;
    tt_cursor c = tt_cursor_of(payload->data, payload->size);
    tt_meta_mapping m;
    tt_meta_page_faults r;
    assert_false(payload->failed);
    if (type == TT_META_MAPPING) {
        assert_true(tt_meta_get_mapping(&c, &m));
        assert_true(m.id > 0 && m.id < 4096);
        s->mappings[m.id] = m;
        (void)snprintf(s->paths[m.id], sizeof s->paths[0], "%.*s", (int)m.path.size, m.path.data);
        return true;
    }
    assert_int_equal(type, TT_META_PAGE_FAULTS); /* nothing is lost here */
    assert_true(tt_meta_get_page_faults(&c, &r));
    assert_true(s->n + r.n <= 65536 && tt_page_faults_get(&c, &r, s->faults + s->n));
    s->gap |= s->n_records++ > 0 && r.begin_ticks != s->end;
    s->end = r.end_ticks;
    s->n += r.n;
    return true;
}

static void *touch(void *memory)
{
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)memory)[i * 4096] = 1;
    return (void *)(uintptr_t)syscall(SYS_gettid);
}

static char *fresh_pages(int fd, off_t offset)
{
    char *at = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
                    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, offset);
    assert_true(at != MAP_FAILED);
    (void)madvise(at, PAGES * 4096, MADV_NOHUGEPAGE);
    return at;
}

/* Faults of a thread there: each page once. */
static void check_pages(const seen *s, const char *memory, uint32_t thread, const char *path,
                        uint64_t offset)
{
    unsigned times[PAGES] = {0};
    const uint64_t at = (uintptr_t)memory;
    for (uint32_t i = 0; i < s->n; i++) {
        const tt_page_fault *f = &s->faults[i];
        if (f->address - at >= PAGES * 4096) continue;
        assert_int_equal(f->thread, thread);
        assert_int_equal(f->address % 4096, 0); /* the byte that was written */
        times[(f->address - at) / 4096]++;
        const tt_meta_mapping *m = &s->mappings[f->mapping];
        assert_true(f->mapping > 0 && f->address - m->address < m->size_bytes);
        assert_non_null(strstr(s->paths[f->mapping], path));
        if (offset) assert_int_equal(m->file_offset_bytes + (at - m->address), offset);
    }
    for (unsigned i = 0; i < PAGES; i++)
        assert_int_equal(times[i], 1);
}

static void this_process(void **state)
{
    static seen s;
    char path[] = "/tmp/tt-page-faults-XXXXXX";
    pthread_t thread;
    void *tid;
    tt_fault_log *log = NULL;
    tt_error err;
    (void)state;
    if (sysconf(_SC_PAGESIZE) != 4096 || tt_fault_log_open(&log, NULL, 0, 0, &err) != TT_OK) {
        print_message("skipped: %s\n", err.message);
        skip();
    }
    int fd = mkstemp(path);
    assert_int_equal(ftruncate(fd, 3 * PAGES * 4096), 0);
    char *own = fresh_pages(-1, 0), *others = fresh_pages(-1, 0), *child = fresh_pages(-1, 0);
    char *file = fresh_pages(fd, PAGES * 4096);
    const uint32_t self = (uint32_t)syscall(SYS_gettid);
    (void)touch(own);
    tt_fault_log_write(log, false, false, take_record, &s);
    assert_int_equal(pthread_create(&thread, NULL, touch, others), 0);
    assert_int_equal(pthread_join(thread, &tid), 0);
    pid_t pid = fork(); /* its faults are its own */
    if (pid == 0) {
        tt_fault_log_forget(log);
        (void)touch(child);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)touch(file);
    tt_fault_log_write(log, true, true, take_record, &s);
    tt_fault_log_close(log);
    assert_false(s.gap);
    check_pages(&s, own, self, "anon", 0);
    check_pages(&s, others, (uint32_t)(uintptr_t)tid, "anon", 0);
    check_pages(&s, file, self, path, PAGES * 4096);
    for (uint32_t i = 0; i < s.n; i++) {
        assert_false(s.faults[i].address - (uintptr_t)child < PAGES * 4096);
        assert_true(i == 0 || s.faults[i].ticks >= s.faults[i - 1].ticks);
    }
    (void)unlink(path);
    (void)close(fd);
}

/* --- a trace --- */

static tt_model *open_plan(tt_bytes *b)
{
    synth_plan p = synth_default();
    tt_model *m;
    p.page_faults = true;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(&p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, NULL), TT_OK);
    return m;
}

/* Each fault of an op is of its weights, or of no weight: rows add up to the total. */
static void ops_have_their_faults(void **state)
{
    const tt_filter any = {0};
    tt_bytes b;
    tt_page_faults places;
    uint64_t in_ops = 0, known = 0, rows_minor = 0, rows_major = 0;
    size_t n;
    (void)state;
    tt_model *m = open_plan(&b);
    assert_int_equal(m->n_problems, 0);
    assert_true(tt_model_faults_are_events(m));
    assert_int_equal(tt_page_faults_find(&places, m, NULL), TT_OK);
    for (uint32_t i = 0; i < m->n_page_faults; i++)
        in_ops += places.places[i].run != TT_NONE;
    assert_true(in_ops > 0 && in_ops < m->n_page_faults);
    tt_faults *f = tt_faults_new(m, TT_FAULTS_BY_TENSOR, &any);
    assert_int_equal(tt_faults_sum(f, NULL, NULL, NULL), TT_OK);
    const tt_faults_row *rows = tt_faults_rows(f, &n), *total = tt_faults_total(f);
    for (size_t i = 0; i < n; i++) {
        rows_minor += rows[i].counts.minor;
        rows_major += rows[i].counts.major;
        assert_false(rows[i].shared);
        assert_int_equal(rows[i].counts.observed_cpu, 0);
    }
    known = total->counts.minor + total->counts.major;
    assert_int_equal(rows_minor, total->counts.minor);
    assert_int_equal(rows_major, total->counts.major);
    /* Those of ops around the loss are not counted. */
    assert_true(known > 0 && known <= in_ops);
    tt_faults_free(f);
    tt_page_faults_free(&places);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void time_with_a_loss_is_not_known(void **state)
{
    tt_bytes b;
    (void)state;
    tt_model *m = open_plan(&b);
    assert_int_equal(m->n_fault_losses, 1);
    const tt_meta_page_fault_loss *lost = &m->fault_losses[0];
    const uint64_t first = m->fault_spans[0].begin_ticks, last = m->fault_spans[0].end_ticks;
    assert_int_equal(m->n_fault_spans, 1);
    assert_true(tt_model_faults_known(m, first, first + 1));
    assert_true(tt_model_faults_known(m, last - 1, last));
    assert_false(tt_model_faults_known(m, lost->begin_ticks, lost->begin_ticks));
    assert_false(tt_model_faults_known(m, first, last));
    assert_false(tt_model_faults_known(m, last, last + 1));
    assert_false(tt_model_faults_known(m, first - 1, first));
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* By page and by mapping it is the same faults; each page's tensor has its bytes. */
static void pages_add_up(void **state)
{
    const tt_filter any = {0};
    tt_bytes b;
    tt_page_faults f;
    (void)state;
    tt_model *m = open_plan(&b);
    assert_int_equal(tt_page_faults_find(&f, m, NULL), TT_OK);
    for (tt_fault_pages_by by = TT_FAULT_PAGES_BY_PAGE; by <= TT_FAULT_PAGES_BY_MAPPING; by++) {
        tt_fault_page *pages;
        size_t n;
        uint64_t total = 0;
        assert_int_equal(tt_fault_pages_sum(&f, by, &any, &pages, &n, NULL), TT_OK);
        for (size_t i = 0; i < n; i++) {
            const tt_fault_target *t = &pages[i].first;
            total += pages[i].total;
            assert_int_equal(pages[i].total, pages[i].minor + pages[i].major);
            if (t->weight == TT_NONE) continue;
            const tt_weight *w = &m->weights[t->weight];
            assert_true(t->file_offset_bytes >= w->offset_bytes &&
                        t->file_offset_bytes - w->offset_bytes < w->size_bytes);
        }
        assert_int_equal(total, m->n_page_faults);
        if (by == TT_FAULT_PAGES_BY_MAPPING) assert_int_equal(n, 4); /* one is not known */
        free(pages);
    }
    tt_page_faults_free(&f);
    tt_model_close(m);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(times_stay_in_their_record),
        cmocka_unit_test(this_process),
        cmocka_unit_test(ops_have_their_faults),
        cmocka_unit_test(time_with_a_loss_is_not_known),
        cmocka_unit_test(pages_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
