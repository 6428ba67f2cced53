/* tensortrace: types shared by the public headers. C99 and later, C++11 and later. */
#ifndef TENSORTRACE_TYPES_H
#define TENSORTRACE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Marks what libtensortrace.so exports; everything else is hidden. */
#if defined(__GNUC__)
#define TT_API __attribute__((visibility("default")))
#else
#define TT_API
#endif

/* No index or id. */
#define TT_NONE UINT32_MAX
/* The offset of an error that is not at an offset of a file. */
#define TT_NO_OFFSET UINT64_MAX

typedef enum tt_status {
    TT_OK = 0,
    TT_E_IO = 1,          /* the system refused; the message names the file and the reason */
    TT_E_FORMAT = 2,      /* bytes that break the format's rules */
    TT_E_TRUNCATED = 3,   /* the input ends early */
    TT_E_CHECKSUM = 4,    /* stored and computed checksum differ */
    TT_E_LIMIT = 5,       /* above a named limit */
    TT_E_MEMORY = 6,      /* out of memory */
    TT_E_UNSUPPORTED = 7, /* valid, but newer than this build, or not supported by it */
    TT_E_USAGE = 8,       /* an invalid argument, or an index out of range */
    TT_E_NOT_FOUND = 9,   /* the named thing does not exist */
    TT_E_EXISTS = 10      /* the named thing exists and would be overwritten */
} tt_status;

typedef struct tt_error {
    tt_status status;
    uint64_t offset;   /* byte offset in the input, or TT_NO_OFFSET */
    char message[320]; /* what, where, what to do; no trailing newline */
} tt_error;

/* What the tokens of a batch are for. */
typedef enum tt_phase {
    TT_PHASE_UNKNOWN = 0,
    TT_PHASE_PROMPT = 1,
    TT_PHASE_GENERATE = 2,
    TT_PHASE_MIXED = 3, /* some of a prompt, some generated */
    TT_PHASE_WARMUP = 4 /* a computation that only prepares the engine */
} tt_phase;

/* How the ops of a run were observed. */
typedef enum tt_observed {
    TT_OBSERVED_HOOK = 1,     /* by hooks, per thread */
    TT_OBSERVED_CALLBACK = 2, /* by the scheduler's callback */
    TT_OBSERVED_BOUNDS = 3,   /* only the start and end of the run */
    TT_OBSERVED_PROGRAM = 4   /* reported by the program itself: tensortrace/record.h */
} tt_observed;

/* Where the bytes of a tensor are. */
typedef enum tt_origin {
    TT_ORIGIN_UNKNOWN = 0, /* neither file nor buffer was observed */
    TT_ORIGIN_FILE = 1,    /* in the mapping of the model file, at the weight's own offset */
    TT_ORIGIN_BUFFER = 2   /* in a buffer; for a weight: a copy */
} tt_origin;

#endif
