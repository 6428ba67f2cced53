/* Small files of the kernel: /proc, /sys. Paths are relative to a `root`: "" for the system itself,
 * a folder in tests. Nothing is allocated. */
#ifndef TT_HOST_SYSTEM_H
#define TT_HOST_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that was not observed; a limit that is not set. */
#define TT_HOST_UNKNOWN UINT64_MAX
#define TT_HOST_UNLIMITED (UINT64_MAX - 1)

/* The first line of the file at dir/name, without trailing blanks. False, and "", if there is no
 * such file, it is empty, or the path is too long. */
bool tt_host_line(const char *dir, const char *name, char *out, size_t size);
/* A number in decimal digits; "max" and "unlimited" are TT_HOST_UNLIMITED. TT_HOST_UNKNOWN for
 * anything else. */
uint64_t tt_host_parse(const char *text);
/* tt_host_parse of the first line. */
uint64_t tt_host_number(const char *dir, const char *name);

/* The first processor's name, as /proc/cpuinfo has it: "AMD EPYC 7B13"; AArch64 has numbers
 * instead: "ARM implementer 0x41, part 0xd0c". False, and "": not known. */
bool tt_host_processor(const char *root, char *out, size_t size);

/* A mounted file system, from a line of /proc/self/mountinfo. */
typedef struct tt_host_mount {
    unsigned major, minor; /* of files on it; on some file systems stat reports another one */
    char root[512];        /* the part of the file system that is mounted */
    char point[512];
    char type[32];
    char source[256]; /* "/dev/sda1", "server:/export" */
    char super[256];  /* its options */
} tt_host_mount;

/* Calls `each` for every mount until it returns false. False if the list cannot be read. */
bool tt_host_mounts(const char *root, bool (*each)(void *context, const tt_host_mount *mount),
                    void *context);

/* The part of path below folder: "" for the folder itself, "/a/b"; NULL: not below it. */
const char *tt_host_below(const char *path, const char *folder);

/* The machine's memory, and the limits of this process. Also runs in a traced program. */

/* Each is a key of a trace's ENVIRONMENT and a member of tt_host_system: F(key, title, unit of
 * src/table, description). A limit may be TT_HOST_UNLIMITED. */
#define TT_HOST_SYSTEM(F)                                                                          \
    F(memory_total_bytes, "memory", BYTES, "memory of the machine")                                \
    F(memory_available_bytes, "available", BYTES,                                                  \
      "memory that was available to programs at the begin")                                        \
    F(memory_available_end_bytes, "at the end", BYTES, "the same at the end")                      \
    F(cgroup_memory_max_bytes, "cgroup limit", BYTES,                                              \
      "memory that the control group may have, page cache included: the least of its ancestors")   \
    F(cgroup_memory_high_bytes, "cgroup high", BYTES,                                              \
      "memory above which the control group is slowed down and pages are taken from it")           \
    F(cgroup_swap_max_bytes, "cgroup swap", BYTES, "swap limit of the control group")              \
    F(cgroup_memory_and_swap_max_bytes, "with swap", BYTES,                                        \
      "both together, which is what version 1 of control groups limits")                           \
    F(usable_processors, "usable processors", COUNT,                                               \
      "processors on which the threads that compute may run")                                      \
    F(cgroup_cpu_ns_per_s, "cgroup CPU time", NS,                                                  \
      "processor time that the control group may use a second: the least of its ancestors")        \
    F(memlock_limit_bytes, "may lock", BYTES, "memory that the process may lock")                  \
    F(address_space_limit_bytes, "may map", BYTES, "memory that the process may map")              \
    F(swappiness, "swappiness", COUNT, "the kernel's swappiness, 0 to 200")                        \
    F(cgroup_swappiness, "in cgroup", COUNT,                                                       \
      "the control group's own, with version 1 of control groups")

#define TT_HOST_SYSTEM_MEMBER(key, title, unit, about) uint64_t key;
typedef struct tt_host_system {
    TT_HOST_SYSTEM(TT_HOST_SYSTEM_MEMBER)
} tt_host_system;
#undef TT_HOST_SYSTEM_MEMBER

/* Sets everything to unknown. */
void tt_host_system_clear(tt_host_system *s);
/* The current values; memory_available_end_bytes stays unknown. root: see above. */
void tt_host_system_look(const char *root, tt_host_system *s);
/* Memory available to programs now. */
uint64_t tt_host_memory_available(const char *root);

/* Memory that this process could use in addition without another one being killed or swapped out:
 * the least of the machine's available memory and that of each limit of its control groups; page
 * cache counts as free. */
uint64_t tt_host_memory_room(const char *root);

/* How much memory the process, or a control group of it that has a limit, has come to use since a
 * mark: a few small files, so it can be asked a hundred times a second, which
 * tt_host_memory_room cannot. Groups that get their first limit later are not seen. One thread at a
 * time. */
typedef struct tt_host_growth tt_host_growth;
/* Marks the present use. NULL: out of memory. Freed with tt_host_growth_free. */
tt_host_growth *tt_host_growth_new(const char *root);
void tt_host_growth_mark(tt_host_growth *g);
/* Of whichever grew most: of the process its own memory, of a group also files' pages, less
 * `known`. UINT64_MAX: a group has reached its limit since, whatever it has evicted for it. */
uint64_t tt_host_growth_bytes(const tt_host_growth *g, uint64_t known);
void tt_host_growth_free(tt_host_growth *g);

/* The control groups of this process that have a quota of processor time. */
typedef struct tt_host_quotas {
    struct tt_host_quota {
        char dir[512];
        bool is_v1;
    } list[4]; /* the innermost ones */
    uint32_t n;
} tt_host_quotas;

void tt_host_quotas_find(const char *root, tt_host_quotas *q);
/* How long the groups' threads were kept from running because the quota was used up, on all
 * processors, and in how many periods: totals of all the groups. False: it cannot be read. */
bool tt_host_throttled(const tt_host_quotas *q, uint64_t *ns, uint64_t *periods);

/* Visits the folder of the control group that `controller` ("memory", "cpu") counts this process
 * in, and all visible ones above it, from the group on. is_v1: control groups version 1. */
void tt_host_each_group(const char *root, const char *controller,
                        void (*visit)(void *context, const char *dir, bool is_v1), void *context);

/* The member of an ENVIRONMENT key; NULL: none. */
uint64_t *tt_host_system_member(tt_host_system *s, const char *key);
/* Reports each known member: its key, and its value in digits or as "unlimited". */
void tt_host_system_report(const tt_host_system *s,
                           void (*report)(void *context, const char *key, const char *value),
                           void *context);

#endif
