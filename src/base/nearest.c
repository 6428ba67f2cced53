#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define COMPARED_MAX 40

/* Edits (insert, drop, replace a letter) between two short words. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[COMPARED_MAX + 1];
    size_t n = strlen(b);
    if (n > COMPARED_MAX || strlen(a) > 2 * COMPARED_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

tt_nearest tt_nearest_begin(const char *typed)
{
    return (tt_nearest){.typed = typed, .least = strlen(typed) > 4 ? 3 : 2};
}

void tt_nearest_try(tt_nearest *n, const char *known)
{
    size_t distance = edit_distance(n->typed, known);
    if (distance >= n->least) return;
    n->least = distance;
    n->name = known;
}
