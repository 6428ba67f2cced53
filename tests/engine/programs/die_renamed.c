/* Preloaded: the process is killed as soon as it has given a trace its name. */
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
EXPORT int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    int (*real)(int, const char *, int, const char *, unsigned);
    *(void **)&real = dlsym(RTLD_NEXT, "renameat2");
    int result = real ? real(from_dir, from, to_dir, to, flags) : -1;
    if (result == 0 && strstr(to, ".ttrace")) (void)kill(getpid(), SIGKILL);
    return result;
}
