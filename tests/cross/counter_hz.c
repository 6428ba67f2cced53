/* counter_hz: prints the frequency that the processor says its counter has. */
#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    uint64_t hz;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    return printf("%" PRIu64 "\n", hz) < 0;
}
