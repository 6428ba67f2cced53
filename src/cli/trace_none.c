/* Advice when a command's filters leave nothing. */
#include "analyze/filter.h"
#include "base/nearest.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/trace_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define OPS_MAX 96u /* distinct names to compare ... */
#define OPS_LISTED 16u
#define LIST_TEXT 400
#define NAME_TEXT 64

/* The matches in the trace's graphs. */
typedef struct survey {
    const tt_filter *f;
    bool op, tensor, layer, any_layer;
    int32_t layer_first, layer_last;
    const char *ops[OPS_MAX];
    char squeezed[OPS_MAX][NAME_TEXT];
    size_t n_ops;
    tt_nearest tensor_nearest;
    const char *example; /* a tensor's name */
} survey;

/* Without characters that people omit, and in one case: "mulmat" is "MUL_MAT". */
static void squeeze(char out[NAME_TEXT], const char *name)
{
    size_t n = 0;
    for (; *name && n < NAME_TEXT - 1; name++)
        if (*name != '_' && *name != '-') out[n++] = (char)tolower((unsigned char)*name);
    out[n] = '\0';
}

static void see_op(survey *s, const char *name)
{
    s->op |= s->f->op && strcasecmp(s->f->op, name) == 0;
    for (size_t i = 0; i < s->n_ops; i++)
        if (strcmp(s->ops[i], name) == 0) return;
    if (s->n_ops == OPS_MAX) return;
    squeeze(s->squeezed[s->n_ops], name);
    s->ops[s->n_ops++] = name;
}

static void see_tensor(survey *s, const tt_tensor *t, bool node)
{
    if (s->f->tensor) {
        s->tensor |= tt_slice_name_matches(s->f->tensor, t->name);
        tt_nearest_try(&s->tensor_nearest, t->name);
        if (!s->example && t->weight != TT_NONE) s->example = t->name;
    }
    if (!node || !(t->flags & TT_TENSOR_EXECUTES)) return;
    see_op(s, t->op_desc);
    if (strcmp(t->op_desc, t->op_name) != 0 && s->f->op)
        s->op |= strcasecmp(s->f->op, t->op_name) == 0;
    const int32_t layer = t->place.layer_id;
    s->layer |= s->f->has_layer && tt_layer_passes(s->f->layer, layer);
    if (layer == TT_LAYER_NONE) return;
    /* Of whatever model. */
    const int32_t own = tt_layer_make(tt_layer_number(layer), tt_layer_stack(layer), 0);
    if (!s->any_layer || own < s->layer_first) s->layer_first = own;
    if (!s->any_layer || own > s->layer_last) s->layer_last = own;
    s->any_layer = true;
}

static bool write_batches(const tt_model *m, const tt_filter *f)
{
    bool phase = false, number = false;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const uint32_t n = tt_model_batch_number(m, i);
        phase |= m->batches[i].phase == f->phase;
        number |= n >= f->batch_first && n <= f->batch_last;
    }
    if (m->n_batches == 0) {
        if (!f->has_batch && !f->phase) return false;
        tt_report_note("the trace has no batches: leave out --batch and --phase");
        return true;
    }
    const uint32_t first = tt_model_batch_number(m, 0),
                   last = tt_model_batch_number(m, m->n_batches - 1);
    if (f->has_batch && !number)
        tt_report_note("no such batch: the trace has %" PRIu32 " batch%s, %" PRIu32 " to %" PRIu32,
                       m->n_batches, m->n_batches == 1 ? "" : "es", first, last);
    if (f->phase && !phase)
        tt_report_note("the trace has no batch of the phase %s", tt_phase_name(f->phase));
    return (f->has_batch && !number) || (f->phase && !phase);
}

static bool write_thread(const tt_model *m, const tt_filter *f)
{
    uint32_t threads = 0;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].threads > threads) threads = m->runs[i].threads;
    if (!f->has_lane || threads == 0 || f->lane < threads) return false;
    tt_report_note("no thread %" PRIu32 ": the trace has threads 0 to %" PRIu32, f->lane,
                   threads - 1);
    return true;
}

static bool write_layer(const survey *s)
{
    char first[TT_LAYER_TEXT], last[TT_LAYER_TEXT];
    if (!s->f->has_layer || s->layer) return false;
    (void)tt_layer_text(first, s->layer_first);
    (void)tt_layer_text(last, s->layer_last);
    if (!s->any_layer)
        tt_report_note("no op of the trace is of a layer: leave out --layer");
    else if (s->f->layer == TT_LAYER_NONE)
        tt_report_note("every op of the trace is of a layer: %s to %s", first, last);
    else
        tt_report_note("no layer %s: the trace has layers %s to %s",
                       tt_layer_text((char[TT_LAYER_TEXT]){0}, s->f->layer), first, last);
    return true;
}

static bool write_model(const tt_model *m, const tt_filter *f)
{
    char list[LIST_TEXT] = "", safe[LIST_TEXT], asked[128];
    size_t used = 0;
    if (!f->model) return false;
    for (uint32_t i = 0; i < m->n_files; i++) {
        if (tt_filter_file(f->model, &m->files[i])) return false;
        const int n = snprintf(list + used, sizeof list - used, "%s%.60s", i ? ", " : "",
                               tt_base_name(m->files[i].path));
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    tt_report_note("no model file %s; the trace has %s",
                   tt_trace_text(asked, sizeof asked, f->model),
                   m->n_files ? tt_trace_text(safe, sizeof safe, list) : "none");
    return true;
}

static bool write_context(const tt_model *m, const tt_filter *f)
{
    uint32_t first = UINT32_MAX, last = 0;
    if (!f->has_context || m->n_batches == 0) return false;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const uint32_t context = m->batches[i].context;
        if (context == f->context) return false;
        if (context < first) first = context;
        if (context > last) last = context;
    }
    tt_report_note("no batch of context %" PRIu32 ": the trace has contexts %" PRIu32
                   " to %" PRIu32,
                   f->context, first, last);
    return true;
}

static bool write_op(const survey *s)
{
    char typed[NAME_TEXT], asked[128], list[LIST_TEXT] = "", safe[LIST_TEXT];
    size_t used = 0;
    /* A fused op's name consists of its nodes' names; it was searched where it may occur. */
    if (!s->f->op || s->op || strchr(s->f->op, '+')) return false;
    squeeze(typed, s->f->op);
    tt_trace_text(asked, sizeof asked, s->f->op);
    tt_nearest nearest = tt_nearest_begin(typed);
    for (size_t i = 0; i < s->n_ops; i++)
        tt_nearest_try(&nearest, s->squeezed[i]);
    for (size_t i = 0; i < s->n_ops; i++) {
        if (nearest.name == s->squeezed[i]) {
            tt_report_note("no op %.60s; did you mean %.60s?", asked,
                           tt_trace_text(safe, sizeof safe, s->ops[i]));
            return true;
        }
        if (i >= OPS_LISTED) continue;
        const int n =
            snprintf(list + used, sizeof list - used, "%s%.40s", i ? ", " : "", s->ops[i]);
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    tt_report_note("no op %.60s; the trace has %s%s", asked, tt_trace_text(safe, sizeof safe, list),
                   s->n_ops > OPS_LISTED ? ", ..." : "");
    return true;
}

static bool write_tensor(const survey *s)
{
    char typed[256], name[256];
    const char *other = s->tensor_nearest.name;
    if (!s->f->tensor || s->tensor) return false;
    tt_trace_text(typed, sizeof typed, s->f->tensor);
    if (!other && s->example)
        tt_report_note("no node and no source is called %.100s; names are like %.100s", typed,
                       tt_trace_text(name, sizeof name, s->example));
    else if (!other)
        tt_report_note("no node and no source is called %.100s", typed);
    else
        tt_report_note("no node and no source is called %.100s; did you mean %.100s?", typed,
                       tt_trace_text(name, sizeof name, other));
    return true;
}

static bool any_filter(const tt_filter *f)
{
    return f->has_batch || f->has_layer || f->has_lane || f->phase || f->op || f->tensor ||
           f->model || f->has_context || f->text || f->origin != TT_ORIGIN_UNKNOWN || f->has_from ||
           f->has_to || f->has_least || f->has_most;
}

int tt_trace_none(const tt_model *m, const tt_filter *f, const char *what)
{
    survey s = {.f = f, .tensor_nearest = tt_nearest_begin(f->tensor ? f->tensor : "")};
    if (tt_pieces_records(m->pieces) == 0) {
        tt_report_note("the trace holds no ops");
        return TT_EXIT_OK;
    }
    if (!any_filter(f)) {
        tt_report_note("the trace holds no %s", what);
        return TT_EXIT_OK;
    }
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_tensors; i++)
            see_tensor(&s, &m->graphs[g].tensors[i], i < m->graphs[g].n_nodes);
    /* Reports everything at once: each call prints its own. */
    const bool batches = write_batches(m, f), thread = write_thread(m, f), layer = write_layer(&s);
    const bool op = write_op(&s), tensor = write_tensor(&s);
    const bool model = write_model(m, f), context = write_context(m, f);
    if (!batches && !thread && !layer && !op && !tensor && !model && !context)
        tt_report_note("no %s passes these filters together", what);
    return TT_EXIT_DIFFERS;
}
