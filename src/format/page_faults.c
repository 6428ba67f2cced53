#include "format/page_faults.h"

#include "format/pack.h"

enum column { THREAD, TICKS, ADDRESS, PLACE, COLUMNS };

static uint64_t value_of(const tt_page_fault *f, enum column what)
{
    switch (what) {
    case THREAD:
        return f->thread;
    case TICKS:
        return f->ticks;
    case ADDRESS:
        return f->address;
    default:
        return (uint64_t)f->mapping << 1 | f->major;
    }
}

static bool is_signed(enum column what)
{
    return what == THREAD || what == ADDRESS;
}

void tt_page_faults_put(tt_bytes *out, uint64_t begin_ticks, uint64_t end_ticks,
                        const tt_page_fault *faults, uint32_t n)
{
    uint64_t values[TT_PACK_FRAME];
    const tt_meta_page_faults r = {.begin_ticks = begin_ticks, .end_ticks = end_ticks, .n = n};
    tt_meta_put_page_faults(out, &r);
    for (enum column what = 0; what < COLUMNS; what++) {
        uint64_t before = what == TICKS ? begin_ticks : 0;
        for (uint32_t i = 0, k = 0; i < n; i++) {
            uint64_t v = value_of(&faults[i], what);
            values[k++] = what == PLACE     ? v
                          : is_signed(what) ? tt_zigzag_map((int64_t)(v - before))
                                            : v - before;
            before = v;
            if (k < TT_PACK_FRAME && i + 1 < n) continue;
            tt_pack_column(out, values, k); /* frames have no memory: a column is its frames */
            k = 0;
        }
    }
}

static bool set_value(tt_page_fault *f, enum column what, uint64_t v)
{
    switch (what) {
    case THREAD:
        f->thread = (uint32_t)v;
        return v <= UINT32_MAX;
    case TICKS:
        f->ticks = v;
        return true;
    case ADDRESS:
        f->address = v;
        return true;
    default:
        f->mapping = (uint32_t)(v >> 1) & TT_MAPPING_NONE;
        f->major = v & 1;
        return v >> 1 < TT_MAPPING_NONE;
    }
}

bool tt_page_faults_get(tt_cursor *c, const tt_meta_page_faults *r, tt_page_fault *faults)
{
    uint64_t values[TT_PACK_FRAME];
    if (r->n > TT_PAGE_FAULTS_MAX || r->end_ticks < r->begin_ticks) return false;
    for (enum column what = 0; what < COLUMNS; what++) {
        uint64_t before = what == TICKS ? r->begin_ticks : 0;
        for (uint32_t i = 0; i < r->n; i++) {
            const uint32_t k = i % TT_PACK_FRAME, left = r->n - i;
            if (k == 0 && !tt_unpack_column(c, values, left < TT_PACK_FRAME ? left : TT_PACK_FRAME))
                return false;
            uint64_t v = values[k];
            if (is_signed(what)) v = before + (uint64_t)tt_zigzag_unmap(v);
            if (what == TICKS && v > r->end_ticks - before) return false;
            if (what == TICKS) v += before;
            if (!set_value(&faults[i], what, v)) return false;
            before = v;
        }
    }
    return true;
}
