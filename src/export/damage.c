#include "export/damage.h"

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
