#include "analyze/heat_steps.h"

void tt_heat_step(tt_heat_steps *s, const tt_heat_place *last, const tt_heat_place *next)
{
    s->steps++;
    if (last->file != next->file) {
        s->other_file++;
    } else if (next->begin >= last->end) {
        uint64_t gap = next->begin - last->end;
        if (gap <= TT_HEAT_PADDING_BYTES) {
            s->adjacent++;
            return;
        }
        s->forward.count++;
        tt_quantiles_add(&s->forward.lengths, gap);
    } else if (next->begin >= last->begin) {
        s->again++;
    } else {
        uint64_t jump = last->begin - next->begin;
        s->backward.count++;
        s->sweeps += jump > next->span_bytes / 2;
        tt_quantiles_add(&s->backward.lengths, jump);
    }
}
