#include "analyze/stream.h"

size_t tt_stream_length(const tt_stream *s)
{
    return s->twice ? 2 * s->n : s->n;
}

bool tt_stream_next(const tt_stream *s, tt_stream_at *a)
{
    if (a->next >= tt_stream_length(s)) return false;
    size_t at = a->next < s->n ? a->next : a->next - s->n;
    if (at == 0) a->section = 0;
    while (a->section + 1 < s->n_sections && s->sections[a->section + 1].first <= at)
        a->section++;
    a->group = s->sections[a->section].group;
    a->extent = &s->extents[s->order[at]];
    a->counts = !s->twice || a->next >= s->n;
    a->next++;
    return true;
}
