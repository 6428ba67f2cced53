#include "answer/whatif.h"

static double ratio(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

static void part(tt_json *j, const tt_whatif_view *v, const char *key, const tt_whatif_part *p)
{
    const bool timed = p->timed_tokens > 0;
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", p->batches);
    tt_json_kv_u64(j, "tokens", p->tokens);
    tt_json_kv_u64(j, "read_bytes", p->asked_bytes);
    tt_json_kv_u64(j, "whole_units_bytes", p->read_bytes);
    tt_json_kv_u64(j, "first_bytes", p->first_bytes);
    tt_json_kv_u64(j, "missed_bytes", p->missed_bytes);
    tt_json_kv_double_or_null(j, "miss_ratio", p->read_bytes > 0,
                              ratio(p->missed_bytes, p->read_bytes));
    tt_json_kv_double_or_null(j, "missed_per_token_bytes", p->tokens > 0,
                              ratio(p->missed_bytes, p->tokens));
    tt_json_kv_double_or_null(j, "compute_per_token_ns", timed, tt_whatif_compute_ns(p));
    tt_json_kv_double_or_null(j, "disk_per_token_ns", timed && v->has_disk, tt_whatif_disk_ns(p));
    tt_json_kv_double_or_null(j, "tokens_per_s_no_overlap", timed && v->has_disk,
                              tt_whatif_rate_apart(p));
    tt_json_kv_double_or_null(j, "tokens_per_s_full_overlap", timed && v->has_disk,
                              tt_whatif_rate_overlap(p));
    tt_json_object_end(j);
}

void tt_whatif_json(tt_json *j, const tt_whatif_view *v)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "unit", v->unit);
    tt_json_key(j, "page_bytes");
    if (v->page_bytes)
        tt_json_u64(j, v->page_bytes);
    else
        tt_json_null(j);
    tt_json_kv_u64(j, "readahead_bytes", v->readahead_bytes);
    tt_json_kv_bool(j, "warm", v->warm);
    tt_json_kv_bool(j, "at_most", v->at_most);
    tt_json_kv_double_or_null(j, "disk_bytes_per_s", v->has_disk, v->disk_bytes_per_s);
    tt_json_kv_u64(j, "reserve_bytes", v->reserve_bytes);
    tt_json_key(j, "traced_readahead_bytes");
    if (v->traced_readahead_bytes)
        tt_json_u64(j, v->traced_readahead_bytes);
    else
        tt_json_null(j);
    tt_json_kv_u64(j, "weights_size_bytes", v->model_bytes);
    tt_json_kv_u64(j, "touched_bytes", v->touched_bytes);
    tt_json_kv_u64(j, "reads", v->reads);
    tt_json_key(j, "results");
    tt_json_array(j);
    for (size_t i = 0; i < v->n_policies * v->n_sizes; i++) {
        const tt_whatif_result *r = &v->results[i];
        tt_json_object(j);
        tt_json_kv_string(j, "policy", v->policies[i / v->n_sizes]);
        tt_json_kv_u64(j, "ram_bytes", r->ram_bytes + v->reserve_bytes);
        tt_json_kv_u64(j, "cache_bytes", r->ram_bytes);
        for (unsigned k = 0; k < TT_PHASES; k++)
            part(j, v, tt_phase_name(tt_phase_told(k)), &r->of_phase[tt_phase_told(k)]);
        part(j, v, "steady", &r->steady);
        part(j, v, "total", &r->total);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}
