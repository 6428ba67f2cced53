/* `tensortrace faults --reads`: the ops that had to wait for a device, one by one. */
#ifndef TT_CLI_FAULTS_FAULTS_TEXT_H
#define TT_CLI_FAULTS_FAULTS_TEXT_H

#include "cli/faults/faults_view.h"

/* Returns the exit code. */
int tt_faults_print_reads(const tt_faults_options *o, const tt_model *m);

#endif
