/* Preloaded into a program that knows nothing of recording: opens the hook library that ATTACH_HOOK
 * names, late as tensortrace/attach.h says, records into ATTACH_TO, and ends at the program's exit.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*attach)(const char *path, const char *const *options, void *err);
typedef int (*detach)(void *err);

static void *hook;

__attribute__((constructor)) static void begin(void)
{
    const char *library = getenv("ATTACH_HOOK"), *to = getenv("ATTACH_TO");
    attach go;
    if (!library || !to) return;
    hook = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    *(void **)&go = hook ? dlsym(hook, "tt_attach") : NULL;
    if (!go || go(to, NULL, NULL) != 0) (void)fprintf(stderr, "attach: it failed\n");
}

__attribute__((destructor)) static void end(void)
{
    detach go;
    *(void **)&go = hook ? dlsym(hook, "tt_detach") : NULL;
    if (go) (void)go(NULL);
}
