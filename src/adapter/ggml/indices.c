#include "adapter/ggml/indices.h"

#include "adapter/ggml/graphs.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/values.h"
#include "format/meta.h"

#include <stdlib.h>
#include <string.h>

#define INDICES_MAX (1u << 20)

static void put_values(tt_bytes *out, const void *values, uint32_t n, bool wide)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = wide ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
        tt_bytes_zigzag(out, (int64_t)((uint64_t)v - (uint64_t)last));
        last = v;
    }
}

static void record(tt_recorder *r, const tt_engine *e, uint32_t run, uint32_t tensor,
                   const struct ggml_tensor *leaf)
{
    bool wide = strcmp(e->type_name(leaf->type), "i64") == 0;
    if (!wide && strcmp(e->type_name(leaf->type), "i32") != 0) return;
    size_t width = wide ? sizeof(int64_t) : sizeof(int32_t), bytes = e->nbytes(leaf);
    if (bytes == 0 || bytes / width > INDICES_MAX) return;
    void *values = tt_values_copy(e, leaf, bytes);
    if (!values) return;
    tt_meta_indices x = {run, tensor, (uint32_t)(bytes / width)};
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_indices(&payload, &x);
    put_values(&payload, values, x.n, wide);
    (void)tt_process_put(r, TT_META_INDICES, &payload);
    free(values);
}

void tt_indices_record(tt_recorder *r, const tt_engine *e, uint32_t run, uint32_t graph,
                       struct ggml_tensor *const *nodes)
{
    uint32_t n;
    const tt_graph_input *inputs = tt_graphs_inputs(graph, &n);
    for (uint32_t i = 0; i < n; i++)
        record(r, e, run, inputs[i].tensor, tt_graphs_input_leaf(nodes[inputs[i].node]));
}
