#include "analyze/values/values_weight.h"

#include "analyze/model_file.h"
#include "gguf/types.h"
#include "value/type.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_ELEMENTS 16384u /* whole blocks of every type */
#define NONE 0xffu

/* Where blocks have their scale, and the scale of their minima, in ggml-common.h: halves, by which
 * the whole block is multiplied. What else is in a block is finite whatever its bits. */
static const struct scales {
    const char *type;
    uint8_t scale, minimum;
} SCALES[] = {
    {"Q2_K", 80, 82},    {"Q3_K", 108, NONE},  {"Q4_K", 0, 2},       {"Q5_K", 0, 2},
    {"Q6_K", 208, NONE}, {"IQ1_S", 0, NONE},   {"IQ2_XXS", 0, NONE}, {"IQ2_XS", 0, NONE},
    {"IQ2_S", 0, NONE},  {"IQ3_XXS", 0, NONE}, {"IQ3_S", 0, NONE},   {"IQ4_XS", 0, NONE},
    {"TQ1_0", 52, NONE}, {"TQ2_0", 64, NONE},
};

typedef struct looking {
    tt_ggml_type type;
    tt_value_type values; /* TT_VALUE_UNKNOWN: by its scales */
    const struct scales *scales;
    uint8_t *bytes; /* a piece */
    float *floats;
    tt_values_weight *out;
} looking;

/* False: nothing is known of the type's blocks. */
static bool know_type(looking *l, const tt_weight *w)
{
    const tt_ggml_type *type = tt_ggml_type_find(w->type);
    char name[16] = "";
    if (!type || strlen(type->name) >= sizeof name) return false;
    for (size_t i = 0; type->name[i]; i++)
        name[i] = (char)tolower((unsigned char)type->name[i]);
    l->type = *type;
    l->values = tt_value_type_of(name);
    for (size_t i = 0; i < sizeof SCALES / sizeof *SCALES; i++)
        if (strcmp(SCALES[i].type, type->name) == 0) l->scales = &SCALES[i];
    l->out->told_apart = l->values != TT_VALUE_UNKNOWN;
    return l->out->told_apart ? tt_value_block_elements(l->values) == type->block_elements &&
                                    tt_value_block_bytes(l->values) == type->block_bytes
                              : l->scales != NULL;
}

/* Sets how many elements the weight has; false when size, shape and file do not fit. */
static bool know_size(const looking *l, const tt_weight *w, const tt_model_file *f)
{
    uint64_t n = 1;
    if (w->size_bytes % l->type.block_bytes || w->offset_bytes > f->size_bytes ||
        w->size_bytes > f->size_bytes - w->offset_bytes)
        return false;
    l->out->elements = w->size_bytes / l->type.block_bytes * l->type.block_elements;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (__builtin_mul_overflow(n, w->ne[d], &n)) return false;
    l->out->has_place = w->n_dims > 0;
    return w->n_dims == 0 || n == l->out->elements;
}

static bool is_finite(const uint8_t *half)
{
    uint16_t h;
    memcpy(&h, half, sizeof h);
    return (h & 0x7c00u) != 0x7c00u;
}

static void found(tt_values_weight *out, uint64_t at, uint64_t n)
{
    if (out->n_bad == 0) out->first_bad = at;
    out->n_bad += n;
}

static void look_at_values(looking *l, uint64_t from, size_t n)
{
    tt_value_to_f32(l->values, l->bytes, n, l->floats);
    for (size_t i = 0; i < n; i++) {
        if (__builtin_isfinite(l->floats[i])) continue;
        found(l->out, from + i, 1);
        if (__builtin_isnan(l->floats[i]))
            l->out->n_nan++;
        else
            l->out->n_inf++;
    }
}

static void look_at_scales(looking *l, uint64_t from, size_t n)
{
    const struct scales *s = l->scales;
    for (size_t i = 0; i < n; i += l->type.block_elements) {
        const uint8_t *block = l->bytes + i / l->type.block_elements * l->type.block_bytes;
        if (!is_finite(block + s->scale) || (s->minimum != NONE && !is_finite(block + s->minimum)))
            found(l->out, from + i, l->type.block_elements);
    }
}

static const char *read_all(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t n = pread(fd, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return strerror(errno);
        if (n == 0) return "it ends before the weight does";
        to += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return NULL;
}

static tt_status look_at_all(looking *l, int fd, uint64_t offset, const tt_over *over,
                             tt_error *err)
{
    tt_values_weight *out = l->out;
    tt_status status = TT_OK;
    for (uint64_t at = 0; at < out->elements && !out->why_not && status == TT_OK;) {
        const uint64_t left = out->elements - at;
        const size_t n = left < PIECE_ELEMENTS ? (size_t)left : PIECE_ELEMENTS;
        const size_t size = n / l->type.block_elements * l->type.block_bytes;
        status = tt_over_check(over, err);
        if (status == TT_OK) out->why_not = read_all(fd, l->bytes, size, offset);
        if (status != TT_OK || out->why_not) break;
        if (out->told_apart)
            look_at_values(l, at, n);
        else
            look_at_scales(l, at, n);
        at += n;
        offset += size;
    }
    return status;
}

static void place_first(const tt_weight *w, tt_values_weight *out)
{
    uint64_t rest = out->first_bad;
    for (uint32_t d = 0; d < TT_DIMS && out->n_bad; d++) {
        const uint64_t ne = d < w->n_dims ? w->ne[d] : 1;
        out->first_bad_at[d] = rest % ne;
        rest /= ne;
    }
}

/* In a file that is the one that was traced. */
static tt_status look_in(looking *l, const tt_weight *w, const tt_model_file *f, int fd,
                         const tt_over *over, tt_error *err)
{
    if (tt_model_file_is_modified(f, fd))
        l->out->why_not = "it was modified after it was traced";
    else if (!know_type(l, w))
        l->out->why_not = "elements of its type are not looked at";
    else if (!know_size(l, w, f))
        l->out->why_not = "the trace's size or shape of it does not fit";
    if (l->out->why_not) return TT_OK;
    const size_t blocks = PIECE_ELEMENTS / l->type.block_elements;
    l->bytes = malloc(blocks * l->type.block_bytes);
    l->floats = malloc(PIECE_ELEMENTS * sizeof *l->floats);
    tt_status status = l->bytes && l->floats ? look_at_all(l, fd, w->offset_bytes, over, err)
                                             : tt_error_memory(err, "a piece of a weight");
    free(l->bytes);
    free(l->floats);
    return status;
}

tt_status tt_values_weight_look(const tt_model *m, uint32_t weight, const tt_over *over,
                                tt_values_weight *out, tt_error *err)
{
    const tt_weight *w = &m->weights[weight];
    const tt_model_file *f = &m->files[w->file];
    looking l = {.out = out};
    int fd;
    memset(out, 0, sizeof *out);
    out->why_not = tt_model_file_open(f, f->path, &fd);
    if (out->why_not) return TT_OK;
    tt_status status = look_in(&l, w, f, fd, over, err);
    (void)close(fd);
    /* Half a look is none. */
    if (status != TT_OK || out->why_not) {
        *out = (tt_values_weight){.why_not = out->why_not};
        return status;
    }
    out->looked_at = true;
    place_first(w, out);
    return TT_OK;
}
