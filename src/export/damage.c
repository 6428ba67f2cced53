#include "export/damage.h"

#include "analyze/copies.h"
#include "export/export.h"

#include <stdio.h>

tt_status tt_damage_count(const tt_model *m, uint64_t *chunks, tt_error *err)
{
    *chunks = 0;
    tt_status status = tt_pieces_survey(m->pieces, err);
    if (status == TT_OK) status = tt_details_survey(m->details, err);
    if (status != TT_OK) return status;
    *chunks = tt_pieces_damaged(m->pieces, NULL) + tt_details_damaged(m->details, NULL);
    *chunks += m->meta_damage.status != TT_OK;
    return TT_OK;
}

bool tt_damage_is_complete(const tt_model *m, uint64_t chunks)
{
    return m->trace.complete && chunks == 0;
}

void tt_export_note_copies(const tt_model *m, const tt_export_options *options, bool placed)
{
    char text[TT_COPIES_TEXT], note[TT_COPIES_TEXT + 80];
    tt_copies copies;
    if (!options->note || options->copies_as_file || !tt_copies_find(m, &copies)) return;
    if (!*tt_copies_text(&copies, text)) return;
    (void)snprintf(note, sizeof note, "%s%s", text,
                   placed ? "; " TT_COPIES_OPTION " gives them their place in it" : "");
    options->note(options->note_context, note);
}
