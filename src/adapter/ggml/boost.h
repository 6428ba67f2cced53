/* The weights of the program's models in a pool of limited size (src/boost): which of them its ops
 * read, and when. Works with and without recording. */
#ifndef TT_ADAPTER_GGML_BOOST_H
#define TT_ADAPTER_GGML_BOOST_H

#include "adapter/ggml/engine.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Active graphs that read weights of the pool. */
extern _Atomic uint32_t tt_boost_graphs;
/* Whether mappings are examined. */
extern _Atomic bool tt_boost_on;

/* Reads the environment. Call it before tt_lifecycle_begin, because its locks are taken first. */
void tt_boost_begin(void);

/* Call on the thread that computes the graph, with so many others (n_threads with it; 0: not
 * known). False: nothing to do for it. */
bool tt_boost_graph_begin(const tt_engine *e, struct ggml_cgraph *graph, uint32_t n_threads);
/* Call when it has ended; run: its id in the trace; 0: not recorded. */
void tt_boost_graph_end(uint32_t run);
/* A thread begins the op. */
void tt_boost_op_slowly(const struct ggml_tensor *op);
static inline void tt_boost_op(const struct ggml_tensor *op)
{
    if (__builtin_expect(atomic_load_explicit(&tt_boost_graphs, memory_order_relaxed) != 0, 0))
        tt_boost_op_slowly(op);
}

enum tt_boost_file {
    TT_BOOST_OTHER, /* not ours */
    TT_BOOST_MODEL,
    TT_BOOST_LARGE /* a model larger than the pool: keep the kernel from reading all of it at
                      once */
};
/* Classifies a mapping that the program is about to make. */
enum tt_boost_file tt_boost_looks(int fd, uint64_t bytes, int prot, int flags);
/* The mapping has been made. */
void tt_boost_mapped(void *at, uint64_t bytes, int fd, uint64_t offset);
enum tt_boost_left {
    TT_BOOST_NONE, /* none of the addresses are ours; do not call end */
    TT_BOOST_LEFT, /* all are the file's mapping again */
    TT_BOOST_KEPT  /* some are still ours */
};
/* Call around an unmap, a mapping over these addresses or a change of them, and of `too`, if not
 * empty. errno is preserved, as by the other calls for mappings. */
enum tt_boost_left tt_boost_leave_begin(const void *at, uint64_t n, const void *too,
                                        uint64_t n_too);
void tt_boost_leave_end(void);
/* Whether the addresses are of a model larger than the pool. */
bool tt_boost_has(const void *at, uint64_t n);

#endif
