#include "value/sums.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 4096u /* elements that are taken as finite at first */

void tt_value_sums_begin(tt_value_sums *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < TT_VALUE_LANES; i++) {
        s->min[i] = INFINITY;
        s->max[i] = -INFINITY;
    }
    s->first_bad = UINT64_MAX;
}

/* Compiled for what the machine has: the results are the same, as each lane's order is. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define MANY __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define MANY
#endif

typedef float lanes_f32 __attribute__((vector_size(TT_VALUE_LANES * sizeof(float))));
typedef int32_t lanes_i32 __attribute__((vector_size(TT_VALUE_LANES * sizeof(int32_t))));
typedef double lanes_f64 __attribute__((vector_size(TT_VALUE_LANES * sizeof(double))));

/* All are finite, n is a multiple of TT_VALUE_LANES. */
MANY static void add_finite(tt_value_sums *s, const float *x, size_t n)
{
    lanes_f64 sum, squares;
    lanes_f32 min, max;
    memcpy(&sum, s->sum, sizeof sum);
    memcpy(&squares, s->squares, sizeof squares);
    memcpy(&min, s->min, sizeof min);
    memcpy(&max, s->max, sizeof max);
    for (size_t i = 0; i < n; i += TT_VALUE_LANES) {
        lanes_f32 f;
        memcpy(&f, x + i, sizeof f);
        lanes_f64 d = __builtin_convertvector(f, lanes_f64);
        sum += d;
        squares += d * d;
        lanes_i32 less = f<min, more = f> max;
        min = (lanes_f32)((less & (lanes_i32)f) | (~less & (lanes_i32)min));
        max = (lanes_f32)((more & (lanes_i32)f) | (~more & (lanes_i32)max));
    }
    memcpy(s->sum, &sum, sizeof sum);
    memcpy(s->squares, &squares, sizeof squares);
    memcpy(s->min, &min, sizeof min);
    memcpy(s->max, &max, sizeof max);
}

/* Squares of finite floats and sums of them stay far below what a double holds: a sum that is not
 * finite had an element that is not. */
static bool all_finite(const tt_value_sums *s)
{
    double all = 0;
    for (unsigned k = 0; k < TT_VALUE_LANES; k++)
        all += s->squares[k];
    return isfinite(all);
}

static void add_each(tt_value_sums *s, const float *x, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++) {
        unsigned k = (unsigned)(i % TT_VALUE_LANES);
        if (!isfinite(x[i])) {
            if (s->first_bad == UINT64_MAX) s->first_bad = first + i;
            if (isnan(x[i]))
                s->n_nan++;
            else
                s->n_inf++;
            continue;
        }
        double d = (double)x[i];
        s->sum[k] += d;
        s->squares[k] += d * d;
        s->min[k] = x[i] < s->min[k] ? x[i] : s->min[k];
        s->max[k] = x[i] > s->max[k] ? x[i] : s->max[k];
    }
}

void tt_value_sums_add(tt_value_sums *s, const float *x, size_t n)
{
    for (size_t done = 0; done < n;) {
        size_t part = n - done < BLOCK ? n - done : BLOCK;
        size_t whole = part - part % TT_VALUE_LANES;
        tt_value_sums before = *s;
        add_finite(s, x + done, whole);
        if (whole == part && all_finite(s)) {
            done += part;
            continue;
        }
        *s = before;
        add_each(s, x + done, part, s->n + done);
        done += part;
    }
    s->n += n;
}
