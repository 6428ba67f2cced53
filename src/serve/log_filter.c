#include "serve/log_filter.h"

#include "analyze/filter.h"

#include <string.h>

#define TEXT_MAX 200u
#define NS_MAX 1e18

static bool set_lane(const tt_request *q, tt_filter *f, bool *by_lane, tt_error *err)
{
    uint64_t lane, lanes;
    f->has_lane = tt_request_text(q, "thread") != NULL;
    if (!tt_request_u64(q, "thread", 0, UINT32_MAX - 1, 0, &lane, err) ||
        !tt_request_u64(q, "lanes", 0, 1, 0, &lanes, err))
        return false;
    f->lane = (uint32_t)lane;
    *by_lane = lanes || f->has_lane;
    return true;
}

static bool set_origin(const tt_request *q, tt_filter *f, tt_error *err)
{
    static const char *const names[] = {"any", "file", "buffer", NULL};
    static const tt_origin origins[] = {TT_ORIGIN_UNKNOWN, TT_ORIGIN_FILE, TT_ORIGIN_BUFFER};
    size_t origin;
    if (!tt_request_choice(q, "origin", names, 0, &origin, err)) return false;
    f->origin = origins[origin];
    return true;
}

static bool set_text(const tt_request *q, tt_filter *f, tt_error *err)
{
    const char *text = tt_request_text(q, "text");
    if (text && strlen(text) > TEXT_MAX) {
        (void)tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "text=%.40s...: too long", text);
        return false;
    }
    f->text = text && *text ? text : NULL;
    return true;
}

static bool set_durations(const tt_request *q, tt_filter *f, tt_error *err)
{
    f->has_least = tt_request_text(q, "min_duration_ns") != NULL;
    f->has_most = tt_request_text(q, "max_duration_ns") != NULL;
    return tt_request_double(q, "min_duration_ns", 0, NS_MAX, 0, &f->least_ns, err) &&
           tt_request_double(q, "max_duration_ns", 0, NS_MAX, 0, &f->most_ns, err);
}

bool tt_log_filter_of(const tt_request *q, tt_filter *f, bool *by_lane, tt_error *err)
{
    if (!tt_request_filter(q, f, err)) return false;
    return set_lane(q, f, by_lane, err) && set_origin(q, f, err) && set_text(q, f, err) &&
           set_durations(q, f, err);
}
