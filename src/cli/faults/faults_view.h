/* The options of `tensortrace faults`, and its output for people. */
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
    bool pages;        /* single faults, or sums by page or mapping */
    unsigned pages_by; /* enum tt_fault_pages_by */
} tt_faults_options;

/* --reads: the ops that had to wait for a device, one by one. Returns the exit code. */
int tt_faults_print_reads(const tt_faults_options *o, const tt_model *m);
/* False if the output failed or memory ran out. */
bool tt_faults_print_text(tt_faults_view *v);

#endif
