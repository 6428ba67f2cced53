/* What a traced program tells about itself, in a shared file that outlives it: how far it had come
 * when it was killed, independent of what the trace says. */
#ifndef TT_TESTS_WITNESS_H
#define TT_TESTS_WITNESS_H

#include <stdatomic.h>
#include <stdint.h>

#define WITNESS_DECODES_MAX 4096u
#define WITNESS_PROMPT 48u /* tokens, in decodes of WITNESS_BATCH */
#define WITNESS_BATCH 8u

enum witness_phase {
    WITNESS_STARTING = 0, /* nothing of it has run */
    WITNESS_LOAD,
    WITNESS_PROMPTING,
    WITNESS_GENERATING,
    WITNESS_EXIT, /* the last decode has returned */
    WITNESS_PHASES
};

typedef struct witness_decode {
    int32_t first_token;
    int32_t n;
} witness_decode;

typedef struct witness {
    _Atomic uint32_t pid;
    _Atomic uint32_t phase;
    _Atomic uint32_t done; /* decodes that have returned */
    uint32_t generate;     /* how many tokens, set by whoever starts it */
    uint32_t threads;      /* likewise */
    witness_decode decodes[WITNESS_DECODES_MAX];
} witness;

#endif
