/* Interrupted, an export leaves nothing behind: see tt_export_guard. */
#ifndef TT_CLI_EXPORT_INTERRUPT_H
#define TT_CLI_EXPORT_INTERRUPT_H

/* From here on SIGINT, SIGTERM and SIGHUP are waited for by a thread, which removes the temporary
 * folder (base/outdir.h) beside `output` and then ends the process by the signal. To be called
 * before other threads are made; signals that are ignored stay so. Files that are under way have
 * no name (base/outfile.h) and go by themselves. */
void tt_export_guard(const char *output);
/* When the export has come to its end, or failed: after such a signal it does not return, so that
 * the folder is gone before the process is, and what failed for want of it is not told. */
void tt_export_guard_end(void);

#endif
