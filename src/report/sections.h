/* Builds a report's page, section by section, from the analysis. */
#ifndef TT_REPORT_SECTIONS_H
#define TT_REPORT_SECTIONS_H

#include "analyze/domains.h"
#include "report/analysis.h"
#include "report/page.h"

/* Builds the whole page; p is open and empty. Check p->failed afterwards. */
void tt_report_page(tt_page *p, tt_analysis *a);

/* The page of runs of several domains, which were tested (tt_domains_finish). */
void tt_domains_page(tt_page *p, const tt_domains *d);
/* Its plots alone, in the section begun last. */
void tt_plots_domains(tt_page *p, const tt_domains *d);

/* Private to this directory: one function per question. */
/* For the summary: threads that did not run; op records without an end or with impossible times. */
void tt_note_flawed_times(tt_page *p, const tt_analysis *a);
void tt_section_time(tt_page *p, const tt_analysis *a);
void tt_section_bound(tt_page *p, const tt_analysis *a);
void tt_section_waits(tt_page *p, const tt_analysis *a);
void tt_section_order(tt_page *p, tt_analysis *a);
void tt_section_heat(tt_page *p, tt_analysis *a);
void tt_section_experts(tt_page *p, const tt_analysis *a);
void tt_section_disk(tt_page *p, const tt_analysis *a);
/* Adds nothing when the program was not run by boost. */
void tt_section_pool(tt_page *p, const tt_analysis *a);
void tt_section_whatif(tt_page *p, const tt_analysis *a);
void tt_section_speed(tt_page *p, const tt_analysis *a);
void tt_section_buffers(tt_page *p, const tt_analysis *a);
/* Adds nothing when the trace has no values. */
void tt_section_values(tt_page *p, const tt_analysis *a);
/* Adds nothing without notes. */
void tt_section_notes(tt_page *p, const tt_analysis *a);
void tt_section_missing(tt_page *p, const tt_analysis *a);
void tt_section_run(tt_page *p, const tt_analysis *a);
/* Title, and figures at the top. */
void tt_page_head(tt_page *p, const tt_analysis *a);
/* Adds a sentence to the summary if parts of the trace are missing. */
void tt_note_incomplete(tt_page *p, const tt_analysis *a);
/* Whether ops were, or may have been, computed without a record: their time counts as idle. */
bool tt_ops_are_lost(const tt_analysis *a);
/* The sentence about what bounds the run, also used in the summary; false when it is unknown. */
bool tt_bound_sentence(const tt_analysis *a, char *out, size_t room);

/* "12.3 %", in the page's memory. */
const char *tt_percent(tt_page *p, double part, double all);
/* Values with units, in the page's memory. */
const char *tt_format_ns(tt_page *p, double ns);
const char *tt_format_bytes(tt_page *p, double bytes);
const char *tt_format_count(tt_page *p, double n);
const char *tt_format_rate(tt_page *p, double bytes_per_s);
const char *tt_format_flops(tt_page *p, double flops_per_s); /* "1.23 TFLOP/s" */
const char *tt_format_number(tt_page *p, double v);          /* three digits: "3.07", "48.4" */
const char *tt_format_layer(tt_page *p, int64_t layer);      /* "12", "no layer" */

#endif
