/* How much memory the code under test holds at once. Counts where a sanitizer's allocator is
 * linked, which calls back; elsewhere nothing is counted and nothing fails. One thread. */
#ifndef TT_TESTS_ALLOCATIONS_H
#define TT_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the sanitizers' allocator interface. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *))
    __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));

static struct {
    bool hooked;
    uint64_t held_bytes;
    uint64_t most_bytes;
} allocations;

static void allocations_more(const volatile void *p, size_t n)
{
    (void)p;
    allocations.held_bytes += n;
    if (allocations.held_bytes > allocations.most_bytes)
        allocations.most_bytes = allocations.held_bytes;
}

static void allocations_less(const volatile void *p)
{
    size_t n = p ? __sanitizer_get_allocated_size(p) : 0;
    allocations.held_bytes -= n < allocations.held_bytes ? n : allocations.held_bytes;
}

/* Counts from zero: what was allocated before is not looked at. */
static inline void allocations_begin(void)
{
    if (!allocations.hooked && __sanitizer_install_malloc_and_free_hooks &&
        __sanitizer_get_allocated_size)
        (void)__sanitizer_install_malloc_and_free_hooks(allocations_more, allocations_less);
    allocations.hooked = true;
    allocations.held_bytes = allocations.most_bytes = 0;
}

/* Dies when more than `bytes` were held at once since allocations_begin. */
static inline void allocations_check(uint64_t bytes)
{
    if (allocations.most_bytes <= bytes) return;
    (void)fprintf(stderr, "%llu bytes of memory were held, %llu are allowed\n",
                  (unsigned long long)allocations.most_bytes, (unsigned long long)bytes);
    abort();
}

#endif
