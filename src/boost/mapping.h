/* mmap and munmap past the C library: the program's own calls are hooked, and take the pool's lock.
 */
#ifndef TT_BOOST_MAPPING_H
#define TT_BOOST_MAPPING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NULL: failed; with MAP_FIXED it may be that nothing is mapped there any more. */
static inline void *tt_map(void *at, uint64_t n, int prot, int flags, int fd, uint64_t offset)
{
    void *mapped = (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* NULL, or no bytes: does nothing. */
static inline void tt_unmap(void *at, uint64_t n)
{
    if (at && n) (void)syscall(SYS_munmap, at, n);
}

#endif
