/* What outputs are put together by, as numbers: the name of the node, its place, or the op. */
#ifndef TT_ANALYZE_VALUES_KEYS_H
#define TT_ANALYZE_VALUES_KEYS_H

#include "analyze/values/values_walk.h"
#include "base/idmap.h"

#define TT_VALUES_KEY_TEXT 160u

typedef enum tt_values_key {
    TT_VALUES_KEY_NAME,
    TT_VALUES_KEY_PLACE, /* the name without its layer */
    TT_VALUES_KEY_OP,
    TT_VALUES_KEY_PLACE_AND_OP /* several nodes of a layer may share a name: "Qcur-0" */
} tt_values_key;

/* Zero-filled but for `what` and `m` is ready. */
typedef struct tt_values_keys {
    tt_values_key what;
    const tt_model *m;
    char **texts; /* by number, in the order of first use */
    uint32_t n, capacity;
    uint32_t **of_graph; /* private: by graph, by node, number + 1 */
    tt_idmap by_text;    /* private */
} tt_values_keys;

/* The number of what is seen; TT_NONE without memory. */
uint32_t tt_values_keys_of(tt_values_keys *k, tt_values_walk *w, const tt_values_seen *seen);
void tt_values_keys_free(tt_values_keys *k);

/* "l_out-3" of layer 3 is "l_out", "cache_k_l0 (view)" of layer 0 "cache_k (view)", "blk.2.q_proj"
 * of layer 2 "q_proj"; a node without a name is its op. Longer ones are cut. Returns out. */
char *tt_values_place(const tt_tensor *t, char out[TT_VALUES_KEY_TEXT]);

#endif
