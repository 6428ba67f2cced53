/* /api/v1/traces/ID/roofline: what ops compute and move; /api/v1/machine: what this machine can do
 * at most, measured when somebody asks for it and never else. */
#include "answer/roofline.h"
#include "machine/measure.h"
#include "serve/endpoints.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the machine --- */

/* What was measured last by this process. */
static pthread_mutex_t measured_lock = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static bool is_measured;
static tt_machine measured;
/* Two measurements at a time would measure each other. */
static pthread_mutex_t measuring = PTHREAD_MUTEX_INITIALIZER;

static bool last_measured(tt_machine *out)
{
    (void)pthread_mutex_lock(&measured_lock);
    bool known = is_measured;
    *out = measured;
    (void)pthread_mutex_unlock(&measured_lock);
    return known;
}

static tt_status measure(unsigned threads, tt_error *err)
{
    tt_machine now;
    (void)pthread_mutex_lock(&measuring);
    tt_status status = tt_machine_measure(threads, &now, err);
    if (status == TT_OK) {
        (void)pthread_mutex_lock(&measured_lock);
        measured = now;
        is_measured = true;
        (void)pthread_mutex_unlock(&measured_lock);
    }
    (void)pthread_mutex_unlock(&measuring);
    return status;
}

static void put_machine(tt_json *j, const tt_machine *x)
{
    tt_json_object(j);
    tt_json_kv_u64(j, "threads", x->threads);
    tt_json_kv_double_or_null(j, "bandwidth_bytes_per_s", x->read_bytes_per_s > 0,
                              x->read_bytes_per_s);
    tt_json_kv_double_or_null(j, "peak_flops_per_s", x->flops_per_s > 0, x->flops_per_s);
    tt_json_kv_double_or_null(j, "peak_int8_ops_per_s", x->int8_ops_per_s > 0, x->int8_ops_per_s);
    tt_json_kv_string(j, "vectors", x->vectors);
    tt_json_kv_string(j, "int8", x->int8);
    tt_json_kv_u64(j, "buffer_bytes", x->buffer_bytes);
    tt_json_kv_double(j, "took_ns", x->took_ns);
    tt_json_object_end(j);
}

tt_status tt_answer_machine(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const yes_no[] = {"0", "1", NULL};
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = 0;
    uint64_t threads;
    tt_machine x;
    if (!tt_request_choice(q, "measure", yes_no, 0, &wanted, err) ||
        !tt_request_u64(q, "threads", 1, TT_MACHINE_THREADS_MAX, cpus > 0 ? (uint64_t)cpus : 1,
                        &threads, err))
        return TT_E_USAGE;
    /* That there is too little memory or too few threads at the moment is no fault of the server.
     */
    if (wanted && measure((unsigned)threads, err) != TT_OK) return err->status = TT_E_LIMIT;
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    tt_json_object(j);
    tt_json_kv_u64(j, "cpus", cpus > 0 ? (uint64_t)cpus : 1);
    tt_json_key(j, "measured");
    if (last_measured(&x))
        put_machine(j, &x);
    else
        tt_json_null(j);
    tt_json_object_end(j);
    return TT_OK;
}

/* --- the points --- */

typedef struct points {
    tt_work work; /* the rollups' texts are in it */
    tt_rollups rollups;
} points;

static void drop(void *made)
{
    points *p = made;
    free(p->rollups.list);
    tt_work_free(&p->work);
    free(p);
}

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    points *p = calloc(1, sizeof *p);
    if (!p) return tt_error_memory(err, "the roofline");
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = tt_work_measure(m, &p->work, NULL, NULL, err);
    if (status == TT_OK && !tt_rollups_of(&p->work, m, TT_ROLLUP_POINT, &p->rollups))
        status = tt_error_memory(err, "the roofline");
    if (status != TT_OK)
        drop(p);
    else
        *out = p;
    return status;
}

tt_status tt_answer_roofline(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_source_memo memo = {make, drop};
    const void *made = NULL;
    tt_machine x;
    tt_peaks peaks = {0};
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    const points *p = made;
    if (last_measured(&x)) peaks = (tt_peaks){x.read_bytes_per_s, x.flops_per_s, x.int8_ops_per_s};
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    tt_roofline_json(j, tt_traces_path(q->traces, q->trace_id), &p->rollups, &peaks);
    return TT_OK;
}
