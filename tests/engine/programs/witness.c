/* witness ENGINE MODEL FILE: decodes a prompt in small batches, then generates, and notes each
 * step in FILE (witness.h), which is there already. */
#include "witness.h"

#include "llama_program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static witness *open_witness(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED
                      : mmap(NULL, sizeof(witness), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) program_fail("cannot map %s", path);
    (void)close(fd);
    return at;
}

static void decode(witness *w, struct tt_llama_context *context, int32_t *tokens, int32_t n)
{
    uint32_t at = atomic_load(&w->done);
    w->decodes[at] = (witness_decode){tokens[0], n};
    program_decode(context, tokens, n);
    atomic_store(&w->done, at + 1);
}

int main(int argc, char **argv)
{
    if (argc < 4) return 64;
    witness *w = open_witness(argv[3]);
    atomic_store(&w->pid, (uint32_t)getpid());
    atomic_store(&w->phase, WITNESS_LOAD);
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, true);
    struct tt_llama_context *context = program_context(
        model, &(program_sizes){WITNESS_PROMPT + 1024, WITNESS_BATCH, WITNESS_BATCH, 1, false});
    program_api.set_n_threads(context, (int32_t)w->threads, (int32_t)w->threads);
    atomic_store(&w->phase, WITNESS_PROMPTING);
    for (uint32_t i = 0; i < WITNESS_PROMPT; i += WITNESS_BATCH) {
        int32_t tokens[WITNESS_BATCH];
        for (uint32_t k = 0; k < WITNESS_BATCH; k++)
            tokens[k] = (int32_t)(300 + i + k);
        decode(w, context, tokens, WITNESS_BATCH);
    }
    atomic_store(&w->phase, WITNESS_GENERATING);
    for (uint32_t i = 0; i < w->generate; i++) {
        int32_t token = program_greedy(context, -1);
        decode(w, context, &token, 1);
    }
    atomic_store(&w->phase, WITNESS_EXIT);
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
