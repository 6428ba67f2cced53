/* buffer-timeline.json: the events add up to what is said of them. */
#include "dataset/verifier.h"

#include "base/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A buffer, while the timeline is gone through. */
typedef struct buffer {
    uint64_t id;
    const json_t *object;
    bool allocated, freed;
} buffer;

typedef struct timeline {
    tt_dataset_verifier *v;
    buffer *buffers; /* by id */
    size_t n;
    uint64_t sum, peak, active;
} timeline;

#define OFFEND(v, ...) TT_OFFEND(v, TT_CHECK_BUFFERS, __VA_ARGS__)

static buffer *find(const timeline *t, uint64_t id)
{
    size_t low;
    tt_lower_bound(low, t->n, t->buffers[low].id < id);
    return low < t->n && t->buffers[low].id == id ? &t->buffers[low] : NULL;
}

/* Ids count up, from 1: then they are sorted, and none is there twice. */
static bool take_buffers(timeline *t, const json_t *list)
{
    static const char *const usages[] = {"ANY", "WEIGHTS", "COMPUTE"};
    tt_dataset_verifier *v = t->v;
    const json_t *b;
    size_t i;
    t->buffers = calloc(json_array_size(list) + 1, sizeof *t->buffers);
    v->buffers = calloc(json_array_size(list) + 1, sizeof *v->buffers);
    v->no_memory |= !t->buffers || !v->buffers;
    if (v->no_memory) return false;
    json_array_foreach(list, i, b)
    {
        uint64_t id = tt_count_of(b, "id"), usage = tt_count_of(b, "usage");
        if (!TT_EXAMINE(v, TT_CHECK_ORDER, id > (t->n ? t->buffers[t->n - 1].id : 0))) {
            TT_OFFEND(v, TT_CHECK_ORDER,
                      "buffers[%zu] has the id %" PRIu64 ", which does not count up", i, id);
            continue;
        }
        if (usage > 2 || strcmp(tt_text_of(b, "usage_name"), usages[usage]) != 0)
            OFFEND(v, "buffer %" PRIu64 ": usage %" PRIu64 " is not %s", id, usage,
                   tt_text_of(b, "usage_name"));
        v->buffers[t->n] = id;
        t->buffers[t->n++] = (buffer){.id = id, .object = b};
    }
    v->n_buffers = t->n;
    v->has_buffers = true;
    return true;
}

static bool same_ms(double a, double b)
{
    return fabs(a - b) <= 1e-6;
}

static void take_alloc(timeline *t, buffer *b, double ms)
{
    if (b->allocated) OFFEND(t->v, "buffer %" PRIu64 " is allocated twice", b->id);
    if (!same_ms(ms, tt_number_of(b->object, "alloc_time_ms")))
        OFFEND(t->v, "buffer %" PRIu64 " is allocated at another time than alloc_time_ms", b->id);
    b->allocated = true;
    t->active++;
    t->sum += tt_count_of(b->object, "size");
    if (t->sum > t->peak) t->peak = t->sum;
}

static void take_dealloc(timeline *t, buffer *b, double ms)
{
    const json_t *freed = json_object_get(b->object, "dealloc_time_ms");
    if (!b->allocated || b->freed) {
        OFFEND(t->v, "buffer %" PRIu64 " is freed, but is not there", b->id);
        return;
    }
    if (!json_is_number(freed) || !same_ms(ms, json_number_value(freed)))
        OFFEND(t->v, "buffer %" PRIu64 " is freed at another time than dealloc_time_ms", b->id);
    b->freed = true;
    t->active--;
    t->sum -= tt_count_of(b->object, "size");
}

static void take_event(timeline *t, const json_t *e, size_t i, double ms_before)
{
    tt_dataset_verifier *v = t->v;
    uint64_t id = tt_count_of(e, "buffer_id");
    double ms = tt_number_of(e, "timestamp_ms");
    buffer *b = find(t, id);
    v->checks[TT_CHECK_BUFFERS].examined++;
    if (!TT_EXAMINE(v, TT_CHECK_ORDER, i == 0 || ms >= ms_before))
        TT_OFFEND(v, TT_CHECK_ORDER, "timeline[%zu] is earlier than the event before it", i);
    if (!b) {
        OFFEND(v, "timeline[%zu] is of buffer %" PRIu64 ", which is not listed", i, id);
        return;
    }
    if (strcmp(tt_text_of(e, "buffer_name"), tt_text_of(b->object, "name")) != 0 ||
        tt_count_of(e, "size") != tt_count_of(b->object, "size"))
        OFFEND(v, "timeline[%zu] has another name or size than buffer %" PRIu64, i, id);
    if (strcmp(tt_text_of(e, "event"), "alloc") == 0)
        take_alloc(t, b, ms);
    else
        take_dealloc(t, b, ms);
    if (tt_count_of(e, "cumulative_size") != t->sum)
        OFFEND(v, "timeline[%zu]: cumulative_size is %" PRIu64 "; the sizes add up to %" PRIu64, i,
               tt_count_of(e, "cumulative_size"), t->sum);
    if (tt_count_of(e, "num_active_buffers") != t->active)
        OFFEND(v, "timeline[%zu]: num_active_buffers is %" PRIu64 "; there are %" PRIu64, i,
               tt_count_of(e, "num_active_buffers"), t->active);
}

static void check_ends(const timeline *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const buffer *b = &t->buffers[i];
        bool has_end = !json_is_null(json_object_get(b->object, "dealloc_time_ms"));
        if (!b->allocated)
            OFFEND(t->v, "buffer %" PRIu64 " has no alloc event", b->id);
        else if (b->freed != has_end)
            OFFEND(t->v, "buffer %" PRIu64 " has a dealloc_time_ms or a dealloc event, not both",
                   b->id);
    }
}

static void check_metadata(const timeline *t, const json_t *m, const json_t *events)
{
    tt_dataset_verifier *v = t->v;
    size_t n = json_array_size(events);
    double first = tt_number_of(json_array_get(events, 0), "timestamp_ms");
    double last = n ? tt_number_of(json_array_get(events, n - 1), "timestamp_ms") : first;
    uint64_t breakdown = 0;
    const char *key;
    json_t *count;
    json_object_foreach(json_object_get(m, "usage_breakdown"), key, count) breakdown +=
        (uint64_t)json_integer_value(count);
    tt_dataset_check_count(v, "total_events", tt_count_of(m, "total_events"), n);
    tt_dataset_check_count(v, "total_buffers", tt_count_of(m, "total_buffers"), t->n);
    tt_dataset_check_count(v, "usage_breakdown", breakdown, t->n);
    tt_dataset_check_count(v, "peak_occupancy_bytes", tt_count_of(m, "peak_occupancy_bytes"),
                           t->peak);
    if (!TT_EXAMINE(v, TT_CHECK_COUNTS,
                    fabs(tt_number_of(m, "peak_occupancy_mb") - (double)t->peak / (1 << 20)) <
                        0.01))
        TT_OFFEND(v, TT_CHECK_COUNTS, "peak_occupancy_mb is %g; %" PRIu64 " bytes are %g MiB",
                  tt_number_of(m, "peak_occupancy_mb"), t->peak, (double)t->peak / (1 << 20));
    if (n && !TT_EXAMINE(v, TT_CHECK_COUNTS, same_ms(tt_number_of(m, "duration_ms"), last - first)))
        TT_OFFEND(v, TT_CHECK_COUNTS, "duration_ms is %g; the events span %g",
                  tt_number_of(m, "duration_ms"), last - first);
}

void tt_dataset_check_buffers(tt_dataset_verifier *v, const json_t *file)
{
    timeline t = {.v = v};
    const json_t *events = json_object_get(file, "timeline"), *e;
    double before = 0;
    size_t i;
    if (take_buffers(&t, json_object_get(file, "buffers"))) {
        json_array_foreach(events, i, e)
        {
            take_event(&t, e, i, before);
            before = tt_number_of(e, "timestamp_ms");
        }
        check_ends(&t);
        check_metadata(&t, json_object_get(file, "metadata"), events);
    }
    free(t.buffers);
}
