#include "analyze/kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct ends {
    uint32_t begin, end; /* in m->usages, or TT_NONE */
} ends;

struct tt_kernel {
    const tt_model *m;
    ends *batches;
    ends recording;
};

tt_kernel *tt_kernel_new(const tt_model *m)
{
    tt_kernel *k = calloc(1, sizeof *k);
    ends *batches = k ? malloc(((size_t)m->n_batches + 1) * sizeof *batches) : NULL;
    if (!batches) {
        free(k);
        return NULL;
    }
    *k = (tt_kernel){.m = m, .batches = batches, .recording = {TT_NONE, TT_NONE}};
    for (uint32_t i = 0; i < m->n_batches; i++)
        batches[i] = k->recording;
    for (uint32_t i = 0; i < m->n_usages; i++) {
        const tt_meta_usage *u = &m->usages[i];
        bool in_batch = u->moment == TT_AT_BATCH_BEGIN || u->moment == TT_AT_BATCH_END;
        if (in_batch && u->batch >= m->n_batches) continue;
        ends *e = in_batch ? &batches[u->batch] : &k->recording;
        if (u->moment == TT_AT_BATCH_BEGIN || u->moment == TT_AT_BEGIN)
            e->begin = i;
        else
            e->end = i;
    }
    return k;
}

void tt_kernel_free(tt_kernel *k)
{
    if (!k) return;
    free(k->batches);
    free(k);
}

/* Totals only grow: otherwise they are of different processes. */
static bool grow_by(uint64_t *sum, uint64_t from, uint64_t to)
{
    return to >= from && !__builtin_add_overflow(*sum, to - from, sum);
}

static void add_devices(tt_kernel_sum *sum, const tt_meta_usage *a, const tt_meta_usage *b)
{
    uint32_t n = 0;
    bool first = sum->windows == 0;
    if (!(a->flags & b->flags & TT_USAGE_DEVICES)) {
        sum->n_devices = 0;
        return;
    }
    if (first)
        for (uint32_t i = 0; i < a->n_devices && i < TT_USAGE_DEVICES_MAX; i++)
            sum->devices[sum->n_devices++].device = a->devices[i].device;
    for (uint32_t i = 0; i < sum->n_devices; i++) {
        tt_kernel_device d = sum->devices[i];
        const tt_meta_device *x = NULL, *y = NULL;
        for (uint32_t j = 0; j < a->n_devices && j < TT_USAGE_DEVICES_MAX; j++)
            if (a->devices[j].device == d.device) x = &a->devices[j];
        for (uint32_t j = 0; j < b->n_devices && j < TT_USAGE_DEVICES_MAX; j++)
            if (b->devices[j].device == d.device) y = &b->devices[j];
        if (x && y && grow_by(&d.read_bytes, x->read_bytes, y->read_bytes) &&
            grow_by(&d.reads, x->reads, y->reads))
            sum->devices[n++] = d;
    }
    sum->n_devices = n;
}

static void add_window(const tt_kernel *k, ends e, tt_kernel_sum *sum)
{
    if (e.begin == TT_NONE || e.end == TT_NONE) {
        sum->missing++;
        return;
    }
    const tt_meta_usage *a = &k->m->usages[e.begin], *b = &k->m->usages[e.end];
    uint8_t both = a->flags & b->flags;
    if (sum->windows == 0) sum->has_faults = sum->has_io = true;
    sum->has_faults &= (both & TT_USAGE_FAULTS) && grow_by(&sum->minor, a->minor, b->minor) &&
                       grow_by(&sum->major, a->major, b->major) &&
                       grow_by(&sum->user_ns, a->user_ns, b->user_ns) &&
                       grow_by(&sum->system_ns, a->system_ns, b->system_ns);
    sum->has_io &= (both & TT_USAGE_IO) &&
                   grow_by(&sum->read_bytes, a->read_bytes, b->read_bytes) &&
                   grow_by(&sum->rchar_bytes, a->rchar, b->rchar);
    add_devices(sum, a, b);
    sum->windows++;
}

void tt_kernel_batch(const tt_kernel *k, uint32_t batch, tt_kernel_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    if (batch < k->m->n_batches) add_window(k, k->batches[batch], sum);
}

void tt_kernel_batches(const tt_kernel *k, const tt_filter *filter, tt_kernel_sum *sum)
{
    uint64_t last_end = 0;
    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < k->m->n_batches; i++) {
        if (!tt_filter_batch(filter, k->m, i)) continue;
        ends e = k->batches[i];
        add_window(k, e, sum);
        if (e.begin == TT_NONE || e.end == TT_NONE) continue;
        sum->tokens += tt_model_got(&k->m->batches[i]);
        sum->overlap |= sum->windows > 1 && k->m->usages[e.begin].ticks < last_end;
        if (k->m->usages[e.end].ticks > last_end) last_end = k->m->usages[e.end].ticks;
    }
}

void tt_kernel_recording(const tt_kernel *k, tt_kernel_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    add_window(k, k->recording, sum);
}

uint64_t tt_kernel_readahead(const tt_model *m)
{
    static const char begin[] = "device_", end[] = "_read_ahead_bytes";
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->n_environment; i++) {
        const char *key = m->environment[i].key;
        const size_t length = strlen(key);
        if (length < sizeof begin + sizeof end - 2 || strncmp(key, begin, sizeof begin - 1) != 0 ||
            strcmp(key + length - (sizeof end - 1), end) != 0)
            continue;
        const uint64_t bytes = strtoull(m->environment[i].value, NULL, 10);
        if (bytes > most) most = bytes;
    }
    return most;
}
