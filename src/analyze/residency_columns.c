/* The columns of what was in RAM, for every output. */
#include "analyze/residency.h"
#include "base/path.h"

#include <stdio.h>

const char *tt_residency_moment(uint8_t moment)
{
    switch (moment) {
    case TT_AT_BATCH_BEGIN:
        return "batch_begin";
    case TT_AT_BATCH_END:
        return "batch_end";
    case TT_AT_BEGIN:
        return "recording_begin";
    case TT_AT_END:
        return "recording_end";
    case TT_AT_MAP_BEGIN:
        return "map_begin";
    case TT_AT_MAP_END:
        return "map_end";
    case TT_AT_FIRST_BATCH:
        return "first_batch";
    default:
        return "unknown";
    }
}

static const tt_model *model_of(const void *context)
{
    return context;
}

TT_COLUMN_GET(sample_model, tt_residency_sample, r,
              tt_cell_text(cell, model_of(context)->files[r->file].path);)
TT_COLUMN_KNOWN(of_batch, tt_residency_sample, r, r->batch != TT_NONE)
TT_COLUMN_VALUE(sample_batch, tt_residency_sample, r, u64, tt_model_batch_number(context, r->batch))
TT_COLUMN_GET(sample_moment, tt_residency_sample, r,
              tt_cell_text(cell, tt_residency_moment(r->moment));)
TT_COLUMN_VALUE(sample_begin, tt_residency_sample, r, f64, tt_model_ns(context, r->begin_ticks))
TT_COLUMN_VALUE(sample_end, tt_residency_sample, r, f64, tt_model_ns(context, r->end_ticks))
TT_COLUMN_KNOWN(is_compared, tt_residency_sample, r, r->compared)

TT_COLUMN_SHOW(text_model, tt_residency_sample, r,
               tt_cell_text_copy(out, room, tt_base_name(model_of(context)->files[r->file].path));)
TT_COLUMN_SHOW(text_begin, tt_residency_sample, r,
               (void)snprintf(out, room, "%.3f", tt_model_ns(context, r->begin_ticks) / 1e6);)
TT_COLUMN_GET(get_share, tt_residency_sample, r, {
    cell->known = r->observed_bytes > 0;
    if (cell->known) cell->f64 = (double)r->resident_bytes / (double)r->observed_bytes;
})

#define SAMPLED(key_, title_, about_, ...)                                                         \
    TT_COLUMN(#key_, title_, BYTES, about_, TT_MEMBER(tt_residency_sample, key_), __VA_ARGS__)
static const tt_column sample_columns[] = {
    TT_COLUMN("model_file", "MODEL", NONE, "the model file", .type = TT_CELL_NAME,
              .get = sample_model, .text = text_model, .show = TT_SHOW_CUT),
    TT_COLUMN("batch_id", "BATCH", ID, "null: outside any", .type = TT_CELL_U64, .known = of_batch,
              .get = sample_batch, .show = TT_SHOW_DASH),
    TT_COLUMN("moment", "AT", NONE, "of the batch or recording", .type = TT_CELL_NAME,
              .get = sample_moment),
    TT_COLUMN("start_relative_ns", "TIME ms", MOMENT, "since the first batch", .type = TT_CELL_F64,
              .get = sample_begin, .text = text_begin),
    TT_FIELD("end_relative_ns", "likewise", .type = TT_CELL_F64, .get = sample_end),
    SAMPLED(observed_bytes, NULL, "that were looked at", .known = NULL),
    SAMPLED(resident_bytes, "IN RAM", "in RAM", .known = NULL),
    TT_COLUMN("share", "SHARE", SHARE, "of what was looked at", .type = TT_CELL_F64,
              .get = get_share, .show = TT_SHOW_TEXT),
    SAMPLED(came_bytes, "LOADED", "since the sample before", .known = is_compared),
    SAMPLED(went_bytes, "EVICTED", "likewise", .known = is_compared),
};
const tt_schema tt_residency_sample_schema = TT_SCHEMA("samples", "of a file", sample_columns);
