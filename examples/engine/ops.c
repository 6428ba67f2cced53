/* Formulas:
 *   RMS norm          Zhang, Sennrich: Root Mean Square Layer Normalization, arXiv 1910.07467
 *   rotations (RoPE)  Su et al.: RoFormer, arXiv 2104.09864
 *   attention         Vaswani et al.: Attention Is All You Need, arXiv 1706.03762
 *   shared KV heads   Ainslie et al.: GQA, arXiv 2305.13245
 *   SwiGLU            Shazeer: GLU Variants Improve Transformer, arXiv 2002.05202
 * Sums are of float64, so that the order of summation does not matter in what float32 can hold. */
#include "ops.h"

#include "dequant.h"

#include <math.h>
#include <string.h>

const char *op_name(op_kind kind)
{
    static const char *const names[OP_KINDS] = {"GET_ROWS", "RMS_NORM",  "MUL_MAT", "ROPE",
                                                "SET_ROWS", "ATTENTION", "ADD",     "SWIGLU"};
    return names[kind];
}

static float *row_of(const tensor *t, uint32_t row)
{
    return (float *)t->data + (size_t)row * t->ne[0];
}

/* The part of n that thread ith of nth takes. */
static void share(uint32_t n, uint32_t ith, uint32_t nth, uint32_t *first, uint32_t *end)
{
    *first = (uint32_t)((uint64_t)n * ith / nth);
    *end = (uint32_t)((uint64_t)n * (ith + 1) / nth);
}

static void get_row(const op *o, uint32_t row)
{
    memcpy(row_of(o->out, row), row_of(o->in[0], o->ids[row]), o->out->ne[0] * sizeof(float));
}

/* x / sqrt(mean(x * x) + epsilon) * weight */
static void rms_norm(const op *o, uint32_t row)
{
    const float *x = row_of(o->in[0], row), *weight = o->in[1]->data;
    float *out = row_of(o->out, row);
    uint32_t n = o->out->ne[0];
    double squares = 0;
    for (uint32_t i = 0; i < n; i++)
        squares += (double)x[i] * (double)x[i];
    double scale = 1 / sqrt(squares / n + (double)o->epsilon);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (float)((double)x[i] * scale) * weight[i];
}

/* Element j of every row: threads share the weight's rows, of which there are always many. */
static void mul_mat(const op *o, uint32_t j)
{
    const tensor *w = o->in[0];
    uint32_t n = w->ne[0];
    for (uint32_t row = 0; row < o->out->ne[1]; row++) {
        const float *x = row_of(o->in[1], row);
        double sum = 0;
        if (o->transpose_weight) {
            const float *column = (const float *)w->data + j;
            for (uint32_t i = 0; i < n; i++)
                sum += (double)column[(size_t)i * w->ne[1]] * (double)x[i];
        } else {
            const float *weights = row_of(w, j);
            for (uint32_t i = 0; i < n; i++)
                sum += (double)weights[i] * (double)x[i];
        }
        row_of(o->out, row)[j] = (float)sum;
    }
}

/* Elements 2i and 2i + 1 of each head are turned by position * base^(-2i / n_rot). */
static void rope(const op *o, uint32_t row)
{
    const float *x = row_of(o->in[0], row);
    float *out = row_of(o->out, row);
    double position = o->position + row;
    memcpy(out, x, o->out->ne[0] * sizeof(float));
    for (uint32_t i = 0; i < o->n_rot; i += 2) {
        double angle = position * pow((double)o->rope_base, -(double)i / o->n_rot);
        double c = cos(angle), s = sin(angle);
        for (uint32_t at = i; at < o->out->ne[0]; at += o->head_size) {
            out[at] = (float)((double)x[at] * c - (double)x[at + 1] * s);
            out[at + 1] = (float)((double)x[at] * s + (double)x[at + 1] * c);
        }
    }
}

static void set_row(const op *o, uint32_t row)
{
    const float *x = row_of(o->in[0], row);
    size_t n = o->out->ne[0], at = (size_t)(o->position + row) * n;
    if (o->out->type == TYPE_F32) {
        memcpy((float *)o->out->data + at, x, n * sizeof(float));
        return;
    }
    for (size_t i = 0; i < n; i++)
        ((uint16_t *)o->out->data)[at + i] = half_of_float(x[i]);
}

static double kept(const tensor *t, size_t at)
{
    return t->type == TYPE_F32 ? (double)((const float *)t->data)[at]
                               : (double)half_to_float(((const uint16_t *)t->data)[at]);
}

/* softmax(scale * q . k) . v of one head of one row, over all positions up to its own. The largest
 * score so far is kept and what was summed is rescaled when it grows, so that no score has to be
 * kept: Milakov, Gimelshein, arXiv 1805.02867. */
static void attend(const op *o, uint32_t row, uint32_t head)
{
    uint32_t n = o->head_size;
    uint32_t kv =
        o->interleave_kv_heads ? head % o->n_heads_kv : head / (o->n_heads / o->n_heads_kv);
    const float *q = row_of(o->in[0], row) + (size_t)head * n;
    double largest = -INFINITY, total = 0, sum[HEAD_MAX] = {0};
    for (uint32_t position = 0; position <= o->position + row; position++) {
        size_t at = ((size_t)position * o->n_heads_kv + kv) * n;
        double score = 0;
        for (uint32_t i = 0; i < n; i++)
            score += (double)q[i] * kept(o->in[1], at + i);
        score *= (double)o->scale;
        double smaller = score > largest ? exp(largest - score) : 1;
        if (score > largest) largest = score;
        double weight = exp(score - largest);
        total = total * smaller + weight;
        for (uint32_t i = 0; i < n; i++)
            sum[i] = sum[i] * smaller + weight * kept(o->in[2], at + i);
    }
    float *out = row_of(o->out, row);
    for (uint32_t i = 0; i < n; i++)
        out[o->transpose_heads ? i * o->n_heads + head : head * n + i] = (float)(sum[i] / total);
}

static void add(const op *o, uint32_t row)
{
    for (uint32_t i = 0; i < o->out->ne[0]; i++)
        row_of(o->out, row)[i] = row_of(o->in[0], row)[i] + row_of(o->in[1], row)[i];
}

/* x * sigmoid(x) of the gate, times up */
static void swiglu(const op *o, uint32_t row)
{
    const float *gate = row_of(o->in[0], row), *up = row_of(o->in[1], row);
    for (uint32_t i = 0; i < o->out->ne[0]; i++)
        row_of(o->out, row)[i] =
            (float)((double)gate[i] / (1 + exp(-(double)gate[i])) * (double)up[i]);
}

void op_compute(const op *o, uint32_t ith, uint32_t nth)
{
    uint32_t rows = o->kind == OP_SET_ROWS ? o->in[0]->ne[1] : o->out->ne[1];
    uint32_t n = o->kind == OP_MUL_MAT     ? o->out->ne[0]
                 : o->kind == OP_ATTENTION ? rows * o->n_heads
                                           : rows;
    uint32_t first, end;
    share(n, ith, nth, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        switch (o->kind) {
        case OP_GET_ROWS:
            get_row(o, i);
            break;
        case OP_RMS_NORM:
            rms_norm(o, i);
            break;
        case OP_MUL_MAT:
            mul_mat(o, i);
            break;
        case OP_ROPE:
            rope(o, i);
            break;
        case OP_SET_ROWS:
            set_row(o, i);
            break;
        case OP_ATTENTION:
            attend(o, i / o->n_heads, i % o->n_heads);
            break;
        case OP_ADD:
            add(o, i);
            break;
        case OP_SWIGLU:
            swiglu(o, i);
            break;
        case OP_KINDS:
            break;
        }
    }
}
