#include "policy/shares.h"

#define WINDOW_PART 16u /* of what dense weights may take */
#define WINDOW_MIN_BYTES (UINT64_C(16) << 20)

static uint64_t window_of(uint64_t dense_room)
{
    uint64_t window = dense_room / WINDOW_PART;
    if (window < WINDOW_MIN_BYTES) window = WINDOW_MIN_BYTES;
    return window > dense_room / 2 ? dense_room / 2 : window;
}

tt_policy_shares tt_policy_share(uint64_t budget, uint64_t dense, uint64_t experts,
                                 uint64_t staying)
{
    tt_policy_shares s = {.fit = dense + experts + staying <= budget,
                          .none = staying + staying / 2 >= budget};
    if (s.fit || s.none) return s;
    const uint64_t room = budget - staying;
    uint64_t dense_room = experts ? room / 2 : room;
    /* What experts do not need is the others'. */
    if (experts && room - dense_room > experts) dense_room = room - experts;
    if (dense_room > dense) dense_room = dense;
    s.window_bytes = dense_room < dense ? window_of(dense_room) : 0;
    s.pinned_bytes = dense_room - s.window_bytes;
    s.cache_bytes = experts ? room - dense_room : 0;
    return s;
}
