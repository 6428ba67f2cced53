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
        tt_fault_log_drop(log);
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

/* --- bins --- */

/* Where a fault is counted on the map, found without the index; false: nowhere. */
static bool is_in(const tt_model *m, const tt_memory_layout *s, const tt_page_fault *p,
                  uint32_t segment, uint64_t *at)
{
    const tt_memory_segment *of = &s->segments[segment];
    const uint32_t file = of->is_file ? of->index : of->mapped_file;
    if (file != TT_NONE) {
        if (p->mapping == TT_MAPPING_NONE || m->mappings[p->mapping].file != file) return false;
        *at = p->address - m->mappings[p->mapping].address +
              m->mappings[p->mapping].file_offset_bytes;
        return true;
    }
    const tt_buffer *b = &m->buffers[of->index];
    *at = p->address - b->base + b->base % 4096;
    return p->address >= b->base && p->address - b->base < b->size_bytes &&
           p->ticks >= b->alloc_ticks && (!b->free_ticks || p->ticks <= b->free_ticks);
}

/* Faults of a bin, by a walk over all of them. */
static tt_page_bin count_bin(const tt_page_faults *f, const tt_memory_layout *s,
                             const tt_filter *filter, const tt_page_span *span, int64_t offset)
{
    const tt_model *m = f->m;
    const tt_memory_segment *of = &s->segments[span->segment];
    const uint64_t shift = of->is_file                  ? 0
                           : of->mapped_file != TT_NONE ? of->mapped_offset_bytes
                                                        : m->buffers[of->index].base % 4096,
                   begin = (uint64_t)(offset + (int64_t)shift),
                   first = (span->begin + shift) / 4096,
                   last = ((span->end < of->size_bytes ? span->end : of->size_bytes) + shift - 1) /
                          4096;
    uint8_t *pages = calloc(1, span->bin_bytes / 4096);
    tt_page_bin b = {.offset_bytes = offset};
    assert_non_null(pages);
    assert_int_equal(begin % span->bin_bytes, 0);
    for (uint32_t i = 0; i < m->n_page_faults; i++) {
        const double ns = tt_model_ns(m, m->page_faults[i].ticks);
        const uint32_t batch = tt_page_faults_batch(f, i);
        uint64_t at;
        if (!is_in(m, s, &m->page_faults[i], span->segment, &at) || at < begin ||
            at - begin >= span->bin_bytes || at / 4096 < first || at / 4096 > last ||
            (filter->has_from && ns < filter->from_ns) || (filter->has_to && ns >= filter->to_ns))
            continue;
        if (filter->has_batch &&
            (batch == TT_NONE || tt_model_batch_number(m, batch) != filter->batch_first))
            continue;
        b.major += m->page_faults[i].major;
        b.minor += !m->page_faults[i].major;
        b.pages += !pages[(at - begin) / 4096];
        pages[(at - begin) / 4096] = 1;
    }
    free(pages);
    return b;
}

static uint64_t check_bins(const tt_page_index *x, const tt_filter *filter,
                           const tt_page_span *spans, size_t n_spans)
{
    tt_page_bin *bins;
    size_t n, at = 0;
    uint64_t all = 0;
    assert_int_equal(tt_page_bins_sum(x, filter, spans, n_spans, &bins, &n, NULL), TT_OK);
    for (uint32_t i = 0; i < n_spans; i++) {
        const tt_memory_segment *of = &x->layout->segments[spans[i].segment];
        const int64_t shift = of->is_file ? 0
                              : of->mapped_file != TT_NONE
                                  ? (int64_t)of->mapped_offset_bytes
                                  : (int64_t)(x->faults->m->buffers[of->index].base % 4096),
                      step = (int64_t)spans[i].bin_bytes;
        int64_t offset = ((int64_t)spans[i].begin + shift) / step * step - shift;
        for (; offset < (int64_t)spans[i].end && offset < (int64_t)of->size_bytes; offset += step) {
            const tt_page_bin want = count_bin(x->faults, x->layout, filter, &spans[i], offset);
            if (want.minor + want.major == 0) continue; /* a bin without a fault is not told */
            assert_true(at < n);
            assert_int_equal(bins[at].span, i);
            assert_int_equal(bins[at].offset_bytes, want.offset_bytes);
            assert_int_equal(bins[at].minor, want.minor);
            assert_int_equal(bins[at].major, want.major);
            assert_int_equal(bins[at].pages, want.pages);
            all += want.minor + want.major;
            at++;
        }
    }
    assert_int_equal(at, n);
    free(bins);
    return all;
}

/* Bins of any width have each fault of their pages: in files, mapped buffers and other memory. */
static void bins_have_every_fault(void **state)
{
    tt_bytes b;
    tt_page_faults f;
    tt_page_index x;
    tt_memory_layout *layout;
    (void)state;
    tt_model *m = open_plan(&b);
    for (uint32_t i = 0; i < m->n_buffers; i++) /* to where the trace has faults: "[heap]" */
        if (!m->buffers[i].path) m->buffers[i].base = MAP_BASE + (1ull << 32) + 1000 + i * 20000;
    assert_int_equal(tt_page_faults_find(&f, m, NULL), TT_OK);
    assert_int_equal(tt_memory_layout_make(m, &layout, NULL), TT_OK);
    assert_int_equal(tt_page_index_make(&x, &f, layout, NULL), TT_OK);
    uint64_t in_files = 0, in_buffers = 0;
    for (uint32_t s = 0; s < layout->n_segments; s++)
        for (uint64_t width = 4096; width <= 16 * 4096; width *= 4) {
            const uint64_t size = layout->segments[s].size_bytes, middle = size / 3 + 7;
            const double zero = tt_model_ns(m, m->page_faults[m->n_page_faults / 2].ticks);
            const tt_filter any = {0}, late = {.has_from = true, .from_ns = zero},
                            token = {.has_batch = true, .batch_first = 1, .batch_last = 1};
            const tt_page_span whole = {s, 0, size, width},
                               parts[] = {{s, 0, middle, width}, {s, middle, size, width}};
            const uint64_t all = check_bins(&x, &any, &whole, 1);
            if (size > middle) (void)check_bins(&x, &any, parts, 2);
            assert_true(check_bins(&x, &late, &whole, 1) <= all);
            assert_true(check_bins(&x, &token, &whole, 1) <= all);
            *(layout->segments[s].is_file ? &in_files : &in_buffers) += all;
        }
    assert_true(in_files > 0 && in_buffers > 0 && x.n > 0 && x.n < m->n_page_faults);
    tt_page_index_free(&x);
    tt_memory_layout_free(layout);
    tt_page_faults_free(&f);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Nothing is computed that nobody could draw. */
static void too_many_bins_are_refused(void **state)
{
    tt_bytes b;
    tt_page_faults f;
    tt_page_index x;
    tt_memory_layout *layout;
    tt_page_bin *bins;
    uint32_t *faults;
    size_t n;
    tt_error err;
    const tt_filter any = {0};
    (void)state;
    tt_model *m = open_plan(&b);
    assert_int_equal(tt_page_faults_find(&f, m, NULL), TT_OK);
    assert_int_equal(tt_memory_layout_make(m, &layout, NULL), TT_OK);
    assert_int_equal(tt_page_index_make(&x, &f, layout, NULL), TT_OK);
    const tt_page_span bad[] = {
        {layout->n_segments, 0, 1, 4096}, {0, 5, 5, 4096}, {0, 0, 1, 0}, {0, 0, 4096, 1000}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tt_page_bins_sum(&x, &any, &bad[i], 1, &bins, &n, &err), TT_E_USAGE);
    layout->segments[0].size_bytes = 1ull << 50;
    const tt_page_span wide = {0, 0, 1ull << 40, 4096}, list = {0, 0, 1ull << 40, 1ull << 40};
    assert_int_equal(tt_page_bins_sum(&x, &any, &wide, 1, &bins, &n, &err), TT_E_USAGE);
    assert_non_null(strstr(err.message, "wider"));
    assert_int_equal(tt_page_index_list(&x, &any, &list, &faults, &n, &err), TT_OK);
    assert_true(n > 0 && n <= x.n);
    for (size_t i = 1; i < n; i++)
        assert_true(faults[i] > faults[i - 1]);
    free(faults);
    tt_page_index_free(&x);
    tt_memory_layout_free(layout);
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
        cmocka_unit_test(bins_have_every_fault),
        cmocka_unit_test(too_many_bins_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
