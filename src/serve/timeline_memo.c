#include "serve/timeline_memo.h"

#include "base/units.h"
#include "serve/source.h"

#include <stdlib.h>
#include <string.h>

/* Some 30,000 years: beyond it is an error. */
#define TIME_MAX 1e21

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    tt_timeline *t;
    tt_status status = tt_timeline_new(m, &t, err);
    *out = t;
    return status;
}

static void drop(void *made)
{
    tt_timeline_free(made);
}

tt_status tt_timeline_of_request(tt_request *q, const tt_timeline **out, tt_error *err)
{
    static const tt_source_memo memo = {make, drop};
    const void *made = NULL;
    tt_status status = tt_source_get(q, &memo, &made, err);
    *out = made;
    return status;
}

tt_status tt_timeline_window(const tt_request *q, const tt_timeline *t, double *from_ns,
                             double *to_ns, tt_error *err)
{
    double from, to;
    tt_timeline_extent(t, &from, &to);
    if (!tt_request_double(q, "from_ns", -TIME_MAX, TIME_MAX, from, from_ns, err) ||
        !tt_request_double(q, "to_ns", -TIME_MAX, TIME_MAX, to, to_ns, err))
        return TT_E_USAGE;
    if (*from_ns < *to_ns) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "from_ns=%g is not before to_ns=%g",
                        *from_ns, *to_ns);
}

tt_status tt_timeline_tracks_param(const tt_request *q, const tt_timeline *t, uint8_t **out,
                                   tt_error *err)
{
    const char *text = tt_request_text(q, "tracks");
    const uint32_t n = tt_timeline_tracks(t, NULL);
    *out = NULL;
    if (!text) return TT_OK;
    uint8_t *tracks = calloc(n, 1);
    if (!tracks) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    for (const char *p = text; *p;) {
        char item[32];
        size_t length = strcspn(p, ",");
        uint32_t first = 0, last = TT_NONE;
        bool fits = length > 0 && length < sizeof item;
        if (fits) {
            memcpy(item, p, length);
            item[length] = '\0';
        }
        if (!fits || !tt_units_parse_range(item, &first, &last) || first >= n || last < first) {
            free(tracks);
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "tracks=%.60s: not a list like \"0,4..7\" of tracks below %u", text,
                                n);
        }
        for (uint32_t i = first; i <= last && i < n; i++)
            tracks[i] = 1;
        p += length;
        p += *p == ',';
    }
    *out = tracks;
    return TT_OK;
}
