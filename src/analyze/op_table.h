/* Descriptions of ops (analyze/ops.h), each made once while there is room. */
#ifndef TT_ANALYZE_OP_TABLE_H
#define TT_ANALYZE_OP_TABLE_H

#include "analyze/ops.h"
#include "model/model.h"

#include <stdint.h>

/* Memory of the descriptions kept at once: of some 18,000 ops. */
#define TT_OP_TABLE_BYTES_MAX ((size_t)64 << 20)

typedef struct tt_op_table tt_op_table;

/* NULL without memory. The model outlives it. */
tt_op_table *tt_op_table_new(const tt_model *m);
void tt_op_table_free(tt_op_table *t);

/* The op at `node` of the graph (in m->graphs, both in range) that also covers the `covers`
 * executing nodes behind it. Valid until the next call; NULL without memory. */
const tt_op *tt_op_table_get(tt_op_table *t, uint32_t graph, uint32_t node, uint32_t covers);
/* Something that the user keeps with the description got last, made by malloc: freed with it. *it
 * is NULL at first. */
void **tt_op_table_note(tt_op_table *t, uint32_t graph, uint32_t node);

#endif
