/* Where the weights of a model would be if its files had their tensors in another order. */
#ifndef TT_ANALYZE_CACHE_TENSOR_ORDER_H
#define TT_ANALYZE_CACHE_TENSOR_ORDER_H

#include "analyze/reads.h"

typedef enum tt_tensor_order {
    TT_TENSORS_AS_IN_FILE,
    TT_TENSORS_BY_USE,  /* as they are first read; unused ones last */
    TT_TENSORS_BY_LAYER /* layer by layer, each as in the file; before and behind them what is read
                           before and behind the layers */
} tt_tensor_order;
#define TT_TENSOR_ORDERS 3
extern const char *const tt_tensor_orders[TT_TENSOR_ORDERS]; /* their names */

/* The offset in its file of each weight, malloc'ed: consecutive, aligned as the file says.
 * NULL if out of memory. */
uint64_t *tt_tensor_order_places(const tt_model *m, const tt_reads *reads, tt_tensor_order order);

#endif
