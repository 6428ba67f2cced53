/* How much one series of times differs from another, and how sure that is: pure numbers.
 *
 * The samples are d[k] = log(time of B / time of A) of the k-th token that both computed, in the
 * order of time. Estimate and test are Wilcoxon's signed-rank test and the estimate that belongs to
 * it, the median of all Walsh averages (d[i] + d[j]) / 2 (Hodges and Lehmann 1963; Hollander, Wolfe
 * and Chicken, Nonparametric Statistical Methods, 3rd ed., ch. 3): what a token lost the processor
 * for does not move them.
 *
 * Noise on a shared machine comes in intervals: neighbouring tokens are slow together, and are
 * fewer observations than they look. The variance of the rank sum is multiplied by the integrated
 * autocorrelation time of the series (Geyer 1992, initial positive sequence), n / that is the
 * effective number of samples, and quantiles are those of Student's t with that many less one
 * degrees of freedom.
 *
 * Noise that lasts longer than a run (another program, a clock rate, where the pages came to lie)
 * cannot be seen in it. It is taken to be as large as what lasts a sixteenth of the run (an eighth
 * of short ones): the standard deviation of the medians of as many intervals, by Student's t. A p
 * value is the larger one of both tests, an interval covers both. Repeated runs need no such
 * guess: tt_shift_of_runs. */
#ifndef TT_ANALYZE_DIFF_STATS_H
#define TT_ANALYZE_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer (effective) samples than these are not tested. */
#define TT_SHIFT_SAMPLES_MIN 6u
#define TT_SHIFT_EFFECTIVE_MIN 4.0

typedef struct tt_shift {
    size_t n;
    double n_effective;
    bool tested;     /* there were samples enough; else only the estimate holds */
    double estimate; /* NAN without samples */
    /* Private: */
    bool by_levels;
    double se, df;        /* of runs; of tokens: of intervals of them */
    const double *sorted; /* else; the caller's */
} tt_shift;

/* d is sorted; s refers to it. */
void tt_shift_of_tokens(tt_shift *s, double *d, size_t n);
/* From one figure a run (log of how long its tokens took) of a runs and of b: what repeats tell,
 * by a t test with pooled variance. Tested when there are three in all, one on each side. */
void tt_shift_of_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b);

/* Two-sided: how often noise alone would make an estimate as far from `from` if that were the true
 * shift. NAN when not tested. */
double tt_shift_p(const tt_shift *s, double from);
/* The shifts that a test at that level (0.05) would not refuse: infinite where the samples are too
 * few for the level, NAN when not tested. */
void tt_shift_interval(const tt_shift *s, double level, double *low, double *high);

/* How many of n samples have to be independent (`n_effective`) for such an interval to have ends:
 * with fewer the rank test could not refuse any shift at that level. More than n: so many samples
 * would be needed, all of them independent. */
double tt_shift_effective_least(size_t n, double level);

/* The integrated autocorrelation time of d, at least 1, at most n. Values beyond 3 standard
 * deviations (by the median absolute one) count as these: one spike tells nothing of intervals. */
double tt_autocorrelation_time(const double *d, size_t n);

/* Holm's step-down correction (1979) of n p values, in place; NAN values stay and do not count.
 * False without memory. */
bool tt_holm(double *p, size_t n);

/* P(T <= t) of Student's t with df > 0 degrees of freedom, by the incomplete beta function's
 * continued fraction (DLMF 8.17.22). */
double tt_student_cdf(double t, double df);
/* The t with P(T <= t) = q, 0 < q < 1. */
double tt_student_quantile(double q, double df);

/* P(X >= x) of a chi-square distribution. NAN for df 0. */
double tt_chi_square_tail(double x, uint32_t df);

/* The value at that share (0..1) of n > 0 sorted ones, between two as numpy's default has it: for
 * estimates. Times that are shown are tt_quantiles_sorted's. */
double tt_sorted_quantile(const double *sorted, size_t n, double share);
void tt_sort_doubles(double *values, size_t n);

#endif
