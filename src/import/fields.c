#include "import/fields.h"

#include <string.h>
#include <strings.h>

static const struct {
    tt_import_field field;
    const char *names; /* separated by blanks */
} table[] = {
    {TT_IMPORT_LAYER, "layer layer_id layer_idx layer_index"},
    {TT_IMPORT_EXPERTS, "expert experts expert_id expert_ids expert_idx topk_ids topk_experts "
                        "topk_idx topk_indices selected_experts selected_ids"},
    {TT_IMPORT_LAYERS, "layers"},
    {TT_IMPORT_ROUTED, "routed_experts"},
    {TT_IMPORT_TOKEN, "token token_idx token_index token_pos token_position position positions "
                      "pos"},
    {TT_IMPORT_BATCH, "batch batch_id batch_idx forward_pass_id"},
    {TT_IMPORT_SEQUENCE, "sequence sequence_id seq seq_id request request_id req_id rid session "
                         "session_id prompt_id sample_id conversation_id"},
    {TT_IMPORT_RANK, "rank expert_rank topk_rank route_slot"},
    {TT_IMPORT_WEIGHTS, "weight weights score scores prob probs gate_weight gate_weights "
                        "expert_weights routing_weights topk_weights selected_probabilities"},
    {TT_IMPORT_KIND, "type record_type"},
    {TT_IMPORT_VOCABULARY, "token_id input_id vocab_id"},
    {TT_IMPORT_IDLE, "phase time timestamp timestamp_ns schema model model_id model_name "
                     "source_file origin_rows token_text token_str"},
    {TT_IMPORT_COUNTED, "count counts n freq frequency hits tokens n_tokens num_tokens total load "
                        "count_all_topk count_top1 logical_count"},
};

bool tt_import_is_named(const char *name, const char *text, size_t n)
{
    return strlen(name) == n && strncasecmp(name, text, n) == 0;
}

tt_import_field tt_import_field_named(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (const char *at = table[i].names; *at; at += strspn(at, " ")) {
            const size_t length = strcspn(at, " ");
            if (length == n && strncasecmp(at, name, n) == 0) return table[i].field;
            at += length;
        }
    return TT_IMPORT_UNKNOWN;
}
