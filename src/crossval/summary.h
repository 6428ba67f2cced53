/* The results of a sweep. */
#ifndef TT_CROSSVAL_SUMMARY_H
#define TT_CROSSVAL_SUMMARY_H

#include "analyze/dumps/valuediff.h"
#include "base/json.h"
#include "crossval/bands.h"
#include "crossval/settings.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum tt_scenario_state {
    TT_SCENARIO_NOT_TRIED = 0, /* the sweep was interrupted before or in it */
    TT_SCENARIO_MATCHED,       /* every value on both sides is equal or close */
    TT_SCENARIO_DIVERGED,      /* a value differs (tt_value_diverges) */
    TT_SCENARIO_UNMEASURED,    /* both sides ran, but no value could be compared */
    TT_SCENARIO_FAILED         /* a side failed, or did not get the same input as the other */
} tt_scenario_state;
#define TT_SCENARIO_STATES 5u

/* The first value that diverges (tt_value_diverges). Texts are copies of the comparison's. */
typedef struct tt_crossval_first {
    bool known;
    int32_t position, layer;
    char stage[TT_STAGE_TEXT];
    char name_a[64], name_b[64];
    tt_value_verdict verdict;
    tt_value_blame blame;
    double rel_l2, max_abs, cosine; /* NAN: unknown */
} tt_crossval_first;

typedef struct tt_crossval_end {
    const char *name;
    tt_scenario_state state;
    char failed_side;     /* 'a', 'b'; 0: none, or not a side's failure */
    char cause[400];      /* of a failure, or why it is unmeasured */
    bool lacks_values[2]; /* of the sides: no values were found */
    uint64_t n_prompt, n_generated;
    uint64_t duration_ns[2]; /* of the sides' programs; 0: not run */
    uint64_t counts[TT_VALUE_VERDICTS];
    uint64_t n_steps_compared, n_steps_alone; /* values of the latter are not in `counts` */
    tt_cosine_bands bands;
    double worst_rel_l2; /* of all values compared; NAN: none is known */
    tt_crossval_first first;
    tt_agreement agreement;
} tt_crossval_end;

/* A description of a side, for people. */
typedef struct tt_crossval_about {
    char text[512];   /* the label; "b6673, tiny.gguf, 2 threads" */
    char release[64]; /* of an engine; "" not known */
} tt_crossval_about;

typedef struct tt_crossval_summary {
    const tt_crossval_settings *settings;
    const char *settings_file;
    const char *folder;       /* folder of the results */
    const char *version;      /* of tensortrace */
    char timestamp_start[32]; /* RFC 3339, UTC */
    uint64_t duration_ns;
    bool interrupted;
    tt_crossval_about sides[2];
    tt_crossval_end *ends;
    size_t n;
} tt_crossval_summary;

/* How many scenarios are in each state, and where most diverge first. */
typedef struct tt_crossval_totals {
    uint64_t n[TT_SCENARIO_STATES];
    const char *stage; /* the most frequent one; among equals that of the earliest scenario. NULL:
                          nothing diverged */
    uint64_t n_stage;
    tt_cosine_bands bands;
    tt_agreement agreement; /* all scenarios' tokens; first_other is not valid */
} tt_crossval_totals;

/* Fills in the result of the comparison, unless there is a failure already. */
void tt_crossval_evaluate(tt_crossval_end *end, const tt_valuediff *d);
tt_crossval_totals tt_crossval_totals_of(const tt_crossval_summary *s);
/* "matched", "not_tried" */
const char *tt_scenario_state_name(tt_scenario_state state);

/* What to run next: each rule at most once, in this order. */
typedef enum tt_crossval_rule {
    TT_RULE_FINISH,     /* the sweep was interrupted */
    TT_RULE_FAILED,     /* a scenario failed */
    TT_RULE_FIRST,      /* a scenario diverged */
    TT_RULE_DATA,       /* its first divergence is not known well enough */
    TT_RULE_UNMEASURED, /* a scenario could not be compared */
    TT_RULE_EXACT,      /* all matched, not all to the bit */
    TT_RULE_NONE        /* number of rules */
} tt_crossval_rule;

typedef struct tt_crossval_advice {
    const char *reason, *command; /* in text */
    char *text;                   /* malloc'ed */
} tt_crossval_advice;

/* Whether the rule applies; then out->text is the caller's to free. False also if out of memory. */
bool tt_crossval_next(const tt_crossval_summary *s, tt_crossval_rule rule, tt_crossval_advice *out);

extern const tt_schema tt_crossval_scenario_schema;
/* A row for each scenario; `s` must outlive it. */
tt_rowset tt_crossval_scenarios(const tt_crossval_summary *s);

/* Writes summary.json; false with errno set if that fails. */
bool tt_crossval_summary_json(const tt_crossval_summary *s, FILE *out);
/* Writes summary.md, likewise. */
bool tt_crossval_summary_markdown(const tt_crossval_summary *s, FILE *out);

#endif
