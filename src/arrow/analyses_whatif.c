/* The analysis `whatif`: a cache for the weights, simulated. */
#include "arrow/analyses.h"

#include "analyze/cache/whatif_wish.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_MIN 512u
#define PAGE_MAX (1u << 30)

static tt_status read_unit(tt_whatif_plan *plan, const char *unit, tt_error *err)
{
    if (!unit) return TT_OK;
    plan->unit = strcmp(unit, "page") == 0     ? TT_WHATIF_PAGE
                 : strcmp(unit, "tensor") == 0 ? TT_WHATIF_TENSOR
                                               : TT_WHATIF_EXPERT;
    if (plan->unit == TT_WHATIF_EXPERT && strcmp(unit, "expert") != 0)
        return tt_arrow_no_value("unit", unit, "page, tensor or expert", err);
    return TT_OK;
}

static tt_status read_reader(tt_whatif_plan *plan, const char *reader, tt_error *err)
{
    if (!reader) return TT_OK;
    plan->reader = strcmp(reader, "mmap") == 0 ? TT_WHATIF_MMAP : TT_WHATIF_DIRECT;
    if (plan->reader == TT_WHATIF_DIRECT && strcmp(reader, "direct") != 0)
        return tt_arrow_no_value("reader", reader, "mmap or direct", err);
    return TT_OK;
}

static tt_status read_order(tt_whatif_plan *plan, const char *order, tt_error *err)
{
    for (unsigned i = 0; order && i < TT_TENSOR_ORDERS; i++) {
        if (strcmp(order, tt_tensor_orders[i]) != 0) continue;
        plan->order = (tt_tensor_order)i;
        return TT_OK;
    }
    return order ? tt_arrow_no_value("order", order, "file, use or layer", err) : TT_OK;
}

static tt_status check(const tt_arrow_options *o, const tt_whatif_plan *p, tt_error *err)
{
    const char *wrong = NULL;
    if (!o->curve && !o->ram) wrong = "how much RAM? ram=SIZE, or curve";
    if (o->curve && o->ram) wrong = "ram or curve, not both";
    if (!o->disk && (o->reader || o->ahead || o->depth || o->guess))
        wrong = "reader, ahead, depth and guess need disk";
    if (p->page_bytes < PAGE_MIN || p->page_bytes > PAGE_MAX ||
        (p->page_bytes & (p->page_bytes - 1)))
        wrong = "page-size is a power of two from 512 to 1G";
    if (p->depth == 0 || p->depth > TT_WHATIF_DEPTH_MAX) wrong = "depth is 1 to 1024";
    if (p->readahead_bytes && o->policy) wrong = "readahead or policy, not both";
    if (p->boost && (o->unit || o->page_size || o->order || o->readahead || o->reader || o->ahead ||
                     o->depth || o->guess))
        wrong = "boost goes with ram, disk, policy, warm and reserve only";
    if (!wrong) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s", wrong);
}

/* Those of the wish's options that are texts. */
static tt_status read_texts(const tt_arrow_options *o, tt_whatif_wish *w, const char **option,
                            tt_error *err)
{
    tt_whatif_plan *p = &w->plan;
    tt_status status = TT_OK;
#define READ(name, text, read)                                                                     \
    if (status == TT_OK && (text)) {                                                               \
        *option = name;                                                                            \
        status = read;                                                                             \
    }
    READ("page-size", o->page_size, tt_units_parse_size(o->page_size, &p->page_bytes, err))
    READ("readahead", o->readahead, tt_units_parse_size(o->readahead, &p->readahead_bytes, err))
    READ("ahead", o->ahead, tt_units_parse_size(o->ahead, &p->ahead_bytes, err))
    READ("reserve", o->reserve, tt_units_parse_amount(o->reserve, &w->reserve_bytes, err))
    READ("ram", o->ram, tt_whatif_wish_sizes(w, o->ram, err))
    READ("disk", o->disk, tt_disk_speed_parse(o->disk, &p->disk, err))
    READ("guess", o->guess, tt_whatif_wish_guess(w, o->guess, err))
    READ("policy", o->policy, tt_whatif_wish_policies(w, o->policy, err))
#undef READ
    return status;
}

static tt_status read_wish(const tt_arrow_options *o, tt_whatif_wish *w, tt_error *err)
{
    tt_error said;
    const char *option = "whatif";
    *w = (tt_whatif_wish){.plan = TT_WHATIF_PLAN, .curve = o->curve};
    w->plan.warm = o->warm;
    w->plan.boost = o->boost;
    if (o->depth) w->plan.depth = o->depth;
    tt_status status = read_unit(&w->plan, o->unit, err);
    if (status == TT_OK) status = read_reader(&w->plan, o->reader, err);
    if (status == TT_OK) status = read_order(&w->plan, o->order, err);
    if (status != TT_OK) return status;
    status = read_texts(o, w, &option, &said);
    if (status == TT_OK) {
        option = "whatif";
        status = check(o, &w->plan, &said);
    }
    if (status == TT_OK) status = tt_whatif_wish_end(w, o->reader != NULL, &said);
    if (status == TT_OK) return TT_OK;
    return tt_error_set(err, status, TT_NO_OFFSET, "%s: %s", option, said.message);
}

tt_status tt_arrow_whatif(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                          tt_error *err)
{
    tt_whatif_wish w;
    tt_reads reads = {0};
    tt_whatif *sim = NULL;
    tt_whatif_result *results = NULL;
    tt_status status = read_wish(o, &w, err);
    if (status != TT_OK) return status;
    status = tt_reads_collect(m, &o->filter, &reads, NULL, NULL, err);
    if (status == TT_OK) status = tt_whatif_new(m, &reads, &w.plan, &sim, err);
    if (status == TT_OK) {
        tt_whatif_view v = tt_whatif_look(m, &o->filter, &reads, &w.plan, sim);
        status = tt_whatif_wish_run(&w, sim, &v, &results, err);
        const tt_rowset set = TT_ROWSET(&tt_whatif_schema, 0, &v, v.results, v.n_results);
        if (status == TT_OK) status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    free(results);
    tt_whatif_free(sim);
    tt_reads_free(&reads);
    return status;
}
