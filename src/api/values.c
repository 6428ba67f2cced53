#include "api/reader.h"

#include <string.h>

_Static_assert(sizeof((tt_reader_value *)0)->prefix == sizeof((tt_fingerprint *)0)->prefix &&
                   sizeof((tt_reader_value *)0)->samples == sizeof((tt_fingerprint *)0)->samples,
               "the public arrays are those of a fingerprint");

static tt_reader_value public_value(const tt_output *o)
{
    const tt_fingerprint *p = &o->print;
    tt_reader_value v = {
        .node = o->node,
        .elements = p->n,
        .n_nan = p->n_nan,
        .n_inf = p->n_inf,
        .first_bad = p->first_bad,
        .has_range = p->has_range,
        .min = p->min,
        .max = p->max,
        .mean = p->mean,
        .rms = p->rms,
        .has_blake3 = p->has_blake3,
        .n_prefix = p->n_prefix,
        .n_samples = p->n_samples,
    };
    memcpy(v.hash, p->hash, sizeof v.hash);
    memcpy(v.blake3, p->blake3, sizeof v.blake3);
    memcpy(v.prefix, p->prefix, sizeof v.prefix);
    memcpy(v.samples, p->samples, sizeof v.samples);
    return v;
}

tt_status tt_reader_walk_values(tt_reader *reader, uint32_t run, tt_reader_visit_value *visit,
                                void *context, tt_error *err)
{
    tt_status status = tt_reader_need_run(reader, run, err);
    if (status == TT_OK) status = tt_outputs_of_run(&reader->outputs, reader->m, run, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < reader->outputs.n; i++) {
        const tt_reader_value v = public_value(&reader->outputs.list[i]);
        if (visit(context, &v)) break;
    }
    return TT_OK;
}
