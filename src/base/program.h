/* Running other programs to their end. */
#ifndef TT_BASE_PROGRAM_H
#define TT_BASE_PROGRAM_H

#include "base/status.h"

/* Runs argv[0], found on the PATH. files[i] becomes its descriptor i; -1: ours. TT_E_NOT_FOUND with
 * the message `if_missing` if there is no such program; TT_E_IO if it cannot be run, fails or is
 * killed, with its last line of output if files[2] is a readable file. */
tt_status tt_program_run(char *const argv[], const int files[3], const char *if_missing,
                         tt_error *err);

#endif
