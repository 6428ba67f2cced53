/* Bytes as what people type: sizes, rates, whole numbers, ranges, times, names of files, and the
 * numbers of the environment. */
#include "adapter/ggml/capture.h"
#include "base/units.h"
#include "record/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(tt_status status, const tt_error *err)
{
    if (status != TT_OK && (err->status != status || !err->message[0])) abort();
}

static void try_units(const char *text)
{
    tt_error err = {TT_OK, 0, ""};
    uint64_t bytes = 0;
    int64_t n = 0;
    double rate = 0, ns = 0;
    char shown[TT_UNITS_TEXT];
    tt_status status = tt_units_parse_size(text, &bytes, &err);
    check(status, &err);
    if (strlen(tt_units_bytes(shown, bytes)) >= sizeof shown) abort();
    if (strlen(tt_units_count(shown, bytes)) >= sizeof shown + 8) abort();
    status = tt_units_parse_rate(text, &rate, &err);
    check(status, &err);
    if (status == TT_OK && (!isfinite(rate) || rate <= 0)) abort();
    if (strlen(tt_units_rate(shown, rate)) >= sizeof shown) abort();
    status = tt_units_parse_int(text, "--n", -5, 1000, &n, &err);
    check(status, &err);
    if (status == TT_OK && (n < -5 || n > 1000)) abort();
    if (tt_units_parse_time(text, &ns) && (!isfinite(ns) || ns < 0)) abort();
    if (strlen(tt_units_ns(shown, ns)) >= sizeof shown) abort();
}

static void try_names(const char *text)
{
    char out[TEXT_MAX + 16];
    tt_error err = {TT_OK, 0, ""};
    tt_place_dir(out, sizeof out, text);
    if (strlen(out) >= sizeof out) abort();
    check(tt_place_part(out, sizeof out, text, &err), &err);
    check(tt_place_numbered(out, sizeof out, text, 17, &err), &err);
    check(tt_place_numbered(out, 12, text, 17, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1];
    uint32_t first, last;
    if (size > TEXT_MAX || (size && memchr(data, 0, size))) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    try_units(text);
    try_names(text);
    if (tt_units_parse_range(text, &first, &last) && last < first) abort();
    if (setenv("TENSORTRACE_FUZZ", text, 1) != 0) abort();
    (void)tt_capture_number("TENSORTRACE_FUZZ");
    return 0;
}
