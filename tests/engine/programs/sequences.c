/* sequences ENGINE MODEL shared|streams [decode|process [LIBRARY]]: sequences in parallel as a
 * server has them. Prints the rows of each llama_decode (see llama_program.h), "text SEQUENCE TOKEN
 * ..." for what was generated, and "piece TOKEN HEX" with the text of each token that was decoded.
 *
 *   1. Four prompts in batches of N_BATCH rows, row by row from one after the other, so that
 *      they are cut by n_batch and n_ubatch: two are alike, one is longer than a batch. Their
 *      begin of text is one row that belongs to all four (with `streams` each has its own: a
 *      cache for each sequence cannot share rows).
 *   2. All generate together, a row each a decode.
 *   3. Half way sequence 1 is removed; a new prompt takes its id, in the same decodes as the
 *      others' next tokens.
 *   4. Sequences 1 and 2 are removed and get the same prompt again, one after the other in one
 *      decode, longer than what is computed of them at once.
 *   5. Sequence 3 goes on with embeddings.
 *   6. Sequence 0 checks a draft of which a part is rejected, and goes on.
 *
 * Before all that a warm-up, where the engine knows one. With `process` all of it by llama_process.
 */
#include "llama_program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define SEQUENCES 4
#define N_BATCH 48
#define N_UBATCH 16
#define STEPS 6
#define PROMPT_MAX 128
#define VOCABULARY_MAX 4096

typedef struct sequence {
    int32_t prompt[PROMPT_MAX];
    int32_t n_prompt;
    int32_t next;     /* position of the next token */
    int32_t last_row; /* in the last decode: where its logits are */
    int32_t token;    /* generated, not yet decoded */
    int32_t text[4 * STEPS];
    int32_t n_text;
} sequence;

static sequence all[SEQUENCES];
static struct tt_llama_model *model;
static struct tt_llama_context *context;
static program_row rows[N_BATCH];
static bool was_decoded[VOCABULARY_MAX];
static int32_t n_rows;

static void flush(void)
{
    if (n_rows == 0) return;
    program_decode_rows(context, rows, n_rows);
    for (int32_t i = 0; i < n_rows; i++) {
        if (!rows[i].is_output) continue;
        sequence *s = &all[rows[i].sequences[0]];
        s->token = program_greedy(context, i);
        s->text[s->n_text++] = s->token;
    }
    n_rows = 0;
}

static void add_row(char kind, int32_t token, int32_t position, int32_t first, int32_t n_sequences,
                    bool is_output)
{
    program_row *r = &rows[n_rows++];
    *r = (program_row){token, position, {0}, n_sequences, is_output, kind};
    for (int32_t i = 0; i < n_sequences; i++)
        r->sequences[i] = first + i;
    if (token >= 0 && token < VOCABULARY_MAX) was_decoded[token] = true;
    if (n_rows == N_BATCH) flush();
}

static void begin(int32_t id, const char *text)
{
    sequence *s = &all[id];
    memset(s, 0, sizeof *s);
    s->n_prompt = program_tokenize(model, text, s->prompt, PROMPT_MAX);
}

/* One row of each prompt in turn, as long as any has one. */
static void add_prompts(void)
{
    for (bool any = true; any;) {
        any = false;
        for (int32_t id = 0; id < SEQUENCES; id++) {
            sequence *s = &all[id];
            if (s->next == s->n_prompt) continue;
            int32_t at = s->next++;
            add_row('p', s->prompt[at], at, id, 1, s->next == s->n_prompt);
            any = true;
        }
    }
    flush();
}

static void generate(int32_t steps)
{
    for (int32_t k = 0; k < steps; k++) {
        for (int32_t id = 0; id < SEQUENCES; id++)
            add_row('g', all[id].token, all[id].next++, id, 1, true);
        flush();
    }
}

/* Sequence `id` starts anew while the others go on. */
static void replace(int32_t id, const char *text)
{
    program_forget(context, id, -1);
    begin(id, text);
    for (int32_t other = 0; other < SEQUENCES; other++)
        if (other != id) add_row('g', all[other].token, all[other].next++, other, 1, true);
    sequence *s = &all[id];
    for (; s->next < s->n_prompt; s->next++)
        add_row('p', s->prompt[s->next], s->next, id, 1, s->next + 1 == s->n_prompt);
    flush();
}

/* Sequences 1 and 2 start anew with the same rows: nothing but their order tells them apart. */
static void twins(const char *text)
{
    for (int32_t id = 1; id <= 2; id++) {
        sequence *s = &all[id];
        program_forget(context, id, -1);
        begin(id, text);
        for (; s->next < s->n_prompt; s->next++)
            add_row('p', s->prompt[s->next], s->next, id, 1, s->next + 1 == s->n_prompt);
    }
    flush();
}

static void go_on_with_embeddings(void)
{
    sequence *s = &all[3];
    for (int32_t i = 0; i < N_UBATCH + 4; i++)
        add_row('p', -1, s->next++, 3, 1, false);
    flush();
}

/* What is rejected is gone; the token behind the last one that was accepted is generated. */
static void check_draft(void)
{
    sequence *s = &all[0];
    int32_t at = s->next, token = s->token;
    for (int32_t i = 0; i < 4; i++)
        add_row('g', i == 0 ? token : 7 + i, at + i, 0, 1, true);
    flush();
    program_forget(context, 0, at + 2);
    add_row('g', s->token, at + 2, 0, 1, true);
    flush();
}

static void warm_up(void)
{
    if (!program_warmup(context, true)) return;
    add_row('w', 5, 0, 0, 1, true);
    add_row('w', 6, 1, 0, 1, true);
    program_decode_rows(context, rows, n_rows);
    n_rows = 0;
    (void)program_warmup(context, false);
    program_forget(context, 0, -1);
}

static void print_results(void)
{
    char piece[256];
    for (int32_t id = 0; id < SEQUENCES; id++) {
        (void)printf("text %d", (int)id);
        for (int32_t k = 0; k < all[id].n_text; k++)
            (void)printf(" %d", (int)all[id].text[k]);
        (void)putchar('\n');
    }
    for (int32_t token = 0; token < VOCABULARY_MAX; token++) {
        if (!was_decoded[token]) continue;
        int32_t n = program_piece(model, token, piece, (int32_t)sizeof piece);
        (void)printf("piece %d ", (int)token);
        for (int32_t i = 0; i < n; i++)
            (void)printf("%02x", (unsigned)(unsigned char)piece[i]);
        (void)putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) return 64;
    bool streams = argc > 3 && strcmp(argv[3], "streams") == 0;
    program_open(argv[1]);
    model = program_model(argv[2], true, true);
    context = program_context(model, &(program_sizes){1024, N_BATCH, N_UBATCH, SEQUENCES, streams});
    if (argc > 5 && !dlopen(argv[5], RTLD_NOW | RTLD_LOCAL)) program_fail("%s", dlerror());
    if (argc > 4 && strcmp(argv[4], "process") == 0) program_by_process(context);
    warm_up();
    begin(0, "the river and the house were old and the road was long and nobody knew who had "
             "made them or why the people of the town went there every year when the water was "
             "high and the wind came from the sea and the light was low in the sky");
    begin(1, "once there was a garden");
    begin(2, "once there was a garden");
    begin(3, "what is it");
    if (!streams) {
        add_row('p', all[0].prompt[0], 0, 0, SEQUENCES, false);
        for (int32_t id = 0; id < SEQUENCES; id++)
            all[id].next = 1;
    }
    add_prompts();
    generate(STEPS / 2);
    replace(1, "a new story that begins in the middle of the others and is a little longer");
    generate(STEPS / 2);
    twins("the river and the house were old and the road was long and nobody knew");
    go_on_with_embeddings();
    check_draft();
    print_results();
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
