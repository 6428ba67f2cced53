/* The columns of loading, for every output. */
#include "analyze/loading.h"

#include "base/path.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

const char *tt_loading_phase_name(unsigned phase)
{
    static const char *const names[TT_LOADING_PHASES] = {
        "opened", "mapped", "loaded", "warm-up", "prompt", "generate", "mixed", "unknown", "end"};
    return phase < TT_LOADING_PHASES ? names[phase] : "unknown";
}

void tt_loading_describe(const tt_loading_row *r, char *out, size_t size)
{
    (void)snprintf(out, size, "%s%s%s",
                   r->map && r->map->what & TT_MAP_POPULATE ? "populated" : "not populated",
                   r->advice[0] ? ", " : "", r->advice);
}

TT_COLUMN_GET(get_phase, tt_loading_row, r, tt_cell_text(cell, tt_loading_phase_name(r->phase));)
TT_COLUMN_KNOWN(has_begin, tt_loading_row, r, r->has_begin)
TT_COLUMN_KNOWN(has_end, tt_loading_row, r, r->has_end)
TT_COLUMN_KNOWN(has_duration, tt_loading_row, r, r->has_begin && r->has_end)
TT_COLUMN_KNOWN(looked, tt_loading_row, r, r->looked)
TT_COLUMN_KNOWN(has_io, tt_loading_row, r, r->has_io)
TT_COLUMN_KNOWN(has_faults, tt_loading_row, r, r->has_faults)
TT_COLUMN_KNOWN(has_fetched, tt_loading_row, r, r->has_fetched)
TT_COLUMN_KNOWN(evaluated, tt_loading_row, r, r->evaluated)
TT_COLUMN_KNOWN(has_most, tt_loading_row, r, r->evaluated && r->has_again_most)
TT_COLUMN_GET(get_duration, tt_loading_row, r, cell->known = has_duration(context, row);
              cell->f64 = r->end_ns - r->begin_ns;)
TT_COLUMN_GET(get_populate, tt_loading_row, r, cell->known = r->map != NULL;
              cell->boolean = r->map && r->map->what & TT_MAP_POPULATE;)
TT_COLUMN_GET(get_mapped, tt_loading_row, r, cell->known = r->map != NULL;
              cell->u64 = r->map ? r->map->size_bytes : 0;)
TT_COLUMN_GET(get_advice, tt_loading_row, r, cell->known = r->map != NULL;
              if (r->map) tt_cell_text(cell, r->advice);)
/* If nothing was read afterwards, no page can have returned unobserved, except by another
 * process. */
static bool is_exact(const tt_loading_row *r)
{
    return r->has_again_most && r->again_most_bytes == r->again_bytes;
}

static tt_certainty at_least(const void *context, const void *row)
{
    (void)context;
    return is_exact(row) ? TT_EXACT : TT_AT_LEAST;
}

static tt_certainty at_most(const void *context, const void *row)
{
    (void)context;
    return is_exact(row) && !((const tt_loading_row *)row)->unplaced ? TT_EXACT : TT_AT_MOST;
}

static tt_certainty unused_bound(const void *context, const void *row)
{
    (void)context;
    return ((const tt_loading_row *)row)->unplaced ? TT_AT_LEAST : TT_EXACT;
}

TT_COLUMN_SHOW(show_path, tt_loading_row, r, tt_cell_text_copy(out, room, tt_base_name(r->path));)

#define BYTES(key_, title_, about_, ...)                                                           \
    TT_COLUMN(key_, title_, BYTES, about_, .nullable = true, __VA_ARGS__)
static const tt_column columns[] = {
    TT_COLUMN("phase", "PHASE", NONE,
              "opened: until it is mapped; mapped: while it is mapped; loaded: from then to the "
              "first batch; then the phases of batches; end: from the first batch to the end",
              .type = TT_CELL_NAME, .show = TT_SHOW_KEY, .get = get_phase),
    TT_COLUMN("model_file", "MODEL", NONE, "the model file", .show = TT_SHOW_CUT | TT_SHOW_WIDEST,
              TT_MEMBER(tt_loading_row, path), .text = show_path),
    TT_COLUMN("start_relative_ns", NULL, MOMENT, "begin of the phase, since the first batch",
              .nullable = true, .known = has_begin, TT_MEMBER(tt_loading_row, begin_ns)),
    TT_COLUMN("end_relative_ns", NULL, MOMENT, "end of the phase, since the first batch",
              .nullable = true, .known = has_end, TT_MEMBER(tt_loading_row, end_ns)),
    TT_COLUMN("duration_ns", "TIME", NS, "duration of the phase", .nullable = true,
              .type = TT_CELL_F64, .get = get_duration),
    TT_COLUMN("populate", NULL, NONE, "mapped: with MAP_POPULATE", .nullable = true,
              .type = TT_CELL_BOOL, .get = get_populate),
    TT_COLUMN("advice", NULL, NONE,
              "mapped: the program's advice to the kernel about the file before the first batch "
              "(posix_fadvise, madvise)",
              .nullable = true, .type = TT_CELL_NAME, .get = get_advice),
    BYTES("mapped_bytes", NULL, "mapped: bytes of the file that were mapped", .type = TT_CELL_U64,
          .get = get_mapped),
    BYTES("observed_bytes", NULL,
          "bytes of the file's pages that were sampled at the end of the phase", .known = looked,
          TT_MEMBER(tt_loading_row, observed_bytes)),
    BYTES("resident_bytes", "IN RAM", "the part of observed_bytes that was in RAM", .known = looked,
          TT_MEMBER(tt_loading_row, resident_bytes)),
    BYTES("read_bytes", "READ",
          "bytes that the process read from any device in the phase; opened: since it began",
          .known = has_io, TT_MEMBER(tt_loading_row, read_bytes)),
    TT_COLUMN("minor_faults", NULL, COUNT, "minor page faults of the process in the phase",
              .nullable = true, .known = has_faults, TT_MEMBER(tt_loading_row, minor)),
    TT_COLUMN("major_faults", "MAJOR", COUNT, "page faults of the process that waited for a device",
              .nullable = true, .known = has_faults, TT_MEMBER(tt_loading_row, major)),
    BYTES("fetched_bytes", "FETCHED",
          "bytes not in RAM at the begin of the phase, and in RAM at its end", .known = has_fetched,
          TT_MEMBER(tt_loading_row, fetched_bytes)),
    BYTES("used_bytes", "USED",
          "the part of fetched_bytes (opened: of resident_bytes) that ops read in the mapping "
          "before it was seen evicted",
          .known = evaluated, .bound = at_most, TT_MEMBER(tt_loading_row, used_bytes)),
    BYTES("unused_bytes", "UNUSED",
          "the part that stayed to the end and that no op read in the mapping", .known = evaluated,
          .bound = unused_bound, TT_MEMBER(tt_loading_row, unused_bytes)),
    BYTES("evicted_bytes", "EVICTED",
          "the part that was evicted before an op read it: a lower bound", .known = evaluated,
          .bound = at_least, TT_MEMBER(tt_loading_row, evicted_bytes)),
    BYTES("fetched_again_bytes", "AGAIN",
          "the part that was fetched again after eviction: a lower bound", .known = evaluated,
          .bound = at_least, TT_MEMBER(tt_loading_row, again_bytes)),
    BYTES("fetched_again_most_bytes", NULL,
          "an upper bound of the same: bytes that the process read after the phase",
          .known = has_most, TT_MEMBER(tt_loading_row, again_most_bytes)),
};

const tt_schema tt_loading_schema = {"loading", "a model file in a phase", columns, COUNT(columns)};

tt_rowset tt_loading_rowset(const tt_loading *l)
{
    return TT_ROWSET(&tt_loading_schema, 0, l->m, l->rows, l->n);
}
