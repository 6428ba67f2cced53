#include "boost/budget.h"

#include "host/system.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define RESERVE_PART 8u /* of what there is */
#define RESERVE_MIN_BYTES (UINT64_C(32) << 20)
#define RESERVE_MAX_BYTES (UINT64_C(1) << 30)
#define LOOK_NS 100000000L
#define LOOKS_BEFORE_MORE 20u
#define CHANGE_PART 64u /* of the budget: smaller changes are not worth it */
#define STACK_BYTES (128u << 10)

struct tt_budget_watch {
    tt_pagepool *pool;
    tt_weights *weights;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ending;
};

uint64_t tt_budget_now(uint64_t present_bytes)
{
    const uint64_t room = tt_host_memory_room("");
    uint64_t all, reserve;
    if (room >= TT_HOST_UNLIMITED || __builtin_add_overflow(present_bytes, room, &all))
        return UINT64_MAX;
    reserve = all / RESERVE_PART;
    if (reserve < RESERVE_MIN_BYTES) reserve = RESERVE_MIN_BYTES;
    if (reserve > RESERVE_MAX_BYTES) reserve = RESERVE_MAX_BYTES;
    return all > reserve ? all - reserve : 0;
}

/* False: it is to end. */
static bool sleep_for(tt_budget_watch *b, long ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_mutex_lock(&b->lock);
    while (!b->ending && pthread_cond_timedwait(&b->end, &b->lock, &until) == 0) {
    }
    const bool on = !b->ending;
    (void)pthread_mutex_unlock(&b->lock);
    return on;
}

static void *watch(void *context)
{
    tt_budget_watch *b = context;
    unsigned more = 0;
    while (sleep_for(b, LOOK_NS)) {
        const uint64_t has = tt_weights_budget(b->weights);
        const uint64_t now = tt_budget_now(tt_pagepool_bytes(b->pool));
        const uint64_t least = has / CHANGE_PART;
        more = now > has && now - has > least ? more + 1 : 0;
        if (now >= has ? more < LOOKS_BEFORE_MORE : has - now <= least) continue;
        more = 0;
        tt_pagepool_lock(b->pool);
        tt_weights_set_budget(b->weights, now);
        tt_pagepool_unlock(b->pool);
    }
    return NULL;
}

tt_budget_watch *tt_budget_begin(tt_pagepool *pool, tt_weights *weights)
{
    pthread_condattr_t monotonic;
    pthread_attr_t attributes;
    sigset_t all, before;
    tt_budget_watch *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    *b = (tt_budget_watch){.pool = pool, .weights = weights};
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&b->end, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&b->thread, &attributes, watch, b) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (started) return b;
    free(b);
    return NULL;
}

void tt_budget_end(tt_budget_watch *b)
{
    if (!b) return;
    (void)pthread_mutex_lock(&b->lock);
    b->ending = true;
    (void)pthread_cond_signal(&b->end);
    (void)pthread_mutex_unlock(&b->lock);
    (void)pthread_join(b->thread, NULL);
    free(b);
}
