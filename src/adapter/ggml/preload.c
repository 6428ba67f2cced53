/* Start and end of the preloaded library. */
#include "adapter/ggml/boost.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/lifecycle.h"
#include "record/session.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void begin(void)
{
    const char *out = getenv(TT_ENV_OUT), *how = getenv(TT_ENV_MODE);
    tt_process_setup setup = {.in_session = true};
    tt_error err = {.message = ""};
    tt_boost_begin();
    if (!out || !out[0]) return;
    setup.recorder.path = out;
    setup.recorder.ring_bytes = tt_capture_bytes(TT_ENV_THREAD);
    setup.recorder.limit_bytes = tt_capture_bytes(TT_ENV_LIMIT);
    setup.recorder.keep_bytes = tt_capture_bytes(TT_ENV_RING);
    setup.recorder.flush_ns = tt_capture_bytes(TT_ENV_FLUSH) * 1000000;
    if (how && strcmp(how, "hook") == 0) setup.mode = TT_MODE_HOOK;
    if (how && strcmp(how, "callback") == 0) setup.mode = TT_MODE_CALLBACK;
    tt_capture_read();
    setup.recorder.page_faults = tt_capture_options.faults_way != TT_FAULTS_OFF &&
                                 tt_capture_options.faults_way != TT_FAULTS_COUNTS;
    (void)tt_lifecycle_begin(&setup, &err);
}

__attribute__((destructor)) static void end(void)
{
    (void)tt_process_end(NULL);
}
