/* Start and end of recording (tensortrace/record.h), by the program or by the environment. */
#include "adapter/program/recording.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/lifecycle.h"
#include "adapter/program/batch.h"
#include "adapter/program/bitnet.h"
#include "adapter/program/describe.h"
#include "adapter/program/outputs.h"
#include "adapter/program/thread.h"
#include "record/session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ENV_FILE "TENSORTRACE"
#define ENV_BITNET "BITNET_TRACE_DIR"
#define ENV_BITNET_LINES "TENSORTRACE_BITNET_LINES"
#define ENV_VERBOSE "TENSORTRACE_VERBOSE"
#define LOCK_WAIT_S 2

enum { RECORDS_TRACE = 1, RECORDS_BITNET = 2, RECORDS_SINKS = 4 };

int tt_recording;

static bool by_environment; /* until the program stops it */
static bool in_session;     /* of `tensortrace run` */
static tt_error refused;    /* why recording could not begin as the environment requests */
static char path[PATH_MAX];
/* Guards start and stop. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool tt_program_records_engines(void)
{
    return __atomic_load_n(&tt_recording, __ATOMIC_RELAXED) & RECORDS_TRACE && !in_session;
}

static void set(int what, bool on)
{
    if (on)
        (void)__atomic_fetch_or(&tt_recording, what, __ATOMIC_SEQ_CST);
    else
        (void)__atomic_fetch_and(&tt_recording, ~what, __ATOMIC_SEQ_CST);
}

void tt_program_record_sinks(bool on)
{
    set(RECORDS_SINKS, on);
}

static void in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
    tt_program_batches_reset();
    tt_program_threads_reset();
    tt_program_outputs_reset();
    tt_program_bitnet_reset();
    set(RECORDS_BITNET, false);
}

static tt_status choose_values(const char *text, tt_error *err)
{
    tt_select none = {.level = TT_VALUES_OFF};
    tt_capture_options.values = none;
    tt_program_outputs_begin(text != NULL);
    return text ? tt_select_parse(text, &tt_capture_options.values, err) : TT_OK;
}

static tt_status begin(const tt_process_setup *setup, const char *values, const char *name,
                       tt_error *err)
{
    const char *env = getenv(TT_ENV_VALUES);
    tt_capture_read();
    if (env && env[0]) values = env;
    tt_error why;
    tt_status status = choose_values(values, &why);
    if (status != TT_OK)
        return tt_error_set(err, status, TT_NO_OFFSET, "%s%s",
                            values == env ? TT_ENV_VALUES ": " : "values: ", why.message);
    tt_program_set_name(name, values);
    tt_engine_empty_ops[0] = 1; /* no op */
    tt_program_batches_reset();
    tt_program_threads_reset();
    tt_process_setup own = *setup;
    own.in_child = in_child;
    return tt_lifecycle_begin(&own, err);
}

tt_status(tt_record_start)(const tt_record_options *options, tt_error *err)
{
    tt_error unused;
    if (!err) err = &unused;
    if (!options || !options->path || !options->path[0])
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no path of a trace to record");
    tt_process_setup setup = {.recorder = {.path = options->path,
                                           .replace = options->replace != 0,
                                           .ring_bytes = options->thread_bytes,
                                           .limit_bytes = options->limit_bytes,
                                           .keep_bytes = options->keep_bytes},
                              .mode = TT_MODE_API,
                              .exact = true};
    (void)pthread_mutex_lock(&lock);
    tt_status status = TT_OK;
    if (!by_environment) {
        if (__atomic_load_n(&tt_recording, __ATOMIC_SEQ_CST) & RECORDS_TRACE)
            status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "recording is on already");
        else
            status = begin(&setup, options->values, options->engine, err);
        if (status == TT_OK) status = tt_process_open(err);
        if (status == TT_OK) set(RECORDS_TRACE, true);
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

/* Takes the tables' lock, which at exit may be held by a thread that no longer exists. */
static void end_batches(tt_recorder *r)
{
    struct timespec until;
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_sec += LOCK_WAIT_S;
    if (pthread_mutex_timedlock(&tt_process_lock, &until) != 0) return;
    tt_program_batches_end(r);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

tt_status(tt_record_stop)(tt_error *err)
{
    tt_error unused;
    if (!err) err = &unused;
    (void)pthread_mutex_lock(&lock);
    tt_recorder *r = tt_process_recorder_if_open();
    set(RECORDS_TRACE, false);
    by_environment = false;
    if (r && tt_process_recorder() != r) r = NULL; /* the recorder is another process's */
    if (r) end_batches(r);
    tt_status status = tt_process_end(err);
    if (r) (void)snprintf(path, sizeof path, "%s", tt_recorder_path(r));
    (void)pthread_mutex_unlock(&lock);
    return status;
}

const char *(tt_record_path)(void)
{
    tt_recorder *r = tt_process_recorder_if_open();
    return r ? tt_recorder_path(r) : path;
}

__attribute__((constructor)) static void load(void)
{
    const char *own = getenv(ENV_FILE), *runs = getenv(TT_ENV_OUT), *bitnet = getenv(ENV_BITNET);
    const char *lines = getenv(ENV_BITNET_LINES);
    bool is_own = own && own[0];
    tt_process_setup setup = {.mode = TT_MODE_API, .in_session = !is_own};
    if (bitnet && bitnet[0]) {
        tt_program_bitnet_begin(bitnet, lines && strcmp(lines, "1") == 0);
        set(RECORDS_BITNET, true);
    }
    setup.recorder.path = is_own ? own : runs;
    if (!setup.recorder.path || !setup.recorder.path[0]) return;
    setup.recorder.ring_bytes = tt_capture_bytes(TT_ENV_THREAD);
    setup.recorder.limit_bytes = tt_capture_bytes(TT_ENV_LIMIT);
    setup.recorder.keep_bytes = tt_capture_bytes(TT_ENV_RING);
    setup.recorder.flush_ns = tt_capture_bytes(TT_ENV_FLUSH) * 1000000;
    if (begin(&setup, NULL, NULL, &refused) != TT_OK) return;
    in_session = !is_own;
    by_environment = true;
    set(RECORDS_TRACE, true);
}

static void write_end(bool was_on, tt_status status, const char *why_not)
{
    if (why_not[0])
        (void)fprintf(stderr, "tensortrace: %s\n", why_not);
    else if (was_on && status == TT_OK && access(path, F_OK) == 0)
        (void)fprintf(stderr, "tensortrace: wrote %s\n", path);
    else if (was_on)
        (void)fprintf(stderr, "tensortrace: nothing was recorded\n");
    if (tt_program_bitnet_problem()[0])
        (void)fprintf(stderr, "tensortrace: %s\n", tt_program_bitnet_problem());
}

/* Prints nothing unless ENV_VERBOSE asks for it. */
__attribute__((destructor)) static void unload(void)
{
    tt_error err = {.message = ""};
    const char *verbose = getenv(ENV_VERBOSE);
    bool was_on = __atomic_load_n(&tt_recording, __ATOMIC_SEQ_CST) & RECORDS_TRACE;
    if (was_on && !tt_process_recorder_if_open()) (void)tt_process_why_not(&err);
    tt_status status = (tt_record_stop)(err.message[0] ? NULL : &err);
    if (verbose && strcmp(verbose, "1") == 0)
        write_end(was_on, status, err.message[0] ? err.message : refused.message);
}
