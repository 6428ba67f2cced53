#include "adapter/ggml/lane.h"

#include "adapter/ggml/process.h"
#include "format/meta.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUNS_MAX 256u

typedef struct active_run {
    uint32_t run; /* 0: empty */
    struct ggml_tensor *const *nodes;
    uint32_t n_nodes;
} active_run;

__thread tt_lane tt_lane_self __attribute__((tls_model("initial-exec")));
_Atomic uint32_t tt_runs_epoch = 1;
_Atomic uint32_t tt_runs_hooked;

static active_run runs[RUNS_MAX];
static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void next_epoch(void)
{
    /* 0 means "never looked up". */
    if (atomic_fetch_add(&tt_runs_epoch, 1) == UINT32_MAX) atomic_fetch_add(&tt_runs_epoch, 1);
}

bool tt_lanes_run_begin(uint32_t run, struct ggml_tensor *const *nodes, uint32_t n_nodes)
{
    bool entered = false;
    (void)pthread_mutex_lock(&runs_lock);
    for (uint32_t i = 0; !entered && i < RUNS_MAX; i++) {
        if (runs[i].run) continue;
        runs[i] = (active_run){run, nodes, n_nodes};
        entered = true;
    }
    if (entered) {
        atomic_fetch_add(&tt_runs_hooked, 1);
        next_epoch();
    }
    (void)pthread_mutex_unlock(&runs_lock);
    return entered;
}

void tt_lanes_run_end(uint32_t run)
{
    (void)pthread_mutex_lock(&runs_lock);
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        if (runs[i].run != run) continue;
        runs[i].run = 0;
        atomic_fetch_sub(&tt_runs_hooked, 1);
        next_epoch();
        break;
    }
    (void)pthread_mutex_unlock(&runs_lock);
}

void tt_lanes_stop(void)
{
    (void)pthread_mutex_lock(&runs_lock);
    memset(runs, 0, sizeof runs);
    atomic_store(&tt_runs_hooked, 0);
    next_epoch();
    (void)pthread_mutex_unlock(&runs_lock);
}

void tt_lanes_forget(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    runs_lock = fresh;
    memset(&tt_lane_self, 0, sizeof tt_lane_self);
    memset(runs, 0, sizeof runs);
    atomic_store(&tt_runs_hooked, 0);
    next_epoch();
}

static void leave_ring(void *argument)
{
    /* The thread ends: its last record is complete, the ring is the next one's. */
    tt_lane *l = &tt_lane_self;
    (void)argument;
    tt_ring *ring = l->ring;
    memset(l, 0, sizeof *l);
    if (ring) atomic_store_explicit(&ring->owner, 0, memory_order_release);
}

static void make_key(void)
{
    (void)pthread_key_create(&key, leave_ring);
}

bool tt_lane_claim(tt_lane *l)
{
    if (l->ring) return true;
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) return false;
    tt_area_map *map = tt_recorder_area(r);
    uint32_t thread = (uint32_t)syscall(SYS_gettid);
    tt_ring *ring = tt_area_claim(map, thread);
    if (!ring) return false;
    uint32_t index = (uint32_t)(ring - map->rings);
    tt_area_populate(map, index);
    l->ring = ring;
    l->slots = tt_area_slots(map, index);
    l->mask = map->area->ring_records - 1;
    l->head = atomic_load(&ring->head);
    l->room = atomic_load(&ring->tail) + map->area->ring_records;
    (void)pthread_once(&key_once, make_key);
    (void)pthread_setspecific(key, l);
    tt_bytes payload;
    tt_bytes_init(&payload, 64);
    tt_meta_put_ring(&payload, index, thread, tt_ticks());
    (void)tt_process_put(r, TT_META_RING, &payload);
    return true;
}

static const active_run *run_of(const struct ggml_tensor *op)
{
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        if (!runs[i].run) continue;
        for (uint32_t k = 0; k < runs[i].n_nodes; k++)
            if (runs[i].nodes[k] == op) return &runs[i];
    }
    return NULL;
}

bool tt_lane_attach(tt_lane *l, const struct ggml_tensor *op)
{
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r || !tt_lane_claim(l)) return false;
    /* While the lock is held no run ends, so that the nodes may be read. */
    (void)pthread_mutex_lock(&runs_lock);
    const active_run *run = run_of(op);
    if (run) {
        if (l->run != run->run) {
            l->run = run->run;
            l->nodes = run->nodes;
            l->n_nodes = run->n_nodes;
            l->cursor = 0;
            l->release = 0;
        }
        l->epoch = atomic_load(&tt_runs_epoch);
    }
    (void)pthread_mutex_unlock(&runs_lock);
    if (!run)
        atomic_fetch_add_explicit(&tt_recorder_area(r)->area->counts.ops_unresolved, 1,
                                  memory_order_relaxed);
    return run != NULL;
}

/* Notes one dropped record; losses in a row make one entry. */
static void count_drop(tt_lane *l)
{
    tt_ring *ring = l->ring;
    uint32_t n = atomic_load_explicit(&ring->n_losses, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
    if (l->dropped_at != l->head + 1 && n < TT_AREA_LOSSES) {
        ring->losses[n] = (tt_area_loss){l->head, 0};
        atomic_store_explicit(&ring->n_losses, ++n, memory_order_release);
    }
    l->dropped_at = l->head + 1;
    ring->losses[n - 1].dropped++;
}

bool tt_lane_make_room(tt_lane *l)
{
    l->room = atomic_load_explicit(&l->ring->tail, memory_order_acquire) + l->mask + 1;
    if (l->head < l->room) return true;
    count_drop(l);
    return false;
}
