/* What the system says of itself, from files in a folder that stands for it. */
#include "tests.h"

#include "analyze/storage.h"
#include "host/disk.h"
#include "host/system.h"
#include "machine/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/tensortrace-host-XXXXXX");
    assert_non_null(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* Makes the folders that the path below the root needs. */
static void full_path(char out[PATH_MAX], const char *path)
{
    (void)snprintf(out, PATH_MAX, "%s/%s", root, path);
    for (char *p = out + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(out, 0700);
        *p = '/';
    }
}

static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    full_path(full, path);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_link(const char *path, const char *to)
{
    char full[PATH_MAX];
    full_path(full, path);
    assert_int_equal(symlink(to, full), 0);
}

/* --- memory and limits --- */

static void a_processor_has_a_name_or_numbers(void **state)
{
    (void)state;
    char name[64] = "before", small[12];
    make_root();
    assert_false(tt_host_processor(root, name, sizeof name));
    assert_string_equal(name, "");
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t\t: fpu\n\n"
                        "processor\t: 1\nmodel name\t: another\n");
    assert_true(tt_host_processor(root, name, sizeof name));
    assert_string_equal(name, "AMD EPYC 7B13");
    assert_true(tt_host_processor(root, small, sizeof small));
    assert_string_equal(small, "AMD EPYC 7B");
    /* Linux on a Graviton 2. */
    put("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd evtstrm\n"
                        "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
                        "CPU part\t: 0xd0c\nCPU revision\t: 1\n\nprocessor\t: 1\n");
    assert_true(tt_host_processor(root, name, sizeof name));
    assert_string_equal(name, "ARM implementer 0x41, part 0xd0c");
    put("proc/cpuinfo", "a line without a value\nmodel name\n");
    assert_false(tt_host_processor(root, name, sizeof name));
}

static void version_2_limits_are_the_least_of_all_ancestors(void **state)
{
    (void)state;
    tt_host_system s;
    make_root();
    put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:  600 kB\n");
    put("proc/sys/vm/swappiness", "60\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                               "2 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/a/memory.max", "5000\n");
    put("sys/fs/cgroup/a/memory.high", "max\n");
    put("sys/fs/cgroup/a/memory.swap.max", "0\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/b/memory.high", "max\n");
    put("sys/fs/cgroup/a/b/memory.swap.max", "max\n");
    tt_host_system_look(root, &s);
    assert_int_equal(s.memory_total_bytes, 1000 * 1024);
    assert_int_equal(s.memory_available_bytes, 600 * 1024);
    assert_int_equal(s.memory_available_end_bytes, TT_HOST_UNKNOWN);
    assert_int_equal(s.cgroup_memory_max_bytes, 5000);
    assert_int_equal(s.cgroup_memory_high_bytes, TT_HOST_UNLIMITED);
    assert_int_equal(s.cgroup_swap_max_bytes, 0);
    assert_int_equal(s.cgroup_memory_and_swap_max_bytes, TT_HOST_UNKNOWN);
    assert_int_equal(s.cgroup_swappiness, TT_HOST_UNKNOWN);
    assert_int_equal(s.swappiness, 60);
    assert_int_not_equal(s.memlock_limit_bytes, TT_HOST_UNKNOWN);
    assert_int_not_equal(s.address_space_limit_bytes, TT_HOST_UNKNOWN);
    remove_root();
}

static void room_is_the_least_of_machine_and_groups(void **state)
{
    (void)state;
    make_root();
    put("proc/meminfo", "MemAvailable:  600 kB\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("proc/self/mountinfo", "2 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    assert_int_equal(tt_host_memory_room(root), 600 * 1024);
    put("sys/fs/cgroup/a/memory.max", "500000\n");
    put("sys/fs/cgroup/a/memory.high", "max\n");
    put("sys/fs/cgroup/a/memory.current", "400000\n");
    put("sys/fs/cgroup/a/memory.stat",
        "anon 1\ninactive_file 30000\nactive_file 20000\nslab_reclaimable 1000\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/b/memory.high", "390000\n");
    put("sys/fs/cgroup/a/b/memory.current", "300000\n");
    put("sys/fs/cgroup/a/b/memory.stat", "inactive_file 100000\n");
    assert_int_equal(tt_host_memory_room(root), 500000 - (400000 - 51000));
    put("sys/fs/cgroup/a/b/memory.current", "350000\n");
    assert_int_equal(tt_host_memory_room(root), 390000 - (350000 - 100000));
    put("sys/fs/cgroup/a/b/memory.current", "500000\n"); /* above its limit already */
    assert_int_equal(tt_host_memory_room(root), 0);
    remove_root();
}

/* As in a container: what is mounted is the container's part of the hierarchy. */
static void version_1_limits_are_found_below_the_mounted_part(void **state)
{
    (void)state;
    tt_host_system s;
    make_root();
    put("proc/self/cgroup", "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x/in\n0::/\n");
    put("proc/self/mountinfo",
        "2 1 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "3 1 0:31 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "4 1 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n");
    put("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/in/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/in/memory.swappiness", "10\n");
    tt_host_system_look(root, &s);
    assert_int_equal(s.cgroup_memory_max_bytes, 7000);
    assert_int_equal(s.cgroup_memory_and_swap_max_bytes, TT_HOST_UNLIMITED);
    assert_int_equal(s.cgroup_swap_max_bytes, TT_HOST_UNKNOWN);
    assert_int_equal(s.cgroup_swappiness, 10);
    assert_int_equal(s.memory_total_bytes, TT_HOST_UNKNOWN);
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "6000\n");
    put("sys/fs/cgroup/memory/memory.stat",
        "cache 9\ntotal_inactive_file 2000\ntotal_active_file 500\n");
    put("sys/fs/cgroup/memory/in/memory.usage_in_bytes", "6000\n");
    assert_int_equal(tt_host_memory_room(root), 7000 - (6000 - 2500));
    remove_root();
}

/* What was withheld is the sum of all groups that have a quota. cpu.stat has what Linux 6.1 writes.
 */
static void what_a_quota_withheld_is_found_in_both_versions(void **state)
{
    static const char mounted_v2[] = "2 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    tt_host_quotas q;
    uint64_t ns, periods;
    tt_host_system s;
    (void)state;
    make_root();
    put("proc/self/cgroup", "0::/a/b\n");
    put("proc/self/mountinfo", mounted_v2);
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/cpu.stat", "nr_throttled 1000\nthrottled_usec 1000\n");
    put("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    put("sys/fs/cgroup/a/cpu.stat",
        "usage_usec 900\nuser_usec 500\nsystem_usec 400\nnr_periods 70\nnr_throttled 7\n"
        "throttled_usec 1234567\nnr_bursts 3\nburst_usec 99\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 5\nthrottled_usec 5\n"); /* no quota */
    tt_host_quotas_find(root, &q);
    assert_int_equal(q.n, 1);
    assert_true(tt_host_throttled(&q, &ns, &periods));
    assert_int_equal(ns, 1234567000);
    assert_int_equal(periods, 7);
    tt_host_system_look(root, &s);
    assert_int_equal(s.cgroup_cpu_ns_per_s, 500000000);
    /* Both have one, and the lower one's is less. */
    put("sys/fs/cgroup/a/b/cpu.max", "20000 80000\n");
    tt_host_quotas_find(root, &q);
    assert_int_equal(q.n, 2);
    assert_true(tt_host_throttled(&q, &ns, &periods));
    assert_int_equal(ns, 1234572000);
    assert_int_equal(periods, 12);
    tt_host_system_look(root, &s);
    assert_int_equal(s.cgroup_cpu_ns_per_s, 250000000);
    /* One that cannot be read: the sum is not known. */
    put("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 900\n");
    assert_false(tt_host_throttled(&q, &ns, &periods));
    put("sys/fs/cgroup/a/b/cpu.stat", "");
    assert_false(tt_host_throttled(&q, &ns, &periods));
    put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max\n");
    tt_host_quotas_find(root, &q);
    assert_int_equal(q.n, 0); /* none: nothing is withheld that could be read */
    assert_false(tt_host_throttled(&q, &ns, &periods));
    remove_root();

    /* Version 1 counts ns. */
    make_root();
    put("proc/self/cgroup", "5:cpu,cpuacct:/x\n0::/\n");
    put("proc/self/mountinfo", "3 1 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "150000\n");
    put("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu/x/cpu.stat",
        "nr_periods 70\nnr_throttled 7\nthrottled_time 1234567\nwait_sum 8\n");
    tt_host_quotas_find(root, &q);
    assert_int_equal(q.n, 1);
    assert_true(tt_host_throttled(&q, &ns, &periods));
    assert_int_equal(ns, 1234567);
    assert_int_equal(periods, 7);
    tt_host_system_look(root, &s);
    assert_int_equal(s.cgroup_cpu_ns_per_s, 1500000000);
    remove_root();
}

static void growth_is_that_of_the_process_or_a_limited_group(void **state)
{
    (void)state;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    make_root();
    put("proc/self/statm", "900 500 100 1 0 400 0\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("proc/self/mountinfo", "2 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/a/memory.max", "max\n");
    put("sys/fs/cgroup/a/memory.high", "900000000\n");
    put("sys/fs/cgroup/a/memory.current", "200000000\n");
    put("sys/fs/cgroup/a/memory.events", "low 3\nhigh 5\nmax 0\noom 7\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n"); /* no limit: not looked at */
    put("sys/fs/cgroup/a/b/memory.current", "1\n");
    tt_host_growth *g = tt_host_growth_new(root);
    assert_non_null(g);
    assert_int_equal(tt_host_growth_bytes(g, 0), 0);
    put("proc/self/statm", "900 700 298 1 0 400 0\n"); /* 198 of the 200 are shared */
    put("sys/fs/cgroup/a/memory.current", "200000001\n");
    put("sys/fs/cgroup/a/b/memory.current", "90000000\n");
    put("sys/fs/cgroup/a/memory.events", "low 4\nhigh 5\nmax 0\noom 8\n");
    assert_int_equal(tt_host_growth_bytes(g, 0), 2 * page);
    put("sys/fs/cgroup/a/memory.current", "300000000\n");
    assert_int_equal(tt_host_growth_bytes(g, 0), 100000000);
    assert_int_equal(tt_host_growth_bytes(g, 60000000), 40000000);
    assert_int_equal(tt_host_growth_bytes(g, 200000000), 2 * page); /* the process has grown, too */
    tt_host_growth_mark(g);
    assert_int_equal(tt_host_growth_bytes(g, 0), 0);
    put("sys/fs/cgroup/a/memory.current", "100000000\n"); /* evicted at its limit */
    put("sys/fs/cgroup/a/memory.events", "low 4\nhigh 6\nmax 0\noom 8\n");
    assert_true(tt_host_growth_bytes(g, 0) == UINT64_MAX);
    tt_host_growth_free(g);

    put("proc/self/statm", "\n"); /* unknown: no growth */
    put("proc/self/cgroup", "4:memory:/a\n");
    put("proc/self/mountinfo", "2 1 0:30 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n");
    put("sys/fs/cgroup/a/memory.limit_in_bytes", "500000\n");
    put("sys/fs/cgroup/a/memory.usage_in_bytes", "1000\n");
    put("sys/fs/cgroup/a/memory.failcnt", "9\n");
    g = tt_host_growth_new(root);
    assert_non_null(g);
    put("sys/fs/cgroup/a/memory.usage_in_bytes", "1500\n");
    assert_int_equal(tt_host_growth_bytes(g, 0), 500);
    put("sys/fs/cgroup/a/memory.failcnt", "10\n");
    assert_true(tt_host_growth_bytes(g, 0) == UINT64_MAX);
    tt_host_growth_free(g);
    remove_root();
}

static void a_group_that_is_not_shown_has_no_known_limits(void **state)
{
    (void)state;
    tt_host_system s;
    make_root();
    put("proc/self/cgroup", "0::/../other\n");
    put("proc/self/mountinfo", "2 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/memory.max", "5000\n");
    tt_host_system_look(root, &s);
    assert_int_equal(s.cgroup_memory_max_bytes, TT_HOST_UNKNOWN);
    remove_root();
}

typedef struct told {
    tt_pair pairs[32];
    uint32_t n;
} told;

static void tell(void *context, const char *key, const char *value)
{
    told *t = context;
    assert_true(t->n < 32);
    t->pairs[t->n++] = (tt_pair){strdup(key), strdup(value)};
}

static void forget(told *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        free((void *)(uintptr_t)t->pairs[i].key);
        free((void *)(uintptr_t)t->pairs[i].value);
    }
}

static void what_is_told_comes_back_and_the_rest_is_unknown(void **state)
{
    (void)state;
    tt_host_system s, back;
    told t = {.n = 0};
    tt_host_system_clear(&s);
    s.memory_total_bytes = 12345;
    s.cgroup_memory_max_bytes = TT_HOST_UNLIMITED;
    s.swappiness = 0;
    tt_host_system_report(&s, tell, &t);
    assert_int_equal(t.n, 3);
    const tt_model m = {.environment = t.pairs, .n_environment = t.n};
    tt_system_of(&m, &back);
    assert_memory_equal(&s, &back, sizeof s);
    forget(&t);
    const tt_model old = {.environment = NULL};
    tt_system_of(&old, &back);
    tt_host_system_clear(&s);
    assert_memory_equal(&s, &back, sizeof s);
}

/* --- disks --- */

static void a_partition_has_its_disks_model_and_readahead(void **state)
{
    (void)state;
    tt_host_disk d, back;
    told t = {.n = 0};
    make_root();
    put("proc/self/mountinfo", "1 0 8:2 / / rw shared:1 - ext4 /dev/sda2 rw\n"
                               "2 1 0:44 / /models rw - tmpfs tmpfs rw\n");
    put("sys/devices/pci/block/sda/sda2/partition", "2\n");
    put("sys/devices/pci/block/sda/dev", "8:0\n");
    put("sys/devices/pci/block/sda/queue/rotational", "1\n");
    put("sys/devices/pci/block/sda/queue/scheduler", "none [mq-deadline] bfq\n");
    put("sys/devices/pci/block/sda/device/model", "WDC WD40EFRX    \n");
    put_link("sys/dev/block/8:2", "../../devices/pci/block/sda/sda2");
    put("sys/class/bdi/8:0/read_ahead_kb", "128\n");
    tt_host_disk_look(root, "/home/m.gguf", makedev(8, 2), &d);
    assert_string_equal(d.file_system, "ext4");
    assert_string_equal(d.name, "sda2");
    assert_string_equal(d.disk, "sda");
    assert_string_equal(d.disk_model, "WDC WD40EFRX");
    assert_string_equal(d.scheduler, "mq-deadline");
    assert_true(d.rotational_known && d.is_rotational);
    assert_int_equal(d.read_ahead_bytes, 128 * 1024);
    assert_string_equal(d.unknown, "");
    tt_host_disk_report(&d, tell, &t);
    const tt_model m = {.environment = t.pairs, .n_environment = t.n};
    tt_disk_of(&m, &(tt_model_file){.device = makedev(8, 2)}, &back);
    assert_memory_equal(&d, &back, sizeof d);
    tt_disk_of(&m, &(tt_model_file){.device = makedev(8, 3)}, &back);
    assert_false(back.rotational_known);
    assert_string_equal(back.file_system, "");
    assert_int_equal(back.read_ahead_bytes, TT_HOST_UNKNOWN);
    forget(&t);
    remove_root();
}

static void a_logical_volume_leads_to_its_disk_or_to_several(void **state)
{
    (void)state;
    tt_host_disk d;
    make_root();
    put("proc/self/mountinfo", "1 0 253:0 / / rw - xfs /dev/mapper/vg rw\n");
    put("sys/devices/virtual/block/dm-0/dev", "253:0\n");
    put("sys/devices/pci/block/nvme0n1/nvme0n1p3/partition", "3\n");
    put("sys/devices/pci/block/nvme0n1/queue/rotational", "0\n");
    put("sys/devices/pci/block/nvme0n1/device/model", "Fast One\n");
    put("sys/devices/virtual/block/dm-0/slaves/.keep", "");
    put_link("sys/devices/virtual/block/dm-0/slaves/nvme0n1p3",
             "../../../../pci/block/nvme0n1/nvme0n1p3");
    put_link("sys/dev/block/253:0", "../../devices/virtual/block/dm-0");
    put("sys/class/bdi/253:0/read_ahead_kb", "4096\n");
    tt_host_disk_look(root, "/m.gguf", makedev(253, 0), &d);
    assert_string_equal(d.name, "dm-0");
    assert_string_equal(d.disk, "nvme0n1");
    assert_string_equal(d.disk_model, "Fast One");
    assert_true(d.rotational_known && !d.is_rotational);
    assert_int_equal(d.read_ahead_bytes, 4096 * 1024);
    put_link("sys/devices/virtual/block/dm-0/slaves/sdb", "../../../../pci/block/nvme0n1");
    tt_host_disk_look(root, "/m.gguf", makedev(253, 0), &d);
    assert_string_equal(d.disk, "");
    assert_false(d.rotational_known);
    assert_string_equal(d.unknown, "which disk: dm-0 is made of 2 devices");
    remove_root();
}

static void a_file_system_without_a_disk_says_so(void **state)
{
    (void)state;
    tt_host_disk d;
    make_root();
    put("proc/self/mountinfo", "1 0 0:20 / / rw - overlay overlay rw,lowerdir=/a:/b\n"
                               "2 1 0:44 / /models rw - tmpfs tmpfs rw\n"
                               "3 1 0:45 / /net\\040work rw - nfs4 server:/export rw\n");
    put("sys/class/bdi/0:45/read_ahead_kb", "15360\n");
    tt_host_disk_look(root, "/models/m.gguf", makedev(0, 44), &d);
    assert_string_equal(d.file_system, "tmpfs");
    assert_string_equal(d.disk, "");
    assert_string_equal(d.unknown, "tmpfs is memory: there is no disk");
    tt_host_disk_look(root, "/m.gguf", makedev(0, 20), &d);
    assert_string_equal(d.file_system, "overlay");
    assert_non_null(strstr(d.unknown, "layers"));
    tt_host_disk_look(root, "/net work/m.gguf", makedev(0, 45), &d);
    assert_string_equal(d.file_system, "nfs4");
    assert_int_equal(d.read_ahead_bytes, 15360 * 1024);
    assert_non_null(strstr(d.unknown, "names no block device"));
    remove_root();
}

/* --- extents --- */

#define MIB ((uint64_t)1 << 20)

static void extents_that_go_on_are_one_fragment(void **state)
{
    (void)state;
    static tt_host_fragment list[TT_HOST_FRAGMENTS_MAX];
    tt_host_extents e = {.list = list};
    const tt_host_fragment extents[] = {
        {0, 100 * MIB, MIB, 0},
        {MIB, 101 * MIB, MIB, 0},              /* goes on */
        {2 * MIB, 50 * MIB, MIB / 2, 0},       /* behind it, and backward */
        {4 * MIB, 50 * MIB + MIB / 2, MIB, 0}, /* a hole before it */
        {5 * MIB, 0, MIB, TT_HOST_EXTENT_UNKNOWN},
        {6 * MIB, MIB, MIB, TT_HOST_EXTENT_UNKNOWN}, /* would go on, if it were true */
    };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        tt_host_extents_add(&e, &extents[i]);
    e.whole = true;
    tt_host_extents_end(&e, 8 * MIB);
    assert_int_equal(e.extents, 6);
    assert_int_equal(e.fragments, 5);
    assert_int_equal(e.n, 5);
    assert_int_equal(e.backward, 1);
    assert_int_equal(e.mapped_bytes, 5 * MIB + MIB / 2);
    assert_int_equal(e.walked_bytes, 8 * MIB);
    assert_int_equal(e.largest_bytes, 2 * MIB);
    assert_int_equal(e.long_bytes, 5 * MIB);
    assert_int_equal(e.flags, TT_HOST_EXTENT_UNKNOWN);
    assert_int_equal(list[0].size_bytes, 2 * MIB);
    assert_int_equal(list[1].disk_bytes, 50 * MIB);
}

static void of_very_many_fragments_the_first_are_listed(void **state)
{
    (void)state;
    static tt_host_fragment list[TT_HOST_FRAGMENTS_MAX];
    tt_host_extents e = {.list = list};
    const uint64_t n = 100000;
    for (uint64_t i = 0; i < n; i++)
        tt_host_extents_add(&e, &(tt_host_fragment){i * 4096, (2 * n - 2 * i) * 4096, 4096, 0});
    e.whole = true;
    tt_host_extents_end(&e, n * 4096);
    assert_int_equal(e.fragments, n);
    assert_int_equal(e.backward, n - 1);
    assert_int_equal(e.n, TT_HOST_FRAGMENTS_MAX);
    assert_int_equal(list[e.n - 1].offset_bytes, (TT_HOST_FRAGMENTS_MAX - 1) * 4096);
    assert_int_equal(list[e.n - 1].size_bytes, 4096);
    assert_int_equal(e.mapped_bytes, n * 4096);
}

/* --- measuring --- */

/* Reading by page faults brings in what was not in RAM, counts it, and drops it again. */
static void a_mapped_file_is_measured_and_left_as_it_was(void **state)
{
    static char data[1 << 20];
    static unsigned char resident[72 << 8];
    static tt_disk_rates r;
    const size_t size = (size_t)72 << 20;
    char path[PATH_MAX];
    (void)state;
    make_root();
    full_path(path, "file");
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (size_t i = 0; i < size / sizeof data; i++)
        assert_int_equal(write(fd, data, sizeof data), sizeof data);
    assert_int_equal(fsync(fd), 0);
    r = (tt_disk_rates){.file_bytes = size, .n = TT_DISK_MAPPED};
    tt_disk_measure_mapped(path, &r);
    assert_non_null(strstr(r.mapped_unknown, "out of RAM"));
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    tt_disk_measure_mapped(path, &r);
    if (!r.mapped_unknown) { /* else the file system has no disk behind it */
        tt_disk_fit fit;
        size_t n = 0;
        void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        assert_true(map != MAP_FAILED);
        assert_int_equal(mincore(map, size, resident), 0);
        for (size_t i = 0; i < size / 4096; i++)
            n += resident[i] & 1;
        /* What was still being read ahead stays. */
        assert_true(n < size / 4096 / 4);
        assert_int_equal(munmap(map, size), 0);
        assert_true(r.cells[0].requests > 0 && r.cells[1].requests > 0);
        /* At least what was asked for came from the disk. */
        assert_true(r.mapped_bytes[0] >= (double)r.cells[0].requests * (1 << 20));
        assert_true(tt_disk_fit_mapped(&r, &fit));
        assert_true(fit.bytes_per_s > 0 && fit.latency_ns >= 0);
    }
    assert_int_equal(close(fd), 0);
    remove_root();
}

/* Rates made by three numbers give these numbers back. */
static void three_numbers_say_what_the_rates_do(void **state)
{
    static tt_disk_rates r;
    const double rate = 2e9, latency = 60e3, each = 8e3;
    tt_disk_fit fit;
    (void)state;
    r.n = 3 + TT_DISK_MAPPED;
    r.cells[0] = (tt_disk_cell){.is_random = true, .request_bytes = 4096, .depth = 1};
    r.cells[0].bytes_per_s = 4096 / (latency + each + 4096 / rate * 1e9) * 1e9;
    assert_false(tt_disk_fit_requests(&r, &fit));
    r.cells[1] = (tt_disk_cell){.is_random = true, .request_bytes = 4096, .depth = 32};
    r.cells[1].bytes_per_s = 4096 / (each + 4096 / rate * 1e9) * 1e9;
    r.cells[2] = (tt_disk_cell){.request_bytes = 4 << 20, .depth = 4, .bytes_per_s = rate};
    assert_true(tt_disk_fit_requests(&r, &fit));
    assert_true(fabs(fit.bytes_per_s / rate - 1) < 1e-9);
    assert_true(fabs(fit.latency_ns / latency - 1) < 1e-9);
    assert_true(fabs(fit.request_ns / each - 1) < 1e-9);
    for (unsigned i = 0; i < TT_DISK_MAPPED; i++) {
        const double bytes = i ? 4e6 : 1e6, n = 10 + i;
        r.cells[3 + i] = (tt_disk_cell){.is_mapped = true, .requests = (uint64_t)n};
        r.mapped_bytes[i] = n * bytes;
        r.mapped_ns[i] = n * (latency + bytes / rate * 1e9);
    }
    assert_true(tt_disk_fit_mapped(&r, &fit));
    assert_true(fabs(fit.bytes_per_s / rate - 1) < 1e-9);
    assert_true(fabs(fit.latency_ns / latency - 1) < 1e-9);
    /* Without the latency of requests, its part is in the rate. */
    r.cells[0].bytes_per_s = 0;
    assert_true(tt_disk_fit_mapped(&r, &fit));
    assert_true(fit.latency_ns == 0 && fit.bytes_per_s > rate / 2 && fit.bytes_per_s < rate);
    /* The latency is at most half of the time. */
    r.cells[0].bytes_per_s = 1;
    assert_true(tt_disk_fit_mapped(&r, &fit));
    assert_true(fit.bytes_per_s > rate / 2 && fit.bytes_per_s < 2 * rate);
    r.mapped_unknown = "not measured";
    assert_false(tt_disk_fit_mapped(&r, &fit));
}

static void a_small_file_is_measured_with_the_requests_that_fit(void **state)
{
    (void)state;
    static tt_disk_rates r;
    tt_error err;
    char path[PATH_MAX];
    make_root();
    full_path(path, "file");
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    static const char data[16384] = {1};
    assert_int_equal(write(fd, data, sizeof data), sizeof data);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(tt_disk_measure(path, &r, &err), TT_OK);
    assert_int_equal(r.file_bytes, sizeof data);
    assert_int_equal(r.n, TT_DISK_CELLS);
    uint64_t read = 0;
    for (uint32_t i = 0; i < r.n; i++) {
        const tt_disk_cell *c = &r.cells[i];
        read += c->requests * c->request_bytes;
        if (c->request_bytes > sizeof data) assert_int_equal(c->requests, 0);
        if (c->requests) assert_true(c->latency_ns > 0 && c->latency_p99_ns >= c->latency_ns);
        if (c->requests) assert_true(c->bytes_per_s > 0);
    }
    assert_true(r.cells[0].requests > 0);
    assert_int_equal(read, r.read_bytes);
    assert_non_null(strstr(r.mapped_unknown, "smaller than"));
    assert_int_equal(tt_disk_measure(root, &r, &err), TT_E_USAGE);
    assert_int_equal(truncate(path, 4095), 0);
    assert_int_equal(tt_disk_measure(path, &r, &err), TT_E_USAGE);
    assert_non_null(strstr(err.message, "too small"));
    remove_root();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processor_has_a_name_or_numbers),
        cmocka_unit_test(version_2_limits_are_the_least_of_all_ancestors),
        cmocka_unit_test(room_is_the_least_of_machine_and_groups),
        cmocka_unit_test(version_1_limits_are_found_below_the_mounted_part),
        cmocka_unit_test(what_a_quota_withheld_is_found_in_both_versions),
        cmocka_unit_test(growth_is_that_of_the_process_or_a_limited_group),
        cmocka_unit_test(a_group_that_is_not_shown_has_no_known_limits),
        cmocka_unit_test(what_is_told_comes_back_and_the_rest_is_unknown),
        cmocka_unit_test(a_partition_has_its_disks_model_and_readahead),
        cmocka_unit_test(a_logical_volume_leads_to_its_disk_or_to_several),
        cmocka_unit_test(a_file_system_without_a_disk_says_so),
        cmocka_unit_test(extents_that_go_on_are_one_fragment),
        cmocka_unit_test(of_very_many_fragments_the_first_are_listed),
        cmocka_unit_test(a_mapped_file_is_measured_and_left_as_it_was),
        cmocka_unit_test(three_numbers_say_what_the_rates_do),
        cmocka_unit_test(a_small_file_is_measured_with_the_requests_that_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
