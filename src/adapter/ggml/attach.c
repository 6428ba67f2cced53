/* tensortrace/attach.h: recording in a process that runs already. */
#include "adapter/ggml/attach_options.h"
#include "adapter/ggml/call_slots.h"
#include "adapter/ggml/contexts.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/lifecycle.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"

#include <tensortrace/attach.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 2000 /* for what is being computed at the end */

/* Guards all below; not taken by hooks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_attached;
static char path[PATH_MAX];
static char unseen[2048];
static char values[512]; /* as asked for; the recorder's descriptions refer to it */

static void in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
    tt_call_slots_in_child();
}

/* --- what was before --- */

static bool is_gguf(const char *file)
{
    char magic[4];
    struct stat st;
    /* Not a device, whose driver would notice. */
    if (stat(file, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return false;
    const bool is = pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
                    memcmp(magic, "GGUF", sizeof magic) == 0;
    (void)close(fd);
    return is;
}

/* The path of a mapped file that is not code, in a line of /proc/self/maps; NULL: none. */
static char *mapped_file(char *line)
{
    char rights[8];
    int name = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%*s %7s %*s %*s %*s %n", rights, &name) < 1 || !name) return NULL;
    return line[name] == '/' && rights[0] == 'r' && rights[2] != 'x' ? line + name : NULL;
}

/* Records the model files that are mapped: nobody sees how they were opened. */
static void find_models(tt_recorder *r, const char *(*type_name)(int))
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL, last[PATH_MAX] = "";
    size_t size = 0;
    while (maps && getline(&line, &size, maps) > 0) {
        const char *file = mapped_file(line);
        if (!file || strlen(file) >= sizeof last || strcmp(file, last) == 0) continue;
        memcpy(last, file, strlen(file) + 1);
        if (is_gguf(file)) (void)tt_models_read(r, file, type_name, NULL);
    }
    free(line);
    if (maps) (void)fclose(maps);
}

static tt_status read_models(tt_recorder *r, const tt_attach_options *o, tt_error *err)
{
    const char *(*type_name)(int);
    *(void **)&type_name = tt_resolve(NULL, "ggml_type_name");
    /* Without an engine nothing is loaded: it will open its models itself. */
    if (!type_name) return TT_OK;
    find_models(r, type_name);
    for (size_t i = 0; i < o->n_models; i++) {
        const tt_status status = tt_models_read(r, o->models[i], type_name, err);
        if (status != TT_OK) return status;
    }
    if (!tt_capture_options.residency_every) return TT_OK;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_residency_begin(r);
    (void)pthread_mutex_unlock(&tt_process_lock);
    return TT_OK;
}

/* --- what is not seen --- */

static void add_unseen(const char *name)
{
    const size_t used = strlen(unseen), n = strlen(name);
    if (used + n + 2 > sizeof unseen) return;
    (void)snprintf(unseen + used, sizeof unseen - used, "%s%s", used ? " " : "", name);
}

/* Whether batches were computed, and in no call that was seen. */
static bool has_no_calls(tt_recorder *r)
{
    const tt_area_counts *c = r ? &tt_recorder_area(r)->area->counts : NULL;
    return c && atomic_load(&c->batches) > 0 && atomic_load(&c->decode_calls) == 0 &&
           atomic_load(&c->decode_unseen) == 0;
}

/* Why tokens have neither texts nor sequences; "" if some have. */
static const char *why_no_tokens(tt_recorder *r)
{
    const tt_area_counts *c = r ? &tt_recorder_area(r)->area->counts : NULL;
    if (!tt_resolve(NULL, "llama_decode")) return "";
    if (has_no_calls(r))
        return ", nor are texts and sequences of tokens (no call of llama_decode or llama_process "
               "was seen; calls by addresses from dlsym are not)";
    return c && atomic_load(&c->decode_calls) == 0 && atomic_load(&c->decode_unseen) > 0
               ? ", nor are texts and sequences of tokens (the program's batch objects were made "
                 "before)"
               : "";
}

/* What was computed shows it, too: some library may call the functions, but did not. */
static void find_unseen(tt_recorder *r)
{
    static const char *const calls[] = {"llama_decode", "llama_encode", "llama_process"};
    const size_t n_calls = sizeof calls / sizeof *calls;
    const bool none = has_no_calls(r);
    bool is_listed[sizeof calls / sizeof *calls] = {false};
    size_t n = 0;
    unseen[0] = '\0';
    for (const char *name; (name = tt_call_slots_unseen(&n));)
        for (size_t i = 0; i < n_calls; i++)
            is_listed[i] |= strcmp(name, calls[i]) == 0;
    for (size_t i = 0; i < n_calls; i++)
        if (is_listed[i] || (none && tt_resolve(NULL, calls[i]))) add_unseen(calls[i]);
    n = 0;
    for (const char *name; (name = tt_call_slots_unseen(&n));)
        if (strcmp(name, calls[0]) != 0 && strcmp(name, calls[1]) != 0 &&
            strcmp(name, calls[2]) != 0)
            add_unseen(name);
}

static void describe(tt_recorder *r)
{
    char text[sizeof unseen + 128];
    tt_error problem;
    find_unseen(r);
    (void)snprintf(text, sizeof text, "not observed: calls, if any, by addresses from dlsym, of %s",
                   unseen);
    tt_process_environment(r, "capture_calls", unseen[0] ? text : "on");
    (void)snprintf(text, sizeof text, "while the program ran: what came before is not in it%s",
                   why_no_tokens(r));
    tt_process_environment(r, "attached", text);
    if (tt_call_slots_problem(&problem) != TT_OK)
        tt_process_environment(r, "unrecorded", problem.message);
}

/* --- begin and end --- */

static tt_status begin(const tt_attach_options *o, tt_error *err)
{
    tt_status status = tt_lifecycle_begin(&o->setup, err);
    if (status != TT_OK) return status;
    /* Not before it is known that nobody else records: those options would be in use. */
    tt_capture_options = o->capture;
    status = tt_process_open(err);
    tt_recorder *r = tt_process_recorder_if_open();
    if (status == TT_OK) status = read_models(r, o, err);
    if (status == TT_OK) status = tt_call_slots_take(err);
    if (status != TT_OK) {
        (void)tt_process_end(NULL);
        return status;
    }
    describe(r);
    (void)snprintf(path, sizeof path, "%s", tt_recorder_path(r));
    return TT_OK;
}

TT_API tt_status tt_attach(const char *to, const char *const *options, tt_error *err)
{
    static tt_attach_options o;
    if (!to || !to[0])
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no path of a trace to record");
    (void)pthread_mutex_lock(&lock);
    tt_status status = is_attached ? tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                                  "this process is being recorded already")
                                   : tt_attach_options_read(options, &o, err);
    if (status == TT_OK) {
        o.setup.recorder.path = to;
        o.setup.exact = o.setup.late = true;
        o.setup.in_child = in_child;
        if (o.capture.values_asked)
            (void)snprintf(values, sizeof values, "%s", o.capture.values_asked);
        o.capture.values_asked = o.capture.values_asked ? values : NULL;
        status = begin(&o, err);
        is_attached = status == TT_OK;
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

static bool anybody_computes(void)
{
    (void)pthread_mutex_lock(&tt_process_lock);
    const bool computes = tt_contexts_compute() || atomic_load(&tt_runs_hooked) > 0;
    (void)pthread_mutex_unlock(&tt_process_lock);
    return computes;
}

/* Until the graphs that are being computed have ended, so that they are whole in the trace: what is
 * recorded at the end of one takes less than a pause. */
static void wait_for_graphs(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    bool is_quiet = false, was_quiet = false;
    for (int i = 0; i < WAIT_MS && !(is_quiet && was_quiet); i++) {
        was_quiet = is_quiet;
        is_quiet = !anybody_computes();
        if (!was_quiet) (void)nanosleep(&pause, NULL);
    }
}

TT_API tt_status tt_detach(tt_error *err)
{
    (void)pthread_mutex_lock(&lock);
    tt_status status = TT_OK;
    if (is_attached) {
        is_attached = false;
        tt_call_slots_give_starts();
        wait_for_graphs();
        tt_recorder *r = tt_process_recorder_if_open();
        if (r) describe(r);
        tt_call_slots_give();
        status = tt_process_end(err);
        if (r) (void)snprintf(path, sizeof path, "%s", tt_recorder_path(r));
        (void)pthread_mutex_lock(&tt_process_lock);
        tt_contexts_forget();
        (void)pthread_mutex_unlock(&tt_process_lock);
    } else {
        status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "this process is not being recorded");
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

TT_API const char *tt_attach_path(void)
{
    return path;
}

TT_API const char *tt_attach_unseen(void)
{
    (void)pthread_mutex_lock(&lock);
    if (is_attached) find_unseen(tt_process_recorder_if_open());
    (void)pthread_mutex_unlock(&lock);
    return unseen;
}
