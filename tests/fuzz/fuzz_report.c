/* Bytes as a trace with right checksums: the report of it, as a page in each form; or it compared
 * with a second reading of itself. A byte of the file header chooses (of the time of creation:
 * nothing looks at it). */
#include "../golden/rechecksum.h"
#include "analyze/diff/diff.h"
#include "limits.h"
#include "report/analysis.h"
#include "report/json.h"
#include "report/render.h"
#include "report/sections.h"

#include <stdlib.h>

#define CHOICE_AT 32u
#define SIZE_MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void no_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    (void)done;
    (void)total;
}

static void render(const tt_page *page, tt_analysis *a)
{
    FILE *out = fopen("/dev/null", "w");
    if (!out) abort();
    tt_page_html(page, out);
    tt_page_markdown(page, NULL, out);
    (void)tt_report_json(page, a, out);
    (void)fclose(out);
}

static void report(const tt_model *m)
{
    tt_analysis a;
    tt_page page;
    tt_error err;
    const tt_analysis_options options = {.progress = no_progress};
    tt_status status = tt_analysis_make(m, "a.ttrace", &options, &a, &err);
    tt_page_open(&page);
    if (status == TT_OK) {
        tt_report_page(&page, &a);
        if (!page.failed) render(&page, &a);
    }
    tt_page_close(&page);
    tt_analysis_free(&a);
}

static void compare(const tt_model *m, const uint8_t *bytes, size_t size)
{
    tt_model *again;
    tt_diff *d;
    tt_error err;
    const tt_diff_options options = {.threshold = 0.03, .level = 0.01};
    if (tt_model_open_memory(bytes, size, &again, &err) != TT_OK) abort();
    const tt_model *files[] = {m, again};
    if (tt_diff_make(files, 2, 1, &options, &d, &err) == TT_OK) {
        /* A run is equal to itself, whatever it says. */
        if (tt_diff_times_differ(d)) abort();
    }
    tt_diff_free(d);
    tt_model_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_model *m;
    tt_error err;
    if (size > SIZE_MAX_BYTES || size <= TT_FILE_HEADER_BYTES) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, data, size);
    rechecksum(copy, size);
    limits_begin();
    if (tt_model_open_memory(copy, size, &m, &err) == TT_OK) {
        if (copy[CHOICE_AT] & 1)
            report(m);
        else
            compare(m, copy, size);
    }
    tt_model_close(m);
    limits_check(allocations_allowed(size) + LIMITS_PAGES_BYTES);
    free(copy);
    return 0;
}
