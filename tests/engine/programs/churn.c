/* churn ENGINE MODEL HOW: what happens to a model file and to mappings of it while it is used.
 *
 *   remap    a thread maps, unmaps and remaps the model file, and other memory, all the while
 *   delete   the file is deleted after the model is loaded
 *   replace  another file of the same size takes its path
 *   touch    the file's time is changed
 *
 * Prints the tokens that are generated, which do not depend on HOW. */
#include "llama_program.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATED 12

static atomic_int stop;
static const char *path;

static void *remap(void *unused)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) program_fail("cannot open %s", path);
    size_t size = (size_t)st.st_size;
    volatile unsigned sum = 0;
    while (!atomic_load(&stop)) {
        unsigned char *file = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        unsigned char *other =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (file == MAP_FAILED || other == MAP_FAILED) program_fail("cannot map %s", path);
        sum += file[0] + file[size - 1];
        other[0] = 1;
        /* Another file's bytes take the place of anonymous ones, and go again. */
        if (mmap(other, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != other)
            program_fail("cannot remap %s", path);
        sum += other[size / 2];
        (void)munmap(file, size);
        (void)munmap(other, size);
        /* Without a pause it would take a core from the engine's threads, which wait by spinning.
         */
        (void)usleep(200);
    }
    (void)sum; /* reading is what matters */
    (void)close(fd);
    return unused;
}

static void replace(void)
{
    char other[4096];
    struct stat st;
    (void)snprintf(other, sizeof other, "%s.other", path);
    int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || stat(path, &st) != 0 || ftruncate(fd, st.st_size) != 0 ||
        rename(other, path) != 0)
        program_fail("cannot replace %s", path);
    (void)close(fd);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int32_t tokens[4] = {1, 300, 301, 302};
    if (argc < 4) return 64;
    const char *how = argv[3];
    path = argv[2];
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(path, true, true);
    struct tt_llama_context *context =
        program_context(model, &(program_sizes){256, 64, 64, 1, false});
    program_decode(context, tokens, 4);
    if (strcmp(how, "remap") == 0 && pthread_create(&thread, NULL, remap, NULL) != 0) return 1;
    if (strcmp(how, "delete") == 0 && unlink(path) != 0) return 1;
    if (strcmp(how, "replace") == 0) replace();
    if (strcmp(how, "touch") == 0 && utimensat(AT_FDCWD, path, NULL, 0) != 0) return 1;
    for (int i = 0; i < GENERATED; i++) {
        int32_t token = program_greedy(context, -1);
        (void)printf("%d\n", (int)token);
        program_decode(context, &token, 1);
    }
    atomic_store(&stop, 1);
    if (strcmp(how, "remap") == 0) (void)pthread_join(thread, NULL);
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
