/* dump_memory FILE: what the C reader makes of the records on memory, as JSON, for decode.py to
 * compare with. The commands show it joined and summed up; this shows it as it is. */
#include "base/checksum.h"
#include "base/json.h"
#include "model/faults.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t batch_id(const tt_model *m, uint32_t batch)
{
    return batch == TT_NONE ? 0 : m->batches[batch].id;
}

static void put_buffers(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "buffers");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        const tt_buffer *b = &m->buffers[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "id", b->id);
        tt_json_kv_string(j, "name", b->name);
        tt_json_kv_u64(j, "flags", b->flags);
        tt_json_kv_u64(j, "model", b->last_file == TT_NONE ? 0 : m->files[b->last_file].id);
        tt_json_kv_string(j, "allocator", b->allocator);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_backends(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "backends");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_graphs; i++) {
        tt_json_array(j);
        for (uint32_t k = 0; k < m->graphs[i].n_nodes; k++)
            tt_json_string(j, m->graphs[i].tensors[k].backend);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_batches(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "batches");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "id", b->id);
        tt_json_kv_u64(j, "vocabulary", b->vocabulary);
        tt_json_key(j, "sequences");
        if (b->sequences) tt_json_array(j);
        for (uint32_t t = 0; b->sequences && t < b->n_tokens; t++) {
            tt_json_array(j);
            for (uint32_t s = b->sequence_first[t]; s < b->sequence_first[t + 1]; s++)
                tt_json_i64(j, b->sequences[s]);
            tt_json_array_end(j);
        }
        if (b->sequences)
            tt_json_array_end(j);
        else
            tt_json_null(j);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_tokens_and_rows(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "token_texts");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_token_texts; i++) {
        const tt_token_text *t = &m->token_texts[i];
        tt_json_array(j);
        tt_json_u64(j, t->vocabulary);
        tt_json_i64(j, t->token);
        for (size_t k = 0; k < t->n; k++) /* bytes: they need not be characters */
            tt_json_u64(j, (unsigned char)t->text[k]);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "indices");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_indices; i++) {
        const tt_indices *x = &m->indices[i];
        tt_json_array(j);
        tt_json_u64(j, m->runs[x->run].id);
        tt_json_u64(j, x->tensor);
        for (uint32_t k = 0; k < x->n; k++)
            tt_json_i64(j, x->values[k]);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_stops(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "throttled");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_throttled; i++) {
        const tt_meta_throttled *t = &m->throttled[i];
        tt_json_array(j);
        tt_json_u64(j, t->batch == TT_NONE ? 0 : m->batches[t->batch].id);
        tt_json_u64(j, t->moment);
        tt_json_u64(j, t->ticks);
        tt_json_u64(j, t->throttled_ns);
        tt_json_u64(j, t->periods);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "pauses");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_pauses; i++) {
        const tt_meta_pause *p = &m->pauses[i];
        tt_json_array(j);
        tt_json_u64(j, p->begin_ticks);
        tt_json_u64(j, p->due_ticks);
        tt_json_u64(j, p->end_ticks);
        tt_json_u64(j, p->delay_ns);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_usages(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "usages");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_usages; i++) {
        const tt_meta_usage *u = &m->usages[i];
        const uint64_t head[] = {batch_id(m, u->batch), u->moment, u->ticks, u->flags};
        const uint64_t faults[] = {u->minor, u->major, u->user_ns, u->system_ns};
        tt_json_array(j);
        for (size_t k = 0; k < 4; k++)
            tt_json_u64(j, head[k]);
        for (size_t k = 0; (u->flags & TT_USAGE_FAULTS) && k < 4; k++)
            tt_json_u64(j, faults[k]);
        if (u->flags & TT_USAGE_IO) {
            tt_json_u64(j, u->read_bytes);
            tt_json_u64(j, u->rchar);
        }
        for (uint32_t k = 0; k < u->n_devices; k++) {
            tt_json_u64(j, u->devices[k].device);
            tt_json_u64(j, u->devices[k].read_bytes);
            tt_json_u64(j, u->devices[k].reads);
        }
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_page_faults(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "mappings");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_mappings; i++) {
        const tt_mapping *p = &m->mappings[i];
        const uint64_t all[] = {
            p->id, p->ticks, p->address, p->size_bytes, p->file_offset_bytes, p->device, p->inode};
        tt_json_array(j);
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            tt_json_u64(j, all[k]);
        tt_json_string(j, p->path);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "page_faults");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_page_faults; i++) {
        const tt_page_fault *f = &m->page_faults[i];
        tt_json_array(j);
        tt_json_u64(j, f->ticks);
        tt_json_u64(j, f->thread);
        tt_json_u64(j, f->address);
        tt_json_u64(j, f->mapping == TT_MAPPING_NONE ? 0 : m->mappings[f->mapping].id);
        tt_json_u64(j, f->major);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

/* What single faults come to for each op. */
static bool put_op_faults(tt_json *j, const tt_model *m, tt_error *err)
{
    tt_json_key(j, "op_faults");
    tt_json_array(j);
    for (uint32_t r = 0; tt_model_faults_are_events(m) && r < m->n_runs; r++) {
        const tt_detail *list;
        size_t n;
        if (tt_model_faults_of_run(m, r, &list, &n, err) != TT_OK) return false;
        for (size_t i = 0; i < n; i++) {
            tt_json_array(j);
            tt_json_u64(j, list[i].run);
            tt_json_u64(j, tt_detail_node(&list[i]));
            tt_json_u64(j, tt_detail_lane(&list[i]));
            tt_json_u64(j, list[i].faults.minor);
            tt_json_u64(j, list[i].faults.major);
            tt_json_array_end(j);
        }
    }
    tt_json_array_end(j);
    return true;
}

/* Of each model file: state, totals, and the list. */
static void put_extents(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "extents");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_files; i++) {
        const tt_file_extents *e = m->files[i].extents;
        if (!e) continue;
        const uint64_t all[] = {e->state,         e->walked_bytes, e->n_extents,
                                e->n_fragments,   e->n_backward,   e->mapped_bytes,
                                e->largest_bytes, e->long_bytes,   e->flags};
        tt_json_array(j);
        tt_json_string(j, e->why);
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            tt_json_u64(j, all[k]);
        for (uint32_t k = 0; k < e->n_listed; k++) {
            tt_json_u64(j, e->fragments[k].offset_bytes);
            tt_json_u64(j, e->fragments[k].disk_bytes);
            tt_json_u64(j, e->fragments[k].size_bytes);
            tt_json_u64(j, e->fragments[k].flags);
        }
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_load_steps(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "load_steps");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_load_steps; i++) {
        const tt_load_step *s = &m->load_steps[i];
        const uint64_t head[] = {s->model == TT_NONE ? 0 : m->files[s->model].id,
                                 s->kind,
                                 s->begin_ticks,
                                 s->end_ticks,
                                 s->file_offset_bytes,
                                 s->size_bytes,
                                 s->what,
                                 s->error,
                                 s->flags};
        const uint64_t faults[] = {s->minor, s->major, s->call_minor, s->call_major};
        const uint64_t io[] = {s->read_bytes, s->rchar, s->call_read_bytes};
        tt_json_array(j);
        for (size_t k = 0; k < sizeof head / sizeof *head; k++)
            tt_json_u64(j, head[k]);
        for (size_t k = 0; s->flags & TT_USAGE_FAULTS && k < sizeof faults / sizeof *faults; k++)
            tt_json_u64(j, faults[k]);
        for (size_t k = 0; s->flags & TT_USAGE_IO && k < sizeof io / sizeof *io; k++)
            tt_json_u64(j, io[k]);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_pool(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "pool");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_pool_states; i++) {
        const tt_pool_state *s = &m->pool_states[i];
        const tt_meta_pool *p = &s->at;
        const uint64_t head[] = {p->ticks,        p->run == TT_NONE ? 0 : m->runs[p->run].id,
                                 p->budget_bytes, p->present_bytes,
                                 p->peak_bytes,   p->used,
                                 p->missed,       p->left,
                                 p->evictions,    p->waited_ns,
                                 p->lost};
        tt_json_array(j);
        for (size_t k = 0; k < sizeof head / sizeof *head; k++)
            tt_json_u64(j, head[k]);
        for (uint32_t r = s->first_read; r < s->first_read + p->n; r++) {
            const tt_pool_read *x = &m->pool_reads[r];
            const uint64_t read[] = {m->files[x->file].id,
                                     x->file_offset_bytes,
                                     x->size_bytes,
                                     x->requested_ticks,
                                     x->begin_ticks,
                                     x->end_ticks,
                                     x->cause,
                                     x->flags,
                                     x->waiters,
                                     x->thread,
                                     x->waited_ticks};
            for (size_t k = 0; k < sizeof read / sizeof *read; k++)
                tt_json_u64(j, read[k]);
        }
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void put_residencies(tt_json *j, const tt_model *m)
{
    tt_json_key(j, "residencies");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        const tt_residency *r = &m->residencies[i];
        const uint64_t head[] = {
            m->files[r->file].id, batch_id(m, r->batch), r->moment,     r->begin_ticks,
            r->end_ticks,         r->page_bytes,         r->first_page, r->n_pages};
        tt_json_array(j);
        for (size_t k = 0; k < sizeof head / sizeof *head; k++)
            tt_json_u64(j, head[k]);
        for (uint32_t k = 0; k < r->n_intervals; k++)
            tt_json_u64(j, r->intervals[k]);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "end_states");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_files; i++)
        tt_json_i64(j, m->files[i].checked_at_end ? m->files[i].end_state : -1);
    tt_json_array_end(j);
    put_extents(j, m);
    put_load_steps(j, m);
    put_pool(j, m);
}

static void put_detail(tt_json *j, const tt_detail *d)
{
    const uint64_t faults[] = {d->faults.minor, d->faults.major, d->faults.cpu_ns,
                               d->faults.read_bytes};
    tt_json_array(j);
    tt_json_u64(j, d->run);
    tt_json_u64(j, tt_detail_node(d));
    tt_json_u64(j, tt_detail_lane(d));
    tt_json_u64(j, tt_detail_kind_of(d));
    if (tt_detail_kind_of(d) == TT_DETAIL_FAULTS) {
        for (size_t k = 0; k < 4; k++)
            tt_json_u64(j, faults[k]);
    } else if (tt_detail_kind_of(d) == TT_DETAIL_VALUE) {
        char hex[2 * TT_DETAIL_VALUE_BYTES + 1];
        for (size_t k = 0; k < TT_DETAIL_VALUE_BYTES; k++)
            (void)snprintf(hex + 2 * k, 3, "%02x", d->value.bytes[k]);
        tt_json_u64(j, d->value.part);
        tt_json_string(j, hex);
    } else if (tt_detail_kind_of(d) == TT_DETAIL_OFF_CPU) {
        tt_json_u64(j, d->off_cpu.ns);
    } else if (tt_detail_kind_of(d) == TT_DETAIL_WAIT_INSIDE) {
        tt_json_u64(j, d->off_cpu.ns);
        tt_json_u64(j, d->off_cpu.ticks);
    } else if (tt_detail_is_thread(d)) {
        const uint64_t counts[] = {d->thread.elapsed_us, d->thread.user_us, d->thread.system_us,
                                   d->thread.delay_us,   d->thread.major,   d->thread.switches};
        for (size_t k = 0; k < 6; k++)
            tt_json_u64(j, counts[k]);
    } else {
        tt_json_u64(j, d->experts.token);
        tt_json_u64(j, d->experts.first_rank);
        for (unsigned k = 0; k < d->experts.n; k++)
            tt_json_u64(j, tt_detail_kind_of(d) == TT_DETAIL_EXPERTS
                               ? d->experts.expert[k]
                               : tt_load_u32(&d->weights.weight[k])); /* its bits */
    }
    tt_json_array_end(j);
}

static bool put_details(tt_json *j, const tt_model *m, tt_error *err)
{
    tt_json_key(j, "detail_losses");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_detail_losses; i++) {
        tt_json_array(j);
        tt_json_u64(j, m->detail_losses[i].ring);
        tt_json_u64(j, m->detail_losses[i].position);
        tt_json_u64(j, m->detail_losses[i].dropped);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "details");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_detail *list;
        size_t n;
        if (tt_details_of_run(m->details, m->runs[i].id, &list, &n, err) != TT_OK) return false;
        for (size_t k = 0; k < n; k++)
            put_detail(j, &list[k]);
    }
    tt_json_array_end(j);
    return tt_details_damaged(m->details, err) == 0;
}

static bool put_data(tt_json *j, const tt_model *m, tt_error *err)
{
    size_t n;
    tt_span bytes;
    const tt_data_part *list = tt_data_all(m->data, &n);
    tt_json_key(j, "data");
    tt_json_array(j);
    for (size_t i = 0; i < n; i++) {
        if (tt_data_get(m->data, &list[i], &bytes, err) != TT_OK) return false;
        tt_json_array(j);
        tt_json_u64(j, list[i].run);
        tt_json_u64(j, list[i].node);
        tt_json_u64(j, list[i].part);
        tt_json_u64(j, bytes.size);
        tt_json_u64(j, tt_checksum(bytes.data, bytes.size));
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
    return true;
}

int main(int argc, char **argv)
{
    tt_model *m;
    tt_error err;
    tt_json j;
    if (argc != 2) {
        fprintf(stderr, "usage: dump_memory FILE\n");
        return 2;
    }
    if (tt_model_open(argv[1], &m, &err) != TT_OK) {
        fprintf(stderr, "dump_memory: %s\n", err.message);
        return 2;
    }
    tt_json_begin(&j, stdout, 0);
    tt_json_object(&j);
    put_buffers(&j, m);
    put_backends(&j, m);
    put_batches(&j, m);
    put_tokens_and_rows(&j, m);
    put_usages(&j, m);
    put_stops(&j, m);
    put_residencies(&j, m);
    put_page_faults(&j, m);
    bool ok = put_op_faults(&j, m, &err) && put_details(&j, m, &err) && put_data(&j, m, &err);
    if (!ok) fprintf(stderr, "dump_memory: %s\n", err.message);
    tt_json_object_end(&j);
    ok = tt_json_end(&j) && ok;
    tt_model_close(m);
    return ok ? 0 : 1;
}
