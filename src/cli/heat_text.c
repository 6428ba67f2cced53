#include "base/units.h"
#include "cli/heat_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

static const char *bound(bool at_most)
{
    return at_most ? "<= " : "";
}

static void line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *what, const char *fmt, ...)
{
    va_list args;
    printf("%-12s ", what);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

static void print_phase(const char *what, const tt_heat *h, const tt_heat_phase *p)
{
    char distinct[TT_UNITS_TEXT], most[TT_UNITS_TEXT], largest[TT_UNITS_TEXT + 24] = "";
    char tokens[TT_UNITS_TEXT], batches[TT_UNITS_TEXT];
    if (p->batches == 0) return;
    tt_units_bytes(distinct, p->distinct_bytes / p->batches);
    tt_units_bytes(most, p->distinct_bytes_max);
    if (strcmp(distinct, most) != 0) (void)snprintf(largest, sizeof largest, ", largest %s", most);
    line(what, "%s token%s in %s batch%s; a batch reads %s%s (%.1f %%%s)",
         tt_units_count(tokens, p->tokens), p->tokens == 1 ? "" : "s",
         tt_units_count(batches, p->batches), p->batches == 1 ? "" : "es", bound(h->at_most),
         distinct, percent(p->distinct_bytes / p->batches, h->model_bytes), largest);
}

/* `partly`: units of which a part is in this set. */
static void print_set(const char *what, const tt_heat *h, const tt_heat_set *s, uint64_t partly)
{
    char bytes[TT_UNITS_TEXT], text[TT_UNITS_TEXT], whole[TT_UNITS_TEXT + 24] = "";
    char parts[TT_UNITS_TEXT + 40] = "";
    const char *unit = h->sliced ? "tensors and experts" : s->units == 1 ? "tensor" : "tensors";
    if (s->units || !partly)
        (void)snprintf(whole, sizeof whole, "%s %s", tt_units_count(text, s->units), unit);
    if (partly)
        (void)snprintf(parts, sizeof parts, "%sparts of %s %s", s->units ? ", and " : "",
                       tt_units_count(text, partly),
                       s->units      ? "more"
                       : partly == 1 ? "tensor"
                                     : "tensors");
    line(what, "%s, %.1f %%: %s%s", tt_units_bytes(bytes, s->bytes),
         percent(s->bytes, h->model_bytes), whole, parts);
}

static void print_jumps(char *out, size_t room, uint64_t steps, const tt_heat_jumps *jumps)
{
    char middle[TT_UNITS_TEXT], most[TT_UNITS_TEXT];
    int at = snprintf(out, room, "%.1f %%", percent(jumps->count, steps));
    if (!jumps->known || at < 0 || (size_t)at >= room) return;
    (void)snprintf(out + at, room - (size_t)at, " (median %s, longest %s)",
                   tt_units_bytes(middle, jumps->p50_bytes),
                   tt_units_bytes(most, jumps->lengths.max));
}

static void print_steps(const tt_heat *h)
{
    const tt_heat_steps *s = &h->steps;
    char forward[128], backward[128], steps[TT_UNITS_TEXT];
    if (s->steps == 0 && h->copied_bytes)
        line("order", "not known: no two reads were of the mapped file");
    if (s->steps == 0) return;
    print_jumps(forward, sizeof forward, s->steps, &s->forward);
    print_jumps(backward, sizeof backward, s->steps, &s->backward);
    line("order", "%s steps from read to read: %.1f %% go on where the last ended,",
         tt_units_count(steps, s->steps), percent(s->adjacent, s->steps));
    line("", "forward jumps %s,", forward);
    line("", "backward jumps %s%s", backward, s->again || s->other_file ? "," : "");
    if (s->again || s->other_file)
        line("", "the same again %.1f %%, another file %.1f %%", percent(s->again, s->steps),
             percent(s->other_file, s->steps));
    if (h->batches)
        line("", "the file is swept %.1f times a batch", (double)s->sweeps / (double)h->batches);
}

static void print_curve(const tt_heat *h)
{
    printf("%-12s of all bytes read ", "concentrated");
    for (size_t i = 0; i < TT_HEAT_CURVE; i++)
        printf("%s%.0f %%", i == 0 ? "" : ", ", 100 * h->curve[i].reads);
    printf("\n%-12s come from       ", "");
    for (size_t i = 0; i < TT_HEAT_CURVE; i++)
        printf("%s%.1f", i == 0 ? "" : ", ", 100 * h->curve[i].weights);
    printf(" %% of the weights\n");
}

void tt_heat_print_summary(const tt_heat *h)
{
    char model[TT_UNITS_TEXT], read[TT_UNITS_TEXT], reads[TT_UNITS_TEXT], ops[TT_UNITS_TEXT];
    line("weights", "%s; %s%s read in %s reads by %s ops", tt_units_bytes(model, h->model_bytes),
         bound(h->at_most), tt_units_bytes(read, h->read_bytes), tt_units_count(reads, h->reads),
         tt_units_count(ops, h->ops));
    for (unsigned i = 0; i < TT_PHASES; i++)
        print_phase(tt_phase_name(tt_phase_listed(i)), h, &h->of_phase[tt_phase_listed(i)]);
    print_set("every batch", h, &h->every, 0);
    print_set("some batches", h, &h->some, 0);
    if (h->all_weights) print_set("never read", h, &h->never, h->partly);
    print_curve(h);
    print_steps(h);
    putchar('\n');
}
