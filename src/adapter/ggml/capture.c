#include "adapter/ggml/capture.h"

#include "record/session.h"

#include <stdlib.h>
#include <string.h>

tt_capture tt_capture_options = {.text = true};

uint64_t tt_capture_number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

void tt_capture_read(void)
{
    const char *text = getenv(TT_ENV_TEXT);
    tt_capture_options.text = !text || strcmp(text, "0") != 0;
    tt_capture_options.faults = tt_capture_number(TT_ENV_FAULTS) != 0;
    uint64_t every = tt_capture_number(TT_ENV_RESIDENCY);
    tt_capture_options.residency_every = every > UINT32_MAX ? UINT32_MAX : (uint32_t)every;
}
