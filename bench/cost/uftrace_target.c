/* The traced function of uftrace.c: the only one compiled with -pg. */
#include <stdint.h>

void uftrace_target(uint32_t run, uint32_t node);

void uftrace_target(uint32_t run, uint32_t node)
{
    __asm__ volatile("" ::"r"(run), "r"(node));
}
