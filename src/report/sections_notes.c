/* What people noted on the trace, in the viewer. */
#include "notes/notes.h"
#include "report/sections.h"

static const char *where(tt_page *p, const tt_note *n)
{
    return tt_page_format(
        p, "%s%s%s%s",
        n->has_batch ? tt_page_format(p, "token %llu", (unsigned long long)n->batch_id) : "",
        n->has_layer ? tt_page_format(p, "%slayer %s", n->has_batch ? ", " : "",
                                      tt_format_layer(p, (int64_t)n->layer_id))
                     : "",
        n->tensor ? tt_page_format(p, "%s%s", n->has_batch || n->has_layer ? ", " : "", n->tensor)
                  : "",
        n->has_time
            ? tt_page_format(p, "%sat %s", n->has_batch || n->has_layer || n->tensor ? ", " : "",
                             tt_format_ns(p, n->time_ns))
            : "");
}

void tt_section_notes(tt_page *p, const tt_analysis *a)
{
    tt_notes notes = {0};
    tt_error err;
    const tt_status status = tt_notes_read(a->path, &notes, &err);
    if (status != TT_OK || notes.n > 0) tt_page_section_begin(p, "notes", "Notes");
    if (status != TT_OK) tt_page_add(p, TT_BLOCK_TEXT, "They cannot be read: %s.", err.message);
    for (size_t i = 0; status == TT_OK && i < notes.n; i++) {
        const char *place = where(p, &notes.list[i]);
        tt_page_add(p, TT_BLOCK_POINT, "%s%s%s", place, *place ? ": " : "", notes.list[i].text);
    }
    tt_notes_free(&notes);
}
