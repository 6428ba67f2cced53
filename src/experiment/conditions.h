/* The conditions of a run: how much memory it may have, what of the model is in RAM when it begins,
 * how far the kernel reads ahead and how readily it swaps. Set before the run, checked, and put
 * back after it.
 *
 * A memory limit is a control group of its own, without swap (with a wish for swappiness: with
 * it), or, where this user can make none, a scope of the user's systemd. What the system does not
 * let is not an error but noted: the run has to be marked with it. What was changed is put back
 * also if this process is killed meanwhile (restorer.h). */
#ifndef TT_EXPERIMENT_CONDITIONS_H
#define TT_EXPERIMENT_CONDITIONS_H

#include "base/status.h"
#include "experiment/restorer.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_CONDITIONS_UNMET 600u
#define TT_CONDITIONS_DEVICES_MAX 8u

/* What is in RAM when the program starts. */
typedef enum tt_start {
    TT_START_AS_IS, /* what happens to be there */
    TT_START_COLD,  /* nothing of the model */
    TT_START_WARM   /* all of it */
} tt_start;

typedef struct tt_conditions {
    uint64_t memory_bytes; /* 0: no limit */
    tt_start start;
    int64_t readahead_bytes; /* of the model's devices; -1: as it is */
    int64_t swappiness;      /* likewise */
} tt_conditions;

/* A file of the kernel that was written, and what it held. */
typedef struct tt_kept_file {
    char path[96];
    char before[TT_RESTORER_TEXT];
} tt_kept_file;

/* Called now and then while a model is read: the bytes read, of all. False: stop. */
typedef bool tt_conditions_progress(void *context, uint64_t done, uint64_t total);

typedef struct tt_held {
    uint64_t limit_bytes;            /* in force, as the kernel rounds it; 0: none */
    bool has_peak, has_kills;        /* after tt_conditions_end: */
    uint64_t peak_bytes;             /* the most that the group had, page cache included */
    uint64_t kills;                  /* processes of it that the kernel killed at its limit */
    bool has_resident;               /* resident_bytes */
    uint64_t resident_bytes;         /* of the model, in RAM when the program was started */
    char procs[PATH_MAX];            /* of tt_spawn_setup.group; "": none */
    bool by_systemd;                 /* words go in front of the program's instead */
    bool has_swap;                   /* private: the limit leaves it */
    char unmet[TT_CONDITIONS_UNMET]; /* what the system did not let, in sentences; "" */
    char group[PATH_MAX - 64];       /* private: its folder */
    bool is_v1;                      /* private */
    tt_kept_file kept[TT_CONDITIONS_DEVICES_MAX + 1]; /* private */
    size_t n_kept;
    tt_restorer restorer; /* private */
} tt_held;

/* Whether a memory limit can be had here: TT_E_USAGE, with what to do. */
tt_status tt_conditions_can_limit(tt_error *err);

/* The folder of the kernel whose lock says that somebody changes settings of the whole machine. */
#define TT_CONDITIONS_MACHINE "/sys/class/bdi"
/* Claims these settings for this process, and for what puts them back when it is killed: two that
 * change them would put back what the other one had set. TT_E_EXISTS: another one has. Where
 * nothing can be locked nobody has. */
tt_status tt_conditions_claim(const char *folder, tt_error *err);

/* Sets them for the n files of a model; `progress` may be NULL. held is to be ended with
 * tt_conditions_end also on failure. TT_E_USAGE: no memory limit can be set; TT_E_IO: a file cannot
 * be read, or progress stopped it. Not thread-safe: the kernel's settings are everybody's. */
tt_status tt_conditions_begin(tt_held *held, const tt_conditions *wish, char *const *files,
                              size_t n, tt_conditions_progress *progress, void *context,
                              tt_error *err);
/* After the program has ended: what the group counted; puts back what was changed, and notes in
 * `unmet` what could not be. */
void tt_conditions_end(tt_held *held);

/* The words in front of the program's with by_systemd, NULL-terminated; for free(). NULL without
 * memory. */
char **tt_conditions_words(const tt_held *held, char *const *words);

/* Bytes of the file's pages that are in RAM. TT_E_IO; TT_E_UNSUPPORTED: the kernel does not tell
 * this user, who neither owns the file nor may write it. */
tt_status tt_conditions_resident(const char *path, uint64_t *bytes, tt_error *err);

#endif
