#include "adapter/ggml/boost.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "base/array.h"
#include "base/clock.h"
#include "boost/apart.h"
#include "boost/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define READERS 8u /* threads, without an io_uring */
#define PLANS_MAX 64u
#define MOVING_ON_NS 200000u /* for another thread to move on, before one sleeps */
#define TYPE_I32 26          /* GGML_TYPE_I32, the same in all versions */
#define SLICES_MAX 4096u
#define CHOSEN_EACH                                                                                \
    4 /* choices per slice, on average: of 16 slices 1 in 50 is not chosen at random */

/* An op that reads experts. */
typedef struct choice {
    uint32_t node;
    uint32_t weight;
    uint32_t known_at; /* the first node at which the ids are known */
    const struct ggml_tensor *ids;
    bool asked;
    bool by_most;      /* so many tokens choose that nearly all slices are chosen */
    uint32_t streamed; /* slices requested before the router chose */
} choice;

/* A graph that a thread computes. */
typedef struct plan {
    bool active;
    pthread_t thread;
    uint32_t n_threads;      /* 0: not known */
    _Atomic uint32_t number; /* of the graph; 0: none */
    struct ggml_tensor **nodes;
    uint8_t *uses; /* a node's op reads weights of the pool */
    uint32_t n_nodes, nodes_capacity, uses_capacity;
    tt_weight_step *steps;
    uint32_t n_steps, steps_capacity;
    choice *choices;
    uint32_t n_choices, choices_capacity;
    uint32_t asked;    /* choices so far */
    uint64_t n_rows;   /* of embeddings that the graph gathers: its batch's tokens, or 0 in a
                          further graph of the batch */
    uint64_t n_tokens; /* of the batch */
    bool steady;       /* this batch and the one before have one token */
    uint64_t begin_ns, read_bytes; /* when it began; what was read when the one before it ended */
    _Atomic uint32_t due;          /* the node at which a choice is known */
    _Atomic uint32_t begun;        /* last started node + 1, of those that matter */
    tt_apart threads;
    tt_weights_plan of;
} plan;

_Atomic uint32_t tt_boost_graphs;
_Atomic bool tt_boost_on;

static tt_pagepool *pool;
static tt_weights *weights;
static tt_boost_report *report, own_report;
static bool automatic; /* the budget is whatever memory is available */
static tt_budget_watch *budget_watch;
static plan plans[PLANS_MAX]; /* the pool's lock guards it */
static uint32_t last_number;
static bool has_computed;   /* a graph has begun */
static uint64_t unreported; /* reads that did not fit into the trace; the pool's lock guards it */
static pid_t owner;

static __thread struct {
    plan *plan;
    uint32_t number;
    uint32_t cursor;
    uint64_t waited_ns; /* in the graph that it computes */
    tt_apart_self apart;
} self __attribute__((tls_model("initial-exec")));

/* --- the process --- */

static void before_fork(void)
{
    tt_pagepool_lock(pool);
}

static void in_parent(void)
{
    tt_pagepool_unlock(pool);
}

static void in_child(void)
{
    tt_pagepool_in_child(pool);
    atomic_store(&tt_boost_on, false);
    atomic_store(&tt_boost_graphs, 0);
}

/* False in a child whose fork bypassed our handlers (_Fork, clone): it has no readers. */
static bool is_owner(void)
{
    if (getpid() == owner) return true;
    if (atomic_load(&tt_boost_on)) in_child();
    return false;
}

static void open_report(void)
{
    const char *path = getenv(TT_ENV_BOOST_REPORT);
    int fd = path && path[0] ? open(path, O_RDWR | O_CLOEXEC) : -1;
    report = &own_report;
    if (fd < 0) return;
    if (tt_boost_report_is(fd)) {
        void *at = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) report = at;
    }
    (void)close(fd);
    atomic_store(&report->magic, TT_BOOST_REPORT_MAGIC);
}

static tt_policy policy_named(const char *name)
{
    for (unsigned i = 0; name && i < TT_POLICIES; i++)
        if (strcmp(tt_policies[i].name, name) == 0) return (tt_policy)i;
    return TT_POLICY_LRU;
}

void tt_boost_begin(void)
{
    tt_error err;
    const char *ram = getenv(TT_ENV_BOOST);
    automatic = ram && strcmp(ram, "auto") == 0;
    const uint64_t bytes = automatic ? 0 : tt_capture_bytes(TT_ENV_BOOST);
    if (!bytes && !automatic) return;
    const tt_budget budget = automatic ? tt_budget_now(0) : (tt_budget){bytes, bytes};
    const char *io = getenv(TT_ENV_BOOST_IO);
    const bool uring = !io || strcmp(io, "threads") != 0;
    open_report();
    if (tt_pagepool_new(READERS, uring, report, &pool, &err) != TT_OK ||
        tt_weights_new(pool, budget, policy_named(getenv(TT_ENV_BOOST_POLICY)), report, &weights,
                       &err) != TT_OK) {
        tt_boost_report_problem(report, err.message);
        return;
    }
    owner = getpid();
    (void)pthread_atfork(before_fork, in_parent, in_child);
    atomic_store(&tt_boost_on, true);
}

/* --- mappings --- */

static bool is_model(int fd)
{
    char magic[4];
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           memcmp(magic, "GGUF", sizeof magic) == 0;
}

enum tt_boost_file tt_boost_looks(int fd, uint64_t bytes, int prot, int flags)
{
    const int error = errno;
    const bool ours =
        fd >= 0 && prot == PROT_READ && (flags & MAP_TYPE) == MAP_SHARED && is_model(fd);
    errno = error;
    if (!ours) return TT_BOOST_OTHER;
    tt_pagepool_lock(pool);
    const uint64_t others = tt_pagepool_region_bytes(pool);
    tt_pagepool_unlock(pool);
    const tt_budget budget =
        automatic ? tt_budget_now(tt_pagepool_bytes(pool)) : tt_weights_budget(weights);
    return bytes + others > budget.cached_bytes ? TT_BOOST_LARGE : TT_BOOST_MODEL;
}

void tt_boost_mapped(void *at, uint64_t bytes, int fd, uint64_t offset)
{
    const int error = errno;
    (void)tt_pagepool_adopt(pool, at, bytes, fd, offset);
    tt_pagepool_lock(pool);
    if (automatic && !budget_watch) budget_watch = tt_budget_begin(pool, weights);
    tt_pagepool_unlock(pool);
    errno = error;
}

bool tt_boost_has(const void *at, uint64_t n)
{
    uint32_t region;
    uint64_t from;
    if (!tt_pagepool_touches(pool, at, n)) return false;
    tt_pagepool_lock(pool);
    bool has = tt_pagepool_region_bytes(pool) > tt_weights_budget(weights).cached_bytes &&
               tt_pagepool_find(pool, at, n, &region, &from);
    tt_pagepool_unlock(pool);
    return has;
}

enum tt_boost_left tt_boost_leave_begin(const void *at, uint64_t n, const void *too, uint64_t n_too)
{
    if (!tt_pagepool_touches(pool, at, n) && !tt_pagepool_touches(pool, too, n_too))
        return TT_BOOST_NONE;
    const int error = errno;
    if (!is_owner()) return TT_BOOST_NONE;
    tt_pagepool_lock(pool);
    bool all = tt_pagepool_leave(pool, at, n);
    all &= tt_pagepool_leave(pool, too, n_too);
    errno = error;
    return all ? TT_BOOST_LEFT : TT_BOOST_KEPT;
}

void tt_boost_leave_end(void)
{
    tt_pagepool_unlock(pool);
}

/* --- a graph --- */

/* A weight is a leaf whose bytes are in a file's mapping. */
static uint32_t find_weight(const tt_engine *e, const struct ggml_tensor *t, uint32_t n_slices,
                            uint64_t *from, uint64_t *n)
{
    const struct ggml_tensor *root = t;
    while (root->view_src)
        root = root->view_src;
    if (!root->data || !t->data || !tt_pagepool_touches(pool, t->data, 1)) return TT_NONE;
    const uint64_t size = e->nbytes(root);
    *n = e->nbytes(t);
    *from = (uint64_t)((const uint8_t *)t->data - (const uint8_t *)root->data);
    if ((const uint8_t *)t->data < (const uint8_t *)root->data || *from > size || *n > size - *from)
        return TT_NONE;
    return tt_weights_find(weights, root->data, size, root == t ? n_slices : 0);
}

static const struct ggml_tensor *root_of(const struct ggml_tensor *t)
{
    while (t->view_src)
        t = t->view_src;
    return t;
}

/* The node after the one that computes the ids; the op itself if none of these does. */
static uint32_t known_at(const plan *p, uint32_t node, const struct ggml_tensor *ids)
{
    const struct ggml_tensor *root = root_of(ids);
    for (uint32_t i = node; i-- > 0;)
        if (p->nodes[i] == root) return i + 1;
    return node;
}

static bool is_ids(const struct ggml_tensor *ids)
{
    return ids && ids->type == TYPE_I32 && ids->nb[0] == sizeof(int32_t) && ids->ne[2] == 1 &&
           ids->ne[3] == 1;
}

static bool add_choice(plan *p, uint32_t node, uint32_t weight, const struct ggml_tensor *ids)
{
    choice *c = tt_array_add(p->choices, p->n_choices, p->choices_capacity);
    if (!c) return false;
    /* Choices of the same router belong together. */
    for (uint32_t i = 0; i + 1 < p->n_choices; i++)
        if (root_of(p->choices[i].ids) == root_of(ids)) {
            tt_weights_together(weights, p->choices[i].weight, weight);
            break;
        }
    *c = (choice){.node = node, .weight = weight, .known_at = known_at(p, node, ids), .ids = ids};
    c->by_most = ids->ne[0] * ids->ne[1] >= CHOSEN_EACH * tt_weights_slices(weights, weight);
    return true;
}

static bool add_step(plan *p, const tt_engine *e, uint32_t node, int k)
{
    const struct ggml_tensor *op = p->nodes[node], *t = op->src[k];
    const bool by_id = op->op == e->op_mul_mat_id && k == 0 && is_ids(op->src[2]) && t->ne[2] > 1 &&
                       t->ne[2] <= (int64_t)SLICES_MAX && t->ne[3] == 1;
    uint64_t from, n;
    if (op->op == e->op_get_rows && k == 0) { /* a few rows of many */
        const struct ggml_tensor *ids = op->src[1];
        if (ids && t->data && tt_pagepool_touches(pool, t->data, 1) && ids->ne[0] > 0 &&
            (uint64_t)ids->ne[0] > p->n_rows)
            p->n_rows = (uint64_t)ids->ne[0];
        return true;
    }
    const uint32_t slices = by_id ? (uint32_t)t->ne[2] : 0;
    const uint32_t weight = find_weight(e, t, slices, &from, &n);
    if (weight == TT_NONE) return true;
    p->uses[node] = 1;
    if (tt_weights_slices(weights, weight))
        return tt_weights_slices(weights, weight) != slices ||
               add_choice(p, node, weight, op->src[2]);
    tt_weight_step *s = tt_array_add(p->steps, p->n_steps, p->steps_capacity);
    if (s) *s = (tt_weight_step){node, weight, from, n};
    return s != NULL;
}

static bool describe(plan *p, const tt_engine *e, struct ggml_tensor *const *nodes, uint32_t n)
{
    p->n_nodes = p->n_steps = p->n_choices = p->asked = 0;
    p->n_rows = 0;
    if (!tt_array_room(p->nodes, p->nodes_capacity, n) ||
        !tt_array_room(p->uses, p->uses_capacity, n))
        return false;
    memcpy(p->nodes, nodes, n * sizeof *nodes);
    memset(p->uses, 0, n);
    p->n_nodes = n;
    const bool marked = tt_graphs_marked(e, p->nodes, (int)n);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; tt_graphs_executes(p->nodes[i], marked) && k < GGML_MIRROR_SRC; k++)
            if (p->nodes[i]->src[k] && !add_step(p, e, i, k)) return false;
    return p->n_steps + p->n_choices > 0;
}

static plan *plan_of_this_thread(void)
{
    plan *free_one = NULL;
    for (uint32_t i = 0; i < PLANS_MAX; i++) {
        if (plans[i].active && pthread_equal(plans[i].thread, pthread_self())) return &plans[i];
        if (!plans[i].active && !free_one) free_one = &plans[i];
    }
    return free_one;
}

/* Also for one that the engine left by an exception. */
static void end_plan(plan *p)
{
    if (!atomic_load(&p->number)) return;
    tt_weights_end(weights, &p->of);
    atomic_store(&p->number, 0);
    p->active = false;
    (void)atomic_fetch_sub(&tt_boost_graphs, 1);
}

/* Requests experts of later layers, after `node`, while this one computes. */
static void stream(plan *p, uint32_t node)
{
    for (uint32_t i = 0; i < p->n_choices; i++) {
        choice *c = &p->choices[i];
        if (!c->by_most || c->node <= node) continue;
        c->streamed = tt_weights_stream(weights, &p->of, c->weight, c->node, c->streamed);
        if (c->streamed < tt_weights_slices(weights, c->weight)) return;
    }
}

static uint32_t next_due(const plan *p)
{
    uint32_t due = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_choices; i++)
        if (!p->choices[i].asked && p->choices[i].known_at < due) due = p->choices[i].known_at;
    return due;
}

/* same: the thread is that of the plan's last graph. */
static void begin_tokens(plan *p, bool same)
{
    if (p->n_rows) {
        p->steady = same && p->n_rows == 1 && p->n_tokens == 1;
        p->n_tokens = p->n_rows;
    }
    p->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    self.waited_ns = 0;
}

static void end_tokens(plan *p)
{
    const uint64_t read = tt_pagepool_read_bytes(pool);
    if (p->steady) {
        (void)atomic_fetch_add(&report->tokens, p->n_rows);
        (void)atomic_fetch_add(&report->token_ns, tt_clock_ns(CLOCK_MONOTONIC) - p->begin_ns);
        (void)atomic_fetch_add(&report->token_read_bytes, read - p->read_bytes);
        (void)atomic_fetch_add(&report->token_waited_ns, self.waited_ns);
    }
    p->read_bytes = read;
}

static bool begin_plan(plan *p, const tt_engine *e, struct ggml_tensor *const *nodes, uint32_t n,
                       uint32_t n_threads)
{
    end_plan(p);
    tt_weights_refresh(weights);
    tt_pagepool_check_files(pool);
    if (!describe(p, e, nodes, n) || !tt_weights_begin(weights, &p->of, p->steps, p->n_steps))
        return false;
    /* An engine may use fewer than it says: no more than last time are waited for. */
    const uint32_t joined = atomic_load(&p->threads.n);
    const bool same = joined && pthread_equal(p->thread, pthread_self());
    p->n_threads = same && joined < n_threads ? joined : n_threads;
    p->thread = pthread_self();
    begin_tokens(p, same);
    tt_apart_begin(&p->threads);
    p->active = true;
    stream(p, 0);
    atomic_store(&p->begun, 0);
    atomic_store(&p->due, next_due(p));
    if (++last_number == 0) last_number = 1;
    atomic_store(&p->number, last_number);
    (void)atomic_fetch_add(&tt_boost_graphs, 1);
    return true;
}

/* --- records in the trace --- */

/* The file's id in the trace; 0: not in the trace. */
static uint32_t model_id(uint32_t region)
{
    const tt_model_seen *models;
    const uint32_t n = tt_models_list(&models);
    uint64_t device, inode;
    tt_pagepool_file_of(pool, region, &device, &inode);
    for (uint32_t i = 0; i < n; i++)
        if (models[i].file.device == device && models[i].file.inode == inode)
            return models[i].file.id;
    return 0;
}

static void put_read(tt_bytes *payload, const tt_pagepool_read *r, uint64_t now)
{
    const tt_meta_pool_read to = {.model = model_id(r->region),
                                  .file_offset_bytes = r->file_offset_bytes,
                                  .size_bytes = r->size_bytes,
                                  .requested_ticks = (int64_t)(r->requested_ticks - now),
                                  .queued_ticks = r->begin_ticks - r->requested_ticks,
                                  .read_ticks = r->end_ticks - r->begin_ticks,
                                  .cause = r->cause,
                                  .flags = r->flags,
                                  .waiters = r->waiters,
                                  .thread = r->first_waiter,
                                  .waited_ticks = r->waited_ticks};
    tt_meta_put_pool_read(payload, &to);
}

static uint64_t count_of(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Under the pool's lock. Returns the number of reads, including those that are not listed. */
static uint64_t put_pool(uint32_t run, tt_bytes *payload)
{
    const tt_pagepool_read *reads;
    tt_meta_pool to = {.ticks = tt_ticks(),
                       .run = run,
                       .budget_bytes = tt_weights_budget(weights).pool_bytes,
                       .present_bytes = tt_pagepool_bytes(pool),
                       .peak_bytes = count_of(&report->pool_peak_bytes),
                       .used = count_of(&report->slices_used),
                       .missed = count_of(&report->slices_read),
                       .left = count_of(&report->slices_left),
                       .evictions = count_of(&report->evictions),
                       .waited_ns = count_of(&report->waited_ns)};
    to.n = tt_pagepool_take_reads(pool, &reads, &to.lost);
    to.lost += unreported;
    unreported = 0;
    tt_bytes_init(payload, TT_META_RECORD_MAX);
    tt_meta_put_pool(payload, &to);
    for (uint32_t i = 0; i < to.n; i++)
        put_read(payload, &reads[i], to.ticks);
    return to.n + to.lost;
}

bool tt_boost_graph_begin(const tt_engine *e, struct ggml_cgraph *graph, uint32_t n_threads)
{
    const int n = e->graph_n_nodes(graph);
    if (!atomic_load(&tt_boost_on) || n <= 0 || !is_owner()) return false;
    tt_recorder *r = tt_process_recorder_if_open();
    tt_pagepool_lock(pool);
    /* Reads before the first computation are listed at its end. */
    if (r && !last_number) tt_pagepool_keep_reads(pool, true);
    /* What the engine allocated since it mapped the model is not available any more. */
    if (automatic && !has_computed)
        tt_weights_set_budget(weights, tt_budget_now(tt_pagepool_bytes(pool)));
    has_computed = true;
    plan *p = plan_of_this_thread();
    const bool begun = p && begin_plan(p, e, e->graph_nodes(graph), (uint32_t)n, n_threads);
    tt_pagepool_unlock(pool);
    return begun;
}

void tt_boost_graph_end(uint32_t run)
{
    tt_bytes payload;
    if (!atomic_load(&tt_boost_on)) return;
    tt_recorder *r = tt_process_recorder_if_open();
    tt_pagepool_lock(pool);
    plan *p = plan_of_this_thread();
    if (p && p->active) {
        end_tokens(p);
        end_plan(p);
    }
    const uint64_t listed = r ? put_pool(run, &payload) : 0;
    tt_pagepool_keep_reads(pool, r != NULL);
    tt_pagepool_unlock(pool);
    /* Not under the pool's lock: the recorder maps memory, which passes our hooks. */
    if (!r || tt_process_put(r, TT_META_POOL, &payload)) return;
    tt_pagepool_lock(pool);
    unreported += listed;
    tt_pagepool_unlock(pool);
}

/* --- an op --- */

/* Each slice once. Invalid ids (not computed yet, padding) are ignored. */
static uint32_t read_ids(const struct ggml_tensor *ids, uint32_t n_slices, uint16_t *slices)
{
    static uint8_t seen[SLICES_MAX]; /* the pool's lock guards it */
    uint32_t n = 0;
    memset(seen, 0, n_slices);
    for (int64_t row = 0; ids->data && row < ids->ne[1]; row++) {
        const int32_t *chosen =
            (const void *)((const uint8_t *)ids->data + (size_t)row * ids->nb[1]);
        for (int64_t i = 0; i < ids->ne[0]; i++) {
            const int32_t id = chosen[i];
            if (id < 0 || (uint32_t)id >= n_slices || seen[id]) continue;
            seen[id] = 1;
            slices[n++] = (uint16_t)id;
        }
    }
    return n;
}

/* The choices that are used at `node`, or those that are known by now, used at later ones. */
static void tell_choices(plan *p, uint32_t node, bool later)
{
    static uint16_t slices[SLICES_MAX];
    for (uint32_t i = 0; i < p->n_choices; i++) {
        choice *c = &p->choices[i];
        if (later ? c->asked || c->node <= node || c->known_at > node : c->node != node) continue;
        const uint32_t n = read_ids(c->ids, tt_weights_slices(weights, c->weight), slices);
        c->asked = true;
        if (later)
            tt_weights_ahead(weights, &p->of, c->weight, c->node, slices, n);
        else
            tt_weights_use(weights, &p->of, c->weight, slices, n);
    }
}

/* All threads are at `node` or at a barrier before it. The others begin as soon as what it needs is
 * known and requested: the rest takes system calls. */
static void move_on(plan *p, uint32_t node)
{
    tt_weights_advance(weights, &p->of, node);
    tell_choices(p, node, false);
    atomic_store(&p->begun, node + 1);
    tell_choices(p, node, true);
    tt_weights_look_ahead(weights, &p->of);
    stream(p, node);
    atomic_store(&p->due, next_due(p));
}

/* The newest of several: a thread that left its graph by an exception has not ended its plan, and
 * the graph's memory may be reused by now. */
static bool find_plan(const struct ggml_tensor *op)
{
    const uint32_t before = self.number;
    tt_pagepool_lock(pool);
    self.plan = NULL;
    self.number = 0;
    for (uint32_t i = 0; i < PLANS_MAX; i++) {
        const uint32_t number = atomic_load(&plans[i].number);
        for (uint32_t k = 0; number > self.number && k < plans[i].n_nodes; k++) {
            if (plans[i].nodes[k] != op) continue;
            self.plan = &plans[i];
            self.number = number;
            self.cursor = k;
        }
    }
    const bool joins = self.plan && self.number != before;
    if (joins) tt_apart_join(&self.plan->threads, &self.apart);
    const bool starts = joins && pthread_equal(self.plan->thread, pthread_self());
    const uint32_t n_threads = starts ? self.plan->n_threads : 0;
    tt_pagepool_unlock(pool);
    if (starts) tt_apart_wait(&self.plan->threads, &self.apart, n_threads);
    return self.plan != NULL;
}

/* One of the threads at `node` moves on, the first one; the others look for a moment whether it
 * has, which takes less time than to sleep until it has. */
static void be_at(plan *p, uint32_t node)
{
    uint64_t until = 0;
    while (atomic_load(&p->number) == self.number && atomic_load(&p->begun) <= node) {
        if (!tt_pagepool_try_lock(pool)) {
            const uint64_t now = tt_clock_ns(CLOCK_MONOTONIC);
            if (!until) until = now + MOVING_ON_NS;
            if (now < until) continue;
            tt_pagepool_lock(pool);
        }
        if (atomic_load(&p->number) == self.number && atomic_load(&p->begun) <= node)
            move_on(p, node);
        tt_pagepool_unlock(pool);
    }
}

void tt_boost_op_slowly(const struct ggml_tensor *op)
{
    if ((!self.plan || atomic_load(&self.plan->number) != self.number) && !find_plan(op)) return;
    plan *p = self.plan;
    tt_apart_op(&p->threads, &self.apart);
    uint32_t node = self.cursor;
    while (node < p->n_nodes && p->nodes[node] != op)
        node++;
    if (node >= p->n_nodes) {
        /* Of another active graph, or from the start of this one. */
        if (!find_plan(op)) return;
        p = self.plan;
        node = self.cursor;
    }
    self.cursor = node;
    if (!p->uses[node] && node < atomic_load(&p->due)) return;
    be_at(p, node);
    if (p->of.node == node) self.waited_ns += tt_weights_wait(weights, &p->of);
}
