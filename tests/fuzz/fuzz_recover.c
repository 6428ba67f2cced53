/* Bytes as a part file whose process died: recovered, or refused and left as they were; what was
 * recovered is a whole trace. The first byte: enum tt_recover_how, and 4 for right checksums. */
#include "../golden/rechecksum.h"
#include "model/model.h"
#include "record/recover.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory, under a name that can be opened. */
static int part_file(char path[32])
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz_recover", MFD_CLOEXEC);
        /* Kept loaded: recovery looks for it each time. */
        (void)dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    }
    (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t before[FILE_MAX], after[FILE_MAX];
    char path[32];
    tt_recover_report report;
    tt_model *m;
    tt_error err = {TT_OK, 0, ""};
    if (size < 1 || size > sizeof before / 2) return 0;
    memcpy(before, data + 1, --size);
    if (data[0] & 4) rechecksum(before, size);
    int fd = part_file(path);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, before, size, 0) != (ssize_t)size) abort();
    tt_status status = tt_recover(path, data[0] & 3, &report, &err);
    ssize_t n = pread(fd, after, sizeof after, 0);
    if (n < 0 || n == sizeof after) abort();
    if (status == TT_OK) {
        if (tt_model_open_memory(after, (size_t)n, &m, &err) != TT_OK || !m->trace.complete)
            abort();
        tt_model_close(m);
    } else if (err.status == TT_OK || !err.message[0] || (size_t)n != size ||
               memcmp(after, before, size) != 0) {
        abort();
    }
    return 0;
}
