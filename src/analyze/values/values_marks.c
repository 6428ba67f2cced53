#include "analyze/values/values_marks.h"

#include "analyze/join.h"
#include "analyze/values/values_walk.h"

#include <stdlib.h>
#include <string.h>

typedef struct building {
    const tt_model *m;
    tt_values_marks *out;
    size_t capacity;
} building;

static bool has_room(building *b)
{
    if (b->out->n < b->capacity) return true;
    size_t larger = b->capacity ? b->capacity * 2 : 256;
    tt_values_mark *more = realloc(b->out->list, larger * sizeof *more);
    if (!more) return false;
    b->out->list = more;
    b->capacity = larger;
    return true;
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    building *b = context;
    (void)w;
    if (!seen->print || !tt_values_state_is_bad(seen->state)) return TT_OK;
    if (b->out->total++ >= TT_VALUES_MARKS_MAX) return TT_OK;
    if (!has_room(b)) return tt_error_memory(err, "marks of values");
    const uint32_t batch = b->m->runs[seen->run].batch;
    b->out->list[b->out->n++] = (tt_values_mark){
        .run = seen->run,
        .node = seen->node,
        .op = seen->first,
        .layer = b->m->graphs[seen->graph].tensors[seen->node].place.layer_id,
        .token = batch == TT_NONE ? TT_NONE : tt_model_token(b->m, batch),
        .n_nan = seen->print->n_nan,
        .n_inf = seen->print->n_inf,
    };
    return TT_OK;
}

/* When the ops of the marks were computed. */
static tt_status find_times(building *b, const tt_over *over, tt_error *err)
{
    tt_join j = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < b->out->n && status == TT_OK; i++) {
        tt_values_mark *mark = &b->out->list[i];
        if (i == 0 || mark->run != mark[-1].run) {
            status = tt_over_check(over, err);
            if (status == TT_OK) status = tt_join_run(&j, b->m, mark->run, err);
        }
        if (status != TT_OK || !j.graph || j.n_touched == 0) continue;
        const tt_joined *op = &j.ops[mark->op];
        mark->timed = op->stamp == j.stamp && !op->open;
        if (!mark->timed) continue;
        mark->start = op->start;
        mark->end = op->start + tt_joined_ticks(op);
    }
    tt_join_free(&j);
    return status;
}

tt_status tt_values_marks_make(const tt_model *m, const tt_over *over, tt_values_marks *out,
                               tt_error *err)
{
    static const tt_values_query everything;
    tt_values_counts counts = {0};
    building b = {.m = m, .out = out};
    memset(out, 0, sizeof *out);
    if (!tt_outputs_any(m)) return TT_OK;
    tt_status status = tt_values_walk_all(m, &everything, false, over, take, &b, &counts, err);
    if (status == TT_OK && m->clock.known) status = find_times(&b, over, err);
    return status;
}

void tt_values_marks_free(tt_values_marks *marks)
{
    free(marks->list);
    memset(marks, 0, sizeof *marks);
}
