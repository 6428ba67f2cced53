/* memory-map.json: tensors one after another, in the model file. */
#include "base/order.h"
#include "dataset/verifier.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* buffer-timeline.json: the events add up to the declared totals. */

/* A buffer, during the walk over the timeline. */
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

/* Ids count up, from 1: so they are sorted and unique. */
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

/* More than any model has: larger layer numbers are wrong. */
#define LAYERS_MAX 65536u

static int by_name(const void *a, const void *b)
{
    const tt_map_tensor *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    return order ? order : strcmp(x->name, y->name);
}

const tt_map_tensor *tt_dataset_find_tensor(const tt_dataset_verifier *v, const char *file,
                                            const char *name)
{
    /* The key is only read. */
    const tt_map_tensor key = {.name = (char *)(uintptr_t)name,
                               .file = (char *)(uintptr_t)(file ? file : "")};
    if (v->n_tensors == 0) return NULL;
    return bsearch(&key, v->tensors, v->n_tensors, sizeof key, by_name);
}

/* Length of the tensor's name in a slice's name: without "[3]". */
static size_t sliced_length(tt_dataset_verifier *v, const char *name, uint64_t expert)
{
    char right[32];
    const char *open = strrchr(name, '[');
    (void)snprintf(right, sizeof right, "[%" PRIu64 "]", expert);
    if (!open || strcmp(open, right) != 0)
        TT_OFFEND(v, TT_CHECK_MAP,
                  "%.80s has the expert_id %" PRIu64 ": its name is that of another slice", name,
                  expert);
    return open ? (size_t)(open - name) : strlen(name);
}

/* Adds an entry to the tensors: a further slice of the last one, or a new tensor. */
static void take_entry(tt_dataset_verifier *v, const json_t *t)
{
    const char *name = tt_text_of(t, "name"), *file = tt_text_of(t, "file");
    const json_t *expert = json_object_get(t, "expert_id");
    uint64_t start = tt_count_of(t, "offset_start"), end = tt_count_of(t, "offset_end");
    size_t length = expert ? sliced_length(v, name, tt_count_of(t, "expert_id")) : strlen(name);
    tt_map_tensor *last = v->n_tensors ? &v->tensors[v->n_tensors - 1] : NULL;
    if (expert && last && last->slices && strcmp(last->file, file ? file : "") == 0 &&
        strlen(last->name) == length && strncmp(last->name, name, length) == 0) {
        if (last->end != start || tt_count_of(t, "expert_id") != last->slices)
            TT_OFFEND(v, TT_CHECK_MAP, "%.80s is not the slice behind the one before", name);
        last->end = end;
        last->slices++;
        return;
    }
    if (expert && tt_count_of(t, "expert_id") != 0)
        TT_OFFEND(v, TT_CHECK_MAP, "%.80s: the slices before it are missing", name);
    tt_map_tensor *x = &v->tensors[v->n_tensors];
    *x = (tt_map_tensor){strndup(name, length), strdup(file ? file : ""), start, end,
                         expert != NULL};
    if (x->name && x->file) {
        v->n_tensors++;
        return;
    }
    v->no_memory = true;
    free(x->name);
    free(x->file);
}

/* Checks the entry, and the gap between it and the previous one. */
static void check_entry(tt_dataset_verifier *v, const json_t *t, const json_t *before)
{
    const char *name = tt_text_of(t, "name"), *file = tt_text_of(t, "file");
    uint64_t start = tt_count_of(t, "offset_start"), end = tt_count_of(t, "offset_end"), size = 0;
    v->checks[TT_CHECK_MAP].examined++;
    if (end < start || end - start != tt_count_of(t, "size_bytes"))
        TT_OFFEND(v, TT_CHECK_MAP, "%.80s: %" PRIu64 " to %" PRIu64 " are not %" PRIu64 " bytes",
                  name, start, end, tt_count_of(t, "size_bytes"));
    if (v->n_files > 1 && !tt_dataset_file_size(v, file, &size))
        TT_OFFEND(v, TT_CHECK_MAP, "%.80s is in no file of experiment.json", name);
    else if (tt_dataset_file_size(v, file, &size) && end > size)
        TT_OFFEND(v, TT_CHECK_MAP, "%.80s ends at byte %" PRIu64 "; the model file has %" PRIu64,
                  name, end, size);
    const char *file_before = before ? tt_text_of(before, "file") : NULL;
    if (!before || strcmp(file ? file : "", file_before ? file_before : "") != 0) return;
    uint64_t end_before = tt_count_of(before, "offset_end");
    if (start < end_before)
        TT_OFFEND(v, TT_CHECK_MAP,
                  "%.80s begins at byte %" PRIu64 ", before %.80s ends at %" PRIu64, name, start,
                  tt_text_of(before, "name"), end_before);
}

/* The largest power of two that divides all tensors' offsets: gaps for alignment are smaller.
 * Slices are not aligned. */
static uint64_t alignment(const tt_dataset_verifier *v)
{
    uint64_t all = 0;
    for (size_t i = 0; i < v->n_tensors; i++)
        all |= v->tensors[i].start;
    return all ? all & (~all + 1) : 1;
}

static void check_gaps(tt_dataset_verifier *v)
{
    uint64_t align = alignment(v);
    for (size_t i = 1; i < v->n_tensors; i++) {
        const tt_map_tensor *a = &v->tensors[i - 1], *b = &v->tensors[i];
        if (strcmp(a->file, b->file) != 0 || b->start < a->end || b->start - a->end < align)
            continue;
        TT_OFFEND(v, TT_CHECK_MAP,
                  "%" PRIu64 " bytes between %.80s and %.80s belong to no tensor; the file's "
                  "alignment explains less than %" PRIu64,
                  b->start - a->end, a->name, b->name, align);
    }
}

static void check_layers(tt_dataset_verifier *v, const json_t *tensors)
{
    const json_t *t;
    size_t i;
    uint64_t found = 0;
    uint8_t *seen = calloc(LAYERS_MAX, 1);
    v->no_memory |= !seen;
    if (!seen) return;
    json_array_foreach(tensors, i, t)
    {
        const json_t *layer = json_object_get(t, "layer_id");
        if (json_is_null(layer)) continue;
        uint64_t id = (uint64_t)json_integer_value(layer);
        uint64_t limit = v->has_layers && v->n_layers < LAYERS_MAX ? v->n_layers : LAYERS_MAX;
        if (!TT_EXAMINE(v, TT_CHECK_LAYERS, id < limit)) {
            TT_OFFEND(v, TT_CHECK_LAYERS, "%.80s is in layer %" PRIu64 "; there are %" PRIu64,
                      tt_text_of(t, "name"), id, limit);
        } else {
            found += !seen[id];
            seen[id] = 1;
        }
    }
    free(seen);
    if (v->has_layers && !TT_EXAMINE(v, TT_CHECK_LAYERS, found == v->n_layers))
        TT_OFFEND(v, TT_CHECK_LAYERS,
                  "n_layers is %" PRIu64 "; the tensors are of %" PRIu64 " layers", v->n_layers,
                  found);
}

void tt_dataset_check_map(tt_dataset_verifier *v, const json_t *file)
{
    const json_t *tensors = json_object_get(file, "tensors"), *t, *before = NULL;
    const json_t *metadata = json_object_get(file, "metadata");
    const json_t *layers = json_object_get(metadata, "n_layers");
    uint64_t sum = 0;
    size_t i, n = json_array_size(tensors);
    v->has_map = true;
    v->total_size_bytes = tt_count_of(file, "total_size_bytes");
    v->has_layers = json_is_integer(layers);
    v->n_layers = (uint64_t)json_integer_value(layers);
    v->tensors = calloc(n + 1, sizeof *v->tensors);
    v->no_memory |= !v->tensors;
    if (!v->tensors) return;
    json_array_foreach(tensors, i, t)
    {
        check_entry(v, t, before);
        take_entry(v, t);
        before = t;
    }
    check_gaps(v);
    check_layers(v, tensors);
    tt_dataset_check_count(v, "num_tensors", tt_count_of(file, "num_tensors"), n);
    tt_dataset_check_count(v, "metadata.n_tensors", tt_count_of(metadata, "n_tensors"),
                           v->n_tensors);
    for (i = 0; i < v->n_files; i++)
        sum += v->files[i].size_bytes;
    if (v->n_files) tt_dataset_check_count(v, "total_size_bytes", v->total_size_bytes, sum);
    qsort(v->tensors, v->n_tensors, sizeof *v->tensors, by_name);
    for (i = 1; i < v->n_tensors; i++)
        if (by_name(&v->tensors[i - 1], &v->tensors[i]) == 0)
            TT_OFFEND(v, TT_CHECK_MAP, "%.80s is there twice", v->tensors[i].name);
}
