/* Growing arrays in members that a struct has: a pointer to the elements, the capacity (any
 * unsigned type) and the number used. All zero is an empty array; free() ends it.
 *
 *     tt_run *run = tt_array_add(m->runs, m->n_runs, m->runs_capacity);
 *     if (!run) return tt_error_memory(err, "the runs");
 *
 * The arguments are members or variables: a macro changes them, and may evaluate one several times.
 * Out of memory, or when capacity or size_t cannot count the elements, nothing changes. */
#ifndef TT_BASE_ARRAY_H
#define TT_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for `need` elements in all, at least doubling the capacity. New elements are not
 * initialised. */
#define tt_array_room(list, capacity, need)                                                        \
    ((size_t)(need) <= (size_t)(capacity) || tt_array_grow((list), (capacity), (need), false))

/* The same; new elements are zero. */
#define tt_array_room_zeroed(list, capacity, need)                                                 \
    ((size_t)(need) <= (size_t)(capacity) || tt_array_grow((list), (capacity), (need), true))

/* Makes room for one more than n elements. */
#define tt_array_one_more(list, n, capacity)                                                       \
    ((n) < (capacity) || tt_array_grow((list), (capacity), (size_t)(n) + 1, false))

/* The same for an array of at most `limit` bytes. */
#define tt_array_one_more_within(list, n, capacity, limit)                                         \
    ((n) < (capacity) || tt_array_more(&(list), sizeof *(list), &(capacity), sizeof(capacity),     \
                                       (size_t)(n) + 1, (limit), false))

/* A pointer to one more element, not initialised; NULL if out of memory. */
#define tt_array_add(list, n, capacity)                                                            \
    (tt_array_one_more(list, n, capacity) ? &(list)[(n)++] : NULL)

/* Private. */
#define tt_array_grow(list, capacity, need, zeroed)                                                \
    tt_array_more(&(list), sizeof *(list), &(capacity), sizeof(capacity), (need), SIZE_MAX, zeroed)

/* Called by the macros. list: the address of a pointer; capacity: of an unsigned number of `width`
 * bytes (4 or 8). The array stays within `limit` bytes. */
bool tt_array_more(void *list, size_t size, void *capacity, size_t width, size_t need, size_t limit,
                   bool zeroed);

#endif
