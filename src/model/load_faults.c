/* Filling a tt_model: page faults, each by itself, and the mappings that they hit. */
#include "base/order.h"
#include "model/load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Its place in the model; one that does not hold the address is none. */
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

/* Records follow on one another: what they cover together. */
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

/* The model file that is mapped. On layered file systems the kernel knows it by another device than
 * the program, but by the same path. */
static uint32_t file_of(const tt_model *m, const tt_mapping *p)
{
    for (uint32_t i = 0; p->inode && i < m->n_files; i++)
        if (m->files[i].device == p->device && m->files[i].inode == p->inode) return i;
    for (uint32_t i = 0; p->inode && i < m->n_files; i++)
        if (strcmp(m->files[i].path, p->path) == 0) return i;
    return TT_NONE;
}

void tt_link_page_faults(tt_loader *l)
{
    tt_model *m = l->m;
    for (uint32_t i = 0; i < m->n_mappings; i++)
        m->mappings[i].file = file_of(m, &m->mappings[i]);
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
