/* Medians with intervals, outliers and ratios of runs: pure numbers. */
#include "analyze/diff/stats.h"
#include "study/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- medians --- */

/* For n sorted values, the largest k for which less than half of the level is beyond the k-th value
 * on each side; 0: none. */
static size_t interval_rank(size_t n)
{
    double log_p = (double)n * log(0.5), sum = 0;
    size_t k = 0;
    while (k < n / 2 && sum + exp(log_p) <= TT_STUDY_LEVEL / 2) {
        sum += exp(log_p);
        k++;
        log_p += log((double)(n - k + 1) / (double)k);
    }
    return k;
}

bool tt_study_median_of(const double *values, size_t n, tt_study_median *m)
{
    *m = (tt_study_median){.n = (uint32_t)n};
    if (n == 0) return true;
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return false;
    memcpy(sorted, values, n * sizeof *sorted);
    tt_sort_doubles(sorted, n);
    m->value = tt_sorted_quantile(sorted, n, 0.5);
    const size_t k = interval_rank(n);
    m->is_interval = k > 0;
    m->low = sorted[k ? k - 1 : 0];
    m->high = sorted[n - (k ? k : 1)];
    free(sorted);
    return true;
}

/* --- outliers --- */

#define MAD_TO_SD 1.4826 /* of a normal distribution */
#define FAR 3.5
#define OUTLIERS_OF 4u
#define PROMPT_RUNS 3u

static size_t count_prompt(const uint32_t *prompt, size_t n, uint32_t which)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += prompt[i] == which;
    return found;
}

/* The number of prompts, if each has enough values; else 1. */
static size_t count_blocks(const uint32_t *prompt, size_t n)
{
    size_t blocks = 0;
    for (size_t i = 0; i < n; i++) {
        if (count_prompt(prompt, n, prompt[i]) < PROMPT_RUNS) return 1;
        blocks += count_prompt(prompt, i, prompt[i]) == 0;
    }
    return blocks;
}

/* The median of the logarithms of the values of a prompt, or of all. */
static double center(const double *values, const uint32_t *prompt, size_t n, bool all,
                     uint32_t which, double *room)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (all || prompt[i] == which) room[found++] = log(values[i]);
    tt_sort_doubles(room, found);
    return tt_sorted_quantile(room, found, 0.5);
}

bool tt_study_outliers(const double *values, const uint32_t *prompt, size_t n, bool *outlier)
{
    for (size_t i = 0; i < n; i++)
        outlier[i] = false;
    if (n < OUTLIERS_OF) return true;
    double *far = malloc(2 * n * sizeof *far), *room = far ? far + n : NULL;
    if (!far) return false;
    const size_t blocks = count_blocks(prompt, n), dropped = blocks > 1 ? blocks : 0;
    for (size_t i = 0; i < n; i++)
        far[i] = fabs(log(values[i]) - center(values, prompt, n, blocks == 1, prompt[i], room));
    memcpy(room, far, n * sizeof *far);
    tt_sort_doubles(room, n);
    const double limit = FAR * MAD_TO_SD * tt_sorted_quantile(room + dropped, n - dropped, 0.5);
    for (size_t i = 0; i < n; i++)
        outlier[i] = limit > 0 && far[i] > limit;
    free(far);
    return true;
}

/* --- ratios --- */

/* A prompt on both sides. */
typedef struct block {
    double mean_a, mean_b, n_a, n_b;
} block;

static block block_of(const double *logs, const uint32_t *prompt, size_t n, size_t n_a,
                      uint32_t which)
{
    block b = {0, 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        if (prompt[i] != which) continue;
        *(i < n_a ? &b.mean_a : &b.mean_b) += logs[i];
        *(i < n_a ? &b.n_a : &b.n_b) += 1;
    }
    if (b.n_a > 0) b.mean_a /= b.n_a;
    if (b.n_b > 0) b.mean_b /= b.n_b;
    return b;
}

/* Least squares of log(value) = its prompt's + (for b) shift. The blocks are orthogonal, so the
 * shift is the mean of the prompts' differences, weighted by their precision. */
typedef struct fit {
    double weights, shift, squares, n, prompts;
} fit;

static fit fit_shift(const double *logs, const uint32_t *prompt, size_t n, size_t n_a)
{
    fit f = {0};
    for (size_t i = 0; i < n_a; i++) {
        if (count_prompt(prompt, i, prompt[i])) continue;
        const block b = block_of(logs, prompt, n, n_a, prompt[i]);
        if (b.n_b <= 0) continue;
        const double weight = b.n_a * b.n_b / (b.n_a + b.n_b);
        f.weights += weight;
        f.shift += weight * (b.mean_b - b.mean_a);
        f.n += b.n_a + b.n_b;
        f.prompts++;
    }
    f.shift /= f.weights;
    for (size_t i = 0; i < n; i++) {
        const block b = block_of(logs, prompt, n, n_a, prompt[i]);
        if (b.n_a <= 0 || b.n_b <= 0) continue;
        const double here = (b.n_a * b.mean_a + b.n_b * b.mean_b) / (b.n_a + b.n_b),
                     left =
                         logs[i] - here - f.shift * ((i < n_a ? 0 : 1) - b.n_b / (b.n_a + b.n_b));
        f.squares += left * left;
    }
    return f;
}

bool tt_study_compare(const double *values, const uint32_t *prompt, size_t n, size_t n_a,
                      tt_study_ratio *ratio)
{
    *ratio = (tt_study_ratio){.known = false, .p_value = NAN, .p_corrected = NAN};
    for (size_t i = 0; i < n; i++)
        if (!(values[i] > 0)) return true; /* nothing was read: no ratio */
    double *logs = malloc((n + 1) * sizeof *logs);
    if (!logs) return false;
    for (size_t i = 0; i < n; i++)
        logs[i] = log(values[i]);
    const fit f = fit_shift(logs, prompt, n, n_a);
    free(logs);
    if (!(f.weights > 0)) return true;
    const double df = f.n - f.prompts - 1;
    ratio->known = true;
    ratio->value = exp(f.shift);
    ratio->tested = df >= 1;
    if (!ratio->tested) return true;
    const double se = sqrt(f.squares / df / f.weights),
                 margin = se * tt_student_quantile(1 - TT_STUDY_LEVEL / 2, df);
    ratio->low = exp(f.shift - margin);
    ratio->high = exp(f.shift + margin);
    ratio->p_value = se > 0 ? 2 * tt_student_cdf(-fabs(f.shift) / se, df) : f.shift != 0.0 ? 0 : 1;
    return true;
}
