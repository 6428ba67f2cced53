/* The timeline of a request's trace, and the common parameters of its endpoints. */
#ifndef TT_SERVE_TIMELINE_MEMO_H
#define TT_SERVE_TIMELINE_MEMO_H

#include "analyze/timeline/timeline.h"
#include "serve/request.h"

/* Made once per trace; valid until the request ends. */
tt_status tt_timeline_of_request(tt_request *q, const tt_timeline **out, tt_error *err);

/* `from_ns` and `to_ns`: by default all of the run. TT_E_USAGE if they are not a valid range. */
tt_status tt_timeline_window(const tt_request *q, const tt_timeline *t, double *from_ns,
                             double *to_ns, tt_error *err);

/* `tracks`, such as "0,4..7": one byte per track, for free(); *out is NULL without that parameter
 * (all of them). */
tt_status tt_timeline_tracks_param(const tt_request *q, const tt_timeline *t, uint8_t **out,
                                   tt_error *err);

#endif
