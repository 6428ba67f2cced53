/* /api/v1/traces/ID/tensors: the tensors of the model files, in columns. */
#include "serve/endpoints.h"
#include "table/table.h"

TT_COLUMN_JSON(put_ne, tt_weight, w, tt_json_array(j);
               for (uint32_t d = 0; d < w->n_dims && d < TT_DIMS; d++) tt_json_u64(j, w->ne[d]);
               tt_json_array_end(j);)

TT_COLUMN_KNOWN(has_file, tt_weight, w, w->file != TT_NONE)
static const tt_column columns[] = {
    TT_COLUMN("name", NULL, NONE, "its name", TT_MEMBER(tt_weight, name)),
    TT_COLUMN("type", NULL, NONE, "type of its elements", TT_MEMBER(tt_weight, type_name)),
    TT_COLUMN("ne", NULL, NONE, "its sizes", .json = put_ne),
    TT_COLUMN("layer_id", NULL, ID, "the layer", TT_LAYER, TT_LAYER_AT(tt_weight, place.layer_id)),
    TT_STACK(TT_LAYER_AT(tt_weight, place.layer_id)),
    TT_COLUMN("category", NULL, NONE, "its category", TT_MEMBER(tt_weight, place.category)),
    TT_COLUMN("component", NULL, NONE, "its component", TT_MEMBER(tt_weight, place.component)),
    TT_COLUMN("model_file_id", NULL, ID, "", TT_MEMBER(tt_weight, file), .known = has_file),
    TT_COLUMN("file_offset_bytes", NULL, BYTES, "its place in the file",
              TT_MEMBER(tt_weight, offset_bytes)),
    TT_COLUMN("size_bytes", NULL, BYTES, "its size", TT_MEMBER(tt_weight, size_bytes)),
};
static const tt_schema schema = {"tensors", "a tensor of a model file", columns,
                                 sizeof columns / sizeof *columns};

tt_status tt_answer_tensors(tt_request *q, tt_reply *r, tt_error *err)
{
    const tt_rowset set = TT_ROWSET(&schema, 0, NULL, q->m->weights, q->m->n_weights);
    tt_json *j = tt_reply_json(r);
    (void)err;
    tt_json_object(j);
    tt_json_kv_u64(j, "n", q->m->n_weights);
    tt_rowset_json_columns(j, NULL, &set);
    tt_json_object_end(j);
    return TT_OK;
}
