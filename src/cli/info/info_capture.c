/* `tensortrace info`: what was captured besides the ops, and the buffers by kind. */
#include "analyze/kernel.h"
#include "base/units.h"
#include "cli/info/info.h"

#include <stdio.h>
#include <string.h>

/* "experts, text; off: faults, residency", and what could not be captured, with the reason. */
static void capture_lines(const tt_model *m)
{
    char on[96] = "", off[96] = "";
    bool any = false;
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        tt_info_capture c = tt_info_find_capture(m, i);
        any |= c.state != NULL;
        if (!c.state || c.reason) continue;
        char *list = strcmp(c.state, "on") == 0 ? on : off;
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof on - used, "%s%s", used ? ", " : "", c.name);
    }
    if (!any) return;
    tt_info_line("captured", "%s%s%s", on[0] ? on : "only the ops", off[0] ? "; off: " : "", off);
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        tt_info_capture c = tt_info_find_capture(m, i);
        if (c.reason) tt_info_line("", "%s not observed: %s", c.name, c.reason);
    }
}

/* Which batches the trace holds, when it is not all that were computed. */
void tt_info_choice_text(const tt_info *info)
{
    const tt_model *m = info->m;
    char held[TT_UNITS_TEXT], of[TT_UNITS_TEXT], a[TT_UNITS_TEXT], why[128] = "";
    uint64_t batches = 0, not_asked = 0, after = 0;
    const char *tokens = tt_model_environment(m, "capture_tokens");
    const char *every = tt_model_environment(m, "capture_every");
    const char *stopped = tt_model_environment(m, "stopped");
    (void)tt_model_count(m, "batches", &batches);
    (void)tt_model_count(m, "batches_not_asked", &not_asked);
    (void)tt_model_count(m, "batches_after_limit", &after);
    if (tokens || every)
        tt_info_line("asked for", "batches %s%s%s", tokens ? tokens : "0..",
                     every ? ", one of every " : "", every ? every : "");
    if (after) (void)snprintf(why, sizeof why, "; %s after the limit", tt_units_count(a, after));
    if (not_asked + after)
        tt_info_line("batches", "%s of %s recorded%s", tt_units_count(held, m->n_batches),
                     tt_units_count(of, batches), why);
    if (m->front.present)
        tt_info_line("recorder", "a flight recorder of %s: the last %s of %s batches",
                     tt_units_bytes(a, m->front.was.ring_bytes), tt_units_count(held, m->n_batches),
                     batches ? tt_units_count(of, batches) : "an unknown number of");
    if (stopped) tt_info_line("stopped", "%s", stopped);
}

/* What was taken of outputs: "values=hash:blk.* 9,096 fingerprints, 2 with NaN or infinity". */
static void value_lines(const tt_info *info)
{
    const tt_model *m = info->m;
    uint64_t outputs, bad = 0, dropped = 0;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    const char *asked = NULL;
    for (unsigned i = 0; i < TT_INFO_CAPTURES && !asked; i++)
        asked = tt_info_find_capture(m, i).asked;
    if (!asked) return;
    (void)tt_model_count(m, "outputs_not_finite", &bad);
    (void)tt_model_count(m, "data_dropped", &dropped);
    if (tt_model_count(m, "outputs", &outputs))
        tt_info_line("values", "%s: %s fingerprints taken, %s with NaN or infinity", asked,
                     tt_units_count(a, outputs), tt_units_count(b, bad));
    else
        tt_info_line("values", "%s: an unknown number of fingerprints taken", asked);
    if (info->summary.data_parts || dropped)
        tt_info_line("", "data of outputs in %s parts, %s of the file, %s dropped",
                     tt_units_count(a, info->summary.data_parts),
                     tt_units_bytes(b, info->summary.data_bytes),
                     tt_units_count((char[TT_UNITS_TEXT]){0}, dropped));
}

static void detail_lines(const tt_info *info)
{
    const tt_model *m = info->m;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    if (info->summary.details || m->detail_losses_total)
        tt_info_line("details", "%s (rows, experts, faults and so on of ops), %s dropped",
                     tt_units_count(a, info->summary.details),
                     tt_units_count(b, m->detail_losses_total));
    if (m->n_usages || m->n_residencies)
        tt_info_line("readings", "%s of the kernel's totals, %s of pages in RAM",
                     tt_units_count(a, m->n_usages), tt_units_count(b, m->n_residencies));
    const uint64_t read_ahead = tt_kernel_readahead(m);
    if (read_ahead)
        tt_info_line("readahead", "up to %s at a time, on the model's device",
                     tt_units_bytes(a, read_ahead));
    if (m->n_token_texts)
        tt_info_line("texts", "of %s tokens", tt_units_count(a, m->n_token_texts));
    if (info->summary.sequences_observed)
        tt_info_line("sequences", "%s", tt_units_count(a, info->summary.sequences));
}

/* The most that there was at one time. */
static void buffer_line(const tt_info *info)
{
    char text[256] = "";
    size_t used = 0;
    for (unsigned i = TT_BUFFER_WEIGHTS; i <= TT_BUFFER_OUTPUT + 1u; i++) {
        unsigned kind = i <= TT_BUFFER_OUTPUT ? i : TT_BUFFER_OTHER; /* "other" comes last */
        char size[TT_UNITS_TEXT];
        const tt_buffers_peak *peak = &info->peaks[kind];
        if (peak->count == 0) continue;
        int n =
            snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "",
                     tt_buffer_kind_name((tt_buffer_kind)kind), tt_units_bytes(size, peak->bytes));
        if (n > 0 && peak->count > 1)
            n += snprintf(text + used + n, sizeof text - used - (size_t)n, " in %u", peak->count);
        used = n > 0 && used + (size_t)n < sizeof text ? used + (size_t)n : sizeof text - 1;
    }
    if (used) tt_info_line("buffers", "%s at most at one time", text);
}

void tt_info_capture_text(const tt_info *info)
{
    capture_lines(info->m);
    detail_lines(info);
    value_lines(info);
    buffer_line(info);
}
