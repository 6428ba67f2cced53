/* /api/v1/traces/ID/roofline: FLOPs and bytes of ops; /api/v1/machine: this machine's limits,
 * measured only on request. */
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

/* The last measurement of this process. */
static pthread_mutex_t measured_lock = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static bool is_measured;
static tt_machine measured;
/* Concurrent measurements would disturb each other. */
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

/* The document. */
typedef struct machine_row {
    int64_t cpus;
    bool is_measured;
    tt_machine machine;
} machine_row;

TT_COLUMN_KNOWN(has_bandwidth, tt_machine, x, x->read_bytes_per_s > 0)
TT_COLUMN_KNOWN(has_flops, tt_machine, x, x->flops_per_s > 0)
TT_COLUMN_KNOWN(has_int8, tt_machine, x, x->int8_ops_per_s > 0)
TT_COLUMN_ROWS(last, machine_row, r, &r->machine, r->is_measured)

static const tt_column measured_columns[] = {
    TT_FIELD("threads", "that measured", TT_MEMBER(tt_machine, threads)),
    TT_FIELD("bandwidth_bytes_per_s", "reading memory", TT_MEMBER(tt_machine, read_bytes_per_s),
             .known = has_bandwidth),
    TT_FIELD("peak_flops_per_s", "of floats", TT_MEMBER(tt_machine, flops_per_s),
             .known = has_flops),
    TT_FIELD("peak_int8_ops_per_s", "of bytes", TT_MEMBER(tt_machine, int8_ops_per_s),
             .known = has_int8),
    TT_FIELD("vectors", "instructions for floats", TT_MEMBER(tt_machine, vectors)),
    TT_FIELD("int8", "instructions for bytes", TT_MEMBER(tt_machine, int8)),
    TT_FIELD("buffer_bytes", "that were read", TT_MEMBER(tt_machine, buffer_bytes)),
    TT_FIELD("took_ns", "to measure", TT_MEMBER(tt_machine, took_ns)),
};
static const tt_schema measured_schema = TT_SCHEMA("measured", "at most", measured_columns);
static const tt_column machine_columns[] = {
    TT_FIELD("cpus", "that are there", TT_MEMBER(machine_row, cpus)),
    TT_FIELD("measured", "null: not yet", .type = TT_CELL_OBJECT, .inner = &measured_schema,
             .rows = last),
};
static const tt_schema machine_schema = TT_SCHEMA("machine", "this one", machine_columns);

tt_status tt_answer_machine(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const yes_no[] = {"0", "1", NULL};
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = 0;
    uint64_t threads;
    machine_row row = {.cpus = cpus > 0 ? cpus : 1};
    if (!tt_request_choice(q, "measure", yes_no, 0, &wanted, err) ||
        !tt_request_u64(q, "threads", 1, TT_MACHINE_THREADS_MAX, cpus > 0 ? (uint64_t)cpus : 1,
                        &threads, err))
        return TT_E_USAGE;
    /* A temporary lack of memory or threads is not the server's error. */
    if (wanted && measure((unsigned)threads, err) != TT_OK) return err->status = TT_E_LIMIT;
    row.is_measured = last_measured(&row.machine);
    return tt_reply_row(r, &machine_schema, NULL, &row);
}

/* --- the points --- */

typedef struct points {
    tt_work work; /* holds the rollups' texts */
    tt_rollups rollups;
} points;

static void release(points *p)
{
    free(p->rollups.list);
    tt_work_free(&p->work);
}

static tt_status find(points *p, tt_model *m, tt_error *err)
{
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = tt_work_measure(m, &p->work, NULL, NULL, err);
    if (status == TT_OK && !tt_rollups_of(&p->work, m, TT_ROLLUP_POINT, &p->rollups))
        status = tt_error_memory(err, "the roofline");
    return status;
}

TT_SOURCE_MEMO(memo, points, "the roofline", find, release)

tt_status tt_answer_roofline(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made = NULL;
    tt_machine x;
    tt_peaks peaks = {0};
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    const points *p = made;
    if (last_measured(&x)) peaks = (tt_peaks){x.read_bytes_per_s, x.flops_per_s, x.int8_ops_per_s};
    tt_roofline_json(tt_reply_json(r), tt_traces_path(q->traces, q->trace_id), &p->rollups, &peaks);
    return TT_OK;
}
