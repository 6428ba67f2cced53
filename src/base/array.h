/* Arrays that grow, in the members that a struct has anyway: a pointer to elements, how many fit
 * (the capacity, of any unsigned type) and how many are used. Both zero is an empty array; free()
 * ends it.
 *
 *     tt_run *run = tt_array_add(m->runs, m->n_runs, m->runs_capacity);
 *     if (!run) return tt_error_memory(err, "the runs");
 *
 * The arguments are members or variables: a macro changes them, and may read one several times.
 * Without memory, or with more elements than the capacity or size_t can count, nothing changes. */
#ifndef TT_BASE_ARRAY_H
#define TT_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether there is room for `need` elements in all: at least twice as many as before, when there
 * was not. What is new is not filled. */
#define tt_array_room(list, capacity, need)                                                        \
    ((size_t)(need) <= (size_t)(capacity) || tt_array_grow((list), (capacity), (need), false))

/* The same; new elements are zero. */
#define tt_array_room_zeroed(list, capacity, need)                                                 \
    ((size_t)(need) <= (size_t)(capacity) || tt_array_grow((list), (capacity), (need), true))

/* Whether there is room for one more behind the n elements. */
#define tt_array_one_more(list, n, capacity)                                                       \
    ((n) < (capacity) || tt_array_grow((list), (capacity), (size_t)(n) + 1, false))

/* The same of an array that may have `limit` bytes at most. */
#define tt_array_one_more_within(list, n, capacity, limit)                                         \
    ((n) < (capacity) || tt_array_more(&(list), sizeof *(list), &(capacity), sizeof(capacity),     \
                                       (size_t)(n) + 1, (limit), false))

/* One more element, with whatever was there: its place, or NULL. */
#define tt_array_add(list, n, capacity)                                                            \
    (tt_array_one_more(list, n, capacity) ? &(list)[(n)++] : NULL)

/* Private. */
#define tt_array_grow(list, capacity, need, zeroed)                                                \
    tt_array_more(&(list), sizeof *(list), &(capacity), sizeof(capacity), (need), SIZE_MAX, zeroed)

/* What the macros call. list: the address of a pointer; capacity: of an unsigned number of `width`
 * bytes (4 or 8). The array does not become longer than `limit` bytes. */
bool tt_array_more(void *list, size_t size, void *capacity, size_t width, size_t need, size_t limit,
                   bool zeroed);

#endif
