#include "report/sections.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>

const char *tt_percent(tt_page *p, double part, double all)
{
    return all > 0 ? tt_page_format(p, "%.1f %%", 100 * part / all) : "";
}

const char *tt_format_ns(tt_page *p, double ns)
{
    char text[TT_UNITS_TEXT];
    return tt_page_text(p, tt_units_ns(text, ns));
}

const char *tt_format_bytes(tt_page *p, double bytes)
{
    char text[TT_UNITS_TEXT];
    if (!isfinite(bytes)) return "";
    return tt_page_text(p, tt_units_bytes(text, bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX));
}

const char *tt_format_count(tt_page *p, double n)
{
    char text[TT_UNITS_TEXT];
    return tt_page_text(p, tt_units_count(text, n < 0x1p63 ? (uint64_t)n : UINT64_MAX));
}

const char *tt_format_rate(tt_page *p, double bytes_per_s)
{
    char text[TT_UNITS_TEXT];
    return tt_page_text(p, tt_units_rate(text, bytes_per_s));
}

const char *tt_format_flops(tt_page *p, double flops_per_s)
{
    static const char *const units[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s",
                                        "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    size_t unit = 0;
    double v = flops_per_s;
    if (!isfinite(v)) return "";
    while (v >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        v /= 1000;
        unit++;
    }
    return tt_page_format(p, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[unit]);
}

const char *tt_format_number(tt_page *p, double v)
{
    if (!isfinite(v)) return "";
    if (v == 0) return "0";
    if (v >= 999.5) return tt_format_count(p, round(v));
    if (v < 0.0995) return tt_page_format(p, "%.2g", v);
    return tt_page_format(p, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
}

const char *tt_format_layer(tt_page *p, int64_t layer)
{
    char text[TT_LAYER_TEXT];
    return layer < 0 ? "no layer" : tt_page_format(p, "%s", tt_layer_text(text, (int32_t)layer));
}

static void slow_tokens(tt_page *p, const tt_overview *o)
{
    const char *list = NULL;
    for (size_t i = 0; i < o->n_slow; i++) {
        const tt_overview_slow *s = &o->slow[i];
        const bool late = !isnan(s->late_ns);
        list =
            tt_page_format(p, "%s%s%u %s %s%s (%s)", list ? list : "", list ? ", " : "",
                           (unsigned)tt_model_batch_number(o->m, s->batch), late ? "began" : "took",
                           tt_format_ns(p, late ? s->late_ns : s->time_ns), late ? " late" : "",
                           tt_cause_phrase(s->cause));
    }
    if (list && o->usual_text) tt_page_summary(p, "%s Batch %s.", o->usual_text, list);
}

/* The summary: what is missing, what bounds the run, where the time went, memory. */
static void summarize(tt_page *p, const tt_analysis *a)
{
    char text[640];
    const tt_heat *h = &a->heat;
    tt_note_incomplete(p, a);
    tt_note_flawed_times(p, a);
    const tt_page_block *before = p->last_summary;
    if (a->overview.total_ns > 0) tt_page_summary(p, "%s", a->overview.headline);
    if (tt_bound_sentence(a, text, sizeof text)) tt_page_summary(p, "%s", text);
    if (a->timed && a->total_ns > 0 && a->by_op.n > 0)
        tt_page_summary(p, "%s took most of the threads' own work, %s.", a->by_op.list[0].key,
                        tt_percent(p, a->by_op.list[0].work_ns, a->work_ns));
    slow_tokens(p, &a->overview);
    if (a->has_heat && h->of_phase[TT_PHASE_GENERATE].batches)
        tt_page_summary(
            p,
            "A generated batch reads %s%s of weights, %s of the model; %s of reads continue "
            "where the previous one ended.",
            h->at_most || h->unplaced ? "at most " : "",
            tt_format_bytes(p, (double)h->of_phase[TT_PHASE_GENERATE].distinct_bytes /
                                   (double)h->of_phase[TT_PHASE_GENERATE].batches),
            tt_percent(p,
                       (double)h->of_phase[TT_PHASE_GENERATE].distinct_bytes /
                           (double)h->of_phase[TT_PHASE_GENERATE].batches,
                       (double)h->model_bytes),
            h->steps.steps ? tt_percent(p, (double)h->steps.adjacent, (double)h->steps.steps)
                           : "none");
    if (p->last_summary == before)
        tt_page_summary(p, "%s",
                        a->summary.records == 0
                            ? "The trace holds no ops: there is nothing to sum up."
                            : "The trace does not hold what the questions below need.");
}

/* What the overview found, the most severe first. */
static void section_findings(tt_page *p, const tt_overview *o)
{
    if (o->n_findings == 0) return;
    tt_page_section_begin(p, "findings", "What stands out?");
    tt_page_add(p, TT_BLOCK_ANSWER, "%s", o->findings[0].text);
    for (size_t i = 1; i < o->n_findings; i++)
        tt_page_add(p, TT_BLOCK_POINT, "%s", o->findings[i].text);
}

void tt_report_page(tt_page *p, tt_analysis *a)
{
    tt_page_head(p, a);
    summarize(p, a);
    section_findings(p, &a->overview);
    tt_section_notes(p, a);
    tt_section_time(p, a);
    tt_section_bound(p, a);
    tt_section_waits(p, a);
    tt_section_order(p, a);
    tt_section_heat(p, a);
    tt_section_experts(p, a);
    tt_section_disk(p, a);
    tt_section_pool(p, a);
    tt_section_whatif(p, a);
    tt_section_speed(p, a);
    tt_section_buffers(p, a);
    tt_section_values(p, a);
    tt_section_missing(p, a);
    tt_section_run(p, a);
}
