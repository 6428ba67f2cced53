/* Makes an interrupted export leave nothing behind: see tt_export_guard. */
#ifndef TT_CLI_EXPORT_INTERRUPT_H
#define TT_CLI_EXPORT_INTERRUPT_H

/* From now on a thread waits for SIGINT, SIGTERM and SIGHUP, removes the temporary folder
 * (base/outfile.h) beside `output` and then ends the process by the signal. Call it before other
 * threads are started; ignored signals stay ignored. Unfinished files have no name (base/outfile.h)
 * and disappear by themselves. */
void tt_export_guard(const char *output);
/* Call it when the export has finished or failed: after such a signal it does not return, so that
 * the folder is removed before the process ends, and resulting errors are not printed. */
void tt_export_guard_end(void);

#endif
