/* The entries of the table of endpoints; each is described in docs/api-http.md. */
#ifndef TT_SERVE_ENDPOINTS_H
#define TT_SERVE_ENDPOINTS_H

#include "serve/endpoint.h"

tt_answer tt_answer_buffers, tt_answer_buffers_curve, tt_answer_counters, tt_answer_diff,
    tt_answer_diff_pair, tt_answer_diff_tokens, tt_answer_diff_values, tt_answer_experts,
    tt_answer_find, tt_answer_flame, tt_answer_graph, tt_answer_graph_dot, tt_answer_graph_search,
    tt_answer_index, tt_answer_log_count, tt_answer_log_export, tt_answer_log_locate,
    tt_answer_log_ops, tt_answer_log_rows, tt_answer_machine, tt_answer_memory,
    tt_answer_memory_faults, tt_answer_memory_heat, tt_answer_memory_loading,
    tt_answer_memory_loading_bins, tt_answer_memory_pages, tt_answer_memory_pages_bins,
    tt_answer_memory_pages_faults, tt_answer_memory_path, tt_answer_memory_region,
    tt_answer_memory_residency, tt_answer_memory_tokens, tt_answer_notes, tt_answer_op,
    tt_answer_op_times, tt_answer_overview, tt_answer_pool, tt_answer_pool_bins,
    tt_answer_pool_reads, tt_answer_pool_waits, tt_answer_roofline, tt_answer_series,
    tt_answer_state, tt_answer_stats, tt_answer_summary, tt_answer_tensors, tt_answer_timeline,
    tt_answer_timeline_aggregate, tt_answer_timeline_off_cpu, tt_answer_timeline_overview,
    tt_answer_values, tt_answer_values_bad, tt_answer_values_first, tt_answer_values_grid,
    tt_answer_values_list, tt_answer_values_op, tt_answer_whatif, tt_answer_why;

#endif
