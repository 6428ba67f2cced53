/* Bytes as a trace with right checksums, as Arrow streams: bytes of the file header choose a table
 * or an analysis, and what is asked of it (of the time of creation: nothing looks at it). */
#include "../golden/rechecksum.h"
#include "../unit/arrow_check.h"
#include "arrow/analyses.h"
#include "limits.h"

#define CHOICE_AT 32u
#define FILTER_AT 33u
#define BATCHES_MAX 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const filters[] = {NULL,         "layer=1",  "op=MUL_MAT", "tensor=*exps*[1]",
                                      "batch=1..3", "by=layer", "pages",      "kv",
                                      "timeline",   "lanes",    "by=expert",  "by=batch"};

static void read_table(tt_held_model *h, const tt_export_table *table, const char *filter)
{
    const char *const list[] = {"threads=1", filter, NULL};
    struct ArrowArrayStream s;
    tt_arrow_options o;
    tt_error err = {.status = TT_OK};
    tt_status status = tt_arrow_options_read(
        &o, table->name, table->of_ops ? "threads batch layer op tensor" : "threads", list, &err);
    if (status == TT_OK) status = tt_arrow_table_stream(h, table, &o, &s, &err);
    tt_arrow_options_free(&o);
    if (status == TT_OK)
        (void)arrow_read_all(&s, BATCHES_MAX);
    else if (!err.message[0])
        abort();
}

static void read_analysis(const tt_model *m, const tt_arrow_analysis_kind *kind, const char *filter)
{
    const bool whatif = strcmp(kind->name, "whatif") == 0;
    const char *const list[] = {whatif ? "ram=1M" : filter, NULL};
    struct ArrowArrayStream s;
    tt_error err = {.status = TT_OK};
    if (tt_arrow_analysis_stream(m, kind, list, &s, &err) == TT_OK)
        (void)arrow_read_all(&s, 0);
    else if (!err.message[0])
        abort();
}

static void look_at(tt_held_model *h, uint8_t choice, uint8_t filter)
{
    size_t n;
    const tt_export_table *const *tables = tt_export_tables(&n);
    const char *said = filters[filter % (sizeof filters / sizeof *filters)];
    uint32_t analyses = 0;
    while (tt_arrow_analysis_at(analyses))
        analyses++;
    const size_t at = choice % (n + analyses);
    if (at < n)
        read_table(h, tables[at], said);
    else
        read_analysis(tt_held_model_get(h), tt_arrow_analysis_at((uint32_t)(at - n)), said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *right = malloc(size + 1);
    tt_model *m = NULL;
    if (!right) return 0;
    if (size) memcpy(right, data, size);
    rechecksum(right, size);
    limits_begin();
    if (tt_model_open_memory(right, size, &m, NULL) == TT_OK) {
        tt_held_model *h = tt_held_model_new(m);
        if (!h) abort();
        look_at(h, right[CHOICE_AT], right[FILTER_AT]);
        tt_held_model_give(h);
    }
    limits_check(allocations_allowed(size) + LIMITS_ANSWER_BYTES + LIMITS_PAGES_BYTES);
    free(right);
    return 0;
}
