/* tensortrace: what the public calls share. C99 and later, C++11 and later. */
#ifndef TENSORTRACE_TYPES_H
#define TENSORTRACE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENSORTRACE_API __attribute__((visibility("default")))
#else
#define TENSORTRACE_API
#endif

/* An index or id that is not there. */
#define TENSORTRACE_NONE UINT32_MAX
/* The offset of an error that has no place in the file. */
#define TENSORTRACE_NO_OFFSET UINT64_MAX

/* What the calls return: 0 is success. */
enum {
    TENSORTRACE_OK = 0,
    TENSORTRACE_E_IO = 1,          /* the operating system refused */
    TENSORTRACE_E_FORMAT = 2,      /* bytes that break the format's rules, or are cut off */
    TENSORTRACE_E_MEMORY = 3,      /* out of memory, or past a limit on it */
    TENSORTRACE_E_UNSUPPORTED = 4, /* valid, but newer than this library */
    TENSORTRACE_E_USAGE = 5        /* an index that is out of range */
};

typedef struct tensortrace_error {
    int code;
    uint64_t offset;   /* byte in the file, or TENSORTRACE_NO_OFFSET */
    char message[320]; /* what, where, what to do */
} tensortrace_error;

enum {
    TENSORTRACE_PHASE_UNKNOWN = 0,
    TENSORTRACE_PHASE_PROMPT = 1,
    TENSORTRACE_PHASE_GENERATE = 2
};

/* How the ops of a run were observed. */
enum {
    TENSORTRACE_OBSERVED_HOOK = 1,     /* hooked per thread */
    TENSORTRACE_OBSERVED_CALLBACK = 2, /* seen by the scheduler callback */
    TENSORTRACE_OBSERVED_BOUNDS = 3    /* only begin and end of the run */
};

/* Where the bytes of a tensor live. */
enum {
    TENSORTRACE_ORIGIN_UNKNOWN = 0,
    TENSORTRACE_ORIGIN_DISK = 1,  /* in the mapping of the model file */
    TENSORTRACE_ORIGIN_BUFFER = 2 /* in a buffer; of a weight: a copy */
};

#ifdef __cplusplus
}
#endif

#endif
