/* Gives chosen ops more work, of a known amount: preloaded before the hook library, the threads
 * that begin an op whose first source's name matches SLOW_OP (a pattern of fnmatch) compute
 * SLOW_STEPS steps for each million of the products that a matrix multiplication of that size
 * takes. The steps are a chain of multiplications, none of which can begin before the one before,
 * divided among the threads.
 *
 * The hook library finds the real function by who calls, so a call is passed on by a jump, which
 * leaves the caller's return address in place: this file needs -O2. */
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*forward)(void *params, void *op);

bool ggml_cpu_extra_compute_forward(void *params, void *op);

static const char *pattern;
static uint64_t steps;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("SLOW_STEPS");
    pattern = getenv("SLOW_OP");
    steps = text ? strtoull(text, NULL, 10) : 0;
}

/* struct ggml_tensor: ne at 16, src at 152, name at 256. */
static uint64_t products(const uint8_t *op)
{
    const uint8_t *source;
    int64_t ne[2], columns;
    memcpy(&source, op + 152, sizeof source);
    if (!source || fnmatch(pattern, (const char *)source + 256, 0) != 0) return 0;
    memcpy(ne, source + 16, sizeof ne);
    memcpy(&columns, op + 24, sizeof columns);
    return (uint64_t)(ne[0] * ne[1] * columns);
}

static void work(const void *params, const uint8_t *op)
{
    int32_t thread[2]; /* its number, and how many there are */
    uint64_t x = 1;
    memcpy(thread, params, sizeof thread);
    const uint64_t n = products(op) * steps / 1000000 / (uint64_t)thread[1];
    for (uint64_t i = 0; i < n; i++) {
        x *= 6364136223846793005u;
        __asm__ volatile("" : "+r"(x));
    }
}

__attribute__((visibility("default"))) bool ggml_cpu_extra_compute_forward(void *params, void *op)
{
    static _Atomic(void *) next;
    if (pattern && steps) work(params, op);
    if (!atomic_load(&next))
        atomic_store(&next, dlsym(RTLD_NEXT, "ggml_cpu_extra_compute_forward"));
    forward go;
    *(void **)&go = atomic_load(&next);
    return go(params, op);
}
