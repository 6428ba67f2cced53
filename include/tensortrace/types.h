/* tensortrace: what the public calls share. C99 and later, C++11 and later. */
#ifndef TENSORTRACE_TYPES_H
#define TENSORTRACE_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Marks what libtensortrace.so exports; all else in it is hidden. */
#if defined(__GNUC__)
#define TT_API __attribute__((visibility("default")))
#else
#define TT_API
#endif

/* An index or id that is not there. */
#define TT_NONE UINT32_MAX
/* The offset of an error that has no place in a file. */
#define TT_NO_OFFSET UINT64_MAX

typedef enum tt_status {
    TT_OK = 0,
    TT_E_IO = 1,          /* the operating system refused; the message names the file and why */
    TT_E_FORMAT = 2,      /* bytes that break the format's rules */
    TT_E_TRUNCATED = 3,   /* the input ends before what it announces */
    TT_E_CHECKSUM = 4,    /* stored and computed checksum differ */
    TT_E_LIMIT = 5,       /* larger than a named limit allows */
    TT_E_MEMORY = 6,      /* out of memory */
    TT_E_UNSUPPORTED = 7, /* valid, but newer or other than this build knows */
    TT_E_USAGE = 8,       /* the caller's words are off, or an index is out of range */
    TT_E_NOT_FOUND = 9,   /* the named thing is not there */
    TT_E_EXISTS = 10      /* the named thing is there and would be overwritten */
} tt_status;

typedef struct tt_error {
    tt_status status;
    uint64_t offset;   /* byte offset in the input, or TT_NO_OFFSET */
    char message[320]; /* what, where, what to do; no trailing newline */
} tt_error;

/* What the tokens of a batch are. */
typedef enum tt_phase {
    TT_PHASE_UNKNOWN = 0,
    TT_PHASE_PROMPT = 1,
    TT_PHASE_GENERATE = 2,
    TT_PHASE_MIXED = 3, /* some a prompt's, some generated */
    TT_PHASE_WARMUP = 4 /* computed for nothing but to make what follows fast */
} tt_phase;

/* How the ops of a run were observed. */
typedef enum tt_observed {
    TT_OBSERVED_HOOK = 1,     /* hooked per thread */
    TT_OBSERVED_CALLBACK = 2, /* seen by the scheduler callback */
    TT_OBSERVED_BOUNDS = 3,   /* only begin and end of the run */
    TT_OBSERVED_PROGRAM = 4   /* told by the program itself: tensortrace/record.h */
} tt_observed;

/* Where the bytes of a tensor live. */
typedef enum tt_origin {
    TT_ORIGIN_UNKNOWN = 0, /* neither file nor buffer was observed */
    TT_ORIGIN_DISK = 1,    /* in the mapping of the model file, at the weight's own place */
    TT_ORIGIN_BUFFER = 2   /* in a buffer; of a weight: a copy */
} tt_origin;

#endif
