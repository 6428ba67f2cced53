#include "analyze/dumps/dump.h"

#include "bitnet/names.h"
#include "bitnet/read.h"
#include "value/type.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The position of records that all claim position 0. */

/* Common properties of a folder's records. */
typedef struct style {
    bool is_overwritten; /* written by a program that calls each position 0 */
    uint64_t n_keys;     /* of attention at the last position; 0: unknown */
    uint64_t last_seq;   /* of records outside the layers */
} style;

static bool has_one_row(const tt_bitnet_record *r)
{
    return r->n_dims > 0 && r->n_elements == r->shape[r->n_dims - 1];
}

static bool is_stage(const tt_bitnet_record *r, const char *stage)
{
    return r->stage && strcmp(r->stage, stage) == 0;
}

/* A record in a layer; false: not of one token, not of position 0, or inconsistent with the
 * others. */
static bool look_in_layer(const tt_bitnet_record *r, style *s)
{
    if (r->has_seq && r->seq > 0) return false;
    if (!is_stage(r, "attn_scores_softmax")) return has_one_row(r);
    /* [batch, heads, queries, keys]: one key per token so far. */
    uint64_t keys = r->n_dims > 2 ? r->shape[r->n_dims - 1] : 0;
    if (!keys || r->shape[r->n_dims - 2] != 1 || (s->n_keys && s->n_keys != keys)) return false;
    s->n_keys = keys;
    return true;
}

static style style_of(const tt_bitnet_folder *f)
{
    style s = {.is_overwritten = false};
    for (size_t i = 0; i < f->n; i++) {
        const tt_bitnet_record *r = &f->items[i].record;
        if (r->has_first_values)
            return (style){.is_overwritten = false}; /* BitNet.rs has no such records */
        if (!r->has_layer || r->layer < 0) {
            if (r->has_seq && r->seq > s.last_seq) s.last_seq = r->seq;
            continue;
        }
        if (!look_in_layer(r, &s)) return (style){.is_overwritten = false};
        s.is_overwritten = true;
    }
    return s;
}

/* BitNet.rs names overwritten records "t0/...". It also keeps records of every position of a prompt
 * outside the layers ("t2_logits"), and of the first one ("embeddings"; "t0/logits" too, once the
 * prompt is done). */
static bool is_of_last(const tt_bitnet_record *r, uint64_t last, uint64_t last_seq)
{
    if (r->has_layer && r->layer >= 0) return true;
    if (strncmp(r->name, "t0/", 3) != 0) return false;
    return is_stage(r, "embeddings") || (is_stage(r, "logits") && last > last_seq);
}

/* Determines whether the records' positions can be trusted, and corrects known wrong ones.
 * *one_token: each step is of one token. */
static tt_dump_locations bitnet_find_positions(tt_bitnet_folder *f, bool *one_token)
{
    style s = style_of(f);
    *one_token = s.is_overwritten;
    if (!s.is_overwritten || s.n_keys == 1) return TT_PLACES_REPORTED;
    uint64_t last = s.n_keys ? s.n_keys - 1 : s.last_seq;
    if (last == 0) return TT_PLACES_UNKNOWN;
    for (size_t i = 0; i < f->n; i++) {
        tt_bitnet_record *r = &f->items[i].record;
        if (!is_of_last(r, last, s.last_seq)) continue;
        r->has_seq = true;
        r->seq = last;
    }
    return TT_PLACES_FOUND;
}

/* A record and its position. */
typedef struct entry {
    const tt_bitnet_item *item;
    tt_stage stage; /* name "": that of the record */
    uint32_t rank;
} entry;

typedef struct folder {
    char *path;
    tt_bitnet_folder read;
    tt_dump_locations places;
    bool one_token; /* each step has one */
    entry *entries; /* in the order of the dump */
} folder;

static const char *stage_of(const entry *e)
{
    return e->stage.name[0] || !e->item->record.stage ? e->stage.name : e->item->record.stage;
}

/* Layer and stage, from the record or the map. */
static void place(const tt_stages *stages, const tt_bitnet_item *item, entry *e)
{
    const tt_bitnet_record *r = &item->record;
    tt_bitnet_parts parts;
    memset(e, 0, sizeof *e);
    e->item = item;
    e->stage.layer = r->has_layer ? r->layer : TT_STAGE_LAYER_UNKNOWN;
    if (!r->has_layer && !item->has_stage) {
        tt_bitnet_name_parts(r->name, &parts);
        tt_stage found = tt_stages_of(stages, parts.stage, "");
        /* A name without a rule is returned as its own stage. */
        if (tt_stages_rank(stages, found.name) != UINT32_MAX) e->stage = found;
    }
    /* A stage that the map has under another name. */
    if (tt_stages_rank(stages, stage_of(e)) == UINT32_MAX) {
        tt_stage found = tt_stages_of(stages, stage_of(e), "");
        if (tt_stages_rank(stages, found.name) != UINT32_MAX) {
            if (e->stage.layer != TT_STAGE_LAYER_UNKNOWN) found.layer = e->stage.layer;
            e->stage = found;
        }
    }
    e->rank = tt_stages_rank(stages, stage_of(e));
}

/* Position in a forward pass: 0 before all layers, 1 + N in layer N, then everything after them. */
static uint64_t place_of(const entry *e)
{
    const uint64_t behind = (uint64_t)1 << 32;
    if (e->stage.layer >= 0) return (uint64_t)e->stage.layer + 1;
    if (e->stage.layer == TT_STAGE_LAYER_AFTER_ALL) return behind;
    if (e->stage.layer == TT_STAGE_LAYER_UNKNOWN) return behind + 2;
    return strcmp(stage_of(e), "logits") == 0 ? behind + 1 : 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int in_order(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    const tt_bitnet_record *r = &a->item->record, *s = &b->item->record;
    int order = (int)s->has_seq - (int)r->has_seq;
    if (order == 0) order = compare_numbers(r->seq, s->seq);
    if (order == 0) order = compare_numbers(place_of(a), place_of(b));
    if (order == 0) order = compare_numbers(a->rank, b->rank);
    /* Otherwise keep the reader's order. */
    return order ? order : (a->item > b->item) - (a->item < b->item);
}

/* --- its values --- */

/* "F32" as "f32"; "" for a type that is not ggml's. */
static const char *type_of(const char *dtype)
{
    char name[16];
    size_t n = 0;
    for (; dtype[n] && n + 1 < sizeof name; n++)
        name[n] = (char)tolower((unsigned char)dtype[n]);
    name[n] = '\0';
    tt_value_type type = tt_value_type_of(name);
    return type == TT_VALUE_UNKNOWN ? "" : tt_value_type_name(type);
}

static void fill_print(const tt_bitnet_record *r, tt_dump_value *v)
{
    v->print.n = r->n_elements;
    v->print.first_bad = TT_VALUE_NONE;
    if (r->has_rms) {
        v->known |= TT_KNOWN_RMS;
        v->print.has_range = true;
        v->print.rms = r->rms;
    }
    if (r->has_blake3) {
        v->known |= TT_KNOWN_BLAKE3;
        v->print.has_blake3 = true;
        memcpy(v->print.blake3, r->blake3, sizeof r->blake3);
    }
    if (!r->has_first_values) return;
    v->known |= TT_KNOWN_PREFIX;
    v->print.n_prefix = r->n_first_values < TT_VALUE_PREFIX ? r->n_first_values : TT_VALUE_PREFIX;
    /* More than the value has: the file is inconsistent, so ignore the rest. */
    if (v->print.n_prefix > r->n_elements) v->print.n_prefix = (uint32_t)r->n_elements;
    memcpy(v->print.prefix, r->first_values, v->print.n_prefix * sizeof *r->first_values);
}

static void fill(const entry *e, tt_dump_value *v)
{
    const tt_bitnet_record *r = &e->item->record;
    v->stage = stage_of(e);
    v->layer = e->stage.layer;
    v->name = r->name;
    v->op = "";
    v->type = type_of(r->dtype);
    v->coarsest_type = v->type;
    v->more_inputs = true; /* no record has its inputs */
    /* A shape of too many dimensions is left out: the number of elements is known. */
    if (r->n_dims <= sizeof v->ne / sizeof *v->ne) {
        v->n_dims = r->n_dims;
        for (uint32_t i = 0; i < r->n_dims; i++)
            v->ne[i] = r->shape[r->n_dims - 1 - i];
    }
    fill_print(r, v);
}

static tt_status load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err)
{
    const folder *f = d->context;
    const tt_dump_head *head = &d->steps[step];
    for (uint64_t i = 0; i < head->count; i++) {
        tt_dump_value *v = tt_dump_add(out);
        if (!v)
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                "%s: too many records of one position, or out of memory", d->path);
        fill(&f->entries[head->first + i], v);
    }
    return TT_OK;
}

static void close_folder(void *context)
{
    folder *f = context;
    tt_bitnet_free(&f->read);
    free(f->entries);
    free(f->path);
    free(f);
}

static const tt_dump_kind kind = {"folder", load, NULL, close_folder};

/* --- its steps --- */

static bool same_step(const tt_bitnet_record *a, const tt_bitnet_record *b)
{
    return a->has_seq == b->has_seq && a->seq == b->seq;
}

static tt_status check_seq(const folder *f, const entry *e, tt_error *err)
{
    if (!e->item->record.has_seq || e->item->record.seq <= INT32_MAX) return TT_OK;
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                        "%s: %s, line %llu: \"seq\" is no position in a text: it is more than %d",
                        f->path, e->item->file, (unsigned long long)e->item->line, INT32_MAX);
}

static tt_status make_steps(tt_dump *d, const folder *f, tt_error *err)
{
    size_t n = f->read.n, n_steps = 0;
    for (size_t i = 0; i < n; i++) {
        tt_status status = check_seq(f, &f->entries[i], err);
        if (status != TT_OK) return status;
        const tt_bitnet_record *r = &f->entries[i].item->record;
        n_steps += i == 0 || !same_step(r, &f->entries[i - 1].item->record);
    }
    d->steps = calloc(n_steps, sizeof *d->steps);
    if (!d->steps) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const tt_bitnet_record *r = &f->entries[i].item->record;
        if (i == 0 || !same_step(r, &f->entries[i - 1].item->record)) {
            tt_dump_head *head = &d->steps[d->n_steps++];
            head->n_tokens = f->one_token;
            head->position = r->has_seq ? (int32_t)r->seq : TT_DUMP_POSITION_UNKNOWN;
            head->batch = TT_NONE;
            head->token = TT_NONE;
            head->phase = TT_PHASE_UNKNOWN;
            head->first = i;
        }
        d->steps[d->n_steps - 1].count++;
    }
    return TT_OK;
}

static tt_status read_folder(folder *f, const char *path, const tt_stages *stages, tt_error *err)
{
    tt_status status = tt_bitnet_read(&f->read, path, err);
    if (status != TT_OK) return status;
    f->places = bitnet_find_positions(&f->read, &f->one_token);
    f->path = strdup(path);
    f->entries = calloc(f->read.n, sizeof *f->entries);
    if (!f->path || !f->entries)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < f->read.n; i++)
        place(stages, &f->read.items[i], &f->entries[i]);
    qsort(f->entries, f->read.n, sizeof *f->entries, in_order);
    return TT_OK;
}

tt_status tt_dump_of_bitnet(const char *path, const tt_stages *stages, tt_dump **out, tt_error *err)
{
    *out = NULL;
    folder *f = calloc(1, sizeof *f);
    if (!f) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_status status = read_folder(f, path, stages, err);
    tt_dump *d = status == TT_OK ? tt_dump_new(&kind, f, f->path, stages) : NULL;
    if (!d) {
        close_folder(f);
        return status == TT_OK ? tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory")
                               : status;
    }
    d->places = f->places;
    status = make_steps(d, f, err);
    if (status == TT_OK)
        *out = d;
    else
        tt_dump_close(d);
    return status;
}
