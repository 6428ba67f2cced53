/* The values of two traces compared, as the JSON of diff/values. */
#include "answer/valuediff.h"
#include "base/json.h"
#include "serve/comparison_make.h"
#include "serve/reply_body.h"
#include "serve/traces.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct sides {
    tt_stages *stages;
    tt_dump *a, *b;
    tt_valuediff *d;
} sides;

static tt_status compare(tt_request *q, const tt_comparison_options *o, const char *const paths[2],
                         sides *s, tt_error *err)
{
    const tt_valuediff_options options = {.items_max = o->items, .over = tt_request_over(q)};
    s->stages = tt_stages_builtin();
    if (!s->stages) return tt_error_memory(err, "the comparison of values");
    tt_status status = tt_dump_of_trace(q->m, paths[0], s->stages, &s->a, err);
    if (status == TT_OK) status = tt_dump_of_trace(q->other, paths[1], s->stages, &s->b, err);
    if (status == TT_OK) status = tt_valuediff_make(s->a, s->b, &options, &s->d, err);
    return status;
}

static tt_status write_json(const tt_valuediff *d, const char *const paths[2], tt_bytes *out,
                            tt_error *err)
{
    tt_json *j = malloc(sizeof *j);
    FILE *stream = j ? tt_reply_stream(out) : NULL;
    bool written = false;
    if (stream) {
        tt_json_begin(j, stream, 0);
        tt_valuediff_json(j, d, paths);
        written = tt_json_end(j);
        written &= fclose(stream) == 0;
    }
    free(j);
    if (!stream) return tt_error_memory(err, "the comparison of values");
    if (written) return TT_OK;
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "the comparison has more rows than a reply holds; "
                        "`tensortrace diff --values --json` prints all of them");
}

tt_status tt_comparison_make_values(tt_request *q, const tt_comparison_options *o, tt_bytes *out,
                                    tt_error *err)
{
    const char *const paths[2] = {tt_traces_path(q->traces, q->trace_id),
                                  tt_traces_path(q->traces, q->other_id)};
    sides s = {0};
    tt_status status = compare(q, o, paths, &s, err);
    if (status == TT_OK) status = write_json(s.d, paths, out, err);
    tt_valuediff_free(s.d);
    tt_dump_close(s.a);
    tt_dump_close(s.b);
    tt_stages_free(s.stages);
    return status;
}
