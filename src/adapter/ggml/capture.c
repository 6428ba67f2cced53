#include "adapter/ggml/capture.h"

#include "record/session.h"

#include <stdlib.h>
#include <string.h>

tt_capture tt_capture_options = {.text = true};

static uint32_t number_from(const char *name)
{
    const char *text = getenv(name);
    unsigned long v = text ? strtoul(text, NULL, 10) : 0;
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

void tt_capture_read(void)
{
    const char *text = getenv(TT_ENV_TEXT);
    tt_capture_options.text = !text || strcmp(text, "0") != 0;
    tt_capture_options.faults = number_from(TT_ENV_FAULTS) != 0;
    tt_capture_options.residency_every = number_from(TT_ENV_RESIDENCY);
}
