#include "adapter/ggml/lifecycle.h"

#include "adapter/ggml/batch_ext.h"
#include "adapter/ggml/buffers.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/loading.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/storage.h"
#include "adapter/ggml/tokens.h"
#include "adapter/ggml/usage.h"
#include "base/path.h"
#include "base/run_delay.h"
#include "base/words.h"
#include "host/system.h"
#include "record/recorder.h"
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_MAX_BYTES 65536u

static size_t read_small_file(const char *path, char *out, size_t size)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    while (used < size - 1) {
        ssize_t n = read(fd, out + used, size - 1 - used);
        if (n <= 0) break;
        used += (size_t)n;
    }
    (void)close(fd);
    out[used] = '\0';
    return used;
}

/* The words of n bytes, each ended by NUL; the list ends with NULL and is to be freed. */
static char **list_words(char *text, size_t n)
{
    size_t count = 0;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        count++;
    char **words = calloc(count + 1, sizeof *words);
    for (size_t at = 0, i = 0; words && i < count; at += strlen(text + at) + 1)
        words[i++] = text + at;
    return words;
}

/* llama-bench runs each test once before it measures, which its calls do not tell. */
static bool warms_contexts(char *const *words)
{
    bool is = false, by_loader = strncmp(tt_base_name(words[0]), "ld-linux", 8) == 0;
    for (size_t i = 0; words[i]; i++) {
        if (i == 0 || by_loader) is |= strcmp(tt_base_name(words[i]), "llama-bench") == 0;
        if (strcmp(words[i], "--no-warmup") == 0) return false;
    }
    return is;
}

static void describe_command(tt_recorder *r)
{
    char *text = malloc(COMMAND_MAX_BYTES);
    if (!text) return;
    size_t n = read_small_file("/proc/self/cmdline", text, COMMAND_MAX_BYTES);
    char **words = n > 0 ? list_words(text, n) : NULL;
    tt_tokens_set_benchmark(words && words[0] && warms_contexts(words));
    /* Without text, only the program's name: its arguments may hold a prompt. */
    if (words && words[0] && !tt_capture_options.text) words[1] = NULL;
    char *quoted = words ? tt_words_quote(words) : NULL;
    if (quoted) tt_process_environment(r, "command", quoted);
    free(quoted);
    free(words);
    free(text);
}

static void describe_cpu(tt_recorder *r)
{
    char name[256];
    if (tt_host_processor("", name, sizeof name)) tt_process_environment(r, "cpu", name);
}

static const char *on_or_off(bool on)
{
    return on ? "on" : "off";
}

/* Records each reason why the trace is incomplete. */
static void describe_choice(tt_recorder *r)
{
    const tt_capture *c = &tt_capture_options;
    const tt_recorder_options *o = tt_process_options();
    char text[96];
    if (c->batch_first > 0 || c->batch_last != UINT64_MAX) {
        int n = snprintf(text, sizeof text, "%" PRIu64 "..", c->batch_first);
        if (c->batch_last != UINT64_MAX && n > 0)
            (void)snprintf(text + n, sizeof text - (size_t)n, "%" PRIu64, c->batch_last);
        tt_process_environment(r, "capture_tokens", text);
    }
    if (c->token_every > 1) {
        (void)snprintf(text, sizeof text, "%" PRIu64, c->token_every);
        tt_process_environment(r, "capture_every", text);
    }
    if (o->keep_bytes) {
        (void)snprintf(text, sizeof text, "%" PRIu64, o->keep_bytes);
        tt_process_environment(r, "capture_ring_bytes", text);
    }
    if (o->limit_bytes) {
        (void)snprintf(text, sizeof text, "%" PRIu64, o->limit_bytes);
        tt_process_environment(r, "capture_limit_bytes", text);
    }
}

/* Records the selection of values in the user's words. */
static void describe_values(tt_recorder *r)
{
    const tt_capture *c = &tt_capture_options;
    const char *asked = c->values_asked;
    char text[256];
    if (c->values_problem[0]) {
        (void)snprintf(text, sizeof text, "not observed: %s", c->values_problem);
        asked = text;
    }
    bool off = !c->values_problem[0] && c->values.level == TT_VALUES_OFF;
    tt_process_environment(r, "capture_values", off || !asked ? "off" : asked);
}

/* How faults are observed in this process, and why it differs from the request. */
static void choose_faults(tt_recorder *r)
{
    tt_capture *c = &tt_capture_options;
    tt_error why;
    char text[sizeof why.message + 32];
    const bool events = tt_recorder_page_faults(r, &why);
    c->faults = c->faults_way == TT_FAULTS_COUNTS || c->faults_way == TT_FAULTS_BOTH ||
                (c->faults_way == TT_FAULTS_AUTO && !events);
    tt_process_environment(r, "capture_faults", on_or_off(c->faults || events));
    if (!c->faults_way) return;
    (void)snprintf(text, sizeof text, "%ld", sysconf(_SC_PAGESIZE));
    tt_process_environment(r, "page_bytes", text);
    (void)snprintf(text, sizeof text, "not observed: %s", why.message);
    tt_process_environment(r, "capture_page_faults",
                           events                ? "on"
                           : why.status == TT_OK ? "off"
                                                 : text);
}

/* Whether the kernel counts how long threads wait for a processor. */
static void describe_delay(tt_recorder *r, enum tt_mode mode)
{
    char text[96] = "on";
    const int fd = tt_run_delay_open();
    if (fd < 0 && errno == ENODATA)
        (void)snprintf(text, sizeof text, "not observed: the kernel does not count it");
    else if (fd < 0)
        (void)snprintf(text, sizeof text, "not observed: /proc/thread-self/schedstat: %s",
                       strerror(errno));
    tt_run_delay_close(fd);
    tt_process_environment(r, "capture_delay", mode == TT_MODE_API ? "off" : text);
}

static void describe_capture(tt_recorder *r)
{
    static const char *const modes[] = {[TT_MODE_AUTO] = "auto",
                                        [TT_MODE_HOOK] = "hook",
                                        [TT_MODE_CALLBACK] = "callback",
                                        [TT_MODE_API] = "api"};
    const tt_capture *c = &tt_capture_options;
    const tt_recorder_options *o = tt_process_options();
    const enum tt_mode mode = tt_process_mode();
    char text[256];
    choose_faults(r);
    uint64_t ring_bytes = o->ring_bytes ? o->ring_bytes : TT_AREA_RING_BYTES_DEFAULT;
    (void)snprintf(text, sizeof text,
                   "mode=%s thread_memory_bytes=%" PRIu64 " limit_bytes=%" PRIu64
                   " text=%d faults=%u residency_every=%" PRIu32,
                   modes[mode], ring_bytes, o->limit_bytes, c->text, c->faults_way,
                   c->residency_every);
    tt_process_environment(r, "capture", text);
    describe_choice(r);
    tt_process_environment(r, "capture_text", on_or_off(c->text));
    tt_process_environment(r, "capture_fates", on_or_off(mode != TT_MODE_API));
    tt_process_environment(r, "capture_sequences", on_or_off(mode != TT_MODE_API));
    tt_process_environment(r, "capture_experts", on_or_off(mode != TT_MODE_API));
    tt_process_environment(r, "capture_off_cpu", on_or_off(mode != TT_MODE_API && !c->faults));
    tt_process_environment(r, "capture_waits_inside", on_or_off(mode != TT_MODE_API));
    describe_delay(r, mode);
    tt_process_environment(r, "capture_residency", on_or_off(c->residency_every));
    describe_values(r);
}

/* Records what is captured, command, working directory, host, processor, clock and the area's
 * location. What cannot be read is left out. */
static void describe_run(tt_recorder *r)
{
    char text[PATH_MAX];
    struct utsname host;
    describe_capture(r);
    describe_command(r);
    if (getcwd(text, sizeof text)) tt_process_environment(r, "cwd", text);
    if (uname(&host) == 0) {
        tt_process_environment(r, "host", host.nodename);
        (void)snprintf(text, sizeof text, "%s %s %s", host.sysname, host.release, host.machine);
        tt_process_environment(r, "kernel", text);
    }
    describe_cpu(r);
    tt_process_environment(r, "tensortrace_version", TT_VERSION);
    (void)snprintf(text, sizeof text, "%ld", (long)getpid());
    tt_process_environment(r, "pid", text);
    (void)snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    tt_process_environment(r, "processors", text);
#if defined(__x86_64__)
    tt_process_environment(r, "ticks", "tsc");
#elif defined(__aarch64__)
    tt_process_environment(r, "ticks", "cntvct");
#else
    tt_process_environment(r, "ticks", "monotonic");
#endif
    (void)snprintf(text, sizeof text, "%llu",
                   (unsigned long long)tt_recorder_area(r)->area->tick_hz);
    tt_process_environment(r, "tick_hz", text);
    tt_process_environment(r, "area", tt_recorder_area(r)->path);
}

#define LOCK_WAIT_S 2

/* Samples physical memory when recording begins or ends; r is open or about to be. */
static void observe_memory(tt_recorder *r, enum tt_moment moment)
{
    struct timespec until;
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_sec += LOCK_WAIT_S;
    /* At exit, a thread that no longer exists may hold it. */
    if (pthread_mutex_timedlock(&tt_process_lock, &until) != 0) return;
    if (moment == TT_AT_BEGIN) tt_storage_models(r);
    if (tt_capture_options.faults_way) tt_usage_record(r, 0, moment);
    if (moment == TT_AT_BEGIN) tt_usage_find_quotas();
    if (tt_usage_has_quotas()) tt_usage_record_throttled(r, 0, moment);
    /* A forked child begins with the models of its parent. */
    if (moment == TT_AT_BEGIN && tt_capture_options.residency_every) tt_residency_begin(r);
    if (moment == TT_AT_END && tt_capture_options.residency_every)
        tt_residency_record(r, 0, moment);
    if (moment == TT_AT_END) tt_loading_end(r);
    if (moment == TT_AT_END) tt_models_check(r);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

static void observe_begin(tt_recorder *r)
{
    observe_memory(r, TT_AT_BEGIN);
}

static void observe_end(tt_recorder *r)
{
    observe_memory(r, TT_AT_END);
}

/* The kernel's counters are read last at the start, to exclude the work of other parts. */
static const tt_process_part parts[] = {
    {.in_child = tt_engine_in_child},
    {.in_child = tt_resolve_in_child},
    {.in_child = tt_tokens_in_child, .reset = tt_tokens_reset},
    {.before_fork = tt_batch_ext_before_fork,
     .in_parent = tt_batch_ext_in_parent,
     .in_child = tt_batch_ext_in_child},
    {.prepare = tt_lanes_prepare,
     .stop = tt_lanes_stop,
     .reset = tt_lanes_reset,
     .in_child = tt_lanes_in_child},
    {.forget = tt_names_forget},
    {.forget = tt_models_forget},
    {.forget = tt_buffers_forget},
    {.reset = tt_graphs_reset},
    {.reset = tt_usage_reset},
    {.reset = tt_residency_reset},
    {.reset = tt_loading_reset},
    {.begun = tt_storage_begin, .ending = tt_storage_end, .reset = tt_storage_reset},
    {.begun = describe_run},
    {.begun = observe_begin, .ending = observe_end},
};

tt_status tt_lifecycle_begin(const tt_process_setup *setup, tt_error *err)
{
    return tt_process_begin(setup, parts, sizeof parts / sizeof *parts, err);
}

/* Runs when the program exits while threads still compute: finishing takes milliseconds, in
 * which the threads must not lose what they use. Exit handlers run in reverse order: this one,
 * registered after the engine was loaded, runs before the engine's destructors; tt_process_end
 * runs after them. */
static void finish_if_computing(void)
{
    if (atomic_load(&tt_runs_hooked) > 0) (void)tt_process_end(NULL);
}

void tt_lifecycle_at_first_run(void)
{
    static bool registered;
    if (registered) return;
    registered = true;
    (void)atexit(finish_if_computing);
}
