/* cold ENGINE MODEL N HOW [REPORT]: a prompt and N tokens from a mapped model. llama.cpp reads
 * the whole file when it loads it; HOW says what then becomes of its pages:
 *
 *   cold   they are dropped after loading: each is read when it is first used
 *   colder the same before every token
 *   warm   they are read again before the first decode
 *   as-is  nothing: for runs with less memory than the model has
 *
 * Prints the tokens, and into REPORT (or on stdout without it) what the kernel says, all
 * between before the first decode and after the last one: "minor N", "major N",
 * "read_bytes N" (from devices), "rchar N", and the file's pages at the end (see pages.h). */
#include "llama_program.h"
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct totals {
    long minor, major;
    long long read_bytes, rchar;
} totals;

static totals totals_now(void)
{
    totals t = {0};
    struct rusage use;
    char line[128];
    (void)getrusage(RUSAGE_SELF, &use);
    t.minor = use.ru_minflt;
    t.major = use.ru_majflt;
    FILE *io = fopen("/proc/self/io", "r");
    if (!io) program_skip("/proc/self/io cannot be read");
    while (fgets(line, sizeof line, io)) {
        (void)sscanf(line, "read_bytes: %lld", &t.read_bytes);
        (void)sscanf(line, "rchar: %lld", &t.rchar);
    }
    (void)fclose(io);
    return t;
}

static void drop(const char *path)
{
    pages_untouch(path);
    pages_drop(path);
}

static void read_all(const char *path)
{
    static char buffer[1 << 20];
    FILE *f = fopen(path, "r");
    while (f && fread(buffer, 1, sizeof buffer, f) > 0)
        ;
    if (f) (void)fclose(f);
}

static void report(FILE *out, const totals *a, const totals *b)
{
    (void)fprintf(out, "minor %ld\nmajor %ld\nread_bytes %lld\nrchar %lld\n", b->minor - a->minor,
                  b->major - a->major, b->read_bytes - a->read_bytes, b->rchar - a->rchar);
}

int main(int argc, char **argv)
{
    int32_t tokens[8] = {1, 300, 301, 302, 303, 304, 305, 306};
    size_t n_pages;
    if (argc < 5) return 64;
    const char *path = argv[2], *how = argv[4];
    program_open(argv[1]);
    /* Repacked weights would be copies: they are not what is measured here. */
    struct tt_llama_model *model = program_model(path, true, false);
    struct tt_llama_context *context =
        program_context(model, &(program_sizes){256, 64, 64, 1, false});
    if (how[0] == 'c') drop(path);
    if (how[0] == 'w') read_all(path);
    unsigned char *before = pages_of(path, &n_pages);
    totals first = totals_now();
    program_decode(context, tokens, 8);
    for (int i = 0; i < atoi(argv[3]); i++) {
        int32_t token = program_greedy(context, -1);
        (void)printf("%d\n", (int)token);
        if (strcmp(how, "colder") == 0) drop(path);
        program_decode(context, &token, 1);
    }
    totals last = totals_now();
    unsigned char *after = pages_of(path, &n_pages);
    (void)fflush(stdout);
    if (argc > 5 && !freopen(argv[5], "w", stdout)) return 1;
    report(stdout, &first, &last);
    (void)printf("pages_before %zu\n", pages_count(before, n_pages));
    pages_print(after, n_pages);
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
