/* The weights of the program's models in a pool of limited size (src/boost): which of them its ops
 * read, and when. Works whether the process is recorded or not. */
#ifndef TT_ADAPTER_GGML_BOOST_H
#define TT_ADAPTER_GGML_BOOST_H

#include "adapter/ggml/engine.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Graphs under way that read weights of the pool. */
extern _Atomic uint32_t tt_boost_graphs;
/* Whether mappings are looked at. */
extern _Atomic bool tt_boost_on;

/* Reads the environment; before tt_lifecycle_begin, whose locks come first. */
void tt_boost_begin(void);

/* On the thread that computes the graph. False: nothing is to be done in it. */
bool tt_boost_graph_begin(const tt_engine *e, struct ggml_cgraph *graph);
/* It is over; run: its id in the trace, 0: it is not recorded. */
void tt_boost_graph_end(uint32_t run);
/* Any thread begins the op. */
void tt_boost_op_slowly(const struct ggml_tensor *op);
static inline void tt_boost_op(const struct ggml_tensor *op)
{
    if (__builtin_expect(atomic_load_explicit(&tt_boost_graphs, memory_order_relaxed) != 0, 0))
        tt_boost_op_slowly(op);
}

enum tt_boost_file {
    TT_BOOST_OTHER, /* none of ours */
    TT_BOOST_MODEL,
    TT_BOOST_LARGE /* a model that does not fit: the kernel is not to read all of it at once */
};
/* What the program maps. */
enum tt_boost_file tt_boost_looks(int fd, uint64_t bytes, int prot, int flags);
/* It has been mapped. */
void tt_boost_mapped(void *at, uint64_t bytes, int fd, uint64_t offset);
enum tt_boost_left {
    TT_BOOST_NONE, /* none of the addresses are ours; nothing to end */
    TT_BOOST_LEFT, /* all are the file's mapping again */
    TT_BOOST_KEPT  /* some are not */
};
/* Around a call that unmaps these addresses, maps something over them or changes what they are, and
 * those of `too`, if there are any. errno stays, as in the other calls for mappings. */
enum tt_boost_left tt_boost_leave_begin(const void *at, uint64_t n, const void *too,
                                        uint64_t n_too);
void tt_boost_leave_end(void);
/* Whether the addresses are of a model that does not fit. */
bool tt_boost_has(const void *at, uint64_t n);

#endif
