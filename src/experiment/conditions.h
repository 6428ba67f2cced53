/* The conditions of a run: its memory limit, what of the model is in RAM at its start, the kernel's
 * readahead and swappiness. Set before the run, checked, and restored after it.
 *
 * A memory limit is a control group of its own, without swap (unless swappiness is set), or, if
 * this user cannot create one, a scope of the user's systemd. What the system does not allow is not
 * an error but noted: the run must be marked with it. Changes are restored even if this process is
 * killed (restorer.h). */
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
    TT_START_AS_IS, /* whatever is there */
    TT_START_COLD,  /* nothing of the model */
    TT_START_WARM   /* all of it */
} tt_start;

typedef struct tt_conditions {
    uint64_t memory_bytes; /* 0: no limit */
    tt_start start;
    int64_t readahead_bytes; /* of the model's devices; -1: unchanged */
    int64_t swappiness;      /* likewise */
} tt_conditions;

/* A kernel file that was written, and its old content. */
typedef struct tt_kept_file {
    char path[96];
    char before[TT_RESTORER_TEXT];
} tt_kept_file;

/* Called occasionally while a model is read: the bytes read, and the total. False: stop. */
typedef bool tt_conditions_progress(void *context, uint64_t done, uint64_t total);

typedef struct tt_held {
    uint64_t limit_bytes;            /* in force, as rounded by the kernel; 0: none */
    bool has_peak, has_kills;        /* after tt_conditions_end: */
    uint64_t peak_bytes;             /* the group's peak, page cache included */
    uint64_t kills;                  /* processes of it that the kernel killed at its limit */
    bool has_resident;               /* for resident_bytes */
    uint64_t resident_bytes;         /* of the model, in RAM when the program was started */
    char procs[PATH_MAX];            /* for tt_spawn_setup.group; "": none */
    bool by_systemd;                 /* a command prefix is used instead */
    bool has_swap;                   /* private: the limit allows swap */
    char unmet[TT_CONDITIONS_UNMET]; /* what the system did not allow, in sentences; "" */
    char group[PATH_MAX - 64];       /* private: its folder */
    bool is_v1;                      /* private */
    tt_kept_file kept[TT_CONDITIONS_DEVICES_MAX + 1]; /* private */
    size_t n_kept;
    tt_restorer restorer; /* private */
} tt_held;

/* Whether a memory limit is possible here: TT_E_USAGE, with advice. */
tt_status tt_conditions_can_limit(tt_error *err);

/* The folder of the kernel whose lock says that somebody changes settings of the whole machine. */
#define TT_CONDITIONS_MACHINE "/sys/class/bdi"
/* Claims these settings for this process, and for what puts them back when it is killed: two that
 * change them would put back what the other one had set. TT_E_EXISTS: another one has. Where
 * nothing can be locked nobody has. */
tt_status tt_conditions_claim(const char *folder, tt_error *err);

/* Sets them for the n files of a model; `progress` may be NULL. held is ended with
 * tt_conditions_end also on failure. TT_E_USAGE: no memory limit can be set; TT_E_IO: a file cannot
 * be read, or progress stopped it. Not thread-safe: the kernel's settings are global. */
tt_status tt_conditions_begin(tt_held *held, const tt_conditions *wish, char *const *files,
                              size_t n, tt_conditions_progress *progress, void *context,
                              tt_error *err);
/* After the program has ended: reads the group's counts, restores what was changed, and notes in
 * `unmet` what could not be restored. */
void tt_conditions_end(tt_held *held);

/* The command prefix with by_systemd, NULL-terminated; for free(). NULL if out of memory. */
char **tt_conditions_words(const tt_held *held, char *const *words);

/* Bytes of the file's pages in RAM. TT_E_IO; TT_E_UNSUPPORTED: the kernel reports it only to the
 * file's owner or users who may write it. */
tt_status tt_conditions_resident(const char *path, uint64_t *bytes, tt_error *err);

#endif
