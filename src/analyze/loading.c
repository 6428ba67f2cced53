#include "analyze/loading.h"

#include "analyze/faults.h"
#include "analyze/kernel.h"
#include "analyze/ranges.h"
#include "analyze/residency.h"
#include "base/array.h"
#include "base/units.h"
#include "model/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of ranges visited, plus some per recorded range: samples of few pages must not walk over a
 * large set repeatedly. */
#define WORK_MAX 20000000u
#define WORK_EACH 64u

/* --- the pages of a file that came in a phase --- */

enum { WARM, MAPPED, LOADED, TRACKED = TT_LOADING_SETS };

typedef struct tracked {
    bool begun, evaluated;
    tt_ranges all;
    tt_ranges fresh; /* neither read by an op nor evicted yet */
    tt_ranges gone;  /* absent in the last sample */
    tt_ranges again;
    tt_ranges used, evicted; /* removed from the fresh ones; not merged until the end */
    uint32_t looks;          /* after the first one */
} tracked;

typedef struct file_state {
    const tt_load_step *map, *first, *end;
    bool has_mapped, has_loaded; /* samples of that kind exist */
    bool looked;                 /* observed, present: in the last sample */
    tt_ranges observed, present;
    tracked sets[TRACKED];
    tt_ranges faulted, used; /* since they were last applied */
    tt_loading_row rows[TT_LOADING_PHASES];
} file_state;

typedef struct walk {
    const tt_model *m;
    file_state *files;
    uint32_t next_look, next_fault, run;
    uint64_t page_bytes;
    tt_ranges now, seen, away, some, rest; /* scratch */
    uint64_t work; /* ranges that may still be visited; 0: the results are unknown */
    bool events, unplaced, failed;
} walk;

static void swap(tt_ranges *a, tt_ranges *b)
{
    const tt_ranges was = *a;
    *a = *b;
    *b = was;
}

static void add_all(tt_ranges *to, const tt_ranges *from)
{
    for (size_t i = 0; i < from->n; i++)
        tt_ranges_add(to, from->list[i].begin, from->list[i].end);
    tt_ranges_merge(to);
    to->failed |= from->failed;
}

/* False if it would take too long. */
static bool may_work(walk *k, const tracked *t, const tt_ranges *what)
{
    const uint64_t ranges = t->all.n + t->fresh.n + t->gone.n + t->again.n + what->n;
    k->work = k->work > ranges ? k->work - ranges : 0;
    return k->work > 0;
}

static bool have_common(const tt_ranges *set, const tt_ranges *ranges)
{
    for (size_t i = 0; i < ranges->n; i++)
        if (tt_ranges_within(set, ranges->list[i].begin, ranges->list[i].end)) return true;
    return false;
}

/* Moves the content of `what` from the fresh ones to a set that has none of it yet. */
static void take(walk *k, tracked *t, const tt_ranges *what, tt_ranges *to)
{
    tt_ranges_both(&t->fresh, what, &k->some);
    for (size_t i = 0; i < k->some.n; i++)
        tt_ranges_add(to, k->some.list[i].begin, k->some.list[i].end);
    tt_ranges_without(&t->fresh, what, &k->rest);
    swap(&t->fresh, &k->rest);
    k->failed |= k->some.failed || t->fresh.failed || to->failed;
}

static void remove_gone(walk *k, tracked *t, const tt_ranges *back)
{
    tt_ranges_without(&t->gone, back, &k->rest);
    swap(&t->gone, &k->rest);
    k->failed |= t->gone.failed || t->again.failed;
}

static void look_at(walk *k, tracked *t, const tt_ranges *present, const tt_ranges *away)
{
    t->looks++;
    if (!may_work(k, t, present)) return;
    take(k, t, away, &t->evicted);
    tt_ranges_both(&t->all, away, &k->some);
    add_all(&t->gone, &k->some);
    tt_ranges_both(&t->gone, present, &k->some);
    add_all(&t->again, &k->some);
    remove_gone(k, t, present);
}

/* Applies faults, then reads by ops, since the last sample. */
static void apply(walk *k, file_state *f)
{
    tt_ranges_merge(&f->faulted);
    tt_ranges_merge(&f->used);
    k->failed |= f->faulted.failed || f->used.failed;
    for (int i = 0; i < TRACKED; i++) {
        tracked *t = &f->sets[i];
        if (!t->begun) continue;
        if (f->faulted.n && have_common(&t->all, &f->faulted) && may_work(k, t, &f->faulted)) {
            take(k, t, &f->faulted, &t->evicted);
            tt_ranges_both(&t->all, &f->faulted, &k->some);
            add_all(&t->again, &k->some);
            remove_gone(k, t, &f->faulted);
        }
        if (have_common(&t->fresh, &f->used) && may_work(k, t, &f->used))
            take(k, t, &f->used, &t->used);
    }
    tt_ranges_clear(&f->faulted);
    tt_ranges_clear(&f->used);
}

static void track(walk *k, file_state *f, int set, const tt_ranges *pages)
{
    tracked *t = &f->sets[set];
    if (t->begun) return;
    t->begun = true;
    add_all(&t->all, pages);
    add_all(&t->fresh, pages);
    k->failed |= t->all.failed || t->fresh.failed;
}

/* --- samples --- */

static bool is_next_record(const tt_residency *a, const tt_residency *b)
{
    return a->file == b->file && a->batch == b->batch && a->moment == b->moment &&
           b->first_page > a->first_page;
}

static const uint8_t phase_rows[TT_PHASES] = {[TT_PHASE_UNKNOWN] = TT_LOADING_UNKNOWN,
                                              [TT_PHASE_PROMPT] = TT_LOADING_PROMPT,
                                              [TT_PHASE_GENERATE] = TT_LOADING_GENERATE,
                                              [TT_PHASE_MIXED] = TT_LOADING_MIXED,
                                              [TT_PHASE_WARMUP] = TT_LOADING_WARM_UP};

static void note_row(walk *k, file_state *f, unsigned phase)
{
    tt_loading_row *r = &f->rows[phase];
    r->looked = true;
    r->observed_bytes = tt_ranges_total(&k->seen);
    r->resident_bytes = tt_ranges_total(&k->now);
}

/* Starts to track what came since the previous sample. */
static void track_new(walk *k, file_state *f, int set, unsigned phase)
{
    if (!f->looked) return;
    tt_ranges came = {0};
    tt_ranges_without(&k->now, &f->present, &k->some);
    tt_ranges_both(&k->some, &f->observed, &came);
    track(k, f, set, &came);
    f->rows[phase].has_fetched = true;
    f->rows[phase].fetched_bytes = tt_ranges_total(&came);
    tt_ranges_free(&came);
}

static void note_look(walk *k, file_state *f, const tt_residency *r)
{
    switch (r->moment) {
    case TT_AT_BEGIN:
    case TT_AT_MAP_BEGIN:
        if (f->sets[WARM].begun || f->has_mapped || f->has_loaded ||
            (f->map && r->moment == TT_AT_BEGIN))
            break;
        note_row(k, f, TT_LOADING_OPENED);
        track(k, f, WARM, &k->now);
        break;
    case TT_AT_MAP_END:
        if (f->has_mapped) break;
        f->has_mapped = true;
        note_row(k, f, TT_LOADING_MAPPED);
        track_new(k, f, MAPPED, TT_LOADING_MAPPED);
        break;
    case TT_AT_FIRST_BATCH:
        if (f->has_loaded || (f->map && !f->has_mapped)) break;
        f->has_loaded = true;
        note_row(k, f, TT_LOADING_LOADED);
        track_new(k, f, LOADED, TT_LOADING_LOADED);
        break;
    case TT_AT_BATCH_END:
        if (r->batch < k->m->n_batches && k->m->batches[r->batch].phase < TT_PHASES)
            note_row(k, f, phase_rows[k->m->batches[r->batch].phase]);
        break;
    case TT_AT_END:
        note_row(k, f, TT_LOADING_END);
        break;
    default:
        break;
    }
}

/* The next sample, which may have several records. */
static void see_look(walk *k)
{
    const tt_model *m = k->m;
    const tt_residency *r = &m->residencies[k->next_look++];
    if (r->file >= m->n_files) return;
    file_state *f = &k->files[r->file];
    tt_ranges_clear(&k->seen);
    tt_ranges_clear(&k->now);
    tt_residency_add(r, m->files[r->file].size_bytes, &k->seen, &k->now);
    for (; k->next_look < m->n_residencies &&
           is_next_record(&m->residencies[k->next_look - 1], &m->residencies[k->next_look]);
         k->next_look++)
        tt_residency_add(&m->residencies[k->next_look], m->files[r->file].size_bytes, &k->seen,
                         &k->now);
    tt_ranges_merge(&k->seen);
    tt_ranges_merge(&k->now);
    apply(k, f);
    tt_ranges_without(&k->seen, &k->now, &k->away);
    for (int i = 0; i < TRACKED; i++)
        if (f->sets[i].begun) look_at(k, &f->sets[i], &k->now, &k->away);
    note_look(k, f, r);
    f->looked = true;
    swap(&f->observed, &k->seen);
    swap(&f->present, &k->now);
    k->failed |= f->observed.failed || f->present.failed || k->away.failed;
}

static void see_fault(walk *k)
{
    const tt_page_fault *p = &k->m->page_faults[k->next_fault++];
    uint64_t offset, end;
    if (!p->major) return;
    const uint32_t file = tt_model_fault_file(k->m, p, &offset);
    if (file == TT_NONE) return;
    offset -= offset % k->page_bytes;
    if (__builtin_add_overflow(offset, k->page_bytes, &end)) return;
    const uint64_t size = k->m->files[file].size_bytes;
    tt_ranges_add(&k->files[file].faulted, offset, end < size ? end : size);
}

/* Everything up to that time. */
static void go_to(walk *k, uint64_t looks_until, uint64_t faults_until)
{
    const tt_model *m = k->m;
    for (;;) {
        const uint64_t look =
            k->next_look < m->n_residencies ? m->residencies[k->next_look].begin_ticks : UINT64_MAX;
        const uint64_t fault =
            k->next_fault < m->n_page_faults ? m->page_faults[k->next_fault].ticks : UINT64_MAX;
        if (k->next_fault < m->n_page_faults && fault <= faults_until && fault <= look)
            see_fault(k);
        else if (k->next_look < m->n_residencies && look <= looks_until)
            see_look(k);
        else if (k->next_fault < m->n_page_faults && fault <= faults_until)
            see_fault(k);
        else
            break;
    }
}

/* --- ops --- */

/* In a run, faults come first: a page for which an op waited was absent before the op read it. */
static void next_run(walk *k, uint32_t run)
{
    const tt_run *r = &k->m->runs[run];
    if (k->run == run) return;
    for (uint32_t i = 0; i < k->m->n_files; i++)
        apply(k, &k->files[i]);
    k->run = run;
    go_to(k, r->begin_ticks, r->ended ? r->end_ticks : r->begin_ticks);
    for (uint32_t i = 0; i < k->m->n_files; i++)
        apply(k, &k->files[i]);
}

static bool visit(void *context, const tt_fault_op *op)
{
    walk *k = context;
    next_run(k, op->run);
    for (size_t i = 0; i < op->n_accesses; i++) {
        const tt_access *a = &op->accesses[i];
        const uint32_t file = k->m->weights[a->weight].file;
        uint64_t end;
        k->unplaced |= !tt_access_is_placed(a);
        if (file < k->m->n_files && tt_fault_op_maps(op, a) &&
            !__builtin_add_overflow(a->offset_bytes, a->span_bytes, &end))
            tt_ranges_add(&k->files[file].used, a->offset_bytes, end);
    }
    return !k->failed;
}

/* --- rows --- */

static void set_begin(tt_loading_row *r, const tt_model *m, uint64_t ticks)
{
    r->has_begin = m->clock.known;
    r->begin_ns = tt_model_ns(m, ticks);
}

static void set_end(tt_loading_row *r, const tt_model *m, uint64_t ticks)
{
    r->has_end = m->clock.known;
    r->end_ns = tt_model_ns(m, ticks);
}

/* Counts from the end of one step (NULL: the start of the process) to the start of another. */
static void set_counts(tt_loading_row *r, const tt_load_step *a, const tt_load_step *b)
{
    static const tt_load_step none = {.flags = TT_USAGE_FAULTS | TT_USAGE_IO};
    if (!b) return;
    if (!a) a = &none;
    const uint64_t minor = a->minor + a->call_minor, major = a->major + a->call_major,
                   read = a->read_bytes + a->call_read_bytes;
    const uint8_t both = a->flags & b->flags;
    r->has_faults = both & TT_USAGE_FAULTS && b->minor >= minor && b->major >= major;
    r->minor = b->minor - minor;
    r->major = b->major - major;
    r->has_io = both & TT_USAGE_IO && b->read_bytes >= read;
    r->read_bytes = b->read_bytes - read;
}

static void find_steps(const tt_model *m, uint32_t file, file_state *f)
{
    for (uint32_t i = 0; i < m->n_load_steps; i++) {
        const tt_load_step *s = &m->load_steps[i];
        if (s->kind == TT_LOAD_MAP && s->model == file && !s->error && !f->map) f->map = s;
    }
    for (uint32_t i = 0; i < m->n_load_steps; i++) {
        const tt_load_step *s = &m->load_steps[i];
        if (s->kind == TT_LOAD_FIRST_BATCH && !f->first &&
            (!f->map || s->begin_ticks >= f->map->end_ticks))
            f->first = s;
        if (s->kind == TT_LOAD_END) f->end = s;
    }
}

static void describe_advice(const tt_model *m, tt_loading_row *r)
{
    static const char *const names[] = {"normal",   "random",   "sequential",
                                        "willneed", "dontneed", "other"};
    uint32_t seen = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < m->n_load_steps; i++) {
        const tt_load_step *s = &m->load_steps[i];
        const uint8_t what = s->what < TT_ADVICE_OTHER ? s->what : TT_ADVICE_OTHER;
        if ((s->kind != TT_LOAD_FILE_ADVICE && s->kind != TT_LOAD_MAP_ADVICE) || s->error ||
            s->model != r->file || seen & 1u << what)
            continue;
        seen |= 1u << what;
        const int n = snprintf(r->advice + used, sizeof r->advice - used, "%s%s", used ? ", " : "",
                               names[what]);
        if (n > 0 && (size_t)n < sizeof r->advice - used) used += (size_t)n;
    }
}

/* The rows that need only the steps. */
static void set_steps(const tt_model *m, uint32_t file, file_state *f)
{
    tt_loading_row *rows = f->rows;
    find_steps(m, file, f);
    for (unsigned p = 0; p < TT_LOADING_PHASES; p++)
        rows[p] = (tt_loading_row){.file = file, .path = m->files[file].path, .phase = (uint8_t)p};
    if (f->map) {
        set_counts(&rows[TT_LOADING_OPENED], NULL, f->map);
        set_end(&rows[TT_LOADING_OPENED], m, f->map->begin_ticks);
        tt_loading_row *r = &rows[TT_LOADING_MAPPED];
        r->map = f->map;
        r->has_faults = f->map->flags & TT_USAGE_FAULTS;
        r->minor = f->map->call_minor;
        r->major = f->map->call_major;
        r->has_io = f->map->flags & TT_USAGE_IO;
        r->read_bytes = f->map->call_read_bytes;
        set_begin(r, m, f->map->begin_ticks);
        set_end(r, m, f->map->end_ticks);
        describe_advice(m, r);
        if (f->first) set_begin(&rows[TT_LOADING_LOADED], m, f->map->end_ticks);
    }
    set_counts(&rows[TT_LOADING_LOADED], f->map, f->first);
    if (!f->first) return;
    set_end(&rows[TT_LOADING_LOADED], m, f->first->begin_ticks);
    set_counts(&rows[TT_LOADING_END], f->first, f->end);
    set_begin(&rows[TT_LOADING_END], m, f->first->begin_ticks);
    if (f->end) set_end(&rows[TT_LOADING_END], m, f->end->begin_ticks);
}

/* Batches of a phase: their time, and the kernel's counts in them. */
static void set_phase(walk *k, const tt_kernel *kernel, unsigned phase, file_state *f)
{
    const tt_model *m = k->m;
    tt_loading_row *r = &f->rows[phase_rows[phase]];
    const tt_filter filter = {.phase = phase};
    tt_kernel_sum sum;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (b->phase != phase) continue;
        if (!r->has_begin) set_begin(r, m, b->begin_ticks);
        if (b->ended) set_end(r, m, b->end_ticks);
    }
    if (phase == TT_PHASE_UNKNOWN || !r->has_begin) return;
    tt_kernel_batches(kernel, &filter, &sum);
    if (!sum.windows || sum.missing || sum.overlap) return;
    r->has_faults = sum.has_faults;
    r->minor = sum.minor;
    r->major = sum.major;
    r->has_io = sum.has_io;
    r->read_bytes = sum.read_bytes;
}

/* What became of a set of pages that were present when `since` had ended (for WARM, when it
 * began). */
static void evaluate(walk *k, file_state *f, int set, tt_loading_row *r, const tt_load_step *since)
{
    tracked *t = &f->sets[set];
    tt_loading_row after = {0};
    if (!t->begun || !(t->looks || k->events) || !k->m->n_runs || !k->work) return;
    r->evaluated = t->evaluated = true;
    r->unplaced = k->unplaced;
    r->used_bytes = tt_ranges_total(&t->used);
    r->unused_bytes = tt_ranges_total(&t->fresh);
    r->evicted_bytes = tt_ranges_total(&t->evicted);
    r->again_bytes = tt_ranges_total(&t->again);
    if (!since) return;
    const uint64_t all = tt_ranges_total(&t->all);
    set_counts(&after, since, f->end);
    if (set == WARM) after.read_bytes += since->call_read_bytes;
    r->has_again_most = after.has_io;
    r->again_most_bytes = after.read_bytes < all ? after.read_bytes : all;
    if (r->again_most_bytes < r->again_bytes) r->again_most_bytes = r->again_bytes;
}

static bool is_known(const tt_loading_row *r)
{
    return r->has_begin || r->has_end || r->looked || r->has_io || r->has_faults;
}

/* What became of the sets together: the pages of a file. */
static void keep_pages(walk *k, file_state *f, tt_loading_pages *p)
{
    for (int i = 0; i < TRACKED; i++) {
        tracked *t = &f->sets[i];
        p->known[i] = t->begun;
        swap(&p->came[i], &t->all);
        if (!t->evaluated) continue;
        p->evaluated[i] = true;
        add_all(&p->used, &t->used);
        add_all(&p->unused, &t->fresh);
        add_all(&p->evicted, &t->evicted);
        add_all(&p->again, &t->again);
    }
    k->failed |= p->used.failed || p->unused.failed || p->evicted.failed || p->again.failed;
}

static tt_status put_rows(walk *k, tt_loading *l, bool with_ops, tt_error *err)
{
    size_t capacity = 0;
    tt_kernel *kernel = tt_kernel_new(k->m);
    if (!kernel) return tt_error_memory(err, "the loading of models");
    for (uint32_t i = 0; i < k->m->n_files; i++) {
        file_state *f = &k->files[i];
        const bool recorded = f->map || f->first || f->looked;
        for (unsigned p = 0; p < TT_PHASES && recorded; p++)
            set_phase(k, kernel, p, f);
        if (with_ops) {
            evaluate(k, f, WARM, &f->rows[TT_LOADING_OPENED], f->map);
            evaluate(k, f, MAPPED, &f->rows[TT_LOADING_MAPPED], f->map);
            evaluate(k, f, LOADED, &f->rows[TT_LOADING_LOADED], f->first);
        }
        keep_pages(k, f, &l->pages[i]);
        for (unsigned p = 0; p < TT_LOADING_PHASES && recorded; p++) {
            if (!is_known(&f->rows[p])) continue;
            tt_loading_row *r = tt_array_add(l->rows, l->n, capacity);
            if (!r) {
                tt_kernel_free(kernel);
                return tt_error_memory(err, "the loading of models");
            }
            *r = f->rows[p];
        }
    }
    tt_kernel_free(kernel);
    return TT_OK;
}

static void free_walk(walk *k)
{
    tt_ranges *const scratch[] = {&k->now, &k->seen, &k->away, &k->some, &k->rest};
    for (uint32_t i = 0; k->files && i < k->m->n_files; i++) {
        file_state *f = &k->files[i];
        tt_ranges *const own[] = {&f->observed, &f->present, &f->faulted, &f->used};
        for (size_t r = 0; r < sizeof own / sizeof *own; r++)
            tt_ranges_free(own[r]);
        for (int s = 0; s < TRACKED; s++) {
            tt_ranges_free(&f->sets[s].all);
            tt_ranges_free(&f->sets[s].fresh);
            tt_ranges_free(&f->sets[s].gone);
            tt_ranges_free(&f->sets[s].again);
            tt_ranges_free(&f->sets[s].used);
            tt_ranges_free(&f->sets[s].evicted);
        }
    }
    for (size_t r = 0; r < sizeof scratch / sizeof *scratch; r++)
        tt_ranges_free(scratch[r]);
    free(k->files);
}

tt_status tt_loading_find(tt_loading *l, const tt_model *m, bool with_ops, tt_error *err)
{
    static const tt_filter everything;
    walk k = {.m = m, .run = TT_NONE, .page_bytes = tt_model_page_bytes(m)};
    tt_status status = TT_OK;
    memset(l, 0, sizeof *l);
    l->m = m;
    k.events = m->n_fault_spans > 0;
    k.work = WORK_MAX;
    for (uint32_t i = 0; i < m->n_residencies; i++)
        k.work += (uint64_t)WORK_EACH * m->residencies[i].n_intervals;
    k.files = calloc((size_t)m->n_files + 1, sizeof *k.files);
    l->pages = calloc((size_t)m->n_files + 1, sizeof *l->pages);
    if (!k.files || !l->pages) {
        free(k.files);
        return tt_error_memory(err, "the loading of models");
    }
    for (uint32_t i = 0; i < m->n_files; i++)
        set_steps(m, i, &k.files[i]);
    with_ops &= m->clock.known && m->n_residencies > 0;
    tt_faults_walker w = {.filter = &everything, .visit = visit, .context = &k};
    if (with_ops) status = tt_faults_walk(m, &w, err);
    if (status == TT_OK) go_to(&k, UINT64_MAX, UINT64_MAX);
    for (uint32_t i = 0; i < m->n_files; i++) {
        apply(&k, &k.files[i]);
        for (int s = 0; s < TRACKED; s++) {
            tt_ranges_merge(&k.files[i].sets[s].used);
            tt_ranges_merge(&k.files[i].sets[s].evicted);
        }
    }
    if (status == TT_OK && k.failed) status = tt_error_memory(err, "the loading of models");
    if (status == TT_OK) status = put_rows(&k, l, with_ops, err);
    if (status == TT_OK && k.failed) status = tt_error_memory(err, "the loading of models");
    free_walk(&k);
    return status;
}

void tt_loading_free(tt_loading *l)
{
    for (uint32_t i = 0; l->pages && i < l->m->n_files; i++) {
        tt_loading_pages *p = &l->pages[i];
        for (unsigned s = 0; s < TT_LOADING_SETS; s++)
            tt_ranges_free(&p->came[s]);
        tt_ranges *const own[] = {&p->used, &p->unused, &p->evicted, &p->again};
        for (size_t r = 0; r < sizeof own / sizeof *own; r++)
            tt_ranges_free(own[r]);
    }
    free(l->pages);
    free(l->rows);
    memset(l, 0, sizeof *l);
}

void tt_loading_text(const tt_model *m, uint32_t file, char *out, size_t size)
{
    char how[128], mapped[TT_UNITS_TEXT], read[TT_UNITS_TEXT], took[TT_UNITS_TEXT];
    file_state f = {0};
    out[0] = '\0';
    set_steps(m, file, &f);
    if (!f.map) return;
    const tt_loading_row *r = &f.rows[TT_LOADING_MAPPED], *loaded = &f.rows[TT_LOADING_LOADED];
    tt_loading_describe(r, how, sizeof how);
    int n = snprintf(out, size, "%s %s", tt_units_bytes(mapped, f.map->size_bytes), how);
    if (n > 0 && (size_t)n < size && r->has_io && r->has_begin)
        n += snprintf(out + n, size - (size_t)n, "; %s read in %s",
                      tt_units_bytes(read, r->read_bytes),
                      tt_units_ns(took, r->end_ns - r->begin_ns));
    if (n > 0 && (size_t)n < size && loaded->has_io)
        (void)snprintf(out + n, size - (size_t)n, ", and %s until the first batch",
                       tt_units_bytes(read, loaded->read_bytes));
}

void tt_loading_how(const tt_model *m, uint32_t file, char *out, size_t size)
{
    file_state f = {0};
    out[0] = '\0';
    set_steps(m, file, &f);
    if (f.map) tt_loading_describe(&f.rows[TT_LOADING_MAPPED], out, size);
}
