#include "adapter/ggml/faults.h"

#include "base/clock.h"
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOT_OBSERVED UINT64_MAX

int tt_faults_open_io(enum tt_faults_of whose)
{
    const char *path = whose == TT_FAULTS_OF_THREAD ? "/proc/thread-self/io" : "/proc/self/io";
    return tt_descriptor_raise(open(path, O_RDONLY | O_CLOEXEC));
}

/* Reads "name: N" in the text. */
static bool find_value(const char *text, const char *name, uint64_t *value)
{
    const char *at = strstr(text, name);
    if (!at) return false;
    *value = strtoull(at + strlen(name), NULL, 10);
    return true;
}

bool tt_faults_read_io(int fd, uint64_t *read_bytes, uint64_t *rchar)
{
    char text[512];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) return false;
    text[n] = '\0';
    /* The program may have closed the descriptor and opened another file under its number. */
    if (strncmp(text, "rchar: ", 7) != 0) return false;
    if (rchar && !find_value(text, "rchar: ", rchar)) return false;
    return find_value(text, "\nread_bytes: ", read_bytes);
}

static void open_io(tt_fault_counter *f)
{
    struct stat st;
    int fd = tt_faults_open_io(f->whose);
    f->io = fd < 0 ? -1 : fd + 1;
    if (fd < 0 || fstat(fd, &st) != 0) return;
    f->io_device = (uint64_t)st.st_dev;
    f->io_inode = (uint64_t)st.st_ino;
}

static bool is_io_ours(const tt_fault_counter *f)
{
    return f->io > 0 && tt_descriptor_is(f->io - 1, f->io_device, f->io_inode);
}

static uint64_t read_io(tt_fault_counter *f)
{
    uint64_t bytes;
    if (f->io == 0) open_io(f);
    return f->io > 0 && tt_faults_read_io(f->io - 1, &bytes, NULL) ? bytes : NOT_OBSERVED;
}

static void read_faults(tt_fault_counter *f)
{
    struct rusage u;
    if (getrusage(f->whose == TT_FAULTS_OF_THREAD ? RUSAGE_THREAD : RUSAGE_SELF, &u) != 0) return;
    f->last_minor = (uint64_t)u.ru_minflt;
    f->last_major = (uint64_t)u.ru_majflt;
}

static uint64_t cpu_ns(const tt_fault_counter *f)
{
    return tt_clock_ns(f->whose == TT_FAULTS_OF_THREAD ? CLOCK_THREAD_CPUTIME_ID
                                                       : CLOCK_PROCESS_CPUTIME_ID);
}

void tt_faults_count(tt_fault_counter *f, enum tt_faults_of whose)
{
    if (f->whose == whose) return;
    tt_faults_close(f);
    f->whose = whose;
}

void tt_faults_begin(tt_fault_counter *f, tt_detail_writer *w, uint32_t run, uint32_t node,
                     uint32_t lane, bool fresh)
{
    int before = errno;
    f->open = tt_detail_next(w);
    if (!f->open) {
        f->running = false;
        return;
    }
    f->open->run = run;
    f->place = tt_detail_place(node, lane, TT_DETAIL_FAULTS);
    if (fresh || !f->running) {
        read_faults(f);
        f->last_read_bytes = read_io(f);
    }
    f->minor = f->last_minor;
    f->major = f->last_major;
    f->read_bytes = f->last_read_bytes;
    f->cpu_ns = cpu_ns(f);
    f->running = true;
    f->barrier_ns = NOT_OBSERVED;
    errno = before;
}

void tt_faults_arrive(tt_fault_counter *f)
{
    if (!f->open) return;
    int before = errno;
    uint64_t faults = f->last_minor + f->last_major, cpu = cpu_ns(f);
    read_faults(f);
    if (f->last_minor + f->last_major != faults) f->last_read_bytes = read_io(f);
    tt_detail_faults *d = &f->open->faults;
    d->minor = (uint32_t)(f->last_minor - f->minor);
    d->major = (uint32_t)(f->last_major - f->major);
    d->cpu_ns = cpu - f->cpu_ns;
    d->read_bytes = f->last_read_bytes == NOT_OBSERVED || f->read_bytes == NOT_OBSERVED
                        ? NOT_OBSERVED
                        : f->last_read_bytes - f->read_bytes;
    tt_detail_complete(f->open, f->place);
    errno = before;
}

void tt_faults_release(tt_fault_counter *f, bool is_long)
{
    f->barrier_ns = NOT_OBSERVED;
    if (!f->open || !is_long) return;
    const int before = errno;
    f->barrier_ns = cpu_ns(f) - f->cpu_ns - f->open->faults.cpu_ns;
    errno = before;
}

uint64_t tt_faults_off_in_barrier(const tt_fault_counter *f, uint64_t ns)
{
    return f->open && f->barrier_ns < ns ? ns - f->barrier_ns : 0;
}

void tt_faults_close(tt_fault_counter *f)
{
    if (is_io_ours(f)) (void)close(f->io - 1);
    memset(f, 0, sizeof *f);
}
