/* A token's entries against its graph: each is of a node that computes, by the op that the graph
 * has there, and all that the graph computes have one. */
#include "dataset/verifier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void tt_dataset_ops_free(tt_dataset_verifier *v)
{
    json_decref(v->nodes);
    free(v->ops);
    v->nodes = NULL;
    v->ops = NULL;
    v->n_ops = 0;
}

void tt_dataset_ops_of(tt_dataset_verifier *v, json_t *nodes)
{
    const json_t *n;
    size_t i;
    tt_dataset_ops_free(v);
    v->ops = calloc(json_array_size(nodes) + 1, sizeof *v->ops);
    v->no_memory |= !v->ops;
    if (!v->ops) return;
    v->nodes = json_incref(nodes);
    json_array_foreach(nodes, i, n)
    {
        if (strcmp(tt_text_of(n, "node_type"), "op") == 0)
            v->ops[v->n_ops++] = (tt_dataset_op){.node = i};
    }
}

static int by_node(const void *key, const void *element)
{
    const uint64_t *node = key;
    const tt_dataset_op *op = element;
    return *node < op->node ? -1 : *node > op->node;
}

bool tt_dataset_op_entry(tt_dataset_verifier *v, uint64_t node, const char *operation)
{
    tt_dataset_op *op = bsearch(&node, v->ops, v->n_ops, sizeof *v->ops, by_node);
    const char *end = operation + strlen(operation);
    if (!op) return false;
    /* A fused op's parts are the nodes before its last one: "RMS_NORM+MUL". */
    for (;; op--) {
        const char *part = end;
        while (part > operation && part[-1] != '+')
            part--;
        const char *is = tt_text_of(json_array_get(v->nodes, op->node), "operation");
        if (strlen(is) != (size_t)(end - part) || memcmp(is, part, (size_t)(end - part)) != 0)
            return false;
        op->seen = true;
        if (part == operation) return true;
        if (op == v->ops) return false;
        end = part - 1;
    }
}

void tt_dataset_ops_seen(tt_dataset_verifier *v)
{
    uint64_t missing = 0, first = 0;
    for (size_t i = 0; i < v->n_ops; i++) {
        v->checks[TT_CHECK_GRAPHS].examined++;
        if (v->ops[i].seen) continue;
        if (missing++ == 0) first = v->ops[i].node;
    }
    if (missing)
        TT_OFFEND(v, TT_CHECK_GRAPHS,
                  "no entry of %" PRIu64 " of the %zu ops of its graph, the first node_%" PRIu64,
                  missing, v->n_ops, first);
}
