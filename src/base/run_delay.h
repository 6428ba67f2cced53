/* How long a thread was ready to run and waited for a processor, as the kernel's scheduler counts
 * it (/proc/.../schedstat). Runs in a traced program: nothing is allocated. */
#ifndef TT_BASE_RUN_DELAY_H
#define TT_BASE_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the calling thread's file at a high descriptor, for tt_run_delay_close; -1 with errno,
 * which is ENODATA if the kernel does not count it. */
int tt_run_delay_open(void);
/* Total since the thread started, in nanoseconds. False: it cannot be read, is not of this kind
 * (the program may have reused the descriptor), or the kernel does not count it. */
bool tt_run_delay_read(int fd, uint64_t *ns);
/* Negative: does nothing. Nor if the program has closed it, and opened another file under its
 * number. */
void tt_run_delay_close(int fd);

#endif
