/* Loading where model files lay on their disks. */
#include "model/load.h"

#include <inttypes.h>

/* Whether the list and the totals can be of one file. */
static bool plausible(const tt_file_extents *e)
{
    return e->walked_bytes <= INT64_MAX && e->mapped_bytes <= e->walked_bytes &&
           e->largest_bytes <= e->mapped_bytes && e->long_bytes <= e->mapped_bytes &&
           e->n_listed <= e->n_fragments && e->n_fragments <= e->n_extents &&
           e->n_backward <= e->n_fragments;
}

/* False when it goes beyond the file, or what can be told in 64 bits. */
static bool load_fragments(tt_cursor *c, tt_file_extents *e, tt_fragment *list)
{
    uint64_t at = 0, disk = 0;
    for (uint32_t i = 0; i < e->n_listed; i++) {
        tt_meta_fragment f;
        if (!tt_meta_get_fragment(c, &f)) return false;
        if (f.hole_bytes > e->walked_bytes - at ||
            f.size_bytes > e->walked_bytes - at - f.hole_bytes)
            return false;
        /* Places that are not to be trusted may be any number. */
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
    else if (!plausible(e) || !load_fragments(c, e, list))
        tt_loader_problem(l, "the extents of model file %" PRIu32 " contradict each other",
                          h.model);
    else
        m->files[at].extents = e;
    return true;
}
