/* The state of a running experiment, shared by its stages. */
#ifndef TT_CLI_EXPERIMENT_WORK_H
#define TT_CLI_EXPERIMENT_WORK_H

#include "base/path.h"
#include "cli/experiment/experiment.h"
#include "experiment/conditions.h"
#include "export/dataset.h"

#include <dirent.h>

#define TT_WORK_TEXT "output.txt"       /* what the program prints */
#define TT_WORK_MESSAGES "messages.txt" /* the program's standard error */
#define TT_WORK_DATA "data"             /* the dataset, before it is moved */
#define TT_WORK_PATH (PATH_MAX + 32)

typedef struct tt_experiment_work {
    tt_bench *b;
    tt_experiment e;
    size_t number;         /* in the sweep, from 0 */
    size_t position;       /* in the order of execution, from 0 */
    tt_held held;          /* the conditions it was run under */
    tt_start start;        /* requested; a run with a memory limit is always cold */
    uint64_t kills_before; /* the kernel's count of kills before */
    tt_experiment_end *end;
    char folder[PATH_MAX]; /* of the unfinished one */
    char **words;
    uint32_t n_traces; /* one per process */
    tt_model *m;
    tt_dataset *dataset;
    tt_export_options options;
    tt_progress progress;
    const char *stage; /* the current one */
    tt_result result;
    uint64_t begun_ns;
} tt_experiment_work;

/* Records the cause, and what to do, for the log and the table. An interruption is not a failure.
 * Always false. */
bool tt_work_fail(tt_experiment_work *w, int code, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool tt_work_fail_with(tt_experiment_work *w, const tt_error *err);
/* The path of a name in the unfinished folder. */
void tt_work_path(const tt_experiment_work *w, char out[TT_WORK_PATH], const char *name);
/* For scandir: a trace besides the experiment's own. */
int tt_work_is_other_trace(const struct dirent *entry);
/* Begins a stage, with a progress bar ... */
void tt_work_begin(tt_experiment_work *w, const char *stage);
/* Sets what the bar counts from now on. */
void tt_work_begin_progress(tt_experiment_work *w, const char *unit, uint64_t total);
/* ... and ends it. */
void tt_work_end(tt_experiment_work *w, uint64_t n_files, uint64_t size_bytes);
/* A sentence for the log; `work` is a tt_experiment_work. */
void tt_work_note(void *work, const char *text);

/* Values of the experiment's settings; 0 and NULL if they are absent. */
bool tt_work_flag(const tt_experiment *e, tt_setting setting, bool otherwise);
uint64_t tt_work_amount(const tt_experiment *e, tt_setting setting);
const char *tt_work_word(const tt_experiment *e, tt_setting setting);

/* The stages. False: it failed, which was reported, or was interrupted. */
#define TT_STAGE_INFERENCE "run inference"
bool tt_work_infer(tt_experiment_work *w);
/* memory map, traces, graphs, buffers */
bool tt_work_write(tt_experiment_work *w);
/* Completes the dataset's folder with the experiment's other files, and moves it to its final
 * path. */
bool tt_work_summarize(tt_experiment_work *w);
/* The same for a run that the system killed: a folder without a dataset. */
bool tt_work_keep_killed(tt_experiment_work *w);
/* Points the names in the output folder to this experiment. */
bool tt_work_publish(tt_experiment_work *w, const char *name);

#endif
