/* Kernel counters of a thread while it works on an op: page faults, CPU time, bytes read from a
 * device. getrusage and a CPU clock are read at an op's start and at each barrier; the bytes,
 * which cost more, only after a fault, because nothing else in an op reads files. */
#ifndef TT_ADAPTER_GGML_FAULTS_H
#define TT_ADAPTER_GGML_FAULTS_H

#include "record/detail_writer.h"

#include <stdbool.h>
#include <stdint.h>

/* Whose counters are read. Ops observed by the scheduler's callback are computed by unknown
 * threads, so the process's counters are used. */
enum tt_faults_of { TT_FAULTS_OF_THREAD, TT_FAULTS_OF_PROCESS };

typedef struct tt_fault_counter {
    tt_detail *open; /* of the current op; NULL: none */
    uint32_t place;
    uint64_t minor, major, cpu_ns, read_bytes; /* when the op began */
    uint64_t last_minor, last_major, last_read_bytes;
    uint64_t barrier_ns; /* CPU time in the last barrier; UINT64_MAX: not read */
    int io;              /* descriptor of the io file + 1; 0: not opened yet, -1: cannot be */
    uint64_t io_device, io_inode; /* to detect that the program reused the descriptor */
    enum tt_faults_of whose;
    bool running; /* the counters at the end of the previous op are still valid */
} tt_fault_counter;

/* Sets whose counters are read from now on; initially the thread's. */
void tt_faults_count(tt_fault_counter *f, enum tt_faults_of whose);
/* Opens a detail for the op. fresh: the thread did something else since the previous op. */
void tt_faults_begin(tt_fault_counter *f, tt_detail_writer *w, uint32_t run, uint32_t node,
                     uint32_t lane, bool fresh);
/* The op's work is done, as far as known; the last call counts. */
void tt_faults_arrive(tt_fault_counter *f);
/* The thread leaves the barrier at which it arrived; is_long: its CPU time there is worth reading. */
void tt_faults_release(tt_fault_counter *f, bool is_long);
/* How long it was off CPU in that barrier, which lasted so long; 0 where that was not read. */
uint64_t tt_faults_off_in_barrier(const tt_fault_counter *f, uint64_t ns);
/* The thread ends, or belongs to another process from now on. */
void tt_faults_close(tt_fault_counter *f);

/* Bytes read from a device, from an open /proc/.../io file; false if that cannot be read. rchar may
 * be NULL. */
bool tt_faults_read_io(int fd, uint64_t *read_bytes, uint64_t *rchar);
/* Opens the io file of this thread or process at a high descriptor; -1 with errno. */
int tt_faults_open_io(enum tt_faults_of whose);

#endif
