/* A report's page, section by section, from what was worked out. */
#ifndef TT_REPORT_SECTIONS_H
#define TT_REPORT_SECTIONS_H

#include "report/analysis.h"
#include "report/page.h"

/* The whole page; p is open and empty. Look at p->failed behind it. */
void tt_report_page(tt_page *p, tt_analysis *a);

/* Private to the room: one question each. */
/* In the summary: threads that did not run; op records without an end, or with times that cannot
 * be. */
void tt_say_flawed_times(tt_page *p, const tt_analysis *a);
void tt_section_time(tt_page *p, const tt_analysis *a);
void tt_section_bound(tt_page *p, const tt_analysis *a);
void tt_section_waits(tt_page *p, const tt_analysis *a);
void tt_section_order(tt_page *p, tt_analysis *a);
void tt_section_heat(tt_page *p, tt_analysis *a);
void tt_section_experts(tt_page *p, const tt_analysis *a);
void tt_section_disk(tt_page *p, const tt_analysis *a);
void tt_section_whatif(tt_page *p, const tt_analysis *a);
void tt_section_speed(tt_page *p, const tt_analysis *a);
void tt_section_buffers(tt_page *p, const tt_analysis *a);
/* Nothing when the trace has no values. */
void tt_section_values(tt_page *p, const tt_analysis *a);
void tt_section_missing(tt_page *p, const tt_analysis *a);
void tt_section_run(tt_page *p, const tt_analysis *a);
/* Title, figures at the top. */
void tt_page_head(tt_page *p, const tt_analysis *a);
/* A sentence for the summary where parts of the trace are missing; else nothing. */
void tt_say_incomplete(tt_page *p, const tt_analysis *a);
/* Ops were computed, or may have been, of which nothing is known: their time counts as idle. */
bool tt_ops_are_lost(const tt_analysis *a);
/* The sentence about what bounds the run, also for the summary; false: nothing can be said. */
bool tt_bound_sentence(const tt_analysis *a, char *out, size_t room);

/* "12.3 %"; in a buffer of the page. */
const char *tt_percent(tt_page *p, double part, double all);
/* Texts of units in the page's memory. */
const char *tt_say_ns(tt_page *p, double ns);
const char *tt_say_bytes(tt_page *p, double bytes);
const char *tt_say_count(tt_page *p, double n);
const char *tt_say_rate(tt_page *p, double bytes_per_s);
const char *tt_say_flops(tt_page *p, double flops_per_s); /* "1.23 TFLOP/s" */
const char *tt_say_number(tt_page *p, double v);          /* three digits: "3.07", "48.4" */
const char *tt_say_layer(tt_page *p, int64_t layer);      /* "12", "no layer" */

#endif
