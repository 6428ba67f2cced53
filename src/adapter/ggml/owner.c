#include "adapter/ggml/owner.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uint32_t *tt_owner_page;
static pid_t marked;
static __thread uint32_t thread_id __attribute__((tls_model("initial-exec")));

static void *wiped_page(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (madvise(p, bytes, MADV_WIPEONFORK) == 0) return p;
    (void)munmap(p, bytes);
    return NULL;
}

void tt_owner_mark(void)
{
    marked = getpid();
    if (!tt_owner_page) tt_owner_page = wiped_page();
    if (tt_owner_page) atomic_store(tt_owner_page, 1);
}

bool tt_owner_is_marked(void)
{
    return getpid() == marked;
}

uint32_t tt_owner_thread(void)
{
    if (!thread_id) thread_id = (uint32_t)syscall(SYS_gettid);
    return thread_id;
}

void tt_owner_in_child(void)
{
    thread_id = 0;
}
