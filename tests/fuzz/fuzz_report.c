/* Bytes as a trace with right checksums: the report of it, as a page in each form; or it compared
 * with a second reading of itself. A byte of the file header chooses (of the time of creation:
 * nothing looks at it). */
#include "../golden/rechecksum.h"
#include "analyze/diff/diff.h"
#include "analyze/why/columns.h"
#include "limits.h"
#include "report/analysis.h"
#include "report/json.h"
#include "report/render.h"
#include "report/sections.h"

#include <math.h>
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

/* What is asked for may be missing; an answer's parts add up. */
static void check(tt_status status, tt_why *w)
{
    double sum = 0;
    tt_json j;
    FILE *out = fopen("/dev/null", "w");
    if (!out) abort();
    for (size_t i = 0; status == TT_OK && i < w->n_parts; i++)
        sum += w->parts[i].time_ns;
    if (status == TT_OK && w->n_parts && fabs(sum - w->time_ns) > 1e-6 * fabs(sum) + 1) abort();
    tt_json_begin(&j, out, 0);
    if (status == TT_OK) tt_row_json(&j, NULL, &tt_why_schema, w->m, w);
    (void)tt_json_end(&j);
    (void)fclose(out);
    tt_why_free(w);
}

#define ASKED 3u /* of each kind: the rest is alike */

static void ask_why(const tt_model *m)
{
    tt_why w;
    tt_error err;
    for (uint32_t i = 0; i < m->n_batches && i < ASKED; i++)
        check(tt_why_batch(m, m->n_batches - 1 - i, NULL, &w, &err), &w);
    for (int32_t layer = -1; layer < (int32_t)ASKED; layer++)
        check(tt_why_layer(m, &(tt_filter){.has_layer = true, .layer = layer},
                           layer && m->n_batches ? 0 : TT_NONE, NULL, &w, &err),
              &w);
    for (uint32_t i = 0; i < m->n_runs && i < ASKED; i++)
        check(tt_why_op_at(m, i, i, NULL, &w, &err), &w);
    if (m->n_graphs && m->graphs[0].n_nodes)
        check(tt_why_op_named(m, m->graphs[0].tensors[0].name, &(tt_filter){0}, TT_NONE, NULL, &w,
                              &err),
              &w);
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
    ask_why(m);
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
