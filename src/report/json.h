/* A report's figures as JSON. */
#ifndef TT_REPORT_JSON_H
#define TT_REPORT_JSON_H

#include "report/analysis.h"
#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes one object: answers and figures of the page. False when the output failed. */
bool tt_report_json(const tt_page *p, tt_analysis *a, FILE *out);

#endif
