#include "adapter/program/sink.h"

#include "adapter/program/bitnet.h"
#include "adapter/program/describe.h"
#include "adapter/program/recording.h"
#include "base/array.h"

#include <fnmatch.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 65536u /* the default */

struct tt_value_sink {
    struct tt_value_sink *next;
    char *names; /* a pattern; NULL: any */
    size_t values_max;
    uint64_t left_out;
    tt_sink_value *values;
    size_t n, capacity;
};

static tt_value_sink *sinks;
_Atomic uint32_t tt_program_n_sinks;
/* Guards all sinks and their list. Nothing called with it takes another lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* A child has a copy of the sinks, whose lock nobody else holds. */
static void follow_forks(void)
{
    (void)pthread_atfork(take_lock, give_lock, give_lock);
}

static bool matches(const char *names, const char *name)
{
    return !names || fnmatch(names, name, 0) == 0;
}

/* --- the program's calls --- */

tt_value_sink *(tt_value_sink_open)(const char *names, size_t values_max)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    tt_value_sink *s = calloc(1, sizeof *s);
    if (s && names) s->names = strdup(names);
    if (!s || (names && !s->names)) {
        free(s);
        return NULL;
    }
    (void)pthread_once(&once, follow_forks);
    s->values_max = values_max ? values_max : VALUES_MAX;
    take_lock();
    s->next = sinks;
    sinks = s;
    if (atomic_fetch_add(&tt_program_n_sinks, 1) == 0) tt_program_record_sinks(true);
    give_lock();
    return s;
}

void(tt_value_sink_close)(tt_value_sink *sink)
{
    if (!sink) return;
    take_lock();
    for (tt_value_sink **at = &sinks; *at; at = &(*at)->next)
        if (*at == sink) {
            *at = sink->next;
            break;
        }
    if (atomic_fetch_sub(&tt_program_n_sinks, 1) == 1) tt_program_record_sinks(false);
    give_lock();
    free(sink->values);
    free(sink->names);
    free(sink);
}

void(tt_value_sink_clear)(tt_value_sink *sink)
{
    if (!sink) return;
    take_lock();
    sink->n = 0;
    sink->left_out = 0;
    give_lock();
}

size_t(tt_value_sink_count)(tt_value_sink *sink, const char *names)
{
    size_t count = 0;
    if (!sink) return 0;
    take_lock();
    for (size_t i = 0; i < sink->n; i++)
        count += matches(names, sink->values[i].name);
    give_lock();
    return count;
}

uint64_t(tt_value_sink_left_out)(tt_value_sink *sink)
{
    if (!sink) return 0;
    take_lock();
    const uint64_t left_out = sink->left_out;
    give_lock();
    return left_out;
}

int(tt_value_sink_get)(tt_value_sink *sink, const char *names, size_t i, tt_sink_value *out)
{
    bool found = false;
    if (!sink || !out) return 0;
    take_lock();
    for (size_t k = 0; k < sink->n && !found; k++) {
        if (!matches(names, sink->values[k].name)) continue;
        found = i-- == 0;
        if (found) *out = sink->values[k];
    }
    give_lock();
    return found;
}

/* --- values --- */

bool tt_program_sinks_want(const char *name)
{
    bool wanted = false;
    if (!tt_program_sinks_open()) return false;
    take_lock();
    for (const tt_value_sink *s = sinks; s && !wanted; s = s->next)
        wanted = matches(s->names, name);
    give_lock();
    return wanted;
}

static void fill(tt_sink_value *v, const tt_record_tensor *value, const tt_bitnet_record *r,
                 int32_t layer, int64_t position)
{
    memset(v, 0, sizeof *v);
    memcpy(v->name, value->name, strnlen(value->name, TT_RECORD_NAME_MAX));
    if (r->stage) memcpy(v->stage, r->stage, strnlen(r->stage, TT_RECORD_NAME_MAX));
    v->layer = layer;
    v->position = position;
    v->type = value->type;
    v->n_dims = value->n_dims;
    memcpy(v->ne, value->ne, sizeof v->ne);
    v->n_elements = r->n_elements;
    v->rms = r->has_rms ? r->rms : (double)NAN;
    memcpy(v->blake3, r->blake3, sizeof v->blake3);
    v->n_first = r->n_first_values < TT_SINK_FIRST ? r->n_first_values : TT_SINK_FIRST;
    for (unsigned i = 0; i < v->n_first; i++)
        v->first[i] = r->first_values[i];
}

void tt_program_sinks_take(const tt_record_tensor *value, const tt_bitnet_record *record,
                           int32_t layer, int64_t position)
{
    tt_sink_value v;
    fill(&v, value, record, layer, position);
    take_lock();
    for (tt_value_sink *s = sinks; s; s = s->next) {
        if (!matches(s->names, v.name)) continue;
        if (s->n < s->values_max && tt_array_one_more(s->values, s->n, s->capacity))
            s->values[s->n++] = v;
        else
            s->left_out++;
    }
    give_lock();
}

/* --- ops --- */

/* The current op of this thread, and the position of its batch. */
__thread bool tt_program_sink_holds __attribute__((tls_model("initial-exec")));
static __thread struct {
    tt_record_tensor output;
    char name[TT_RECORD_NAME_MAX + 1], stage[TT_RECORD_NAME_MAX + 1];
    bool has_position;
    int64_t position;
} op __attribute__((tls_model("initial-exec")));

int64_t tt_program_sink_position(int64_t position)
{
    return position != TT_NO_POSITION || !op.has_position ? position : op.position;
}

static char *copy(char out[TT_RECORD_NAME_MAX + 1], const char *text)
{
    const size_t n = text ? strnlen(text, TT_RECORD_NAME_MAX) : 0;
    if (n) memcpy(out, text, n);
    out[n] = '\0';
    return out;
}

void tt_program_sink_hold(const tt_record_tensor *output)
{
    if (!output || !output->name || !output->data) return;
    tt_program_sink_holds = true;
    op.output = *output;
    op.output.n_sources = 0;
    op.output.name = copy(op.name, output->name);
    op.output.stage = copy(op.stage, output->stage);
}

void tt_program_sink_take(void)
{
    tt_program_sink_holds = false;
    tt_program_bitnet_output(&op.output);
}

void tt_program_sink_batch(const tt_record_batch *batch)
{
    tt_program_sink_end();
    op.has_position = batch && batch->n_tokens && batch->positions;
    if (op.has_position) op.position = batch->positions[0];
}
