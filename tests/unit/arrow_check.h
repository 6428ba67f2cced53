/* Whether arrays are what the Arrow C data interface asks for, as far as rows of a trace need it,
 * and a sum of what they hold. Included as source; dies of what is wrong. */
#ifndef TT_TESTS_ARROW_CHECK_H
#define TT_TESTS_ARROW_CHECK_H

#include "base/bytes.h"
#include "base/checksum.h"

#include <tensortrace/arrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARROW_NEED(test)                                                                           \
    do {                                                                                           \
        if (!(test)) {                                                                             \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #test);                       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static bool arrow_bit(const void *bits, int64_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> (i % 8) & 1;
}

static void arrow_check_texts(const struct ArrowArray *a)
{
    const int32_t *ends = a->buffers[1];
    const char *text = a->buffers[2];
    ARROW_NEED(a->n_buffers == 3 && a->length > 0 && a->null_count == 0 && ends && text);
    ARROW_NEED(ends[0] == 0);
    for (int64_t i = 0; i < a->length; i++) {
        ARROW_NEED(ends[i] <= ends[i + 1]);
        for (int32_t at = ends[i]; at < ends[i + 1];) {
            const size_t n = tt_utf8_length(text + at, (size_t)(ends[i + 1] - at));
            ARROW_NEED(n > 0);
            at += (int32_t)n;
        }
    }
}

/* Of a value that is there. */
static uint64_t arrow_value(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i)
{
    const char *format = s->format;
    uint64_t v = 0;
    if (s->dictionary) {
        const int32_t code = ((const int32_t *)a->buffers[1])[i];
        const int32_t *ends = a->dictionary->buffers[1];
        ARROW_NEED(code >= 0 && code < a->dictionary->length);
        return tt_checksum((const char *)a->dictionary->buffers[2] + ends[code],
                           (size_t)(ends[code + 1] - ends[code]));
    }
    if (*format == 'b') return arrow_bit(a->buffers[1], i);
    const size_t size = strchr("C", *format)     ? 1
                        : strchr("S", *format)   ? 2
                        : strchr("Iif", *format) ? 4
                                                 : 8;
    ARROW_NEED(strchr("CSIifLlgt", *format));
    memcpy(&v, (const char *)a->buffers[1] + (size_t)i * size, size);
    return v;
}

static uint64_t arrow_check_column(const struct ArrowSchema *s, const struct ArrowArray *a)
{
    uint64_t sum = 0;
    int64_t nulls = 0;
    ARROW_NEED(a->offset == 0 && a->n_buffers == 2 && a->n_children == 0 && a->buffers[1]);
    ARROW_NEED(!s->dictionary == !a->dictionary);
    if (a->dictionary) arrow_check_texts(a->dictionary);
    for (int64_t i = 0; i < a->length; i++) {
        const bool known = !a->buffers[0] || arrow_bit(a->buffers[0], i);
        sum = sum * 0x9e3779b97f4a7c15u + (known ? arrow_value(s, a, i) + 1 : 0);
        nulls += !known;
    }
    ARROW_NEED(a->null_count == nulls && (s->flags & ARROW_FLAG_NULLABLE || nulls == 0));
    return sum;
}

/* Rows of the batch; *sum goes on. */
static uint64_t arrow_check_batch(const struct ArrowSchema *s, const struct ArrowArray *a,
                                  uint64_t *sum)
{
    ARROW_NEED(strcmp(s->format, "+s") == 0 && a->n_children == s->n_children && a->length > 0);
    ARROW_NEED(a->n_buffers == 1 && !a->buffers[0] && a->null_count == 0);
    for (int64_t i = 0; i < a->n_children; i++) {
        ARROW_NEED(a->children[i]->length == a->length);
        *sum = *sum * 31 + arrow_check_column(s->children[i], a->children[i]);
    }
    return (uint64_t)a->length;
}

typedef struct arrow_read {
    uint64_t rows, batches, sum;
    int error; /* that get_next ended with */
} arrow_read;

/* All of the stream, or so many batches (0: all); releases it. */
static arrow_read arrow_read_all(struct ArrowArrayStream *stream, uint64_t batches)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    arrow_read r = {0};
    ARROW_NEED(stream->get_schema(stream, &schema) == 0);
    while (batches == 0 || r.batches < batches) {
        r.error = stream->get_next(stream, &batch);
        if (r.error) {
            const char *said = stream->get_last_error(stream);
            ARROW_NEED(said && *said && !batch.release);
            ARROW_NEED(stream->get_next(stream, &batch) == r.error);
        }
        if (r.error || !batch.release) break;
        r.rows += arrow_check_batch(&schema, &batch, &r.sum);
        r.batches++;
        batch.release(&batch);
        ARROW_NEED(!batch.release);
    }
    schema.release(&schema);
    stream->release(stream);
    ARROW_NEED(!stream->release && !schema.release);
    return r;
}

#endif
