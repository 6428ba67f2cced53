#include "base/order.h"

int tt_by_u32(const void *a, const void *b)
{
    return tt_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

int tt_by_u64(const void *a, const void *b)
{
    return tt_order(*(const uint64_t *)a, *(const uint64_t *)b);
}
