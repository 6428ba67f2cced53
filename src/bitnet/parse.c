/* One record from its JSON. */
#include "bitnet/parse.h"

#include "bitnet/names.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The object under way. */
struct parsing {
    tt_bitnet_folder *f;
    const json_t *object;
    tt_error *err;
};

static tt_status wrong(const struct parsing *p, const char *key, const char *what)
{
    return tt_error_set(p->err, TT_E_FORMAT, TT_NO_OFFSET, "\"%s\" %s", key, what);
}

static tt_status no_memory(const struct parsing *p)
{
    return tt_error_set(p->err, TT_E_LIMIT, TT_NO_OFFSET,
                        "its record needs more memory than there is, or than the %zu MiB that "
                        "records may take",
                        TT_BITNET_MEMORY_MAX >> 20);
}

/* The key's value; NULL when it is not there, or null. */
static const json_t *find(const struct parsing *p, const char *key)
{
    const json_t *v = json_object_get(p->object, key);
    return json_is_null(v) ? NULL : v;
}

/* One that has to be there. */
static tt_status demand(const struct parsing *p, const char *key, bool null, const json_t **v)
{
    *v = json_object_get(p->object, key);
    if (!*v) return wrong(p, key, "is missing");
    if (!json_is_null(*v)) return TT_OK;
    *v = NULL;
    return null ? TT_OK : wrong(p, key, "is null");
}

static tt_status take_string(const struct parsing *p, const char *key, const char **out)
{
    const json_t *v;
    tt_status status = demand(p, key, false, &v);
    if (status != TT_OK) return status;
    if (!json_is_string(v)) return wrong(p, key, "is no string");
    size_t n = json_string_length(v);
    if (n == 0) return wrong(p, key, "is empty");
    char *kept = tt_bitnet_keep(p->f, n + 1);
    if (!kept) return no_memory(p);
    memcpy(kept, json_string_value(v), n + 1);
    *out = kept;
    return TT_OK;
}

/* Few different ones are repeated in every record. */
static tt_status take_dtype(const struct parsing *p, const char **out)
{
    const char *before = p->f->n > 0 ? p->f->items[p->f->n - 1].record.dtype : NULL;
    const char *text = json_string_value(json_object_get(p->object, "dtype"));
    if (!before || !text || strcmp(before, text) != 0) return take_string(p, "dtype", out);
    *out = before;
    return TT_OK;
}

static tt_status take_count(const struct parsing *p, const char *key, const json_t *v,
                            uint64_t *out)
{
    if (!json_is_integer(v)) return wrong(p, key, "is no whole number");
    if (json_integer_value(v) < 0) return wrong(p, key, "is negative");
    *out = (uint64_t)json_integer_value(v);
    return TT_OK;
}

static tt_status take_shape(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v;
    tt_status status = demand(p, "shape", false, &v);
    if (status != TT_OK) return status;
    if (!json_is_array(v)) return wrong(p, "shape", "is no array");
    size_t n = json_array_size(v);
    if (n > TT_BITNET_DIMS_MAX) return wrong(p, "shape", "has more than 16 dimensions");
    uint64_t *shape = tt_bitnet_keep(p->f, (n ? n : 1) * sizeof *shape);
    if (!shape) return no_memory(p);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        status = take_count(p, "shape", json_array_get(v, i), &shape[i]);
    r->shape = shape;
    r->n_dims = (uint32_t)n;
    return status;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static tt_status take_digest(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v;
    tt_status status = demand(p, "blake3", true, &v);
    if (status != TT_OK || !v) return status;
    const char *text = json_string_value(v);
    bool ok = text && json_string_length(v) == 64;
    for (size_t i = 0; ok && i < 32; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        if (ok) r->blake3[i] = (uint8_t)(high << 4 | low);
    }
    r->has_blake3 = ok;
    return ok ? TT_OK : wrong(p, "blake3", "is not 64 lower-case hexadecimal digits");
}

static tt_status take_rms(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v;
    tt_status status = demand(p, "rms", true, &v);
    if (status != TT_OK || !v) return status;
    if (!json_is_number(v)) return wrong(p, "rms", "is no number");
    r->rms = json_number_value(v);
    r->has_rms = true;
    return r->rms < 0 ? wrong(p, "rms", "is negative") : TT_OK;
}

static tt_status take_first_values(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v = find(p, "first_values");
    if (!v) return TT_OK;
    if (!json_is_array(v)) return wrong(p, "first_values", "is no array");
    size_t n = json_array_size(v), most = n < TT_BITNET_FIRST_MAX ? n : TT_BITNET_FIRST_MAX;
    float *values = tt_bitnet_keep(p->f, (most ? most : 1) * sizeof *values);
    if (!values) return no_memory(p);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(v, i);
        if (!json_is_null(one) && !json_is_number(one))
            return wrong(p, "first_values", "holds what is no number");
        float value = json_is_null(one) ? NAN : (float)json_number_value(one);
        if (isinf(value)) return wrong(p, "first_values", "holds a number that is no float32");
        if (i < most) values[i] = value;
    }
    r->first_values = values;
    r->n_first_values = (uint32_t)most;
    r->has_first_values = true;
    return TT_OK;
}

static tt_status take_layer(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v = find(p, "layer");
    if (!v) return TT_OK;
    if (!json_is_integer(v)) return wrong(p, "layer", "is no whole number");
    json_int_t layer = json_integer_value(v);
    if (layer < TT_BITNET_LAYER_ALL || layer > INT32_MAX)
        return wrong(p, "layer", "is no layer: 0 and above, -1 or -2");
    r->layer = (int32_t)layer;
    r->has_layer = true;
    return TT_OK;
}

/* Mostly the end of the name. */
static tt_status take_stage(const struct parsing *p, tt_bitnet_record *r)
{
    const json_t *v = find(p, "stage");
    if (!v) return TT_OK;
    const char *text = json_string_value(v);
    size_t n = text ? json_string_length(v) : 0, length = strlen(r->name);
    if (n == 0 || n > length || strcmp(r->name + length - n, text) != 0)
        return take_string(p, "stage", &r->stage);
    r->stage = r->name + length - n;
    return TT_OK;
}

/* What its keys do not say, the name may. */
static void complete(tt_bitnet_record *r)
{
    tt_bitnet_parts parts;
    tt_bitnet_name_parts(r->name, &parts);
    if (!r->has_seq && parts.has_seq) {
        r->has_seq = true;
        r->seq = parts.seq;
    }
    if (!r->has_layer && parts.has_layer) {
        r->has_layer = true;
        r->layer = parts.layer;
    }
    if (!r->stage && parts.stage[0]) r->stage = parts.stage;
}

tt_status tt_bitnet_parse(tt_bitnet_folder *f, const json_t *object, tt_bitnet_item *item,
                          tt_error *err)
{
    struct parsing p = {f, object, err};
    const json_t *v;
    tt_bitnet_record *r = &item->record;
    memset(r, 0, sizeof *r);
    if (!json_is_object(object))
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "it is no JSON object");
    tt_status status = take_string(&p, "name", &r->name);
    if (status == TT_OK) status = take_shape(&p, r);
    if (status == TT_OK) status = take_dtype(&p, &r->dtype);
    if (status == TT_OK) status = take_digest(&p, r);
    if (status == TT_OK) status = take_rms(&p, r);
    if (status == TT_OK) status = demand(&p, "num_elements", false, &v);
    if (status == TT_OK) status = take_count(&p, "num_elements", v, &r->n_elements);
    if (status == TT_OK) status = take_first_values(&p, r);
    v = find(&p, "seq");
    r->has_seq = v != NULL;
    if (status == TT_OK && v) status = take_count(&p, "seq", v, &r->seq);
    if (status == TT_OK) status = take_layer(&p, r);
    if (status == TT_OK) status = take_stage(&p, r);
    item->has_stage = r->stage != NULL;
    if (status == TT_OK) complete(r);
    return status;
}
