/* Loads where model files were on their disks. */
#include "base/checksum.h"
#include "base/order.h"
#include "model/load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Whether the list and the totals can be of one file. */
static bool extents_plausible(const tt_file_extents *e)
{
    return e->walked_bytes <= INT64_MAX && e->mapped_bytes <= e->walked_bytes &&
           e->largest_bytes <= e->mapped_bytes && e->long_bytes <= e->mapped_bytes &&
           e->n_listed <= e->n_fragments && e->n_fragments <= e->n_extents &&
           e->n_backward <= e->n_fragments;
}

/* False if it goes beyond the file, or 64 bits. */
static bool load_fragments(tt_cursor *c, tt_file_extents *e, tt_fragment *list)
{
    uint64_t at = 0, disk = 0;
    for (uint32_t i = 0; i < e->n_listed; i++) {
        tt_meta_fragment f;
        if (!tt_meta_get_fragment(c, &f)) return false;
        if (f.hole_bytes > e->walked_bytes - at ||
            f.size_bytes > e->walked_bytes - at - f.hole_bytes)
            return false;
        /* Unreliable offsets may be any number. */
        disk += (uint64_t)f.jump_bytes;
        list[i] = (tt_fragment){.offset_bytes = at + f.hole_bytes,
                                .disk_bytes = disk,
                                .size_bytes = f.size_bytes,
                                .flags = f.flags};
        at = list[i].offset_bytes + f.size_bytes;
        disk += f.size_bytes;
    }
    e->fragments = list;
    return true;
}

bool tt_load_extents(tt_loader *l, tt_cursor *c)
{
    tt_meta_extents h;
    tt_model *m = l->m;
    if (!tt_meta_get_extents(c, &h)) return false;
    const uint32_t at = tt_idmap_get(&m->file_by_id, h.model);
    tt_file_extents *e = tt_arena_take(&m->arena, 1, sizeof *e);
    tt_fragment *list = tt_arena_take(&m->arena, h.n_listed, sizeof *list);
    const char *why = e ? tt_arena_text(&m->arena, h.why.data, h.why.size) : NULL;
    if (!e || !why || (!list && h.n_listed)) {
        l->no_memory = true;
        return true;
    }
    *e = (tt_file_extents){.state = h.state,
                           .why = why,
                           .walked_bytes = h.walked_bytes,
                           .n_extents = h.n_extents,
                           .n_fragments = h.n_fragments,
                           .n_backward = h.n_backward,
                           .mapped_bytes = h.mapped_bytes,
                           .largest_bytes = h.largest_bytes,
                           .long_bytes = h.long_bytes,
                           .flags = h.flags,
                           .n_listed = h.n_listed};
    if (at == TT_NONE)
        tt_loader_problem(l, "extents of model file %" PRIu32 ", which was never described",
                          h.model);
    else if (!extents_plausible(e) || !load_fragments(c, e, list))
        tt_loader_problem(l, "the extents of model file %" PRIu32 " contradict each other",
                          h.model);
    else
        m->files[at].extents = e;
    return true;
}

/* Loads page faults, and their mappings. */

bool tt_load_mapping(tt_loader *l, tt_cursor *c)
{
    tt_meta_mapping r;
    tt_model *m = l->m;
    uint64_t end;
    if (!tt_meta_get_mapping(c, &r)) return false;
    if (!tt_loader_id(l, "mapping", r.id)) return true;
    if (__builtin_add_overflow(r.address, r.size_bytes, &end) ||
        __builtin_add_overflow(r.file_offset_bytes, r.size_bytes, &end)) {
        tt_loader_problem(l, "mapping %" PRIu32 " passes the end of what there is", r.id);
        return true;
    }
    uint32_t at = tt_idmap_get(&m->mapping_by_id, r.id);
    if (at != TT_NONE) {
        tt_mapping *was = &m->mappings[at];
        was->address = r.address;
        was->size_bytes = r.size_bytes;
        was->file_offset_bytes = r.file_offset_bytes;
        return true;
    }
    if (m->n_mappings >= TT_MAPPING_NONE ||
        !TT_GROW(l, m->mappings, m->n_mappings, l->capacity.mappings))
        return true;
    if (!tt_idmap_add(&m->mapping_by_id, r.id, m->n_mappings, &at)) l->no_memory = true;
    m->mappings[m->n_mappings++] = (tt_mapping){.id = r.id,
                                                .ticks = r.ticks,
                                                .address = r.address,
                                                .size_bytes = r.size_bytes,
                                                .file_offset_bytes = r.file_offset_bytes,
                                                .device = r.device,
                                                .inode = r.inode,
                                                .path = tt_loader_text(l, r.path),
                                                .file = TT_NONE};
    return true;
}

/* Its index in the model; TT_MAPPING_NONE if it does not contain the address. */
static uint32_t mapping_of(tt_loader *l, const tt_page_fault *f)
{
    const tt_model *m = l->m;
    if (!f->mapping) return TT_MAPPING_NONE;
    uint32_t at = tt_idmap_get(&m->mapping_by_id, f->mapping);
    if (at == TT_NONE) {
        tt_loader_problem(l, "page faults hit mapping %u, which was never described", f->mapping);
        return TT_MAPPING_NONE;
    }
    const tt_mapping *p = &m->mappings[at];
    if (f->address - p->address < p->size_bytes) return at;
    tt_loader_problem(l, "a page fault at 0x%" PRIx64 " is not in its mapping %u", f->address,
                      f->mapping);
    return TT_MAPPING_NONE;
}

/* Records are consecutive: joins their intervals. */
static void add_span(tt_loader *l, uint64_t begin, uint64_t end)
{
    tt_model *m = l->m;
    tt_fault_span *last = m->n_fault_spans ? &m->fault_spans[m->n_fault_spans - 1] : NULL;
    if (last && begin < last->end_ticks)
        tt_loader_problem(l, "records of page faults overlap at tick %" PRIu64, begin);
    else if (last && begin == last->end_ticks)
        last->end_ticks = end;
    else if (TT_GROW(l, m->fault_spans, m->n_fault_spans, l->capacity.fault_spans))
        m->fault_spans[m->n_fault_spans++] = (tt_fault_span){begin, end};
}

bool tt_load_page_faults(tt_loader *l, tt_cursor *c)
{
    tt_meta_page_faults r;
    tt_model *m = l->m;
    if (!l->faults) l->faults = malloc(TT_PAGE_FAULTS_MAX * sizeof *l->faults);
    if (!l->faults) {
        l->no_memory = true;
        return true;
    }
    if (!tt_meta_get_page_faults(c, &r) || !tt_page_faults_get(c, &r, l->faults)) return false;
    for (uint32_t i = 0; i < r.n; i++) {
        if (!TT_GROW(l, m->page_faults, m->n_page_faults, l->capacity.page_faults)) return true;
        l->faults[i].mapping = mapping_of(l, &l->faults[i]) & TT_MAPPING_NONE;
        m->page_faults[m->n_page_faults++] = l->faults[i];
    }
    add_span(l, r.begin_ticks, r.end_ticks);
    return true;
}

bool tt_load_page_fault_loss(tt_loader *l, tt_cursor *c)
{
    tt_meta_page_fault_loss r;
    tt_model *m = l->m;
    if (!tt_meta_get_page_fault_loss(c, &r)) return false;
    if (r.end_ticks < r.begin_ticks)
        tt_loader_problem(l, "page faults are lost from tick %" PRIu64 " to an earlier one",
                          r.begin_ticks);
    else if (TT_GROW(l, m->fault_losses, m->n_fault_losses, l->capacity.fault_losses))
        m->fault_losses[m->n_fault_losses++] = r;
    return true;
}

TT_ORDER_BY(by_thread_and_time, tt_fault_ref, thread, ticks, fault)
TT_ORDER_BY(by_time, tt_page_fault, ticks, thread, address)
TT_ORDER_BY(by_begin, tt_fault_span, begin_ticks, end_ticks)
TT_ORDER_BY(by_loss, tt_meta_page_fault_loss, begin_ticks, end_ticks)
TT_ORDER_BY(by_ring, tt_meta_ring, ring, ticks, thread)

/* --- the mapped model file. On layered file systems the kernel reports another device than the
 * program, but the same path. --- */

typedef struct mapped {
    const tt_model *m;
    const tt_mapping *p;
} mapped;

static uint64_t inode_key(uint64_t device, uint64_t inode)
{
    return tt_hash_mix(device, inode);
}

static uint64_t path_key(const char *path)
{
    return tt_checksum(path, strlen(path));
}

static bool is_inode(const void *context, uint32_t file)
{
    const mapped *x = context;
    const tt_model_file *f = &x->m->files[file];
    return f->device == x->p->device && f->inode == x->p->inode;
}

static bool is_path(const void *context, uint32_t file)
{
    const mapped *x = context;
    return strcmp(x->m->files[file].path, x->p->path) == 0;
}

static uint32_t file_of(const mapped *x, const tt_idmap *by_inode, const tt_idmap *by_path)
{
    uint64_t inode = inode_key(x->p->device, x->p->inode), path = path_key(x->p->path);
    if (!x->p->inode) return TT_NONE;
    const uint32_t file = tt_idmap_find(by_inode, &inode, is_inode, x);
    return file != TT_NONE ? file : tt_idmap_find(by_path, &path, is_path, x);
}

/* Of files that are alike, the first. */
static bool find_files(tt_model *m)
{
    tt_idmap by_inode = {0}, by_path = {0};
    bool ok = true;
    for (uint32_t i = 0; i < m->n_files && ok; i++) {
        const tt_model_file *f = &m->files[i];
        const tt_mapping same = {.device = f->device, .inode = f->inode, .path = f->path};
        const mapped x = {m, &same};
        uint64_t inode = inode_key(f->device, f->inode), path = path_key(f->path);
        uint32_t was;
        if (tt_idmap_find(&by_inode, &inode, is_inode, &x) == TT_NONE)
            ok = tt_idmap_add(&by_inode, inode, i, &was);
        if (tt_idmap_find(&by_path, &path, is_path, &x) == TT_NONE)
            ok &= tt_idmap_add(&by_path, path, i, &was);
    }
    for (uint32_t i = 0; i < m->n_mappings && ok; i++)
        m->mappings[i].file = file_of(&(mapped){m, &m->mappings[i]}, &by_inode, &by_path);
    tt_idmap_free(&by_inode);
    tt_idmap_free(&by_path);
    return ok;
}

/* Joins those that overlap. */
static void sort_losses(tt_model *m)
{
    uint32_t n = 0;
    tt_meta_page_fault_loss *list = m->fault_losses;
    if (!m->n_fault_losses) return;
    qsort(list, m->n_fault_losses, sizeof *list, by_loss);
    for (uint32_t i = 1; i < m->n_fault_losses; i++) {
        if (list[i].begin_ticks > list[n].end_ticks)
            list[++n] = list[i];
        else if (list[i].end_ticks > list[n].end_ticks)
            list[n].end_ticks = list[i].end_ticks;
    }
    m->n_fault_losses = n + 1;
}

void tt_link_page_faults(tt_loader *l)
{
    tt_model *m = l->m;
    l->no_memory |= m->n_mappings > 0 && !find_files(m);
    sort_losses(m);
    if (m->n_rings) qsort(m->rings, m->n_rings, sizeof *m->rings, by_ring);
    if (m->n_fault_spans) qsort(m->fault_spans, m->n_fault_spans, sizeof *m->fault_spans, by_begin);
    if (m->n_page_faults) qsort(m->page_faults, m->n_page_faults, sizeof *m->page_faults, by_time);
    m->faults_by_thread = tt_arena_take(&m->arena, m->n_page_faults, sizeof *m->faults_by_thread);
    if (!m->faults_by_thread) {
        l->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < m->n_page_faults; i++)
        m->faults_by_thread[i] =
            (tt_fault_ref){m->page_faults[i].ticks, m->page_faults[i].thread, i};
    if (m->n_page_faults)
        qsort(m->faults_by_thread, m->n_page_faults, sizeof *m->faults_by_thread,
              by_thread_and_time);
}

/* Loads the kernel's counts, the states of model files, and what was read of them. */

bool tt_load_usage(tt_loader *l, tt_cursor *c)
{
    tt_meta_usage u;
    tt_model *m = l->m;
    if (!tt_meta_get_usage(c, &u)) return false;
    /* The batch is an id until tt_link_records. */
    if (TT_GROW(l, m->usages, m->n_usages, l->capacity.usages)) m->usages[m->n_usages++] = u;
    return true;
}

bool tt_load_throttled(tt_loader *l, tt_cursor *c)
{
    tt_meta_throttled x;
    tt_model *m = l->m;
    if (!tt_meta_get_throttled(c, &x)) return false;
    if (TT_GROW(l, m->throttled, m->n_throttled, l->capacity.throttled))
        m->throttled[m->n_throttled++] = x;
    return true;
}

bool tt_load_pause(tt_loader *l, tt_cursor *c)
{
    tt_meta_pause x;
    tt_model *m = l->m;
    if (!tt_meta_get_pause(c, &x)) return false;
    /* They follow each other; what does not is no pause. */
    const uint64_t after = m->n_pauses ? m->pauses[m->n_pauses - 1].end_ticks : 0;
    if (x.begin_ticks < after || x.due_ticks < x.begin_ticks || x.end_ticks < x.due_ticks)
        return true;
    if (TT_GROW(l, m->pauses, m->n_pauses, l->capacity.pauses)) m->pauses[m->n_pauses++] = x;
    return true;
}

/* Whether the intervals add up to the pages, and end at a possible file offset. */
static bool residency_plausible(const tt_residency *r)
{
    uint64_t total = 0, end;
    for (uint32_t i = 0; i < r->n_intervals; i++)
        if (__builtin_add_overflow(total, r->intervals[i], &total)) return false;
    return total == r->n_pages && r->page_bytes > 0 &&
           !__builtin_add_overflow(r->first_page, r->n_pages, &end) &&
           !__builtin_mul_overflow(end, (uint64_t)r->page_bytes, &end);
}

bool tt_load_residency(tt_loader *l, tt_cursor *c)
{
    tt_meta_residency r;
    tt_model *m = l->m;
    if (!tt_meta_get_residency(c, &r)) return false;
    if (!TT_GROW(l, m->residencies, m->n_residencies, l->capacity.residencies)) return true;
    uint64_t *intervals = tt_arena_take(&m->arena, r.n_intervals, sizeof *intervals);
    if (!intervals) {
        l->no_memory = true;
        return true;
    }
    for (uint32_t i = 0; i < r.n_intervals; i++)
        intervals[i] = tt_cursor_varint(c);
    /* File and batch are ids until tt_link_records. */
    tt_residency to = {.file = r.model,
                       .batch = r.batch,
                       .moment = r.moment,
                       .begin_ticks = r.begin_ticks,
                       .end_ticks = r.end_ticks,
                       .page_bytes = r.page_bytes,
                       .first_page = r.first_page,
                       .n_pages = r.n_pages,
                       .n_intervals = r.n_intervals,
                       .intervals = intervals};
    if (c->failed) return false;
    if (residency_plausible(&to))
        m->residencies[m->n_residencies++] = to;
    else
        tt_loader_problem(l,
                          "the intervals of pages in RAM of model file %" PRIu32
                          " do not add up to %" PRIu64 " pages of %" PRIu32 " bytes",
                          r.model, r.n_pages, r.page_bytes);
    return true;
}

bool tt_load_model_check(tt_loader *l, tt_cursor *c)
{
    tt_meta_model_check k;
    if (!tt_meta_get_model_check(c, &k)) return false;
    uint32_t at = tt_idmap_get(&l->m->file_by_id, k.model);
    if (at == TT_NONE) {
        tt_loader_problem(l, "model file %" PRIu32 " is looked at but was never described",
                          k.model);
        return true;
    }
    if (l->m->files[at].checked_at_end)
        tt_loader_problem(l, "model file %" PRIu32 " is looked at twice", k.model);
    l->m->files[at].checked_at_end = true;
    l->m->files[at].end_state = k.state;
    return true;
}

bool tt_load_load_step(tt_loader *l, tt_cursor *c)
{
    tt_load_step s;
    uint64_t end;
    tt_model *m = l->m;
    if (!tt_meta_get_load_step(c, &s)) return false;
    const uint32_t file = s.model ? tt_idmap_get(&m->file_by_id, s.model) : TT_NONE;
    const bool of_file = s.kind < TT_LOAD_FIRST_BATCH;
    if (of_file && file == TT_NONE)
        tt_loader_problem(l, "model file %" PRIu32 " is loaded but was never described", s.model);
    else if (s.end_ticks < s.begin_ticks ||
             __builtin_add_overflow(s.file_offset_bytes, s.size_bytes, &end))
        tt_loader_problem(l, "a step of loading ends before it begins");
    else if (TT_GROW(l, m->load_steps, m->n_load_steps, l->capacity.load_steps)) {
        s.model = file;
        m->load_steps[m->n_load_steps++] = s;
    }
    return true;
}

/* False: a time or the end of the range overflows. */
static bool pool_read(const tt_meta_pool_read *r, uint64_t ticks, tt_pool_read *to)
{
    uint64_t end;
    *to = (tt_pool_read){.waiters = r->waiters,
                         .thread = r->thread,
                         .cause = r->cause,
                         .flags = r->flags,
                         .file_offset_bytes = r->file_offset_bytes,
                         .size_bytes = r->size_bytes,
                         .requested_ticks = ticks + (uint64_t)r->requested_ticks,
                         .waited_ticks = r->waited_ticks};
    if (r->requested_ticks < 0 ? to->requested_ticks > ticks : to->requested_ticks < ticks)
        return false;
    return r->cause < TT_READ_CAUSES &&
           !__builtin_add_overflow(to->requested_ticks, r->queued_ticks, &to->begin_ticks) &&
           !__builtin_add_overflow(to->begin_ticks, r->read_ticks, &to->end_ticks) &&
           r->waited_ticks <= to->end_ticks &&
           !__builtin_add_overflow(r->file_offset_bytes, r->size_bytes, &end);
}

bool tt_load_pool(tt_loader *l, tt_cursor *c)
{
    tt_pool_state s;
    tt_meta_pool_read r;
    tt_model *m = l->m;
    if (!tt_meta_get_pool(c, &s.at)) return false;
    const uint32_t n = s.at.n;
    s.first_read = m->n_pool_reads;
    for (uint32_t i = 0; i < n; i++) {
        tt_pool_read to;
        if (!tt_meta_get_pool_read(c, &r)) return false;
        const bool sound = pool_read(&r, s.at.ticks, &to);
        to.file = tt_idmap_get(&m->file_by_id, r.model);
        if (to.file == TT_NONE)
            tt_loader_problem(l, "model file %" PRIu32 " is read but was never described", r.model);
        else if (!sound)
            tt_loader_problem(l, "a read of model file %" PRIu32 " ends before it begins", r.model);
        else if (TT_GROW(l, m->pool_reads, m->n_pool_reads, l->capacity.pool_reads))
            m->pool_reads[m->n_pool_reads++] = to;
    }
    s.at.n = m->n_pool_reads - s.first_read;
    /* The run is an id until tt_link_records. */
    if (TT_GROW(l, m->pool_states, m->n_pool_states, l->capacity.pool_states))
        m->pool_states[m->n_pool_states++] = s;
    return true;
}
