/* Operations and bytes of ops against the machine's limits: the points of a roofline. */
#ifndef TT_ANSWER_ROOFLINE_H
#define TT_ANSWER_ROOFLINE_H

#include "analyze/work.h"
#include "base/json.h"
#include "table/table.h"

/* A point, a tt_rollup. Context: the machine's limits, a tt_peaks. */
extern const tt_schema tt_roofline_point_schema;
/* Writes one object: all points, and how much of the time they account for. */
void tt_roofline_json(tt_json *j, const char *path, const tt_rollups *points,
                      const tt_peaks *peaks);

#endif
