/* After loading: resolves references. */
#include "base/checksum.h"
#include "base/order.h"
#include "gguf/memory_map.h"
#include "model/load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- which files are which model --- */

static const char *file_kv(const tt_model_file *f, const char *key)
{
    const tt_file_kv *kv = tt_model_kv_of_file(f, key);
    return kv ? kv->value : NULL;
}

static bool same_file(const tt_model_file *a, const tt_model_file *b)
{
    return a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns &&
           ((a->device == b->device && a->inode == b->inode && a->inode) ||
            strcmp(a->path, b->path) == 0);
}

/* LoRAs, control vectors, importance matrices. */
static bool is_adapter(const tt_model_file *f)
{
    const char *type = file_kv(f, "general.type");
    return type && strcmp(type, "model") != 0 && strcmp(type, "mmproj") != 0;
}

static bool is_later_part(const tt_model_file *f)
{
    const char *number = file_kv(f, "split.no");
    return number && strcmp(number, "0") != 0;
}

/* Of more files, the later ones are models of their own. */
#define FILES_COMPARED 256u

static void link_models(tt_model *m)
{
    uint32_t newest = 0; /* opened last, that is no adapter */
    for (uint32_t i = 0; i < m->n_files; i++) {
        tt_model_file *f = &m->files[i];
        uint32_t same = 0;
        while (same < i && same < FILES_COMPARED && !same_file(f, &m->files[same]))
            same++;
        f->is_adapter = is_adapter(f);
        if (same < i && same < FILES_COMPARED)
            f->model = m->files[same].model;
        else if (m->n_models && (f->is_adapter || is_later_part(f)))
            f->model = newest;
        else
            f->model = m->n_models++;
        if (!f->is_adapter) newest = f->model;
    }
    for (uint32_t i = 0; i < m->n_weights; i++) {
        tt_place *p = &m->weights[i].place;
        p->layer_id = tt_layer_make(tt_layer_number(p->layer_id), tt_layer_stack(p->layer_id),
                                    m->files[m->weights[i].file].model);
    }
}

/* After loading: ids in records become indices. */

void tt_link_files(tt_loader *l)
{
    tt_model *m = l->m;
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        tt_buffer *b = &m->buffers[i];
        uint32_t id = b->last_file;
        b->last_file = id ? tt_idmap_get(&m->file_by_id, id) : TT_NONE;
        if (id && b->last_file == TT_NONE)
            tt_loader_problem(
                l, "buffer %" PRIu64 " came after model file %" PRIu32 ", which is not there",
                b->id, id);
    }
}

TT_ORDER_BY(by_run_and_tensor, tt_indices, run, tensor)

/* Resolves the run's id to its index. False if the row numbers are not of a tensor of a known
 * run. */
static bool link_one(tt_loader *l, tt_indices *x)
{
    tt_model *m = l->m;
    uint32_t run = tt_model_run(m, x->run);
    uint32_t graph = run == TT_NONE ? TT_NONE : m->runs[run].graph;
    if (run == TT_NONE)
        tt_loader_problem(l, "row numbers belong to run %" PRIu32 ", which is not there", x->run);
    else if (graph == TT_NONE || x->tensor >= m->graphs[graph].n_tensors)
        tt_loader_problem(l,
                          "row numbers of run %" PRIu32 " belong to tensor %" PRIu32
                          ", which its graph does not have",
                          x->run, x->tensor);
    else {
        x->run = run;
        return true;
    }
    return false;
}

static void link_indices(tt_loader *l)
{
    tt_model *m = l->m;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_indices; i++)
        if (link_one(l, &m->indices[i])) m->indices[n++] = m->indices[i];
    uint32_t sorted = 1;
    while (sorted < n && by_run_and_tensor(&m->indices[sorted - 1], &m->indices[sorted]) <= 0)
        sorted++;
    if (sorted < n) qsort(m->indices, n, sizeof *m->indices, by_run_and_tensor);
    m->n_indices = 0;
    for (uint32_t i = 0; i < n; i++) {
        const tt_indices *x = &m->indices[i];
        if (m->n_indices && by_run_and_tensor(x, &m->indices[m->n_indices - 1]) == 0)
            tt_loader_problem(l,
                              "run %" PRIu32 ": the row numbers in tensor %" PRIu32 " come twice",
                              m->runs[x->run].id, x->tensor);
        else
            m->indices[m->n_indices++] = *x;
    }
}

static uint32_t link_batch(tt_loader *l, uint32_t id, const char *what)
{
    uint32_t at = id ? tt_model_batch(l->m, id) : TT_NONE;
    if (id && at == TT_NONE)
        tt_loader_problem(l, "%s belong to batch %" PRIu32 ", which is not there", what, id);
    return at;
}

static void link_residencies(tt_loader *l)
{
    tt_model *m = l->m;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        tt_residency *r = &m->residencies[i];
        uint32_t id = r->file;
        r->file = tt_idmap_get(&m->file_by_id, id);
        r->batch = link_batch(l, r->batch, "pages in RAM");
        if (r->file != TT_NONE)
            m->residencies[n++] = *r;
        else
            tt_loader_problem(
                l, "pages in RAM belong to model file %" PRIu32 ", which is not there", id);
    }
    m->n_residencies = n;
}

void tt_link_records(tt_loader *l)
{
    link_indices(l);
    for (uint32_t i = 0; i < l->m->n_usages; i++)
        l->m->usages[i].batch = link_batch(l, l->m->usages[i].batch, "counters of the kernel");
    for (uint32_t i = 0; i < l->m->n_throttled; i++)
        l->m->throttled[i].batch =
            link_batch(l, l->m->throttled[i].batch, "counters of the control group");
    link_residencies(l);
    for (uint32_t i = 0; i < l->m->n_pool_states; i++)
        l->m->pool_states[i].at.run = tt_model_run(l->m, l->m->pool_states[i].at.run);
}

/* How many loaded models are searched for a weight. */
#define SAME_NAME_MAX 64u

/* Follows view_src to the tensor that owns the bytes. */
static void find_root(tt_loader *l, tt_graph *g, uint32_t i)
{
    uint32_t at = i;
    uint64_t offset = 0;
    for (unsigned depth = 0; g->tensors[at].view_src != TT_NONE; depth++) {
        if (depth == TT_VIEW_DEPTH_MAX) {
            tt_loader_problem(l, "graph %" PRIu32 ": tensor %.64s is a view of a view without end",
                              g->id, g->tensors[i].name);
            at = i;
            offset = 0;
            break;
        }
        offset += g->tensors[at].view_offset_bytes;
        at = g->tensors[at].view_src;
    }
    g->tensors[i].root = at;
    g->tensors[i].root_offset_bytes = offset;
}

static bool in_mapping(const tt_model *m, const tt_tensor *t, const tt_weight *w)
{
    if (t->buffer == TT_NONE) return false;
    const tt_buffer *b = &m->buffers[t->buffer];
    return b->flags & TT_BUFFER_FILE && b->file_offset_bytes + t->location == w->offset_bytes;
}

/* Two paths may name one file, so this only decides between two weights. */
static bool same_path(const tt_model *m, const tt_tensor *t, const tt_weight *w)
{
    return t->buffer != TT_NONE && m->buffers[t->buffer].flags & TT_BUFFER_FILE &&
           strcmp(m->buffers[t->buffer].path, m->files[w->file].path) == 0;
}

/* How well a weight matches a tensor of its name if there are several models: first whose bytes it
 * maps, then which model was the newest when its buffer was created, then size and type. */
static uint64_t fit(const tt_model *m, const tt_tensor *t, const tt_weight *w)
{
    uint32_t last = t->buffer == TT_NONE ? TT_NONE : m->buffers[t->buffer].last_file;
    bool path = same_path(m, t, w);
    uint64_t mapped = in_mapping(m, t, w) ? path ? 2 : 1 : 0;
    uint64_t newest = last != TT_NONE && w->file <= last ? (uint64_t)w->file + 1 : 0;
    uint64_t alike = (path ? 4u : 0u) + (w->size_bytes == t->size_bytes ? 2u : 0u) +
                     (w->type == t->type ? 1u : 0u);
    return mapped << 60 | newest << 4 | alike;
}

/* Finds the weight of a root tensor. */
static uint32_t find_weight(const tt_model *m, const tt_tensor *t)
{
    uint32_t best = TT_NONE;
    uint64_t best_fit = 0;
    unsigned looked_at = 0;
    for (uint32_t i = tt_model_weight(m, t->name); i != TT_NONE && looked_at < SAME_NAME_MAX;
         i = m->weights[i].next_same_name, looked_at++) {
        uint64_t f = fit(m, t, &m->weights[i]);
        if (best != TT_NONE && f <= best_fit) continue;
        best = i;
        best_fit = f;
    }
    return best;
}

/* Where the bytes of a root tensor are. A tensor in a mapping, but not at the offset of a weight of
 * its name, has no known origin. */
static tt_origin origin_of(const tt_model *m, const tt_tensor *root)
{
    if (root->buffer == TT_NONE) return TT_ORIGIN_UNKNOWN;
    const tt_buffer *b = &m->buffers[root->buffer];
    if (b->flags & TT_BUFFER_PLACE_UNKNOWN) return TT_ORIGIN_UNKNOWN;
    if (!(b->flags & TT_BUFFER_FILE)) return TT_ORIGIN_BUFFER;
    return root->weight != TT_NONE && in_mapping(m, root, &m->weights[root->weight])
               ? TT_ORIGIN_FILE
               : TT_ORIGIN_UNKNOWN;
}

/* Tensors named by ggml itself ("node_17", or " (copy)" of one without a name): they get the place
 * of their sources. */
static bool unnamed(const tt_tensor *t)
{
    return !t->name[0] || strncmp(t->name, " (", 2) == 0 || strncmp(t->name, "node_", 5) == 0 ||
           strncmp(t->name, "leaf_", 5) == 0;
}

/* ggml_backend_buffer_usage */
enum { USAGE_ANY = 0, USAGE_WEIGHTS = 1, USAGE_COMPUTE = 2 };

/* Recognizes llama.cpp's names: keys and values of attention, and both parts of a recurrent
 * state. */
static bool is_cache(const char *name)
{
    static const char *const names[] = {"cache_k_l", "cache_v_l", "cache_r_l", "cache_s_l"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* Whether a root lies where an engine keeps weights, and nothing computes it. Files that are not
 * GGUF are not recorded: their weights have neither names nor offsets. */
static bool is_kept_weight(const tt_model *m, const tt_graph *g, const tt_tensor *root)
{
    return root >= g->tensors + g->n_nodes && root->buffer != TT_NONE &&
           m->buffers[root->buffer].usage == USAGE_WEIGHTS && !(root->flags & TT_TENSOR_INPUT) &&
           !is_cache(root->name);
}

static void link_tensor(tt_model *m, tt_graph *g, tt_tensor *t)
{
    const tt_tensor *root = &g->tensors[t->root];
    t->weight = root->weight;
    t->is_weight = t->weight != TT_NONE || is_kept_weight(m, g, root);
    if (t->weight != TT_NONE)
        t->place = m->weights[t->weight].place;
    else if (t->n_src == 0 && t->flags & TT_TENSOR_INPUT &&
             (unnamed(t) || strcmp(t->place.category, TT_CATEGORY_OTHER) == 0))
        t->place.category = TT_CATEGORY_INPUT; /* the program's inputs: older masks have no name */
    /* A view has its own buffer if the root's was not observed. */
    t->origin = origin_of(m, root->buffer != TT_NONE || t->weight != TT_NONE ? root : t);
}

tt_place tt_model_place_of_use(tt_place weight, const char *op_name)
{
    if (strcmp(op_name, "MUL_MAT") != 0 || strcmp(weight.component, "token_embd") != 0)
        return weight;
    return (tt_place){weight.layer_id, TT_CATEGORY_OUTPUT, "output"};
}

/* What some ops are for, whatever their names; NULL: others. */
static const char *category_of_op(const char *op)
{
    static const struct {
        const char *front, *category;
    } ops[] = {
        {"FLASH_ATTN", TT_CATEGORY_ATTENTION},
        {"SOFT_MAX", TT_CATEGORY_ATTENTION},
        {"NORM", TT_CATEGORY_NORM},
        {"RMS_NORM", TT_CATEGORY_NORM},
        {"IM2COL", TT_CATEGORY_CONV},
        {"CONV", TT_CATEGORY_CONV},
        {"SSM_", TT_CATEGORY_SSM},
        {"RWKV_", TT_CATEGORY_RWKV},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strncmp(op, ops[i].front, strlen(ops[i].front)) == 0) return ops[i].category;
    return NULL;
}

static void place_node(tt_graph *g, tt_tensor *t)
{
    const tt_tensor *from = NULL;
    for (uint32_t i = 0; i < t->n_src; i++) {
        const tt_tensor *s = t->src[i] == TT_NONE ? NULL : &g->tensors[t->src[i]];
        if (!s) continue;
        if (s->weight != TT_NONE) {
            t->place = tt_model_place_of_use(s->place, t->op_name);
            return;
        }
        if (!from || (from->place.layer_id < 0 && s->place.layer_id >= 0)) from = s;
    }
    const bool nothing_told = strcmp(t->place.category, TT_CATEGORY_OTHER) == 0;
    if (from && unnamed(t)) t->place = from->place;
    const char *of_op = nothing_told ? category_of_op(t->op_name) : NULL;
    if (of_op) t->place.category = of_op;
    /* A name that tells nothing: its part of the network is that of what it is computed from. */
    if (from && strcmp(t->place.category, TT_CATEGORY_OTHER) == 0)
        t->place.category = from->place.category;
}

/* The model whose weights the graph has; of adapters, only if there are no others. */
static uint32_t model_of_weights(const tt_model *m, const tt_graph *g)
{
    uint32_t model = TT_NONE;
    for (uint32_t i = g->n_nodes; i < g->n_tensors; i++) {
        if (g->tensors[i].weight == TT_NONE) continue;
        const tt_model_file *f = &m->files[m->weights[g->tensors[i].weight].file];
        if (!f->is_adapter) return f->model;
        model = f->model;
    }
    return model;
}

static bool is_recurrent(const char *category)
{
    return strcmp(category, TT_CATEGORY_SSM) == 0 || strcmp(category, TT_CATEGORY_RWKV) == 0 ||
           strcmp(category, TT_CATEGORY_CONV) == 0;
}

/* What the names of values do not tell, and those of the graph's weights do: the stack of a layer
 * (if all are of one), and what a recurrent state is of. */
static void complete_places(tt_graph *g)
{
    const char *recurrent = NULL;
    unsigned stack = TT_STACKS;
    bool several = false;
    for (uint32_t i = g->n_nodes; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        if (t->weight == TT_NONE) continue;
        if (!recurrent && is_recurrent(t->place.category)) recurrent = t->place.category;
        if (t->place.layer_id < 0) continue;
        several |= stack != TT_STACKS && stack != tt_layer_stack(t->place.layer_id);
        stack = tt_layer_stack(t->place.layer_id);
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        tt_place *p = &g->tensors[i].place;
        if (recurrent && g->tensors[i].weight == TT_NONE && is_recurrent(p->category))
            p->category = recurrent;
        if (p->layer_id < 0 || g->tensors[i].weight != TT_NONE) continue;
        if (stack != TT_STACKS && !several)
            p->layer_id = tt_layer_make(tt_layer_number(p->layer_id), stack, 0);
    }
}

/* A graph with weights of several stacks: the values of a layer of that number follow the weights
 * of their stack. */
static void follow_stack(const tt_graph *g, tt_tensor *t, unsigned *stack)
{
    for (uint32_t i = 0; i < t->n_src; i++) {
        const tt_tensor *s = t->src[i] == TT_NONE ? NULL : &g->tensors[t->src[i]];
        if (s && s->weight != TT_NONE && s->place.layer_id >= 0)
            *stack = tt_layer_stack(s->place.layer_id);
    }
    if (t->place.layer_id >= 0 && tt_layer_stack(t->place.layer_id) == TT_STACK_PLAIN)
        t->place.layer_id = tt_layer_make(tt_layer_number(t->place.layer_id), *stack, 0);
}

static void set_model(tt_graph *g, uint32_t model)
{
    g->model = model;
    for (uint32_t i = 0; model != TT_NONE && i < g->n_tensors; i++) {
        tt_place *p = &g->tensors[i].place;
        p->layer_id =
            tt_layer_make(tt_layer_number(p->layer_id), tt_layer_stack(p->layer_id), model);
    }
}

static void link_graph(tt_loader *l, tt_graph *g)
{
    tt_model *m = l->m;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        find_root(l, g, i);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        tt_tensor *t = &g->tensors[i];
        /* Only leafs are weights: a node may have any name. */
        if (t->root == i && i >= g->n_nodes) t->weight = find_weight(m, t);
    }
    for (uint32_t i = 0; i < g->n_tensors; i++)
        link_tensor(m, g, &g->tensors[i]);
    complete_places(g);
    unsigned stack = TT_STACK_PLAIN;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        place_node(g, &g->tensors[i]);
        follow_stack(g, &g->tensors[i], &stack);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->tensors[i].stage && g->tensors[i].stage_layer >= 0 &&
            g->tensors[i].stage_layer <= TT_LAYOUT_LAYER_MAX)
            g->tensors[i].place.layer_id = g->tensors[i].stage_layer;
    set_model(g, model_of_weights(m, g));
}

/* Graphs without weights (a context's cache is moved): the model of their context. */
static void link_contexts(tt_loader *l)
{
    tt_model *m = l->m;
    tt_idmap models = {0};
    uint32_t was;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < m->n_runs; i++) {
            const tt_run *r = &m->runs[i];
            if (r->batch == TT_NONE || r->graph == TT_NONE) continue;
            tt_graph *g = &m->graphs[r->graph];
            const uint32_t context = m->batches[r->batch].context;
            if (fill && g->model == TT_NONE) set_model(g, tt_idmap_get(&models, context));
            if (!fill && g->model != TT_NONE && !tt_idmap_add(&models, context, g->model, &was))
                l->no_memory = true;
        }
    }
    tt_idmap_free(&models);
}

TT_ORDER_BY(by_id, tt_run, id)

static void link_runs(tt_loader *l)
{
    tt_model *m = l->m;
    uint32_t sorted = 1;
    while (sorted < m->n_runs && m->runs[sorted - 1].id <= m->runs[sorted].id)
        sorted++;
    if (sorted < m->n_runs) qsort(m->runs, m->n_runs, sizeof *m->runs, by_id);
    for (uint32_t i = 0; i < m->n_runs; i++) {
        tt_run *r = &m->runs[i];
        if (sorted < m->n_runs && !tt_idmap_set(&m->run_by_id, r->id, i)) l->no_memory = true;
        if (r->batch == TT_NONE) continue;
        m->batches[r->batch].n_runs++;
        m->batches[r->batch].last_run = i;
    }
}

/* Whether the rate is plausible for a clock: 1 kHz to 1 THz. */
static bool plausible(double ns_per_tick)
{
    return ns_per_tick >= 1e-3 && ns_per_tick <= 1e6;
}

static void find_waits(tt_model *m)
{
    static const char unknown[] = "not observed: ";
    const char *waits = tt_model_environment(m, "waits");
    uint32_t n_known = 0;
    m->remote = tt_model_environment(m, "engine_remote");
    if (waits && strncmp(waits, unknown, sizeof unknown - 1) == 0)
        m->waits_unknown = waits + sizeof unknown - 1;
    for (uint32_t i = 0; i < m->n_runs; i++)
        n_known += tt_model_waits_known(m, &m->runs[i]) ||
                   m->runs[i].observed == TT_OBSERVED_BOUNDS; /* has no ops */
    m->waits_known = n_known == m->n_runs;
    if (m->waits_unknown || n_known > 0 || m->n_runs == 0) return;
    m->waits_unknown = tt_model_is_imported(m) ? "nothing was executed"
                       : m->runs[0].observed == TT_OBSERVED_CALLBACK
                           ? "the scheduler's callback sees ops, not threads"
                           : "the program tells when its ops begin and end, not how long its "
                             "threads wait";
}

static void find_what_is_unknown(tt_model *m)
{
    find_waits(m);
    m->off_cpu_known =
        tt_model_captured(m, "capture_off_cpu") || tt_model_captured(m, "capture_faults");
    m->waits_inside_known = tt_model_captured(m, "capture_waits_inside");
    m->delay_known = m->off_cpu_known && tt_model_captured(m, "capture_delay");
}

static void fit_clock(tt_loader *l)
{
    tt_clock_fit *k = &l->m->clock;
    const tt_meta_clock *a = &l->first_clock, *b = &l->last_clock;
    const char *hz = tt_model_environment(l->m, "tick_hz");
    if (l->m->n_clocks) {
        k->ticks = a->ticks;
        k->mono_ns = a->mono_ns;
        k->unix_ns = a->unix_ns;
    }
    if (l->m->n_clocks > 1 && b->ticks > a->ticks && b->mono_ns > a->mono_ns) {
        k->ns_per_tick = (double)(b->mono_ns - a->mono_ns) / (double)(b->ticks - a->ticks);
        k->known = plausible(k->ns_per_tick);
    }
    if (!k->known && l->m->n_clocks && hz) {
        k->ns_per_tick = 1e9 / strtod(hz, NULL);
        k->known = k->assumed = plausible(k->ns_per_tick);
    }
    bool any = false;
    for (uint32_t i = 0; i < l->m->n_batches; i++) {
        if (any && l->m->batches[i].begin_ticks >= k->zero_ticks) continue;
        k->zero_ticks = l->m->batches[i].begin_ticks;
        any = true;
    }
    for (uint32_t i = 0; i < l->m->n_runs; i++) {
        if (any && l->m->runs[i].begin_ticks >= k->zero_ticks) continue;
        k->zero_ticks = l->m->runs[i].begin_ticks;
        any = true;
    }
    if (l->m->partial) k->zero_ticks = l->first_ticks;
    if (!any && !l->m->partial) k->zero_ticks = k->ticks;
}

/* --- what buffers are for, by their usage and the tensors in them --- */

/* The contents of a buffer. */
enum { HOLDS_TENSOR = 1, HOLDS_WEIGHT = 2, HOLDS_CACHE = 4, HOLDS_RESULT = 8 };

static void look_at_graph(const tt_model *m, const tt_graph *g, uint8_t *holds)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        uint32_t buffer = t->buffer != TT_NONE ? t->buffer : g->tensors[t->root].buffer;
        if (buffer == TT_NONE || buffer >= m->n_buffers) continue;
        holds[buffer] |= HOLDS_TENSOR;
        if (i < g->n_nodes && t->flags & TT_TENSOR_EXECUTES)
            holds[buffer] |= HOLDS_RESULT;
        else if (t->root == i && t->weight != TT_NONE)
            holds[buffer] |= HOLDS_WEIGHT;
        else if (t->root == i && i >= g->n_nodes && is_cache(t->name))
            holds[buffer] |= HOLDS_CACHE;
    }
}

static tt_buffer_kind kind_of(const tt_buffer *b, uint8_t holds)
{
    if (b->usage == USAGE_WEIGHTS) return TT_BUFFER_WEIGHTS;
    if (b->usage == USAGE_COMPUTE) return TT_BUFFER_COMPUTE;
    if (holds & HOLDS_WEIGHT) return TT_BUFFER_WEIGHTS;
    if (holds & HOLDS_CACHE) return TT_BUFFER_KV_CACHE;
    if (holds & HOLDS_RESULT) return TT_BUFFER_COMPUTE;
    /* A buffer for outputs: llama.cpp itself allocates it, and no graph computes into it. */
    if (b->usage == USAGE_ANY && !(holds & HOLDS_TENSOR) &&
        strncmp(b->allocator, "libllama", strlen("libllama")) == 0)
        return TT_BUFFER_OUTPUT;
    return TT_BUFFER_OTHER;
}

static void link_buffers(tt_loader *l)
{
    tt_model *m = l->m;
    uint8_t *holds = calloc((size_t)m->n_buffers + 1, 1);
    if (!holds) {
        l->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < m->n_graphs; i++)
        look_at_graph(m, &m->graphs[i], holds);
    for (uint32_t i = 0; i < m->n_buffers; i++)
        m->buffers[i].kind = kind_of(&m->buffers[i], holds[i]);
    free(holds);
}

void tt_model_link(tt_loader *l)
{
    l->chunk_offset = TT_NO_OFFSET;
    link_models(l->m);
    tt_link_files(l);
    for (uint32_t i = 0; i < l->m->n_graphs; i++)
        link_graph(l, &l->m->graphs[i]);
    link_buffers(l);
    link_runs(l);
    link_contexts(l);
    tt_link_records(l);
    fit_clock(l);
    find_what_is_unknown(l->m);
}
