/* How much two series of times differ, and how certain that is: pure numbers.
 *
 * x[k] = log(time) of the k-th token, of both sides in the same time order. What disturbs a token
 * (another program, a slower neighbour on the processor, an interrupt) only adds to its time, so
 * the fast tokens tell what the program takes. The n tokens are cut into K = n / 4, from 3 to 16,
 * blocks of neighbours; low[b] is the 0.1 quantile
 * (interpolated) of a block. Blocks hold the same
 * tokens on both sides, so what depends on the place in the text cancels in
 *
 *   d[b] = low of B - low of A
 *
 * Estimate: each side's own level, the median of all (low[i] + low[j]) / 2, i <= j (Hodges and
 * Lehmann 1963; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., ch. 3);
 * B's less A's. So A's level does not depend on B, and B against A is the exact negative.
 *
 * Test: Student's t by batch means (Law and Kelton, Simulation Modeling and Analysis, 3rd ed.,
 * 9.5.3), with h - 1 degrees of freedom and the standard error
 *
 *   sqrt(3 S / (h (h - 1)))
 *
 * S is the sum of squares of d from its mean, and h = K; from K = 12 on the least and the largest d
 * count as their neighbours, and h = K - 2 (Yuen 1974): a block that was disturbed throughout is no
 * noise of the others. The factor 3, where independent blocks have 1, is for noise that lasts
 * longer than a block, or than a run (where its memory was placed, the clock rate, a neighbour
 * throughout): it is assumed to vary twice as much as what is seen. Repeated runs need no such
 * assumption: tt_shift_of_runs. tests/unit/test_diff.c has the rates of errors, docs/diff.md those
 * of recorded runs. */
#ifndef TT_ANALYZE_DIFF_STATS_H
#define TT_ANALYZE_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_SHIFT_SAMPLES_MIN 6u /* fewer are not tested */
#define TT_SHIFT_BLOCKS_MAX 16u
#define TT_SHIFT_UNDISTURBED 0.1 /* the quantile of the fast tokens */
#define TT_SHIFT_DF_MOST 1e6     /* as good as known */

typedef struct tt_shift {
    size_t n;        /* tokens, or runs */
    size_t blocks;   /* of tokens, or runs */
    bool tested;     /* there were enough samples; else only the estimate is valid */
    double estimate; /* NAN without samples */
    double se, df;   /* its standard error, of that many degrees of freedom; if tested */
    bool by_ranks;   /* of runs: also tested by their order */
    double p_apart;  /* then: the probability that all runs of a side come before the other's */
    double gap;      /* ... and B's nearest run less A's nearest; 0 if they overlap */
} tt_shift;

/* The low quantiles of the blocks of n > 0 logarithms of times, in time order; sorts x within each
 * block. Returns K, which depends on n alone. */
size_t tt_shift_blocks(double *x, size_t n, double low[TT_SHIFT_BLOCKS_MAX]);
/* The median of all (v[i] + v[j]) / 2, of 0 < n <= TT_SHIFT_BLOCKS_MAX values. */
double tt_shift_centre(const double *v, size_t n);
/* From the low quantiles of k blocks, of n tokens. */
void tt_shift_of_tokens(tt_shift *s, const double *a, const double *b, size_t k, size_t n);
/* Adds the variance of a source of noise that the samples cannot show. */
void tt_shift_allow(tt_shift *s, double variance);
/* From one figure per run (log of its tokens' time), of n_a runs of A and n_b of B: a t test with
 * pooled variance. Tested with at least three runs in all, one on each side. */
void tt_shift_of_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b);
/* Likewise where runs are disturbed in ways that no normal distribution describes: for any
 * shift to be found, all of A's figures must also lie on one side of all of B's, as they do by
 * chance in 2 of (n_a + n_b choose n_a) orders. Not tested if that is more than `level`. */
void tt_shift_of_busy_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b,
                           double level);

/* Two-sided: the probability of an estimate at least as far from `from`, if that were the true
 * shift. NAN if not tested. */
double tt_shift_p(const tt_shift *s, double from);
/* The shifts that a test at that level (0.05) would not reject; NAN if not tested. */
void tt_shift_interval(const tt_shift *s, double level, double *low, double *high);

/* Holm's step-down correction (1979) of n p values, in place; NAN values stay and do not count.
 * False if out of memory. */
bool tt_holm(double *p, size_t n);

/* P(T <= t) of Student's t with df > 0 degrees of freedom, by the incomplete beta function's
 * continued fraction (DLMF 8.17.22). */
double tt_student_cdf(double t, double df);
/* The t with P(T <= t) = q, 0 < q < 1. */
double tt_student_quantile(double q, double df);

/* P(X >= x) of a chi-square distribution. NAN for df 0. */
double tt_chi_square_tail(double x, uint32_t df);

/* The quantile (0..1) of n > 0 sorted values, interpolated as in numpy's default: for estimates.
 * Displayed times use tt_quantiles_sorted. */
double tt_sorted_quantile(const double *sorted, size_t n, double share);
void tt_sort_doubles(double *values, size_t n);

#endif
