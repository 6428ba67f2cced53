/* The analysis `whatif`: a cache for the weights, simulated. */
#include "arrow/analyses.h"

#include "analyze/cache/whatif_columns.h"
#include "base/units.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 64u
#define CURVE_SIZES 10u
#define DEPTH_MAX 1024u
#define PAGE_MIN 512u
#define PAGE_MAX (1u << 30)

typedef struct wish {
    tt_whatif_plan plan;
    uint64_t ram[SIZES_MAX];
    size_t n_ram;
    uint64_t reserve_bytes;
    bool policy[TT_POLICIES];
} wish;

/* The next of the words with commas in between, cut to the room; NULL: there is none. */
static const char *next_word(const char *at, char *word, size_t room)
{
    const size_t n = strcspn(at, ","), fits = n < room ? n : room - 1;
    memcpy(word, at, fits);
    word[fits] = '\0';
    return at[n] ? at + n + 1 : NULL;
}

static tt_status read_sizes(wish *w, const char *ram, tt_error *err)
{
    char word[48];
    for (const char *at = ram; at;) {
        at = next_word(at, word, sizeof word);
        if (w->n_ram == SIZES_MAX)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "ram: more than %u sizes",
                                SIZES_MAX);
        tt_status status = tt_units_parse_amount(word, &w->ram[w->n_ram], err);
        if (status != TT_OK) return status;
        if (w->ram[w->n_ram] < w->reserve_bytes)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "reserve takes more than all of the RAM");
        w->ram[w->n_ram++] -= w->reserve_bytes;
    }
    return TT_OK;
}

static tt_status read_policies(wish *w, const char *policies, tt_error *err)
{
    char word[48];
    if (!policies) w->policy[TT_POLICY_LRU] = true;
    for (const char *at = policies; at;) {
        bool known = false;
        at = next_word(at, word, sizeof word);
        for (size_t i = 0; i < TT_POLICIES; i++) {
            if (strcmp(word, "all") != 0 && strcmp(word, tt_policies[i].name) != 0) continue;
            w->policy[i] = known = true;
        }
        if (!known) return tt_arrow_no_value("policy", word, "a policy's name, or all", err);
    }
    return TT_OK;
}

static tt_status read_unit(tt_whatif_plan *plan, const char *unit, tt_error *err)
{
    plan->unit = plan->boost                   ? TT_WHATIF_EXPERT
                 : !unit                       ? TT_WHATIF_PAGE
                 : strcmp(unit, "page") == 0   ? TT_WHATIF_PAGE
                 : strcmp(unit, "tensor") == 0 ? TT_WHATIF_TENSOR
                                               : TT_WHATIF_EXPERT;
    if (unit && plan->unit == TT_WHATIF_EXPERT && strcmp(unit, "expert") != 0)
        return tt_arrow_no_value("unit", unit, "page, tensor or expert", err);
    return TT_OK;
}

static tt_status read_reader(tt_whatif_plan *plan, const char *reader, tt_error *err)
{
    plan->reader = plan->unit == TT_WHATIF_PAGE ? TT_WHATIF_MMAP : TT_WHATIF_DIRECT;
    if (!reader) return TT_OK;
    plan->reader = strcmp(reader, "mmap") == 0 ? TT_WHATIF_MMAP : TT_WHATIF_DIRECT;
    if (plan->reader == TT_WHATIF_DIRECT && strcmp(reader, "direct") != 0)
        return tt_arrow_no_value("reader", reader, "mmap or direct", err);
    return TT_OK;
}

static tt_status read_guess(double *share, const char *text, tt_error *err)
{
    char *end;
    *share = strtod(text, &end);
    if (end > text && strcmp(end, "%") == 0)
        *share /= 100;
    else if (end == text || *end)
        *share = -1;
    if (*share >= 0 && *share <= 1) return TT_OK;
    return tt_arrow_no_value("guess", text, "a share from 0 to 1, or to 100%", err);
}

static tt_status check(const tt_arrow_options *o, const wish *w, tt_error *err)
{
    const tt_whatif_plan *p = &w->plan;
    const char *wrong = NULL;
    if (!o->curve && !o->ram) wrong = "how much RAM? ram=SIZE, or curve";
    if (o->curve && o->ram) wrong = "ram or curve, not both";
    if (!o->disk && (o->reader || o->ahead || o->depth || o->guess))
        wrong = "reader, ahead, depth and guess need disk";
    if (p->page_bytes < PAGE_MIN || p->page_bytes > PAGE_MAX ||
        (p->page_bytes & (p->page_bytes - 1)))
        wrong = "page-size is a power of two from 512 to 1G";
    if (p->depth == 0 || p->depth > DEPTH_MAX) wrong = "depth is 1 to 1024";
    if (p->readahead_bytes && p->unit != TT_WHATIF_PAGE) wrong = "readahead goes with pages only";
    if (p->readahead_bytes && o->policy) wrong = "readahead or policy, not both";
    if (p->readahead_bytes % p->page_bytes || p->readahead_bytes > PAGE_MAX)
        wrong = "readahead is a multiple of the page size, up to 1G";
    if (p->boost &&
        (o->unit || o->page_size || o->readahead || o->reader || o->ahead || o->depth || o->guess))
        wrong = "boost goes with ram, disk, policy, warm and reserve only";
    if (!wrong) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "whatif: %s", wrong);
}

static tt_status read_size(const char *text, uint64_t *bytes, tt_error *err)
{
    return text ? tt_units_parse_size(text, bytes, err) : TT_OK;
}

static tt_status read_wish(const tt_arrow_options *o, wish *w, tt_error *err)
{
    tt_whatif_plan *p = &w->plan;
    *w = (wish){.plan = {.page_bytes = TT_WHATIF_PAGE_BYTES,
                         .ahead_bytes = TT_WHATIF_AHEAD_BYTES,
                         .depth = o->depth ? o->depth : TT_WHATIF_DEPTH,
                         .warm = o->warm,
                         .boost = o->boost}};
    tt_status status = read_unit(p, o->unit, err);
    if (status == TT_OK) status = read_reader(p, o->reader, err);
    if (status == TT_OK) status = read_size(o->page_size, &p->page_bytes, err);
    if (status == TT_OK) status = read_size(o->readahead, &p->readahead_bytes, err);
    if (status == TT_OK) status = read_size(o->ahead, &p->ahead_bytes, err);
    if (status == TT_OK && o->reserve)
        status = tt_units_parse_amount(o->reserve, &w->reserve_bytes, err);
    if (status == TT_OK && o->ram) status = read_sizes(w, o->ram, err);
    if (status == TT_OK && o->disk) status = tt_disk_speed_parse(o->disk, &p->disk, err);
    if (status == TT_OK && o->guess) status = read_guess(&p->guessed, o->guess, err);
    if (status == TT_OK) status = read_policies(w, o->policy, err);
    return status == TT_OK ? check(o, w, err) : status;
}

static tt_status replay(const tt_model *m, const tt_arrow_options *o, wish *w, tt_whatif *sim,
                        tt_whatif_view *v, tt_arrow_listed *l, tt_error *err)
{
    const uint64_t touched = v->touched_bytes = tt_whatif_touched(sim);
    for (uint64_t i = 0; o->curve && i < CURVE_SIZES; i++)
        w->ram[w->n_ram++] = i + 1 < CURVE_SIZES ? touched / CURVE_SIZES * (i + 1) : touched;
    tt_whatif_result *results = calloc(TT_POLICIES * w->n_ram, sizeof *results);
    tt_status status = results ? TT_OK : tt_error_memory(err, "the results");
    v->results = results;
    for (size_t i = 0; i < TT_POLICIES && status == TT_OK; i++) {
        if (!w->policy[i]) continue;
        status = tt_whatif_run(sim, (tt_policy)i, w->ram, w->n_ram, results + v->n_results, err);
        if (status == TT_OK) v->n_results += w->n_ram;
    }
    const tt_rowset set = TT_ROWSET(&tt_whatif_schema, 0, v, v->results, v->n_results);
    if (status == TT_OK) status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    free(results);
    return status;
}

tt_status tt_arrow_whatif(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                          tt_error *err)
{
    static const char *const units[] = {"page", "tensor", "expert"};
    const tt_filter all = {0};
    wish w;
    tt_reads reads = {0};
    tt_whatif *sim = NULL;
    tt_status status = read_wish(o, &w, err);
    if (status != TT_OK) return status;
    status = tt_reads_collect(m, &all, &reads, NULL, NULL, err);
    if (status == TT_OK) status = tt_whatif_new(m, &reads, &w.plan, &sim, err);
    tt_whatif_view v = {.unit = units[w.plan.unit],
                        .page_bytes = w.plan.unit == TT_WHATIF_PAGE ? w.plan.page_bytes : 0,
                        .readahead_bytes = w.plan.readahead_bytes,
                        .warm = w.plan.warm,
                        .at_most = reads.at_most,
                        .disk = w.plan.disk,
                        .reader = w.plan.boost                      ? "boost"
                                  : w.plan.reader == TT_WHATIF_MMAP ? "mmap"
                                                                    : "direct",
                        .reserve_bytes = w.reserve_bytes,
                        .reads = reads.n};
    for (uint32_t i = 0; i < m->n_weights; i++)
        v.model_bytes += m->weights[i].size_bytes;
    if (status == TT_OK) status = replay(m, o, &w, sim, &v, l, err);
    tt_whatif_free(sim);
    tt_reads_free(&reads);
    return status;
}
