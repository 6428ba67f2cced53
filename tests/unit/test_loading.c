/* How a model came into RAM, and what became of it: against a count of every single byte. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/loading.h"
#include "analyze/page_faults.h"
#include "analyze/ranges.h"
#include "analyze/reads.h"

#include <stdlib.h>
#include <string.h>

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
    tt_loading found;
} opened;

static opened open_plan(synth_plan p)
{
    opened o;
    tt_error err;
    tt_bytes_init(&o.bytes, 64 << 20);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, &err), TT_OK);
    assert_int_equal(tt_loading_find(&o.found, o.m, true, &err), TT_OK);
    return o;
}

static void close_opened(opened *o)
{
    tt_loading_free(&o->found);
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

static const tt_loading_row *row_of(const opened *o, unsigned phase)
{
    const tt_loading_row *found = NULL;
    for (size_t i = 0; i < o->found.n; i++)
        if (o->found.rows[i].phase == phase) found = &o->found.rows[i];
    return found;
}

/* --- byte by byte --- */

enum { FRESH = 1, USED, EVICTED };

typedef struct byte_state {
    uint8_t here;                        /* at the last look */
    uint8_t state[3], gone[3], again[3]; /* as part of what was there, was mapped, was loaded */
} byte_state;

typedef struct counted {
    byte_state *bytes;
    const tt_model *m;
    uint64_t size;
    uint32_t look, fault;
    bool begun[3];
} counted;

static void begin_set(counted *c, int set, const uint8_t *before)
{
    if (c->begun[set]) return;
    c->begun[set] = true;
    for (uint64_t i = 0; i < c->size; i++)
        if (c->bytes[i].here && !(before && before[i])) c->bytes[i].state[set] = FRESH;
}

static void lose(byte_state *b, int set)
{
    if (b->state[set] == FRESH) b->state[set] = EVICTED;
}

/* Two records: half of the file each. */
static void count_look(counted *c)
{
    const tt_residency *r = &c->m->residencies[c->look];
    uint8_t *before = malloc(c->size);
    assert_non_null(before);
    for (uint64_t i = 0; i < c->size; i++)
        before[i] = c->bytes[i].here;
    for (int part = 0; part < 2; part++, r++, c->look++) {
        uint64_t page = r->first_page;
        for (uint32_t k = 0; k < r->n_intervals; k++)
            for (uint64_t end = page + r->intervals[k]; page < end; page++)
                for (uint64_t i = page * r->page_bytes;
                     i < (page + 1) * r->page_bytes && i < c->size; i++)
                    c->bytes[i].here = k % 2;
    }
    for (uint64_t i = 0; i < c->size; i++) {
        byte_state *b = &c->bytes[i];
        for (int set = 0; set < 3; set++) {
            if (!b->here) lose(b, set);
            if (b->state[set] && b->gone[set] && b->here) b->again[set] = 1;
            if (b->state[set]) b->gone[set] = !b->here;
        }
    }
    r--;
    if (r->moment == TT_AT_MAP_BEGIN) begin_set(c, 0, NULL);
    if (r->moment == TT_AT_MAP_END) begin_set(c, 1, before);
    if (r->moment == TT_AT_FIRST_BATCH) begin_set(c, 2, before);
    free(before);
}

static void count_fault(counted *c)
{
    const tt_page_fault *p = &c->m->page_faults[c->fault++];
    if (!p->major || p->mapping == TT_MAPPING_NONE || c->m->mappings[p->mapping].file == TT_NONE)
        return;
    const uint64_t at = (p->address - c->m->mappings[p->mapping].address) / 4096 * 4096;
    for (uint64_t i = at; i < at + 4096 && i < c->size; i++)
        for (int set = 0; set < 3; set++) {
            lose(&c->bytes[i], set);
            c->bytes[i].again[set] |= c->bytes[i].state[set] != 0;
            c->bytes[i].gone[set] = 0;
        }
}

static void count_until(counted *c, uint64_t looks, uint64_t faults)
{
    const tt_model *m = c->m;
    for (;;) {
        const bool is_look =
            c->look < m->n_residencies && m->residencies[c->look].begin_ticks <= looks;
        const bool is_fault =
            c->fault < m->n_page_faults && m->page_faults[c->fault].ticks <= faults;
        if (!is_look && !is_fault) return;
        if (is_fault &&
            (!is_look || m->page_faults[c->fault].ticks <= m->residencies[c->look].begin_ticks))
            count_fault(c);
        else
            count_look(c);
    }
}

/* Whether ops read it in a copy. */
static bool is_copied(const tt_model *m, uint32_t weight)
{
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t t = 0; t < m->graphs[g].n_tensors; t++)
            if (strcmp(m->graphs[g].tensors[t].name, m->weights[weight].name) == 0 &&
                m->graphs[g].tensors[t].origin == TT_ORIGIN_BUFFER)
                return true;
    return false;
}

static void count_all(counted *c, const tt_model *m)
{
    tt_reads reads;
    tt_error err;
    static const tt_filter everything;
    memset(c, 0, sizeof *c);
    c->m = m;
    c->size = m->files[0].size_bytes;
    c->bytes = calloc(c->size, sizeof *c->bytes);
    assert_non_null(c->bytes);
    assert_int_equal(tt_reads_collect(m, &everything, &reads, NULL, NULL, &err), TT_OK);
    for (size_t op = 0; op < reads.n_ops; op++) {
        const tt_batch *batch = &m->batches[reads.ops[op].batch];
        const tt_run *run = &m->runs[batch->last_run];
        assert_int_equal(batch->n_runs, 1);
        count_until(c, run->begin_ticks, run->end_ticks);
        for (size_t k = reads.ops[op].first; k < reads.ops[op + 1].first; k++) {
            const tt_read_range *r = &reads.ranges[reads.order[k]];
            if (is_copied(m, r->weight)) continue;
            for (uint64_t i = r->offset_bytes; i < r->offset_bytes + r->size_bytes; i++)
                for (int set = 0; set < 3; set++)
                    if (c->bytes[i].state[set] == FRESH) c->bytes[i].state[set] = USED;
        }
    }
    count_until(c, UINT64_MAX, UINT64_MAX);
    tt_reads_free(&reads);
}

static void check_row(const counted *c, int set, const tt_loading_row *r)
{
    uint64_t sums[4] = {0}, again = 0;
    for (uint64_t i = 0; i < c->size; i++) {
        sums[c->bytes[i].state[set]]++;
        again += c->bytes[i].again[set];
    }
    assert_true(r && r->evaluated);
    assert_int_equal(r->unused_bytes, sums[FRESH]);
    assert_int_equal(r->used_bytes, sums[USED]);
    assert_int_equal(r->evicted_bytes, sums[EVICTED]);
    assert_int_equal(r->again_bytes, again);
    assert_int_equal(r->used_bytes + r->unused_bytes + r->evicted_bytes,
                     set == 0 ? r->resident_bytes : r->fetched_bytes);
    /* The made-up trace has some of each. */
    assert_true(set == 2 || (sums[USED] && sums[EVICTED] && again));
}

/* What a bin says is so of each of its bytes. */
static void check_bins(const counted *c, const opened *o, uint64_t width, uint64_t from,
                       uint64_t to)
{
    tt_memory_layout *layout;
    tt_loading_bin *bins;
    size_t n, at = 0;
    const tt_page_span span = {0, from, to, width};
    assert_int_equal(tt_memory_layout_make(o->m, &layout, NULL), TT_OK);
    assert_int_equal(tt_loading_bins_sum(&o->found, layout, &span, 1, &bins, &n, NULL), TT_OK);
    for (uint64_t begin = from / width * width; begin < to; begin += width) {
        uint64_t want[TT_LOADING_KINDS] = {0}, any = 0;
        for (uint64_t i = begin < from ? from : begin; i < begin + width && i < to; i++) {
            const byte_state *b = &c->bytes[i];
            for (int set = 0; set < 3; set++) {
                want[set] += b->state[set] != 0;
                want[TT_LOADING_PAGES_USED] += b->state[set] == USED;
                want[TT_LOADING_PAGES_UNUSED] += b->state[set] == FRESH;
                want[TT_LOADING_PAGES_EVICTED] += b->state[set] == EVICTED;
            }
            want[TT_LOADING_PAGES_AGAIN] += b->again[0] || b->again[1] || b->again[2];
        }
        for (int k = 0; k < TT_LOADING_KINDS; k++)
            any |= want[k];
        if (!any) continue;
        assert_true(at < n);
        assert_int_equal(bins[at].offset_bytes, begin);
        for (int k = 0; k < TT_LOADING_KINDS; k++)
            assert_int_equal(bins[at].bytes[k], want[k]);
        at++;
    }
    assert_int_equal(at, n);
    free(bins);
    tt_memory_layout_free(layout);
}

static void every_byte_is_counted(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.memory = p.loading = true;
    p.generate = 8;
    for (int faults = 0; faults < 2; faults++) {
        counted c;
        p.page_faults = p.no_faults = faults;
        opened o = open_plan(p);
        assert_int_equal(o.m->n_page_faults > 0, faults);
        count_all(&c, o.m);
        check_row(&c, 0, row_of(&o, TT_LOADING_OPENED));
        check_row(&c, 1, row_of(&o, TT_LOADING_MAPPED));
        check_row(&c, 2, row_of(&o, TT_LOADING_LOADED));
        check_bins(&c, &o, 4096, 0, c.size);
        check_bins(&c, &o, 4 * 4096, 5000, c.size - 3000);
        free(c.bytes);
        close_opened(&o);
    }
}

static void steps_say_what_was_read(void **state)
{
    synth_plan p = synth_default();
    char how[128];
    (void)state;
    p.memory = p.loading = true;
    opened o = open_plan(p);
    const tt_loading_row *r = row_of(&o, TT_LOADING_MAPPED);
    assert_true(r && r->map && r->has_io && r->has_faults && r->has_begin && r->has_end);
    assert_int_equal(r->read_bytes, 81920);
    assert_int_equal(r->minor, 40);
    assert_int_equal(r->major, 2);
    tt_loading_describe(r, how, sizeof how);
    assert_string_equal(how, "populated, sequential"); /* the other advice was refused */
    r = row_of(&o, TT_LOADING_OPENED);
    assert_true(r->has_io && r->read_bytes == 4096 && !r->has_fetched);
    r = row_of(&o, TT_LOADING_LOADED);
    assert_true(r->has_io && r->read_bytes == 0 && !r->has_again_most); /* no end was seen */
    close_opened(&o);
}

/* What is not in a trace is not known: old ones, those without pages or without faults. */
static void what_was_not_recorded_is_unknown(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    opened o = open_plan(p);
    assert_int_equal(o.found.n, 0);
    close_opened(&o);
    p.memory = true;
    o = open_plan(p);
    const tt_loading_row *r = row_of(&o, TT_LOADING_OPENED);
    assert_true(r && r->looked && !r->has_io && !r->has_faults && !r->map);
    assert_null(row_of(&o, TT_LOADING_MAPPED));
    assert_null(row_of(&o, TT_LOADING_LOADED));
    close_opened(&o);
    p.loading = p.no_usage = true; /* no pages */
    o = open_plan(p);
    r = row_of(&o, TT_LOADING_MAPPED);
    assert_true(r && r->map && r->has_io && !r->looked && !r->has_fetched && !r->evaluated);
    close_opened(&o);
}

static void ranges_without(void **state)
{
    tt_ranges a = {0}, b = {0}, out = {0};
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        tt_ranges_add(&a, i * 10, i * 10 + 7);
    tt_ranges_add(&b, 0, 3);
    tt_ranges_add(&b, 5, 12);
    tt_ranges_add(&b, 33, 34);
    tt_ranges_add(&b, 35, 36);
    tt_ranges_add(&b, 60, 1000);
    tt_ranges_merge(&a);
    tt_ranges_merge(&b);
    tt_ranges_without(&a, &b, &out);
    /* 3..5, 12..17, 20..27, 30..33 34..35 36..37, 40..47, 50..57 */
    assert_int_equal(out.n, 8);
    assert_int_equal(tt_ranges_total(&out), 2 + 5 + 7 + 5 + 7 + 7);
    tt_ranges_without(&out, &a, &b);
    assert_int_equal(tt_ranges_total(&b), 0);
    tt_ranges_free(&a);
    tt_ranges_free(&b);
    tt_ranges_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_counted),
        cmocka_unit_test(steps_say_what_was_read),
        cmocka_unit_test(what_was_not_recorded_is_unknown),
        cmocka_unit_test(ranges_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
