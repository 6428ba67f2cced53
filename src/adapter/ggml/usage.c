#include "adapter/ggml/usage.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/faults.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "base/clock.h"
#include "host/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAUSE_MS 4u
#define SECTOR_BYTES 512u /* of the kernel's block statistics, whatever the device's are */

/* The devices of model files. Their statistics, and the process's, are opened each time: a batch is
 * long, and the program may close descriptors and expect them to stay closed. */
static uint64_t devices[TT_USAGE_DEVICES_MAX];
static uint32_t n_devices;
static uint32_t models_seen;
static uint32_t read_batch; /* the last one with a reading around it */
static uint64_t read_at;    /* ticks */
static bool io_reported;    /* that it cannot be read */
static tt_host_quotas quotas;
static uint64_t throttled_at; /* ticks of the last reading of them */

static int open_statistics(uint64_t device)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major((dev_t)device),
                   minor((dev_t)device));
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void find_devices(tt_recorder *r)
{
    const tt_model_seen *models;
    uint32_t n = tt_models_list(&models);
    for (; models_seen < n; models_seen++) {
        uint64_t device = models[models_seen].file.device;
        bool known = false;
        for (uint32_t i = 0; i < n_devices; i++)
            known |= devices[i] == device;
        if (known || n_devices == TT_USAGE_DEVICES_MAX) continue;
        int fd = open_statistics(device);
        if (fd < 0)
            tt_process_environment(r, "capture_devices",
                                   "not observed: the kernel keeps no statistics of the device "
                                   "that a model lies on (a virtual file system)");
        else
            (void)close(fd);
        devices[n_devices++] = device;
    }
}

static void read_faults(tt_meta_usage *u)
{
    struct rusage self;
    if (getrusage(RUSAGE_SELF, &self) != 0) return;
    u->flags |= TT_USAGE_FAULTS;
    u->minor = (uint64_t)self.ru_minflt;
    u->major = (uint64_t)self.ru_majflt;
    u->user_ns =
        (uint64_t)self.ru_utime.tv_sec * 1000000000u + (uint64_t)self.ru_utime.tv_usec * 1000u;
    u->system_ns =
        (uint64_t)self.ru_stime.tv_sec * 1000000000u + (uint64_t)self.ru_stime.tv_usec * 1000u;
}

static void read_io(tt_recorder *r, tt_meta_usage *u)
{
    char text[128];
    int fd = tt_faults_open_io(TT_FAULTS_OF_PROCESS);
    if (fd >= 0) {
        if (tt_faults_read_io(fd, &u->read_bytes, &u->rchar)) u->flags |= TT_USAGE_IO;
        (void)close(fd);
        return;
    }
    if (io_reported) return;
    (void)snprintf(text, sizeof text, "not observed: /proc/self/io: %s", strerror(errno));
    tt_process_environment(r, "capture_io", text);
    io_reported = true;
}

/* The first and third number: requests completed, sectors read. */
static bool read_statistics(int fd, tt_meta_device *d)
{
    char text[512];
    unsigned long long reads, merged, sectors;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) return false;
    text[n] = '\0';
    if (sscanf(text, "%llu %llu %llu", &reads, &merged, &sectors) != 3) return false;
    d->reads = reads;
    d->read_bytes = sectors * SECTOR_BYTES;
    return true;
}

static void read_devices(tt_meta_usage *u)
{
    for (uint32_t i = 0; i < n_devices; i++) {
        tt_meta_device *d = &u->devices[u->n_devices];
        int fd = open_statistics(devices[i]);
        if (fd < 0) continue;
        d->device = devices[i];
        if (read_statistics(fd, d)) u->n_devices++;
        (void)close(fd);
    }
    if (u->n_devices) u->flags |= TT_USAGE_DEVICES;
}

void tt_usage_read_process(tt_recorder *r, tt_meta_usage *u)
{
    read_faults(u);
    read_io(r, u);
}

void tt_usage_record(tt_recorder *r, uint32_t batch, enum tt_moment moment)
{
    tt_meta_usage u = {.batch = batch, .moment = (uint8_t)moment};
    tt_bytes payload;
    find_devices(r);
    u.ticks = tt_ticks();
    tt_usage_read_process(r, &u);
    read_devices(&u);
    tt_bytes_init(&payload, 1024);
    tt_meta_put_usage(&payload, &u);
    (void)tt_process_put(r, TT_META_USAGE, &payload);
}

static bool is_long_ago(tt_recorder *r, uint64_t at)
{
    return tt_ticks() - at >= tt_recorder_area(r)->area->tick_hz / 1000u * PAUSE_MS;
}

void tt_usage_find_quotas(void)
{
    tt_host_quotas_find("", &quotas);
}

bool tt_usage_has_quotas(void)
{
    return quotas.n > 0;
}

void tt_usage_record_throttled(tt_recorder *r, uint32_t batch, enum tt_moment moment)
{
    tt_meta_throttled t = {.batch = batch, .moment = (uint8_t)moment, .ticks = tt_ticks()};
    tt_bytes payload;
    if (!tt_host_throttled(&quotas, &t.throttled_ns, &t.periods)) return;
    tt_bytes_init(&payload, 64);
    tt_meta_put_throttled(&payload, &t);
    (void)tt_process_put(r, TT_META_THROTTLED, &payload);
    throttled_at = t.ticks;
}

void tt_usage_record_batch(tt_recorder *r, uint32_t batch, enum tt_moment moment)
{
    if (quotas.n && is_long_ago(r, throttled_at)) tt_usage_record_throttled(r, batch, moment);
    const bool due = moment == TT_AT_BATCH_END ? batch == read_batch : is_long_ago(r, read_at);
    if (!tt_capture_options.faults_way || (!due && !tt_capture_options.faults)) return;
    tt_usage_record(r, batch, moment);
    read_batch = batch;
    read_at = tt_ticks();
}

void tt_usage_reset(void)
{
    io_reported = false;
    read_batch = 0;
    read_at = throttled_at = 0;
    n_devices = models_seen = 0;
}
