/* Recording from a moment on, in a program that already runs: nothing is preloaded, and the program
 * was not built for it. It calls ggml's shared libraries itself, or by a language's interpreter.
 *
 * Link with -ltensortrace-hook (pkg-config tensortrace-attach), or open that library with dlopen
 * and get the functions by dlsym, at any time; never close it. docs/api.md has a complete example.
 *
 *   tt_attach("run.ttrace", NULL, &err);
 *   ...the program uses llama.cpp, whisper.cpp or ggml...
 *   tt_detach(&err);
 *
 * In between the call slots of the loaded libraries point to the hooks, and so do those of
 * libraries that are loaded later. What the engine computes, and how fast, is as under `tensortrace
 * run`: the same hooks record the same things. Not recorded is what came before, and calls of
 * functions whose addresses the program has from dlsym, as interpreters have: tt_attach_unseen()
 * names them. Model files that are mapped when recording begins are found; others can be named as
 * options.
 *
 * Every call may be made from any thread, while others compute. A graph that is being computed when
 * recording begins is not recorded; one that is being computed when it ends is waited for, up to
 * two seconds. A forked child writes a trace of its own, FILE-PID. The exit of the program finishes
 * the trace, too; after a crash `tensortrace recover FILE.part` does. Linux on x86-64 and aarch64,
 * glibc. */
#ifndef TENSORTRACE_ATTACH_H
#define TENSORTRACE_ATTACH_H

#include <tensortrace/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording to `path`; "<path>.part" until it is finished. options: texts as the options of
 * `tensortrace run` without their dashes, then NULL; or NULL for none:
 *   "force"            replace an existing trace (else TT_E_EXISTS)
 *   "mode=hook"        or callback, auto
 *   "values=stats", "faults", "faults=both", "residency", "residency=10", "no-text",
 *   "batches=3..9", "every=2", "limit=1G", "ring=64M", "thread-memory=4M"
 *   "model=m.gguf"     a model file that is loaded, but not mapped; may be repeated
 * TT_E_USAGE: recording is on already (perhaps by `tensortrace run`), or an option is invalid;
 * TT_E_EXISTS, TT_E_IO: the trace cannot be created; TT_E_UNSUPPORTED: call slots cannot be
 * changed here. On failure nothing is changed and no file is left. err may be NULL. */
TT_API tt_status tt_attach(const char *path, const char *const *options, tt_error *err);
/* Ends recording: restores the slots and finishes the trace, which can then be read. TT_E_USAGE: it
 * was not on. TT_OK without a file if nothing was computed. tt_attach may be called again. */
TT_API tt_status tt_detach(tt_error *err);
/* The path of the current or last trace; "" if there is none. Valid until the next tt_attach. */
TT_API const char *tt_attach_path(void);
/* Functions of the engine that the hooks cannot see called, separated by blanks: no library that is
 * loaded calls them, so that the program, if it does, has their addresses from dlsym. Then the
 * trace lacks what they would tell: texts and sequences of tokens (llama_decode, llama_encode,
 * llama_process), and which outputs were read (llama_get_logits and others), which decides the
 * phases of tokens. Of the current or last recording; "" if all are seen. Valid until the next
 * tt_attach, tt_detach or tt_attach_unseen. */
TT_API const char *tt_attach_unseen(void);

#ifdef __cplusplus
}
#endif
#endif
