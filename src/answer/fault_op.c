#include "answer/faults.h"
#include "base/units.h"

uint64_t tt_fault_op_ticks(const tt_fault_op *op)
{
    return op->times->open ? 0 : tt_joined_ticks(op->times);
}

static void json_weights(tt_json *j, const tt_model *m, const tt_fault_op *op)
{
    uint32_t last = TT_NONE;
    tt_json_key(j, "tensors");
    tt_json_array(j);
    for (size_t i = 0; i < op->n_accesses; i++) {
        if (op->accesses[i].weight == last) continue;
        last = op->accesses[i].weight;
        tt_json_string(j, m->weights[last].name);
    }
    tt_json_array_end(j);
}

void tt_fault_op_json(tt_json *j, const tt_model *m, const tt_fault_op *op)
{
    const tt_run *run = &m->runs[op->run];
    tt_json_object(j);
    tt_json_kv_u64(j, "start_ns", tt_model_mono_ns(m, op->times->start));
    tt_json_kv_double(j, "start_relative_ns", tt_model_ns(m, op->times->start));
    tt_json_key(j, "duration_ns");
    if (op->times->open)
        tt_json_null(j);
    else
        tt_json_u64(j, tt_units_round_ns(tt_model_span_ns(m, tt_fault_op_ticks(op))));
    tt_json_key(j, "token_id");
    if (run->batch == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, tt_model_token(m, run->batch));
    tt_json_kv_u64(j, "run_id", run->id);
    tt_json_kv_u64(j, "node", op->op->node);
    tt_json_kv_string(j, "op", op->op->op);
    tt_json_kv_string(j, "name", op->op->name);
    tt_json_key(j, "layer_id");
    if (op->op->place.layer_id < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, op->op->place.layer_id);
    tt_json_kv_u64(j, "minor_faults", op->counts.minor);
    tt_json_kv_u64(j, "major_faults", op->counts.major);
    tt_json_key(j, "read_bytes");
    if (op->counts.observed_reads)
        tt_json_u64(j, op->counts.read_bytes);
    else
        tt_json_null(j);
    tt_json_kv_u64(j, "accessed_bytes", op->accessed_bytes);
    json_weights(j, m, op);
    tt_json_object_end(j);
}
