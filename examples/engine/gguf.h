/* A model file: its numbers and its tensors. Nothing is copied: the file stays mapped. */
#ifndef GGUF_H
#define GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GGUF_NAME_MAX 64u

typedef struct gguf_number {
    const char *key; /* not terminated */
    size_t key_length;
    double value;
} gguf_number;

typedef struct gguf_tensor {
    char name[GGUF_NAME_MAX];
    uint32_t type;
    uint32_t n_dims;
    uint64_t ne[4];              /* columns first; 1 where there is no such dimension */
    uint64_t offset, size_bytes; /* in the file */
    const uint8_t *data;
} gguf_tensor;

typedef struct gguf {
    const uint8_t *bytes;
    size_t size;
    void *map; /* NULL: the bytes are somebody else's */
    gguf_number *numbers;
    size_t n_numbers;
    gguf_tensor *tensors;
    size_t n_tensors;
    uint64_t alignment;
} gguf;

/* NULL, or what is wrong with the bytes, which stay where they are; then g needs no closing. */
const char *gguf_read(gguf *g, const uint8_t *bytes, size_t size);
/* The same of a file, which stays mapped. */
const char *gguf_open(gguf *g, const char *path);
void gguf_close(gguf *g);

/* The number behind a key; `otherwise` when there is none. */
double gguf_get(const gguf *g, const char *key, double otherwise);
/* NULL when there is none. */
const gguf_tensor *gguf_find(const gguf *g, const char *name);

#endif
