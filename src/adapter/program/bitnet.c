#include "adapter/program/bitnet.h"

#include "adapter/ggml/process.h"
#include "adapter/program/describe.h"
#include "adapter/program/engine.h"
#include "adapter/program/sink.h"
#include "bitnet/write.h"
#include "gguf/types.h"
#include "record/place.h"
#include "value/fingerprint.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[PATH_MAX];
static tt_bitnet_layout layout;
static tt_bitnet_writer *writer;
static bool refused; /* the folder cannot be used; reported once, if possible */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tt_program_bitnet_begin(const char *path, bool lines)
{
    layout = lines ? TT_BITNET_ONE_LINE : TT_BITNET_PRETTY;
    /* The program may change its working directory. */
    if (tt_place_absolute(folder, sizeof folder, path, NULL) != TT_OK) folder[0] = '\0';
}

void tt_program_bitnet_reset(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
    writer = NULL;
    refused = true; /* parent and child cannot both number their files */
}

static tt_error problem; /* the first problem */

/* Reports the first problem where it will be seen. */
static void report_problem(const char *message)
{
    static _Atomic bool reported;
    tt_recorder *r = tt_process_recorder_if_open();
    if (atomic_exchange(&reported, true)) return;
    (void)snprintf(problem.message, sizeof problem.message, "%s", message);
    tt_process_problem(message);
    if (!r) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_process_environment(r, "bitnet_problem", message);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

const char *tt_program_bitnet_problem(void)
{
    return problem.message;
}

static tt_bitnet_writer *get_writer(void)
{
    tt_error err = {.message = ""};
    (void)pthread_mutex_lock(&lock);
    if (!writer && !refused && folder[0] &&
        tt_bitnet_writer_open(folder, layout, &writer, &err) != TT_OK) {
        refused = true;
        writer = NULL;
    }
    tt_bitnet_writer *w = writer;
    (void)pthread_mutex_unlock(&lock);
    if (err.message[0]) report_problem(err.message);
    return w;
}

/* Adds them in order, as BitNet.rs does; a fingerprint has sixteen sums. */
static double rms_of(const tt_value_data *v, uint64_t n)
{
    enum { SOME = 256 }; /* whole blocks of every type */
    const uint8_t *at = v->data;
    size_t block = tt_value_block_elements(v->type), bytes = tt_value_block_bytes(v->type);
    float some[SOME];
    double sum = 0;
    for (uint64_t first = 0; first < n; first += SOME) {
        size_t k = n - first < SOME ? (size_t)(n - first) : SOME;
        tt_value_to_f32(v->type, at + first / block * bytes, k, some);
        for (size_t i = 0; i < k; i++)
            sum += (double)some[i] * (double)some[i];
    }
    return sqrt(sum / (double)n);
}

/* The fingerprint of no elements; BLAKE3 of nothing (its test vectors, input_len 0). */
static void of_nothing(tt_fingerprint *f)
{
    static const uint8_t blake3[32] = {0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6,
                                       0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9, 0x49,
                                       0x9b, 0xcb, 0x25, 0xc9, 0xad, 0xc1, 0x12, 0xb7,
                                       0xcc, 0x9a, 0x93, 0xca, 0xe4, 0x1f, 0x32, 0x62};
    memset(f, 0, sizeof *f);
    f->has_blake3 = true;
    memcpy(f->blake3, blake3, sizeof blake3);
}

/* False when the shape does not fit the type, or if out of memory. */
static bool fingerprint(const tt_value_data *v, tt_fingerprint *f)
{
    uint32_t n = tt_value_pieces(v);
    if (v->ne[0] == 0 || v->ne[1] == 0 || v->ne[2] == 0 || v->ne[3] == 0) {
        of_nothing(f);
        return true;
    }
    tt_value_piece *pieces = n ? malloc(n * sizeof *pieces) : NULL;
    if (!pieces) return false;
    tt_value_look(v, f);
    for (uint32_t k = 0; k < n; k++)
        tt_value_take(v, k, TT_VALUE_WITH_BLAKE3, &pieces[k]);
    tt_value_finish(pieces, n, TT_VALUE_WITH_BLAKE3, f);
    free(pieces);
    return true;
}

/* A record, and what it points to. */
typedef struct described {
    tt_bitnet_record record;
    tt_fingerprint print;
    uint64_t shape[TT_RECORD_DIMS];
} described;

/* False if the value's type is unknown, or out of memory. */
static bool describe(const tt_record_tensor *value, const struct ggml_tensor *t, int32_t layer,
                     const char *stage, int64_t position, described *out)
{
    const tt_ggml_type *type = tt_ggml_type_find((uint32_t)t->type);
    tt_value_data v = {.data = value->data};
    tt_fingerprint *f = &out->print;
    if (!type) return false;
    v.type = tt_value_type_of(tt_program_engine()->type_name(t->type));
    for (unsigned d = 0; d < TT_VALUE_DIMS; d++) {
        v.ne[d] = (uint64_t)t->ne[d];
        v.nb[d] = t->nb[d];
    }
    if (v.type == TT_VALUE_UNKNOWN || !fingerprint(&v, f)) return false;
    for (unsigned d = 0; d < value->n_dims; d++)
        out->shape[d] = value->ne[value->n_dims - 1 - d];
    out->record = (tt_bitnet_record){.name = value->name,
                                     .shape = out->shape,
                                     .n_dims = value->n_dims,
                                     .dtype = type->name,
                                     .has_blake3 = f->has_blake3,
                                     .has_rms = f->has_range && !f->n_nan && !f->n_inf,
                                     .n_elements = f->n,
                                     .has_first_values = f->n_prefix > 0,
                                     .first_values = f->prefix,
                                     .n_first_values = f->n_prefix,
                                     .has_seq = position >= 0,
                                     .seq = position >= 0 ? (uint64_t)position : 0,
                                     .has_layer = stage && stage[0],
                                     .layer = layer,
                                     .stage = stage && stage[0] ? stage : NULL};
    memcpy(out->record.blake3, f->blake3, sizeof out->record.blake3);
    /* Without strides, the elements are contiguous. */
    if (out->record.has_rms) out->record.rms = value->nb[0] ? f->rms : rms_of(&v, f->n);
    return true;
}

void tt_program_bitnet_put(const tt_record_tensor *value, const struct ggml_tensor *t,
                           int32_t layer, const char *stage, int64_t position)
{
    tt_bitnet_writer *w = folder[0] ? get_writer() : NULL;
    const bool in_sink = tt_program_sinks_want(value->name);
    described d;
    tt_error err;
    if ((!w && !in_sink) || !describe(value, t, layer, stage, position, &d)) return;
    if (in_sink) tt_program_sinks_take(value, &d.record, layer, tt_program_sink_position(position));
    if (w && tt_bitnet_writer_put(w, &d.record, NULL, &err) != TT_OK) report_problem(err.message);
}

void tt_program_bitnet_output(const tt_record_tensor *output)
{
    described d;
    struct ggml_tensor t;
    const bool fits = output->n_dims >= 1 && output->n_dims <= TT_RECORD_DIMS;
    if (!fits || !output->name || !output->name[0] || !output->data ||
        !tt_program_sinks_want(output->name))
        return;
    tt_program_tensor(output, &t);
    if (!describe(output, &t, output->layer, output->stage, TT_NO_POSITION, &d)) return;
    const int32_t layer = output->stage && output->stage[0] ? output->layer : TT_NO_LAYER;
    tt_program_sinks_take(output, &d.record, layer, tt_program_sink_position(TT_NO_POSITION));
}
