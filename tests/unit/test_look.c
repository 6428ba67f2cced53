/* A model file that is too large to be looked at page by page while it is loaded. */
#include "tests.h"

#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/residency.h"
#include "analyze/residency.h"
#include "model/model.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKS 256u
#define PAGES_EACH 16384u
#define PAGES (LOOKS * PAGES_EACH + 100000u)
#define STRETCH (PAGES / LOOKS)

static void put_model(tt_recorder *r, tt_meta_model *m, void *context, tt_bytes *payload)
{
    (void)r;
    (void)context;
    tt_meta_put_model(payload, m);
    tt_bytes_varint(payload, 0);
}

static void visit(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    tt_residency_sample *looks = context;
    (void)now;
    if (s->moment == TT_AT_MAP_BEGIN) looks[0] = *s;
    if (s->moment == TT_AT_MAP_END) looks[1] = *s;
}

/* Brings a page of the file of holes into RAM and locks it there: what was only read may be
 * evicted before it is looked at. Returns its mapping. */
static void *lock_page(int fd, uint64_t page, uint64_t page_bytes)
{
    void *at = mmap(NULL, page_bytes, PROT_READ, MAP_SHARED, fd, (off_t)(page * page_bytes));
    assert_true(at != MAP_FAILED);
    assert_int_equal(madvise(at, page_bytes, MADV_RANDOM), 0); /* nothing around it */
    /* Sanitizers stand before mlock, and do nothing. */
    assert_int_equal(syscall(SYS_mlock, at, page_bytes), 0);
    return at;
}

static void stretches_are_evenly_spread(void **state)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    char folder[] = "look-XXXXXX", path[64], trace[64];
    tt_residency_sample looks[2] = {{0}, {0}};
    tt_recorder *r;
    tt_model *m;
    tt_error err;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/large.gguf", folder);
    (void)snprintf(trace, sizeof trace, "%s/t.ttrace", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)(PAGES * page_bytes)) != 0) {
        (void)unlink(path);
        (void)rmdir(folder);
        skip(); /* no files of that size here */
    }
    tt_recorder_options o = {.path = trace, .ring_bytes = 1 << 20};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    assert_true(tt_models_add(r, path, put_model, NULL));
    /* What was read of its header, and may be evicted between the looks. */
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_residency_begin(r);
    tt_residency_look(r, 0, TT_AT_MAP_BEGIN);
    void *observed = lock_page(fd, (uint64_t)STRETCH * 200 + 3, page_bytes);
    void *behind = lock_page(fd, (uint64_t)STRETCH * 200 + PAGES_EACH, page_bytes);
    tt_residency_look(r, 0, TT_AT_MAP_END);
    (void)pthread_mutex_unlock(&tt_process_lock);
    assert_int_equal(tt_recorder_close(r, false, &err), TT_OK);
    tt_recorder_free(r);
    assert_int_equal(tt_model_open(trace, &m, &err), TT_OK);
    uint32_t n[2] = {0};
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        const tt_residency *p = &m->residencies[i];
        if (p->moment < TT_AT_MAP_BEGIN) continue;
        assert_int_equal(p->n_pages, PAGES_EACH);
        assert_int_equal(p->first_page, (uint64_t)STRETCH * n[p->moment - TT_AT_MAP_BEGIN]++);
    }
    assert_true(n[0] == LOOKS && n[1] == LOOKS);
    assert_int_equal(tt_residency_walk(m, visit, looks, NULL, &err), TT_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(looks[i].observed_bytes, (uint64_t)LOOKS * PAGES_EACH * page_bytes);
    assert_int_equal(looks[0].resident_bytes, 0);
    assert_int_equal(looks[1].resident_bytes, page_bytes);
    tt_model_close(m);
    tt_residency_reset();
    (void)munmap(observed, page_bytes);
    (void)munmap(behind, page_bytes);
    (void)close(fd);
    (void)unlink(path);
    (void)unlink(trace);
    (void)rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stretches_are_evenly_spread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
