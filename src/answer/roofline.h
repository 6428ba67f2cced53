/* Operations and bytes of ops against the machine's limits: the points of a roofline. */
#ifndef TT_ANSWER_ROOFLINE_H
#define TT_ANSWER_ROOFLINE_H

#include "analyze/work.h"
#include "base/json.h"

/* Writes one object: a point. */
void tt_roofline_point_json(tt_json *j, const tt_peaks *peaks, const tt_rollup *r);
/* Writes one object: all points, and how much of the time they account for. */
void tt_roofline_json(tt_json *j, const char *path, const tt_rollups *points,
                      const tt_peaks *peaks);

#endif
