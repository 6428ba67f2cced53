/* A study as a page and as JSON. */
#ifndef TT_STUDY_PAGE_H
#define TT_STUDY_PAGE_H

#include "report/page.h"
#include "study/study.h"

#include <stdio.h>

/* Builds the whole page; the study must outlive it; p is open and empty. Check p->failed. */
void tt_study_page(tt_page *p, const tt_study *s);
/* False if it could not be written. */
bool tt_study_json(const tt_study *s, FILE *out);

#endif
