/* One experiment at work: what its stages share. */
#ifndef TT_CLI_EXPERIMENT_WORK_H
#define TT_CLI_EXPERIMENT_WORK_H

#include "base/path.h"
#include "cli/experiment/experiment.h"
#include "experiment/conditions.h"
#include "export/dataset.h"

#include <dirent.h>

#define TT_WORK_TEXT "output.txt"       /* what the program prints */
#define TT_WORK_MESSAGES "messages.txt" /* what it says on standard error */
#define TT_WORK_DATA "data"             /* the dataset, until it has its place */
#define TT_WORK_PATH (PATH_MAX + 32)

typedef struct tt_experiment_work {
    tt_bench *b;
    tt_experiment e;
    size_t number;         /* of the sweep's, from 0 */
    size_t position;       /* in the order they are run, from 0 */
    tt_held held;          /* the conditions it was run under */
    tt_start start;        /* asked for; a limited run is cold in any case */
    uint64_t kills_before; /* what the kernel had killed until then */
    tt_experiment_end *end;
    char folder[PATH_MAX]; /* of the unfinished one */
    char **words;
    uint32_t n_traces; /* one a process */
    tt_model *m;
    tt_dataset *dataset;
    tt_export_options options;
    tt_progress progress;
    const char *stage; /* at work */
    tt_result result;
    uint64_t begun_ns;
} tt_experiment_work;

/* The cause, and what to do, for the log and the table. Interrupted is not failed. Always false. */
bool tt_work_fail(tt_experiment_work *w, int code, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool tt_work_fail_with(tt_experiment_work *w, const tt_error *err);
/* The path of a name in the unfinished folder. */
void tt_work_path(const tt_experiment_work *w, char out[TT_WORK_PATH], const char *name);
/* For scandir: a trace besides the experiment's own. */
int tt_work_is_other_trace(const struct dirent *entry);
/* Begins a stage, with a progress bar ... */
void tt_work_begin(tt_experiment_work *w, const char *stage);
/* What the bar counts from now on. */
void tt_work_begin_progress(tt_experiment_work *w, const char *unit, uint64_t total);
/* ... and ends it. */
void tt_work_end(tt_experiment_work *w, uint64_t n_files, uint64_t size_bytes);
/* A sentence for the log; `work` is a tt_experiment_work. */
void tt_work_note(void *work, const char *text);

/* Values of the experiment's settings; 0 and NULL when they are not there. */
bool tt_work_flag(const tt_experiment *e, tt_setting setting, bool otherwise);
uint64_t tt_work_amount(const tt_experiment *e, tt_setting setting);
const char *tt_work_word(const tt_experiment *e, tt_setting setting);

/* The stages. False: it failed, which was told, or was interrupted. */
#define TT_STAGE_INFERENCE "run inference"
bool tt_work_infer(tt_experiment_work *w);
/* memory map, traces, graphs, buffers */
bool tt_work_write(tt_experiment_work *w);
/* Completes the dataset's folder with what belongs to the experiment besides, and gives it its
 * place. */
bool tt_work_summarize(tt_experiment_work *w);
/* The same of a run that the system killed: a folder without a dataset. */
bool tt_work_keep_killed(tt_experiment_work *w);
/* Lets the names in the output folder lead to this experiment. */
bool tt_work_publish(tt_experiment_work *w, const char *name);

#endif
