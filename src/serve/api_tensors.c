/* /api/v1/traces/ID/tensors: the tensors of the model files, in columns. */
#include "serve/endpoints.h"

enum column {
    NAME,
    TYPE,
    NE,
    LAYER_ID,
    CATEGORY,
    COMPONENT,
    FILE_ID,
    OFFSET_BYTES,
    SIZE_BYTES,
    COLUMNS
};

static void put_cell(tt_json *j, const tt_weight *w, enum column column)
{
    switch (column) {
    case NAME:
        tt_json_string(j, w->name);
        break;
    case TYPE:
        tt_json_string(j, w->type_name);
        break;
    case NE:
        tt_json_array(j);
        for (uint32_t d = 0; d < w->n_dims && d < TT_DIMS; d++)
            tt_json_u64(j, w->ne[d]);
        tt_json_array_end(j);
        break;
    case LAYER_ID:
        w->place.layer_id >= 0 ? tt_json_i64(j, w->place.layer_id) : tt_json_null(j);
        break;
    case CATEGORY:
        tt_json_string(j, w->place.category);
        break;
    case COMPONENT:
        tt_json_string(j, w->place.component);
        break;
    case FILE_ID:
        w->file != TT_NONE ? tt_json_u64(j, w->file) : tt_json_null(j);
        break;
    case OFFSET_BYTES:
        tt_json_u64(j, w->offset_bytes);
        break;
    default:
        tt_json_u64(j, w->size_bytes);
        break;
    }
}

tt_status tt_answer_tensors(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const names[COLUMNS] = {"name",     "type",         "ne",
                                               "layer_id", "category",     "component",
                                               "file",     "offset_bytes", "size_bytes"};
    const tt_model *m = q->m;
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    tt_json_object(j);
    tt_json_kv_u64(j, "n", m->n_weights);
    for (int column = 0; column < COLUMNS; column++) {
        tt_json_key(j, names[column]);
        tt_json_array(j);
        for (uint32_t i = 0; i < m->n_weights; i++)
            put_cell(j, &m->weights[i], (enum column)column);
        tt_json_array_end(j);
    }
    tt_json_object_end(j);
    return TT_OK;
}
