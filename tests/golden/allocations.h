/* How much memory the code under test holds at once: through the sanitizers' allocator where one
 * is linked, through malloc and the like of our own elsewhere. One thread; in one source file of
 * a program. */
#ifndef TT_TESTS_ALLOCATIONS_H
#define TT_TESTS_ALLOCATIONS_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    bool hooked;
    uint64_t held_bytes;
    uint64_t most_bytes;
} allocations;

static void allocations_more(const volatile void *p, size_t n)
{
    if (!p) return;
    allocations.held_bytes += n;
    if (allocations.held_bytes > allocations.most_bytes)
        allocations.most_bytes = allocations.held_bytes;
}

/* What was allocated before the count began takes nothing off it. */
static void allocations_take_off(size_t n)
{
    allocations.held_bytes -= n < allocations.held_bytes ? n : allocations.held_bytes;
}

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLOCATIONS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALLOCATIONS_SANITIZED
#endif

#ifdef ALLOCATIONS_SANITIZED

/* Of the sanitizers' allocator interface. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);

static void allocations_less(const volatile void *p)
{
    if (p) allocations_take_off(__sanitizer_get_allocated_size(p));
}

static inline void allocations_hook(void)
{
    (void)__sanitizer_install_malloc_and_free_hooks(allocations_more, allocations_less);
}

#else

/* glibc's own, behind the names that are taken over here. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

__attribute__((visibility("default"))) void *malloc(size_t n)
{
    void *p = __libc_malloc(n);
    allocations_more(p, p ? malloc_usable_size(p) : 0);
    return p;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t n)
{
    void *p = __libc_calloc(count, n);
    allocations_more(p, p ? malloc_usable_size(p) : 0);
    return p;
}

/* Old and new are both held for a moment. */
__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
    size_t before = p ? malloc_usable_size(p) : 0;
    void *moved = __libc_realloc(p, n);
    allocations_more(moved, moved ? malloc_usable_size(moved) : 0);
    if (moved) allocations_take_off(before);
    return moved;
}

__attribute__((visibility("default"))) void free(void *p)
{
    if (p) allocations_take_off(malloc_usable_size(p));
    __libc_free(p);
}

static inline void allocations_hook(void)
{
}

#endif

/* Counts from zero: what was allocated before is not looked at. */
static inline void allocations_begin(void)
{
    if (!allocations.hooked) allocations_hook();
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

/* What ARCHITECTURE.md promises of a trace of that size. */
static inline uint64_t allocations_allowed(uint64_t file_bytes)
{
    return ((uint64_t)32 << 20) + 2048 * file_bytes;
}

#endif
