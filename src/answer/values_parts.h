/* What the answers about values have in common. */
#ifndef TT_ANSWER_VALUES_PARTS_H
#define TT_ANSWER_VALUES_PARTS_H

#include "answer/values.h"

/* "summary": {...}: what the outputs are that pass, all together. */
void tt_values_put_summary(tt_json *j, const tt_model *m, const tt_values_counts *c);
/* "batch_id", "run", "run_id", ..., "shape": which output it is, without an object around it. */
void tt_values_put_which(tt_json *j, const tt_model *m, uint32_t run, uint32_t node);
/* "KEY": [v0, v1, v2, v3] */
void tt_values_put_four(tt_json *j, const char *key, const uint64_t v[4]);
/* "elements", "n_nan", ..., "blake3": what is said of it. */
void tt_values_put_print(tt_json *j, const tt_graph *g, uint32_t node, const tt_fingerprint *p,
                         bool samples);

#endif
