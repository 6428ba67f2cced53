/* A report's figures as JSON. */
#ifndef TT_REPORT_JSON_H
#define TT_REPORT_JSON_H

#include "report/analysis.h"
#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* One object: the answers of the page and the figures behind them. False when the output failed. */
bool tt_report_json(const tt_page *p, tt_analysis *a, FILE *out);

#endif
