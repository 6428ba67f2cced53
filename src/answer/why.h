/* Why something took as long as it did, and the run at a glance: `tensortrace why --json`. */
#ifndef TT_ANSWER_WHY_H
#define TT_ANSWER_WHY_H

#include "analyze/overview.h"
#include "analyze/why/why.h"
#include "base/json.h"

/* Each writes one object. */
void tt_why_json(tt_json *j, const tt_why *w);
void tt_overview_json(tt_json *j, const tt_overview *o);

#endif
