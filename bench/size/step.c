#include "step.h"

#include <math.h>
#include <stdbool.h>

#define SAMPLE 4000
#define PLACES 500
#define LARGEST 128.0
#define TWO_PI 6.283185307179586

/* How much the differences look like multiples of `ticks`: 1 if all are. */
static double concentration(const double *differences, size_t n, double ticks)
{
    double re = 0, im = 0;
    for (size_t i = 0; i < n; i++) {
        re += cos(TWO_PI * differences[i] / ticks);
        im += sin(TWO_PI * differences[i] / ticks);
    }
    return n ? sqrt(re * re + im * im) / (double)n : 0;
}

/* A first guess from short differences: the largest step they are multiples of. */
static double guess(const uint64_t *times, size_t n)
{
    static double differences[SAMPLE];
    size_t k = 0;
    for (size_t i = 1; i < n && k < SAMPLE; i++)
        if (times[i] > times[i - 1] && times[i] - times[i - 1] < 1500)
            differences[k++] = (double)(times[i] - times[i - 1]);
    double best = 1, best_share = 0;
    for (double ticks = 3; k > 100 && ticks < LARGEST; ticks += ticks / 4000) {
        double share = concentration(differences, k, ticks);
        /* Halves of the step divide them as well: a larger one need not do better. */
        bool is_other = ticks > 1.4 * best && share > 0.95 * best_share;
        if (share > 0.8 && (share > best_share || is_other)) {
            best_share = share;
            best = ticks;
        }
    }
    return best;
}

int64_t clock_step_number(const clock_step *s, uint64_t time, int64_t *rest)
{
    double since = (double)(int64_t)(time - s->origin);
    int64_t number = llround(since / s->ticks);
    *rest = (int64_t)(time - s->origin) - llround((double)number * s->ticks);
    return number;
}

/* The step by differences of `scale` to twice that: of the first such pair from each of some places
 * on. 0: there are none. */
static double at_scale(const uint64_t *times, size_t n, double ticks, uint64_t scale)
{
    double sum = 0;
    size_t pairs = 0, end = 0;
    for (size_t i = 0; i < n; i += n / PLACES + 1) {
        if (end < i) end = i;
        while (end < n && times[end] - times[i] < scale)
            end++;
        if (end == n) break;
        double difference = (double)(times[end] - times[i]);
        if (difference >= 2 * (double)scale) continue;
        sum += difference / nearbyint(difference / ticks);
        pairs++;
    }
    return pairs ? sum / (double)pairs : 0;
}

/* Longer and longer differences tell the step more and more exactly. */
static void refine(clock_step *s, const uint64_t *times, size_t n)
{
    for (uint64_t scale = 5000; scale < times[n - 1] - times[0]; scale *= 2) {
        double ticks = at_scale(times, n, s->ticks, scale);
        if (ticks == 0) break;
        s->ticks = ticks;
    }
}

clock_step clock_step_find(const uint64_t *times, size_t n)
{
    clock_step s = {1, n ? times[0] : 0};
    s.ticks = guess(times, n);
    if (s.ticks > 1) refine(&s, times, n);
    return s;
}
