#include "format/usage.h"

void tt_usage_put(tt_bytes *out, const tt_meta_usage *u)
{
    tt_bytes_varint(out, u->batch);
    tt_bytes_u8(out, u->moment);
    tt_bytes_u64(out, u->ticks);
    tt_bytes_u8(out, u->flags);
    if (u->flags & TT_USAGE_FAULTS) {
        tt_bytes_varint(out, u->minor);
        tt_bytes_varint(out, u->major);
        tt_bytes_varint(out, u->user_ns);
        tt_bytes_varint(out, u->system_ns);
    }
    if (u->flags & TT_USAGE_IO) {
        tt_bytes_varint(out, u->read_bytes);
        tt_bytes_varint(out, u->rchar);
    }
    if (!(u->flags & TT_USAGE_DEVICES)) return;
    tt_bytes_varint(out, u->n_devices);
    for (uint32_t i = 0; i < u->n_devices; i++) {
        tt_bytes_varint(out, u->devices[i].device);
        tt_bytes_varint(out, u->devices[i].read_bytes);
        tt_bytes_varint(out, u->devices[i].reads);
    }
}

bool tt_usage_get(tt_cursor *c, tt_meta_usage *u)
{
    memset(u, 0, sizeof *u);
    u->batch = tt_cursor_varint32(c);
    u->moment = tt_cursor_u8(c);
    u->ticks = tt_cursor_u64(c);
    u->flags = tt_cursor_u8(c);
    if (u->flags & TT_USAGE_FAULTS) {
        u->minor = tt_cursor_varint(c);
        u->major = tt_cursor_varint(c);
        u->user_ns = tt_cursor_varint(c);
        u->system_ns = tt_cursor_varint(c);
    }
    if (u->flags & TT_USAGE_IO) {
        u->read_bytes = tt_cursor_varint(c);
        u->rchar = tt_cursor_varint(c);
    }
    if (!(u->flags & TT_USAGE_DEVICES)) return !c->failed;
    u->n_devices = tt_cursor_varint32(c);
    if (u->n_devices > TT_USAGE_DEVICES_MAX) {
        u->n_devices = 0;
        c->failed = true;
    }
    for (uint32_t i = 0; i < u->n_devices; i++) {
        u->devices[i].device = tt_cursor_varint(c);
        u->devices[i].read_bytes = tt_cursor_varint(c);
        u->devices[i].reads = tt_cursor_varint(c);
    }
    return !c->failed;
}

void tt_residency_put(tt_bytes *out, const tt_meta_residency *r)
{
    tt_bytes_varint(out, r->model);
    tt_bytes_varint(out, r->batch);
    tt_bytes_u8(out, r->moment);
    tt_bytes_u64(out, r->begin_ticks);
    tt_bytes_u64(out, r->end_ticks);
    tt_bytes_varint(out, r->page_bytes);
    tt_bytes_varint(out, r->first_page);
    tt_bytes_varint(out, r->n_pages);
    tt_bytes_varint(out, r->n_stretches);
}

bool tt_residency_get(tt_cursor *c, tt_meta_residency *r)
{
    r->model = tt_cursor_varint32(c);
    r->batch = tt_cursor_varint32(c);
    r->moment = tt_cursor_u8(c);
    r->begin_ticks = tt_cursor_u64(c);
    r->end_ticks = tt_cursor_u64(c);
    r->page_bytes = tt_cursor_varint32(c);
    r->first_page = tt_cursor_varint(c);
    r->n_pages = tt_cursor_varint(c);
    r->n_stretches = tt_cursor_varint32(c);
    if (r->n_stretches > tt_cursor_left(c)) c->failed = true;
    return !c->failed;
}
