/* Sorting and searching by members. */
#ifndef TT_BASE_ORDER_H
#define TT_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* -1, 0 or 1. */
#define tt_order(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines `static int name(const void *, const void *)` for qsort(): elements of the type ascend by
 * these members (one to five, the first most significant).
 *
 *     TT_ORDER_BY(by_run, tt_piece, run, lane, chunk) */
#define TT_ORDER_BY(name, type, ...)                                                               \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type *x = a, *y = b;                                                                 \
        TT_BY_PICK(__VA_ARGS__, TT_BY_5, TT_BY_4, TT_BY_3, TT_BY_2, TT_BY_1, 0)(__VA_ARGS__)       \
    }

/* Private. */
#define TT_BY_PICK(m1, m2, m3, m4, m5, by, ...) by
#define TT_BY_1(m) return tt_order(x->m, y->m);
#define TT_BY_2(m, ...)                                                                            \
    if (x->m != y->m) return x->m < y->m ? -1 : 1;                                                 \
    TT_BY_1(__VA_ARGS__)
#define TT_BY_3(m, ...)                                                                            \
    if (x->m != y->m) return x->m < y->m ? -1 : 1;                                                 \
    TT_BY_2(__VA_ARGS__)
#define TT_BY_4(m, ...)                                                                            \
    if (x->m != y->m) return x->m < y->m ? -1 : 1;                                                 \
    TT_BY_3(__VA_ARGS__)
#define TT_BY_5(m, ...)                                                                            \
    if (x->m != y->m) return x->m < y->m ? -1 : 1;                                                 \
    TT_BY_4(__VA_ARGS__)

/* For qsort() of plain numbers, ascending. */
static inline int tt_by_u32(const void *a, const void *b)
{
    return tt_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int tt_by_u64(const void *a, const void *b)
{
    return tt_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

static inline int tt_by_f64(const void *a, const void *b)
{
    return tt_order(*(const double *)a, *(const double *)b);
}

/* The median of n > 0 numbers, which it sorts; of two in the middle, their mean. */
static inline double tt_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, tt_by_f64);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Sets `at`, a variable of an unsigned type, to the first of 0 .. n - 1 for which `before` is
 * false, or to n. `before` is an expression of `at` that is true up to some value of `at` and false
 * from then on.
 *
 *     size_t at;
 *     tt_lower_bound(at, n, list[at].run < run); */
#define tt_lower_bound(at, n, before)                                                              \
    do {                                                                                           \
        __typeof__(at) low_ = 0, high_ = (n);                                                      \
        while (low_ < high_) {                                                                     \
            (at) = low_ + (high_ - low_) / 2;                                                      \
            if (before)                                                                            \
                low_ = (at) + 1;                                                                   \
            else                                                                                   \
                high_ = (at);                                                                      \
        }                                                                                          \
        (at) = low_;                                                                               \
    } while (0)

#endif
