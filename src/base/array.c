#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16u

bool tt_array_more(void *list, size_t size, void *capacity, size_t width, size_t need, size_t limit,
                   bool zeroed)
{
    const size_t countable = width == sizeof(uint32_t) ? UINT32_MAX : SIZE_MAX;
    const size_t most = limit / size < countable ? limit / size : countable;
    uint32_t narrow = 0;
    size_t had = 0;
    /* Copied, because pointers of other types and numbers of two widths must not be aliased. */
    memcpy(width == sizeof narrow ? (void *)&narrow : (void *)&had, capacity, width);
    if (width == sizeof narrow) had = narrow;
    if (need > most) return false;
    size_t more = had > most / 2 ? most : had * 2;
    if (more < FIRST) more = FIRST < most ? FIRST : most;
    if (more < need) more = need;
    char *old, *grown;
    memcpy(&old, list, sizeof old);
    grown = reallocarray(old, more, size);
    if (!grown) return false;
    if (zeroed) memset(grown + had * size, 0, (more - had) * size);
    narrow = (uint32_t)more;
    memcpy(list, &grown, sizeof grown);
    memcpy(capacity, width == sizeof narrow ? (const void *)&narrow : (const void *)&more, width);
    return true;
}
