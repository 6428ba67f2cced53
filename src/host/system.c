#include "host/system.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINE_BYTES 4096

bool tt_host_line(const char *dir, const char *name, char *out, size_t size)
{
    char path[PATH_MAX];
    out[0] = '\0';
    const int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path) return false;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const bool read = fgets(out, (int)size, f) != NULL;
    (void)fclose(f);
    if (!read) out[0] = '\0';
    size_t length = strlen(out);
    while (length && (out[length - 1] == '\n' || out[length - 1] == ' '))
        out[--length] = '\0';
    return length > 0;
}

uint64_t tt_host_parse(const char *text)
{
    uint64_t value = 0;
    if (strcmp(text, "max") == 0 || strcmp(text, "unlimited") == 0) return TT_HOST_UNLIMITED;
    if (!*text) return TT_HOST_UNKNOWN;
    for (; *text; text++) {
        const unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || value > (TT_HOST_UNLIMITED - 1 - digit) / 10) return TT_HOST_UNKNOWN;
        value = value * 10 + digit;
    }
    return value;
}

uint64_t tt_host_number(const char *dir, const char *name)
{
    char text[64];
    return tt_host_line(dir, name, text, sizeof text) ? tt_host_parse(text) : TT_HOST_UNKNOWN;
}

bool tt_host_processor(const char *root, char *out, size_t size)
{
    char line[256], path[PATH_MAX], implementer[32] = "", part[32] = "";
    out[0] = '\0';
    const int n = snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
    while (f && !out[0] && !part[0] && fgets(line, sizeof line, f)) {
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += 1 + strspn(value + 1, " ");
        const int length = (int)strcspn(value, "\n");
        if (strncmp(line, "model name", 10) == 0) (void)snprintf(out, size, "%.*s", length, value);
        if (strncmp(line, "CPU implementer", 15) == 0)
            (void)snprintf(implementer, sizeof implementer, "%.*s", length, value);
        if (strncmp(line, "CPU part", 8) == 0)
            (void)snprintf(part, sizeof part, "%.*s", length, value);
    }
    if (f) (void)fclose(f);
    if (part[0]) (void)snprintf(out, size, "ARM implementer %s, part %s", implementer, part);
    return out[0] != '\0';
}

/* Blanks and similar characters in paths are written as three octal digits. */
static void copy_path(char *out, size_t size, const char *from)
{
    size_t n = 0;
    while (*from && n + 1 < size) {
        unsigned code;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1 && strlen(from) >= 4) {
            out[n++] = (char)code;
            from += 4;
        } else {
            out[n++] = *from++;
        }
    }
    out[n] = '\0';
}

/* "36 35 98:0 /root /point options shared:1 - type source super" */
static bool parse_mount(char *line, tt_host_mount *m)
{
    char root[PATH_MAX], point[PATH_MAX], source[sizeof m->source] = "";
    char *rest = strstr(line, " - ");
    memset(m, 0, sizeof *m);
    if (!rest) return false;
    *rest = '\0';
    if (sscanf(line, "%*s %*s %u:%u %4095s %4095s", &m->major, &m->minor, root, point) != 4 ||
        sscanf(rest + 3, "%31s %255s %255s", m->type, source, m->super) < 1)
        return false;
    copy_path(m->root, sizeof m->root, root);
    copy_path(m->point, sizeof m->point, point);
    copy_path(m->source, sizeof m->source, source);
    return true;
}

bool tt_host_mounts(const char *root, bool (*each)(void *context, const tt_host_mount *mount),
                    void *context)
{
    char line[LINE_BYTES];
    tt_host_mount mount;
    bool more = true, begins = true;
    (void)snprintf(line, sizeof line, "%s/proc/self/mountinfo", root);
    FILE *f = fopen(line, "re");
    if (!f) return false;
    /* After the first bytes, a long line has only options of layers, which are not needed. */
    while (more && fgets(line, sizeof line, f)) {
        const bool ends = strchr(line, '\n') != NULL;
        line[strcspn(line, "\n")] = '\0';
        if (begins && parse_mount(line, &mount)) more = each(context, &mount);
        begins = ends;
    }
    (void)fclose(f);
    return true;
}

const char *tt_host_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    if (strncmp(path, folder, n) != 0 || (path[n] && path[n] != '/')) return NULL;
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}

/* Version 1 rounds "no limit" down to pages. */
#define V1_UNLIMITED ((uint64_t)1 << 62)

static const struct member {
    const char *key;
    size_t offset;
} members[] = {
#define MEMBER(key, title, unit, about) {#key, offsetof(tt_host_system, key)},
    TT_HOST_SYSTEM(MEMBER)
#undef MEMBER
};
#define N_MEMBERS (sizeof members / sizeof *members)

static uint64_t *at(tt_host_system *s, const struct member *m)
{
    return (uint64_t *)(void *)((char *)s + m->offset);
}

void tt_host_system_clear(tt_host_system *s)
{
    for (size_t i = 0; i < N_MEMBERS; i++)
        *at(s, &members[i]) = TT_HOST_UNKNOWN;
}

uint64_t *tt_host_system_member(tt_host_system *s, const char *key)
{
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (strcmp(members[i].key, key) == 0) return at(s, &members[i]);
    return NULL;
}

void tt_host_system_report(const tt_host_system *s,
                           void (*report)(void *context, const char *key, const char *value),
                           void *context)
{
    tt_host_system copy = *s;
    for (size_t i = 0; i < N_MEMBERS; i++) {
        const uint64_t value = *at(&copy, &members[i]);
        char text[32] = "unlimited";
        if (value == TT_HOST_UNKNOWN) continue;
        if (value != TT_HOST_UNLIMITED) (void)snprintf(text, sizeof text, "%" PRIu64, value);
        report(context, members[i].key, text);
    }
}

static uint64_t meminfo(const char *root, const char *key)
{
    char line[256], path[PATH_MAX];
    uint64_t kib = 0;
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *f = fopen(path, "re");
    if (!f) return TT_HOST_UNKNOWN;
    const size_t n = strlen(key);
    while (!found && fgets(line, sizeof line, f))
        found = strncmp(line, key, n) == 0 && line[n] == ':' &&
                sscanf(line + n + 1, "%" SCNu64 " kB", &kib) == 1 && kib <= UINT64_MAX >> 11;
    (void)fclose(f);
    return found ? kib * 1024 : TT_HOST_UNKNOWN;
}

uint64_t tt_host_memory_available(const char *root)
{
    return meminfo(root, "MemAvailable");
}

static uint64_t soft_limit(int of)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)of, &limit) != 0) return TT_HOST_UNKNOWN;
    return limit.rlim_cur == RLIM_INFINITY ? TT_HOST_UNLIMITED : (uint64_t)limit.rlim_cur;
}

/* --- control groups --- */

/* A group of this process, from /proc/self/cgroup. */
typedef struct group {
    const char *controller;
    bool is_v1;
    char path[PATH_MAX];
    char point[1024], top[1024]; /* where its hierarchy is mounted, and which part of it */
} group;

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ',') && (p[n] == '\0' || p[n] == ',')) return true;
    return false;
}

/* Lines are "4:memory:/path"; that of version 2 is "0::/path". If version 1 has a controller,
 * version 2 does not. */
static bool find_group(const char *root, group *g)
{
    char line[PATH_MAX], file[PATH_MAX];
    bool found = false;
    (void)snprintf(file, sizeof file, "%s/proc/self/cgroup", root);
    FILE *f = fopen(file, "re");
    while (f && !g->is_v1 && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(++controllers, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        const bool is_v1 = has_word(controllers, g->controller);
        if (!is_v1 && (*controllers || strncmp(line, "0:", 2) != 0)) continue;
        (void)snprintf(g->path, sizeof g->path, "%s", path);
        g->is_v1 = is_v1;
        found = true;
    }
    if (f) (void)fclose(f);
    return found;
}

static bool see_mount(void *context, const tt_host_mount *m)
{
    group *g = context;
    if (strcmp(m->type, g->is_v1 ? "cgroup" : "cgroup2") != 0) return true;
    if (g->is_v1 && !has_word(m->super, g->controller)) return true;
    if (!tt_host_below(g->path, m->root)) return true;
    (void)snprintf(g->point, sizeof g->point, "%s", m->point);
    (void)snprintf(g->top, sizeof g->top, "%s", m->root);
    return false;
}

static void tighten(uint64_t *limit, uint64_t to, bool is_v1)
{
    if (to == TT_HOST_UNKNOWN) return;
    if (is_v1 && to >= V1_UNLIMITED) to = TT_HOST_UNLIMITED;
    if (*limit == TT_HOST_UNKNOWN || to < *limit) *limit = to;
}

void tt_host_each_group(const char *root, const char *controller,
                        void (*visit)(void *context, const char *dir, bool is_v1), void *context)
{
    group g = {.controller = controller};
    char dir[PATH_MAX];
    if (!find_group(root, &g) || !tt_host_mounts(root, see_mount, &g) || !g.point[0]) return;
    const char *below = tt_host_below(g.path, g.top);
    /* "/..": outside of what is visible to this process. */
    if (!below || strstr(below, "/..")) return;
    const int n = snprintf(dir, sizeof dir, "%s%s%s", root, g.point, below);
    const size_t end = strlen(root) + strlen(g.point);
    if (n < 0 || (size_t)n >= sizeof dir) return;
    for (;;) {
        visit(context, dir, g.is_v1);
        char *last = strrchr(dir, '/');
        if (strlen(dir) <= end || !last || (size_t)(last - dir) < end) return;
        *last = '\0';
    }
}

/* The least limit applies; swappiness is the group's own. */
static void look_at_group(void *context, const char *dir, bool is_v1)
{
    tt_host_system *s = context;
    if (is_v1) {
        if (s->cgroup_swappiness == TT_HOST_UNKNOWN)
            s->cgroup_swappiness = tt_host_number(dir, "memory.swappiness");
        tighten(&s->cgroup_memory_max_bytes, tt_host_number(dir, "memory.limit_in_bytes"), true);
        tighten(&s->cgroup_memory_and_swap_max_bytes,
                tt_host_number(dir, "memory.memsw.limit_in_bytes"), true);
    } else {
        tighten(&s->cgroup_memory_max_bytes, tt_host_number(dir, "memory.max"), false);
        tighten(&s->cgroup_memory_high_bytes, tt_host_number(dir, "memory.high"), false);
        tighten(&s->cgroup_swap_max_bytes, tt_host_number(dir, "memory.swap.max"), false);
    }
}

/* The sum of those keys in the file's lines "key number". */
static uint64_t sum_of(const char *dir, const char *name, const char *const *keys, size_t n)
{
    char line[256], path[PATH_MAX + 16];
    uint64_t sum = 0;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        uint64_t value;
        char key[64];
        if (sscanf(line, "%63s %" SCNu64, key, &value) != 2) continue;
        for (size_t i = 0; i < n; i++)
            if (strcmp(key, keys[i]) == 0) sum += value;
    }
    if (f) (void)fclose(f);
    return sum;
}

/* --- quotas of processor time --- */

/* Version 1: two files; version 2: "20000 100000" or "max 100000". */
static uint64_t cpu_quota(const char *dir, bool is_v1)
{
    char line[64];
    uint64_t quota_us, period_us;
    if (is_v1) {
        if (!tt_host_line(dir, "cpu.cfs_quota_us", line, sizeof line)) return TT_HOST_UNKNOWN;
        quota_us = line[0] == '-' ? TT_HOST_UNLIMITED : tt_host_parse(line);
        period_us = tt_host_number(dir, "cpu.cfs_period_us");
    } else {
        if (!tt_host_line(dir, "cpu.max", line, sizeof line)) return TT_HOST_UNKNOWN;
        char *period = line + strcspn(line, " ");
        if (*period) *period++ = '\0';
        quota_us = tt_host_parse(line);
        period_us = tt_host_parse(period);
    }
    if (quota_us >= TT_HOST_UNLIMITED) return quota_us;
    if (period_us == 0 || period_us >= TT_HOST_UNLIMITED) return TT_HOST_UNKNOWN;
    return (uint64_t)((double)quota_us / (double)period_us * 1e9);
}

static void look_at_quota(void *context, const char *dir, bool is_v1)
{
    tighten(context, cpu_quota(dir, is_v1), false);
}

static void add_quota(void *context, const char *dir, bool is_v1)
{
    tt_host_quotas *q = context;
    struct tt_host_quota *to = &q->list[q->n];
    if (q->n == sizeof q->list / sizeof *q->list || strlen(dir) >= sizeof to->dir ||
        cpu_quota(dir, is_v1) >= TT_HOST_UNLIMITED)
        return;
    to->is_v1 = is_v1;
    (void)snprintf(to->dir, sizeof to->dir, "%s", dir);
    q->n++;
}

void tt_host_quotas_find(const char *root, tt_host_quotas *q)
{
    q->n = 0;
    tt_host_each_group(root, "cpu", add_quota, q);
}

/* Lines "key number". Once a batch: nothing is allocated. */
static bool read_stat(const struct tt_host_quota *q, uint64_t *ns, uint64_t *periods)
{
    char text[1024], path[sizeof q->dir + 16];
    (void)snprintf(path, sizeof path, "%s/cpu.stat", q->dir);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) (void)close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    const char *key = q->is_v1 ? "throttled_time " : "throttled_usec ";
    const char *withheld = strstr(text, key), *times = strstr(text, "nr_throttled ");
    if (!withheld || !times) return false;
    *ns = strtoull(withheld + strlen(key), NULL, 10) * (q->is_v1 ? 1 : 1000);
    *periods = strtoull(times + strlen("nr_throttled "), NULL, 10);
    return true;
}

bool tt_host_throttled(const tt_host_quotas *q, uint64_t *ns, uint64_t *periods)
{
    *ns = *periods = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        const struct tt_host_quota *of = &q->list[i];
        uint64_t withheld, times;
        if (!read_stat(of, &withheld, &times)) return false;
        *ns += withheld;
        *periods += times;
    }
    return q->n > 0;
}

static uint64_t group_limit(const char *dir, bool is_v1)
{
    uint64_t limit = TT_HOST_UNKNOWN;
    tighten(&limit, tt_host_number(dir, is_v1 ? "memory.limit_in_bytes" : "memory.max"), is_v1);
    if (!is_v1) tighten(&limit, tt_host_number(dir, "memory.high"), false);
    return limit;
}

static uint64_t group_use(const char *dir, bool is_v1)
{
    return tt_host_number(dir, is_v1 ? "memory.usage_in_bytes" : "memory.current");
}

/* What may be added below the group's limit if its page cache is dropped. */
static void look_at_room(void *context, const char *dir, bool is_v1)
{
    static const char *const v1[] = {"total_inactive_file", "total_active_file"};
    static const char *const v2[] = {"inactive_file", "active_file", "slab_reclaimable"};
    uint64_t *room = context;
    const uint64_t limit = group_limit(dir, is_v1), used = group_use(dir, is_v1);
    if (limit >= TT_HOST_UNLIMITED || used >= TT_HOST_UNLIMITED) return;
    uint64_t cache = is_v1 ? sum_of(dir, "memory.stat", v1, sizeof v1 / sizeof *v1)
                           : sum_of(dir, "memory.stat", v2, sizeof v2 / sizeof *v2);
    if (cache > used) cache = used;
    tighten(room, limit > used - cache ? limit - (used - cache) : 0, false);
}

uint64_t tt_host_memory_room(const char *root)
{
    uint64_t room = tt_host_memory_available(root);
    tt_host_each_group(root, "memory", look_at_room, &room);
    return room;
}

/* --- growth --- */

#define LIMITED_GROUPS_MAX 4u /* the innermost ones */

typedef struct limited_group {
    char dir[PATH_MAX];
    bool is_v1;
    uint64_t use, hits; /* at the mark */
} limited_group;

struct tt_host_growth {
    char proc[PATH_MAX];
    uint64_t own; /* at the mark */
    limited_group groups[LIMITED_GROUPS_MAX];
    uint32_t n_groups;
};

/* Bytes of the process that are no file's: none of the page cache, nor of memory that is shared. */
static uint64_t own_bytes(const char *proc)
{
    char line[256];
    uint64_t resident, shared;
    if (!tt_host_line(proc, "statm", line, sizeof line) ||
        sscanf(line, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2 || shared > resident)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* How often the group reached its limit. */
static uint64_t limit_hits(const limited_group *g)
{
    static const char *const events[] = {"high", "max"};
    return g->is_v1 ? tt_host_number(g->dir, "memory.failcnt")
                    : sum_of(g->dir, "memory.events", events, sizeof events / sizeof *events);
}

static void add_limited_group(void *context, const char *dir, bool is_v1)
{
    tt_host_growth *g = context;
    if (g->n_groups == LIMITED_GROUPS_MAX || group_limit(dir, is_v1) >= TT_HOST_UNLIMITED) return;
    limited_group *to = &g->groups[g->n_groups++];
    to->is_v1 = is_v1;
    (void)snprintf(to->dir, sizeof to->dir, "%s", dir);
}

tt_host_growth *tt_host_growth_new(const char *root)
{
    tt_host_growth *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    (void)snprintf(g->proc, sizeof g->proc, "%s/proc/self", root);
    tt_host_each_group(root, "memory", add_limited_group, g);
    tt_host_growth_mark(g);
    return g;
}

void tt_host_growth_mark(tt_host_growth *g)
{
    g->own = own_bytes(g->proc);
    for (limited_group *of = g->groups; of < g->groups + g->n_groups; of++) {
        of->use = group_use(of->dir, of->is_v1);
        of->hits = limit_hits(of);
    }
}

uint64_t tt_host_growth_bytes(const tt_host_growth *g, uint64_t known)
{
    const uint64_t own = own_bytes(g->proc);
    uint64_t most = own > g->own ? own - g->own : 0;
    for (const limited_group *of = g->groups; of < g->groups + g->n_groups; of++) {
        const uint64_t use = group_use(of->dir, of->is_v1);
        const uint64_t grown = use != TT_HOST_UNKNOWN && use > of->use ? use - of->use : 0;
        if (limit_hits(of) != of->hits) return UINT64_MAX;
        if (grown > known && grown - known > most) most = grown - known;
    }
    return most;
}

void tt_host_growth_free(tt_host_growth *g)
{
    free(g);
}

void tt_host_system_look(const char *root, tt_host_system *s)
{
    char proc[PATH_MAX];
    tt_host_system_clear(s);
    s->memory_total_bytes = meminfo(root, "MemTotal");
    s->memory_available_bytes = tt_host_memory_available(root);
    s->memlock_limit_bytes = soft_limit(RLIMIT_MEMLOCK);
    s->address_space_limit_bytes = soft_limit(RLIMIT_AS);
    (void)snprintf(proc, sizeof proc, "%s/proc/sys/vm", root);
    s->swappiness = tt_host_number(proc, "swappiness");
    tt_host_each_group(root, "memory", look_at_group, s);
    tt_host_each_group(root, "cpu", look_at_quota, &s->cgroup_cpu_ns_per_s);
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may) == 0)
        s->usable_processors = (uint64_t)CPU_COUNT(&may);
}
