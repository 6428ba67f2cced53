/* What `tensortrace faults` was asked for, and how it says it to people. */
#ifndef TT_CLI_FAULTS_VIEW_H
#define TT_CLI_FAULTS_VIEW_H

#include "answer/faults.h"
#include "cli/input.h"
#include "cli/list.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_faults_options {
    tt_input input;
    tt_filter filter;
    tt_list_options list;
    const tt_faults_dimension *by;
    bool by_given;
    bool residency;    /* the pages instead of the faults */
    bool reads;        /* op by op */
    bool loading;      /* how the model came into RAM */
    bool pages;        /* fault by fault, by page or mapping */
    unsigned pages_by; /* enum tt_fault_pages_by */
} tt_faults_options;

/* False when the output failed or memory ran out. */
bool tt_faults_print_text(tt_faults_view *v);

#endif
