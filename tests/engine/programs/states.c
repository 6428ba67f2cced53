/* states ENGINE MODEL: decodes a prompt, saves the state of sequence 0 and of the whole cache (-1),
 * restores both, and goes on. Prints the sizes and the tokens chosen. */
#include "llama_program.h"

#include <stdio.h>
#include <stdlib.h>

#define ROOM (64u << 20)

int main(int argc, char **argv)
{
    int32_t tokens[8] = {1, 307, 314, 321, 328, 335};
    if (argc != 3) return 64;
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, false);
    struct tt_llama_context *context =
        program_context(model, &(program_sizes){256, 64, 64, 2, false});
    size_t (*save)(void *, uint8_t *, size_t, int32_t),
        (*restore)(void *, const uint8_t *, size_t, int32_t);
    *(void **)&save = program_find("llama_state_seq_get_data", NULL);
    *(void **)&restore = program_find("llama_state_seq_set_data", NULL);
    uint8_t *state = malloc(ROOM);
    if (!save || !restore || !state) program_skip("the engine saves no states of sequences");
    program_decode(context, tokens, 6);
    for (int sequence = 0; sequence >= -1; sequence--) {
        const size_t size = save(context, state, ROOM, sequence);
        (void)printf("%d: %zu of %zu\n", sequence, restore(context, state, size, sequence), size);
    }
    for (int i = 0; i < 4; i++) {
        tokens[0] = program_greedy(context, -1);
        (void)printf("%d\n", (int)tokens[0]);
        program_decode(context, tokens, 1);
    }
    free(state);
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
