#include "export/tables/tables.h"

#include "base/hex.h"
#include "base/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts of ops, cached between parts; beyond this all are dropped. */
#define FACTS_BYTES_MAX ((size_t)64 << 20)
#define TEXTS_BYTES_MAX ((size_t)16 << 20)

static const tt_export_table *const tables[TT_EXPORT_TABLES] = {
    &tt_table_run,         &tt_table_tokens,  &tt_table_ops,     &tt_table_lanes,
    &tt_table_sources,     &tt_table_tensors, &tt_table_buffers, &tt_table_buffer_events,
    &tt_table_nodes,       &tt_table_edges,   &tt_table_routing, &tt_table_faults,
    &tt_table_page_faults, &tt_table_values,
};

const tt_export_table *const *tt_export_tables(size_t *n)
{
    *n = TT_EXPORT_TABLES;
    return tables;
}

void tt_tables_notes(const tt_model *m, const tt_export_options *options,
                     const tt_tables_counts *counts)
{
    size_t n;
    uint64_t rows = 0;
    char empty[320] = "";
    const tt_export_table *const *list = tt_export_tables(&n);
    for (size_t i = 0, used = 0; i < n; i++) {
        rows += counts->rows[i];
        if (counts->rows[i] || used >= sizeof empty) continue;
        int more =
            snprintf(empty + used, sizeof empty - used, "%s%s", used ? ", " : "", list[i]->name);
        used += more > 0 ? (size_t)more : 0;
    }
    if (options->sum) *options->sum = (tt_export_sum){.n_items = rows, .items = "rows"};
    if (!options->note) return;
    if (!m->clock.known)
        options->note(options->note_context,
                      "the trace does not tell how long a tick is: columns of times are empty");
    tt_export_note_copies(m, options, false);
    if (!*empty) return;
    char text[400];
    (void)snprintf(text, sizeof text, "without rows, as nothing of the kind was found: %s", empty);
    options->note(options->note_context, text);
}

/* --- parts --- */

const tt_filter *tt_tables_filter(const tt_filter *filter)
{
    static const tt_filter everything;
    return filter ? filter : &everything;
}

bool tt_tables_run_passes(const tt_model *m, const tt_filter *filter, uint32_t run)
{
    return m->runs[run].graph != TT_NONE && tt_filter_batch(filter, m, m->runs[run].batch) &&
           tt_filter_graph(filter, m, m->runs[run].graph);
}

uint32_t tt_parts_of(uint64_t n, uint32_t each)
{
    return (uint32_t)(n / each + (n % each != 0));
}

/* first: each part's first item, then the end; NULL: only counts. */
static uint32_t cut(const tt_parting *p, const tt_model *m, const tt_filter *filter,
                    uint32_t *first)
{
    uint32_t n = 0, n_items = p->items(m);
    uint64_t sum = 0;
    filter = tt_tables_filter(filter);
    for (uint32_t i = 0; i < n_items; i++) {
        uint64_t weight = p->weight(m, filter, i);
        if (weight == 0) continue;
        if (n == 0 || sum + weight > p->rows_max) {
            if (first) first[n] = i;
            n++;
            sum = 0;
        }
        sum += weight;
    }
    if (first) first[n] = n_items;
    return n;
}

uint32_t tt_parting_parts(const tt_parting *p, const tt_model *m, const tt_filter *filter)
{
    return cut(p, m, filter, NULL);
}

tt_status tt_parting_range(const tt_parting *p, tt_tables_own *own, const tt_filter *filter,
                           uint32_t part, uint32_t *first, uint32_t *end, tt_error *err)
{
    if (own->parted != p) {
        uint32_t n = cut(p, own->m, filter, NULL);
        uint32_t *list = reallocarray(own->part_first, (size_t)n + 1, sizeof *list);
        if (!list) return tt_error_memory(err, "the tables");
        own->part_first = list;
        own->n_parts = cut(p, own->m, filter, list);
        own->parted = p;
    }
    if (part >= own->n_parts)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "a table has no part %u",
                            (unsigned)part);
    *first = own->part_first[part];
    *end = own->part_first[part + 1];
    return TT_OK;
}

/* --- cached between parts --- */

static void free_facts(tt_tables_own *own)
{
    for (uint32_t i = 0; own->facts && own->places && i < own->m->n_graphs; i++) {
        free(own->facts[i]);
        free(own->places[i]);
        own->facts[i] = NULL;
        own->places[i] = NULL;
    }
    own->facts_bytes = 0;
    tt_arena_free(&own->texts);
    tt_arena_init(&own->texts, TEXTS_BYTES_MAX);
}

static void free_own(tt_tables_own *own)
{
    free_facts(own);
    tt_arena_free(&own->texts);
    tt_arena_free(&own->hashes);
    tt_values_walk_free(own->values);
    tt_page_faults_free(&own->faults);
    free(own->facts);
    free(own->places);
    tt_join_free(&own->join);
    tt_filter_ops_free(&own->passing);
    tt_slice_filter_free(&own->slices);
    tt_op_table_free(own->ops);
    tt_accesses_free(own->accesses);
    tt_buffers_free(own->buffers);
    free(own->part_first);
    free(own->row_facts);
    free(own->lanes);
    free(own->cursors);
    free(own);
}

static tt_tables_own *make_own(const tt_model *m)
{
    tt_tables_own *own = calloc(1, sizeof *own);
    if (!own) return NULL;
    own->m = m;
    own->accesses_run = TT_NONE;
    tt_arena_init(&own->texts, TEXTS_BYTES_MAX);
    tt_hex(own->run_id, m->trace.header.run_id, 16);
    tt_arena_init(&own->hashes, TT_TABLES_HASHES_MAX);
    own->ops = tt_op_table_new(m);
    own->facts = calloc((size_t)m->n_graphs + 1, sizeof *own->facts);
    own->places = calloc((size_t)m->n_graphs + 1, sizeof *own->places);
    if (own->ops && own->facts && own->places) return own;
    free_own(own);
    return NULL;
}

tt_status tt_tables_begin(tt_rows *rows, const tt_export_table *table, const tt_model *m,
                          tt_tables_own **own, tt_error *err)
{
    if (!rows->own) rows->own = make_own(m);
    rows->free_own = free_own;
    if (!rows->own) return tt_error_memory(err, "the tables");
    tt_rows_begin(rows, table);
    *own = rows->own;
    /* Not in the middle of a part, whose dictionaries point to their texts. Codes are valid in one
     * part only. */
    bool many = rows->own->facts_bytes > FACTS_BYTES_MAX ||
                rows->own->texts.total_bytes > TEXTS_BYTES_MAX / 2;
    if (++rows->own->stamp == 0 || many) {
        free_facts(rows->own);
        rows->own->stamp = 1;
    }
    return TT_OK;
}

tt_status tt_tables_end(const tt_rows *rows, tt_error *err)
{
    if (!rows->failed) return TT_OK;
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for texts of the table %s",
                        rows->table->name);
}

tt_status tt_tables_accesses(tt_tables_own *own, uint32_t run, tt_error *err)
{
    if (own->accesses_run == run) return TT_OK;
    if (!own->accesses) own->accesses = tt_accesses_new(own->m);
    if (!own->accesses) return tt_error_memory(err, "the tables");
    own->accesses_run = TT_NONE;
    tt_status status = tt_accesses_run(own->accesses, run, err);
    if (status == TT_OK) own->accesses_run = run;
    return status;
}

tt_status tt_tables_buffers(tt_tables_own *own, tt_error *err)
{
    return own->buffers ? TT_OK : tt_buffers_analyze(own->m, &own->buffers, err);
}

/* --- runs --- */

uint32_t tt_tables_runs(const tt_model *m)
{
    return m->n_runs;
}

tt_status tt_tables_fill_runs(const tt_export_table *table, const tt_parting *parting,
                              tt_tables_put_run *put, const tt_model *m, const tt_filter *filter,
                              uint32_t part, tt_rows *rows, tt_error *err)
{
    tt_tables_own *own;
    uint32_t first = 0, end = 0;
    tt_status status = tt_tables_begin(rows, table, m, &own, err);
    if (status == TT_OK && !own->passing.filter && table->of_ops) {
        own->passing = (tt_filter_ops){.m = m, .filter = tt_tables_filter(filter)};
        own->slices = tt_slice_filter_of(m, tt_tables_filter(filter));
    }
    if (status == TT_OK) status = tt_parting_range(parting, own, filter, part, &first, &end, err);
    for (uint32_t i = first; status == TT_OK && i < end; i++)
        if (tt_tables_run_passes(m, tt_tables_filter(filter), i)) status = put(rows, own, i, err);
    if (status != TT_OK) return status;
    tt_tables_run_id(rows, 0, rows->n);
    return tt_tables_end(rows, err);
}

tt_status tt_tables_op_passes(tt_tables_own *own, uint8_t *verdicts, uint32_t run, uint32_t node,
                              uint8_t covers, bool *passes, tt_error *err)
{
    *passes = tt_filter_ops_pass(&own->passing, verdicts, own->m->runs[run].graph, node, covers);
    if (own->passing.failed) return tt_error_memory(err, "the tables");
    if (!*passes || !own->slices.pattern) return TT_OK;
    return tt_slice_filter_passes(&own->slices, run, node, covers, passes, err);
}

/* Leaves out of `touched` what does not pass. */
static tt_status leave_out(tt_tables_own *own, uint32_t run, tt_error *err)
{
    tt_join *join = &own->join;
    uint8_t *verdicts = tt_filter_ops_of(&own->passing, own->m->runs[run].graph);
    uint32_t n = 0;
    tt_status status = TT_OK;
    if (!verdicts && !own->passing.failed) return TT_OK;
    for (uint32_t i = 0; i < join->n_touched && status == TT_OK; i++) {
        const uint32_t node = join->touched[i];
        bool passes = false;
        status =
            tt_tables_op_passes(own, verdicts, run, node, join->ops[node].covers, &passes, err);
        if (passes) join->touched[n++] = node;
    }
    join->n_touched = n;
    return status;
}

tt_status tt_tables_join(tt_tables_own *own, uint32_t run, tt_error *err)
{
    tt_join *join = &own->join;
    tt_status status = tt_join_run(join, own->m, run, err);
    uint32_t sorted = 1;
    if (status != TT_OK) {
        join->n_touched = 0;
        return status;
    }
    while (sorted < join->n_touched && join->touched[sorted - 1] < join->touched[sorted])
        sorted++;
    if (sorted < join->n_touched)
        qsort(join->touched, join->n_touched, sizeof *join->touched, tt_by_u32);
    return leave_out(own, run, err);
}

/* --- ops --- */

static tt_op_facts *facts_of(tt_tables_own *own, uint32_t graph)
{
    if (own->facts[graph]) return own->facts[graph];
    size_t n = own->m->graphs[graph].n_nodes;
    own->facts[graph] = calloc(n, sizeof(tt_op_facts));
    if (own->facts[graph]) own->facts_bytes += n * sizeof(tt_op_facts);
    return own->facts[graph];
}

static bool describe(tt_tables_own *own, tt_op_facts *f, uint32_t graph, uint32_t node,
                     uint8_t covers)
{
    const tt_op *op = tt_op_table_get(own->ops, graph, node, covers);
    if (!op) return false;
    const tt_tensor *t = &op->graph->tensors[op->nodes[op->n_nodes - 1]];
    const tt_tensor *first = &op->graph->tensors[node];
    *f = (tt_op_facts){.size_bytes = t->size_bytes,
                       .weight_bytes = op->weight_bytes,
                       .op = op->n_nodes == 1 ? first->op_name
                                              : tt_arena_text(&own->texts, op->op, strlen(op->op)),
                       .name = op->name,
                       .category = op->place.category,
                       .component = op->place.component,
                       .type = t->type_name,
                       .backend = first->backend && first->backend[0] ? first->backend : NULL,
                       .n_nodes = op->n_nodes,
                       .layer_id = op->place.layer_id,
                       .covers = covers,
                       .made = true,
                       .at_most = op->at_most,
                       .picks = op->picks};
    memcpy(f->ne, t->ne, sizeof f->ne);
    return f->op != NULL;
}

static void encode(tt_op_facts *f, tt_rows *rows, const uint32_t columns[6])
{
    const char *const texts[6] = {f->op, f->name, f->category, f->component, f->type, f->backend};
    for (size_t i = 0; i < 6; i++) {
        if (!texts[i]) continue;
        f->codes[i] =
            tt_dictionary_code(&rows->columns[columns[i]].dictionary, texts[i], strlen(texts[i]));
        rows->failed |= f->codes[i] == TT_NONE;
    }
}

const tt_op_facts *tt_tables_op(tt_tables_own *own, tt_rows *rows, uint32_t graph, uint32_t node,
                                uint8_t covers, const uint32_t columns[6])
{
    tt_op_facts *all = facts_of(own, graph);
    if (!all) return NULL;
    tt_op_facts *f = &all[node];
    if ((!f->made || f->covers != covers) && !describe(own, f, graph, node, covers)) return NULL;
    if (f->stamp != own->stamp) encode(f, rows, columns);
    f->stamp = own->stamp;
    return f;
}

/* --- locations --- */

static tt_place_codes *codes_of(tt_tables_own *own, uint32_t graph)
{
    if (own->places[graph]) return own->places[graph];
    size_t n = own->m->graphs[graph].n_tensors;
    own->places[graph] = calloc(n, sizeof(tt_place_codes));
    if (own->places[graph]) own->facts_bytes += n * sizeof(tt_place_codes);
    return own->places[graph];
}

static uint32_t code_of(tt_rows *rows, uint32_t column, const char *text)
{
    uint32_t code = tt_dictionary_code(&rows->columns[column].dictionary, text, strlen(text));
    rows->failed |= code == TT_NONE;
    return code;
}

static void encode_place(const tt_model *m, tt_rows *rows, uint32_t first, const tt_tensor *t,
                         const tt_tensor *root, tt_place_codes *c)
{
    c->name = code_of(rows, first + TT_PLACE_NAME, t->name);
    if (root != t) c->view_of = code_of(rows, first + TT_PLACE_VIEW_OF, root->name);
    c->type = code_of(rows, first + TT_PLACE_TYPE, t->type_name);
    c->origin = code_of(rows, first + TT_PLACE_ORIGIN, tt_origin_name(t->origin));
    if (t->weight != TT_NONE)
        c->file = code_of(rows, first + TT_PLACE_FILE, m->files[m->weights[t->weight].file].path);
}

void tt_tables_place(tt_rows *rows, tt_tables_own *own, uint32_t first, uint32_t graph,
                     uint32_t tensor)
{
    const tt_model *m = own->m;
    const tt_graph *g = &m->graphs[graph];
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    const bool weight = t->weight != TT_NONE;
    const uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    tt_place_codes *all = codes_of(own, graph), *c = all + (all ? tensor : 0);
    if (!all) {
        rows->failed = true;
        return;
    }
    if (c->stamp != own->stamp) encode_place(m, rows, first, t, root, c);
    c->stamp = own->stamp;
    tt_rows_integer(rows, first + TT_PLACE_NAME, c->name);
    tt_tables_put_known(rows, first + TT_PLACE_VIEW_OF, root != t, c->view_of);
    tt_rows_integer(rows, first + TT_PLACE_TYPE, c->type);
    tt_rows_integer(rows, first + TT_PLACE_SIZE, t->size_bytes);
    tt_rows_integer(rows, first + TT_PLACE_ORIGIN, c->origin);
    tt_tables_put_known(rows, first + TT_PLACE_FILE, weight, c->file);
    tt_tables_put_known(rows, first + TT_PLACE_FILE_OFFSET, weight,
                        weight ? m->weights[t->weight].offset_bytes + t->root_offset_bytes : 0);
    tt_tables_put_known(rows, first + TT_PLACE_BUFFER, buffer != TT_NONE,
                        buffer != TT_NONE ? m->buffers[buffer].id : 0);
    tt_tables_put_known(rows, first + TT_PLACE_BUFFER_OFFSET, buffer != TT_NONE,
                        t->buffer != TT_NONE ? t->location : root->location + t->root_offset_bytes);
}

/* --- columns of several tables --- */

void tt_tables_run_id(tt_rows *rows, size_t first, size_t n)
{
    tt_values *v = &rows->columns[0];
    if (!tt_rows_wants(rows, 0)) return;
    uint32_t code = tt_dictionary_code(&v->dictionary, rows->own->run_id, 32);
    rows->failed |= code == TT_NONE;
    for (size_t i = first; i < first + n; i++)
        ((uint32_t *)v->values)[i] = code;
}

int64_t tt_tables_relative_ns(const tt_model *m, uint64_t ticks)
{
    double ns = tt_model_ns(m, ticks);
    return ns > 9e18 ? INT64_MAX : ns < -9e18 ? INT64_MIN : (int64_t)llround(ns);
}

void tt_tables_put_relative(tt_rows *rows, uint32_t column, const tt_model *m, uint64_t ticks)
{
    if (m->clock.known)
        tt_rows_integer(rows, column, (uint64_t)tt_tables_relative_ns(m, ticks));
    else
        tt_rows_null(rows, column);
}

void tt_tables_put_mono(tt_rows *rows, uint32_t column, const tt_model *m, uint64_t ticks)
{
    if (m->clock.known)
        tt_rows_integer(rows, column, (uint64_t)tt_tables_mono_ns(m, ticks));
    else
        tt_rows_null(rows, column);
}

void tt_tables_put_utc(tt_rows *rows, uint32_t column, const tt_model *m, uint64_t ticks)
{
    if (tt_tables_has_utc(m))
        tt_rows_integer(rows, column, (uint64_t)tt_tables_utc_ns(m, tt_tables_mono_ns(m, ticks)));
    else
        tt_rows_null(rows, column);
}

void tt_tables_put_known(tt_rows *rows, uint32_t column, bool known, uint64_t v)
{
    if (known)
        tt_rows_integer(rows, column, v);
    else
        tt_rows_null(rows, column);
}

void tt_tables_put_layer(tt_rows *rows, uint32_t number, uint32_t stack, int32_t layer)
{
    const char *name = tt_layer_stack_name(layer);
    tt_tables_put_known(rows, number, layer >= 0, (uint64_t)tt_layer_number(layer));
    if (name)
        tt_rows_text(rows, stack, name, strlen(name));
    else
        tt_rows_null(rows, stack);
}
