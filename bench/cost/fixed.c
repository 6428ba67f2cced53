/* A record of COST_RECORD_BYTES for each op, written whole into a shared mapping of a file,
 * $COST_OUT, with both times from clock_gettime: how an earlier pipeline of this kind recorded.
 * The mapping is used again from its beginning when it is full, which is kind: the pages are
 * then present, and nothing is waited for. */
#define STRING(x) #x
#define NAME(bytes) STRING(bytes) "-byte records"
#define COST_NAME NAME(COST_RECORD_BYTES)
#define COST_HALVES 1
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPING_BYTES (32u << 20) /* a thread */

typedef struct record {
    uint64_t begin_ns, end_ns;
    uint32_t run, node;
    char names[COST_RECORD_BYTES - 24]; /* of the op and its sources, and their places */
} record;

typedef struct writer {
    record *slots;
    uint32_t at;
    record prepared;
} writer;

static void cost_open(void)
{
}

static void cost_begin(cost_thread *t)
{
    char path[4096];
    const char *out = getenv("COST_OUT");
    writer *w = calloc(1, sizeof *w);
    (void)snprintf(path, sizeof path, "%s.%u", out ? out : "cost.out", (unsigned)t->index);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!w || fd < 0 || ftruncate(fd, MAPPING_BYTES) != 0) exit(2);
    w->slots = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (w->slots == MAP_FAILED) exit(2);
    memset(w->slots, 0, MAPPING_BYTES);
    memset(w->prepared.names, 'n', sizeof w->prepared.names);
    (void)close(fd);
    t->own = w;
}

static void cost_round(cost_thread *t)
{
    ((writer *)t->own)->prepared.run = t->round;
}

static bool cost_has_room(cost_thread *t)
{
    (void)t;
    return true;
}

static inline void cost_first(cost_thread *t, uint32_t i)
{
    writer *w = t->own;
    w->prepared.node = i;
    w->prepared.begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    writer *w = t->own;
    (void)i;
    w->prepared.end_ns = tt_clock_ns(CLOCK_MONOTONIC);
    memcpy(&w->slots[w->at], &w->prepared, sizeof w->prepared);
    w->at = (w->at + 1) % (MAPPING_BYTES / sizeof(record));
}

static void cost_end(cost_thread *t)
{
    writer *w = t->own;
    (void)munmap(w->slots, MAPPING_BYTES);
    free(w);
}

static uint64_t cost_close(void)
{
    return 0;
}
