#include "dataset/shape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The string's end, after its quote; n if it has none. */
static size_t skip_string(const char *text, size_t at, size_t n)
{
    while (at < n && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at < n ? at + 1 : n;
}

/* The parser needs some hundred bytes per value and recurses for nested ones: both are limited
 * before it begins. */
static tt_status check_bounds(const char *text, size_t n, tt_error *err)
{
    size_t values = 1, depth = 0;
    for (size_t at = 0; at < n; at++) {
        char c = text[at];
        if (c == '"') {
            at = skip_string(text, at + 1, n) - 1;
        } else if (c == '{' || c == '[') {
            values++;
            if (++depth > TT_DATASET_DEPTH_MAX)
                return tt_error_set(err, TT_E_FORMAT, at,
                                    "byte %zu: more than %u objects and arrays in each other", at,
                                    TT_DATASET_DEPTH_MAX);
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        } else if (c == ',') {
            values++;
        }
    }
    if (values <= TT_DATASET_VALUES_MAX) return TT_OK;
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "it holds %zu values; the most that is checked of one file is %u", values,
                        TT_DATASET_VALUES_MAX);
}

json_t *tt_dataset_parse(const char *text, size_t n, tt_error *err)
{
    json_error_t why;
    if (n == 0) {
        (void)tt_error_set(err, TT_E_TRUNCATED, TT_NO_OFFSET, "it is empty");
        return NULL;
    }
    if (check_bounds(text, n, err) != TT_OK) return NULL;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j) {
        bool memory = json_error_code(&why) == json_error_out_of_memory;
        (void)tt_error_set(err, memory ? TT_E_MEMORY : TT_E_FORMAT, (uint64_t)why.position,
                           "line %d, byte %d: %s", why.line, why.position, why.text);
        return NULL;
    }
    if (json_is_object(j)) return j;
    json_decref(j);
    (void)tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "it is no JSON object");
    return NULL;
}

/* The keys of a dataset's files: docs/dataset.md. */

#define TEXT TT_IS_STRING
#define COUNT TT_IS_COUNT
#define NUMBER TT_IS_NUMBER
#define ARRAY TT_IS_ARRAY
#define OBJECT TT_IS_OBJECT
#define BOOL TT_IS_BOOL
#define NONE TT_IS_NULL

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

static const char *const categories[] = {"input",     "attention", "ffn",       "norm",
                                         "output",    "ssm",       "rwkv",      "conv",
                                         "projector", "other",     "embedding", NULL};
static const char *const usages[] = {"ANY", "WEIGHTS", "COMPUTE", NULL};
static const char *const events[] = {"alloc", "dealloc", NULL};
static const char *const phases[] = {"PROMPT", "GENERATE", NULL};
static const char *const places[] = {"DISK", "BUFFER", NULL};
static const char *const versions[] = {"tensortrace-1", NULL};

static const tt_shape_key engine[] = {{.name = "name", .kinds = TEXT},
                                      {.name = "version", .kinds = TEXT | NONE},
                                      {.name = "commit", .kinds = TEXT | NONE},
                                      END};

static const tt_shape_key model_file[] = {
    {.name = "file", .kinds = TEXT}, {.name = "size_bytes", .kinds = COUNT}, END};

static const tt_shape_key token_range[] = {
    {.name = "first", .kinds = COUNT}, {.name = "last", .kinds = COUNT}, END};

const tt_shape_key tt_shape_experiment[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "timestamp_start", .kinds = TEXT | NONE},
    {.name = "model_file", .kinds = TEXT},
    {.name = "model_name", .kinds = TEXT},
    {.name = "model_files", .kinds = ARRAY, .inside = model_file, .optional = true},
    {.name = "prompt", .kinds = TEXT | NONE},
    {.name = "num_tokens_generated", .kinds = COUNT | NONE},
    {.name = "num_batches", .kinds = COUNT, .optional = true},
    {.name = "tokens_left_out", .kinds = ARRAY, .inside = token_range, .optional = true},
    {.name = "threads", .kinds = COUNT | NONE},
    {.name = "engine", .kinds = OBJECT, .inside = engine},
    {.name = "tensortrace_version", .kinds = TEXT | NONE},
    {.name = "command", .kinds = TEXT | NONE},
    {.name = "host", .kinds = TEXT | NONE},
    END};

static const tt_shape_key map_metadata[] = {{.name = "n_layers", .kinds = COUNT | NONE},
                                            {.name = "n_vocab", .kinds = COUNT | NONE},
                                            {.name = "n_embd", .kinds = COUNT | NONE},
                                            {.name = "n_heads", .kinds = COUNT | NONE},
                                            {.name = "n_tensors", .kinds = COUNT},
                                            {.name = "source", .kinds = TEXT},
                                            END};

static const tt_shape_key map_tensor[] = {{.name = "name", .kinds = TEXT},
                                          {.name = "file", .kinds = TEXT, .optional = true},
                                          {.name = "offset_start", .kinds = COUNT},
                                          {.name = "offset_end", .kinds = COUNT},
                                          {.name = "size_bytes", .kinds = COUNT},
                                          {.name = "shape", .kinds = ARRAY, .elements = COUNT},
                                          {.name = "dtype", .kinds = TEXT},
                                          {.name = "layer_id", .kinds = COUNT | NONE},
                                          {.name = "category", .kinds = TEXT, .words = categories},
                                          {.name = "component", .kinds = TEXT},
                                          {.name = "component_type", .kinds = TEXT},
                                          {.name = "expert_id", .kinds = COUNT, .optional = true},
                                          END};

const tt_shape_key tt_shape_memory_map[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "model_name", .kinds = TEXT},
    {.name = "total_size_bytes", .kinds = COUNT},
    {.name = "num_tensors", .kinds = COUNT},
    {.name = "metadata", .kinds = OBJECT, .inside = map_metadata},
    {.name = "tensors", .kinds = ARRAY, .inside = map_tensor},
    END};

static const tt_shape_key usage_breakdown[] = {
    {.name = "ANY", .kinds = COUNT, .optional = true},
    {.name = "WEIGHTS", .kinds = COUNT, .optional = true},
    {.name = "COMPUTE", .kinds = COUNT, .optional = true},
    END};

static const tt_shape_key buffers_metadata[] = {
    {.name = "total_events", .kinds = COUNT},
    {.name = "total_buffers", .kinds = COUNT},
    {.name = "peak_occupancy_bytes", .kinds = COUNT},
    {.name = "peak_occupancy_mb", .kinds = NUMBER},
    {.name = "duration_ms", .kinds = NUMBER},
    {.name = "usage_breakdown", .kinds = OBJECT, .inside = usage_breakdown},
    END};

static const tt_shape_key buffer[] = {{.name = "id", .kinds = COUNT},
                                      {.name = "name", .kinds = TEXT},
                                      {.name = "size", .kinds = COUNT},
                                      {.name = "backend", .kinds = TEXT},
                                      {.name = "usage", .kinds = COUNT},
                                      {.name = "usage_name", .kinds = TEXT, .words = usages},
                                      {.name = "layer", .kinds = COUNT},
                                      {.name = "alloc_time_ms", .kinds = NUMBER},
                                      {.name = "dealloc_time_ms", .kinds = NUMBER | NONE},
                                      END};

static const tt_shape_key event[] = {{.name = "timestamp_ms", .kinds = NUMBER},
                                     {.name = "event", .kinds = TEXT, .words = events},
                                     {.name = "buffer_id", .kinds = COUNT},
                                     {.name = "buffer_name", .kinds = TEXT},
                                     {.name = "size", .kinds = COUNT},
                                     {.name = "cumulative_size", .kinds = COUNT},
                                     {.name = "num_active_buffers", .kinds = COUNT},
                                     END};

const tt_shape_key tt_shape_buffers[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "metadata", .kinds = OBJECT, .inside = buffers_metadata},
    {.name = "buffers", .kinds = ARRAY, .inside = buffer},
    {.name = "timeline", .kinds = ARRAY, .inside = event},
    END};

static const tt_shape_key trace_metadata[] = {
    {.name = "total_entries", .kinds = COUNT},
    {.name = "duration_ms", .kinds = NUMBER},
    {.name = "timestamp_start_ns", .kinds = COUNT},
    {.name = "format_version", .kinds = TEXT, .words = versions},
    END};

static const tt_shape_key source[] = {
    {.name = "name", .kinds = TEXT},
    {.name = "tensor_ptr", .kinds = TEXT | NONE},
    {.name = "size_bytes", .kinds = COUNT},
    {.name = "layer_id", .kinds = COUNT | NONE},
    {.name = "memory_source", .kinds = TEXT | NONE, .words = places},
    {.name = "disk_offset", .kinds = COUNT, .optional = true},
    {.name = "buffer_id", .kinds = COUNT | NONE, .optional = true},
    {.name = "view_of", .kinds = TEXT, .optional = true},
    {.name = "file", .kinds = TEXT, .optional = true},
    {.name = "file_offset_bytes", .kinds = COUNT, .optional = true},
    END};

static const tt_shape_key thread[] = {{.name = "thread_id", .kinds = COUNT},
                                      {.name = "start_ns", .kinds = COUNT},
                                      {.name = "arrive_ns", .kinds = COUNT | NONE},
                                      {.name = "release_ns", .kinds = COUNT | NONE},
                                      END};

static const tt_shape_key entry[] = {
    {.name = "entry_id", .kinds = COUNT},
    {.name = "timestamp_ns", .kinds = COUNT},
    {.name = "timestamp_relative_ms", .kinds = NUMBER},
    {.name = "token_id", .kinds = COUNT},
    {.name = "layer_id", .kinds = COUNT | NONE},
    {.name = "thread_id", .kinds = COUNT},
    {.name = "phase", .kinds = TEXT | NONE, .words = phases},
    {.name = "operation_type", .kinds = TEXT},
    {.name = "dst_name", .kinds = TEXT},
    {.name = "num_sources", .kinds = COUNT},
    {.name = "sources", .kinds = ARRAY, .inside = source},
    {.name = "expert_ids", .kinds = ARRAY | NONE, .elements = COUNT},
    {.name = "num_experts", .kinds = COUNT | NONE},
    {.name = "duration_ns", .kinds = COUNT | NONE},
    {.name = "node_id", .kinds = TEXT, .optional = true},
    {.name = "threads", .kinds = ARRAY, .inside = thread},
    END};

const tt_shape_key tt_shape_trace[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "token_id", .kinds = COUNT},
    {.name = "metadata", .kinds = OBJECT, .inside = trace_metadata},
    {.name = "entries", .kinds = ARRAY, .inside = entry},
    END};

static const tt_shape_key graph_metadata[] = {{.name = "total_nodes", .kinds = COUNT},
                                              {.name = "total_edges", .kinds = COUNT},
                                              {.name = "layers", .kinds = COUNT},
                                              {.name = "timestamp_generated", .kinds = TEXT | NONE},
                                              END};

static const tt_shape_key node[] = {{.name = "id", .kinds = TEXT},
                                    {.name = "address", .kinds = TEXT | NONE},
                                    {.name = "label", .kinds = TEXT},
                                    {.name = "operation", .kinds = TEXT},
                                    {.name = "shape", .kinds = ARRAY, .elements = COUNT},
                                    {.name = "dtype", .kinds = TEXT},
                                    {.name = "layer_id", .kinds = COUNT | NONE},
                                    {.name = "category", .kinds = TEXT, .words = categories},
                                    {.name = "node_type", .kinds = TEXT},
                                    END};

static const tt_shape_key edge[] = {{.name = "source", .kinds = TEXT},
                                    {.name = "target", .kinds = TEXT},
                                    {.name = "label", .kinds = TEXT},
                                    END};

const tt_shape_key tt_shape_graph[] = {
    {.name = "experiment_id", .kinds = TEXT},
    {.name = "token_id", .kinds = COUNT},
    {.name = "metadata", .kinds = OBJECT, .inside = graph_metadata},
    {.name = "nodes", .kinds = ARRAY, .inside = node},
    {.name = "edges", .kinds = ARRAY, .inside = edge},
    END};

static unsigned kind_of(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_STRING:
        return TT_IS_STRING;
    case JSON_INTEGER:
        return json_integer_value(v) < 0 ? TT_IS_NUMBER : TT_IS_NUMBER | TT_IS_COUNT;
    case JSON_REAL:
        return TT_IS_NUMBER;
    case JSON_ARRAY:
        return TT_IS_ARRAY;
    case JSON_OBJECT:
        return TT_IS_OBJECT;
    case JSON_NULL:
        return TT_IS_NULL;
    default:
        return TT_IS_BOOL;
    }
}

static const char *expected(unsigned kinds)
{
    if (kinds & TT_IS_STRING) return "a text";
    if (kinds & TT_IS_COUNT) return "a whole number, not negative";
    if (kinds & TT_IS_NUMBER) return "a number";
    if (kinds & TT_IS_ARRAY) return "an array";
    if (kinds & TT_IS_BOOL) return "true or false";
    return "an object";
}

/* Prepends a step to the path of the wrong value. */
static bool wrong_below(char path[TT_SHAPE_PATH], const char *name, size_t at, bool in_array)
{
    char below[TT_SHAPE_PATH], step[TT_SHAPE_PATH];
    memcpy(below, path, sizeof below);
    if (in_array)
        (void)snprintf(step, sizeof step, "%.40s[%zu]", name, at);
    else
        (void)snprintf(step, sizeof step, "%.40s", name);
    (void)snprintf(path, TT_SHAPE_PATH, "%.60s%s%.56s", step, *below ? "." : "", below);
    return false;
}

static bool wrong(char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH], const char *name,
                  const char *is, const char *what)
{
    (void)snprintf(path, TT_SHAPE_PATH, "%.40s", name);
    (void)snprintf(why, TT_SHAPE_PATH, "%s %s", is, what);
    return false;
}

static bool is_word(const json_t *v, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(json_string_value(v), *words) == 0) return true;
    return false;
}

static bool check_array(const json_t *array, const tt_shape_key *key, uint64_t *examined,
                        char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH])
{
    size_t i;
    const json_t *v;
    unsigned kinds = key->elements ? key->elements : key->inside ? TT_IS_OBJECT : 0;
    json_array_foreach(array, i, v)
    {
        ++*examined;
        path[0] = '\0';
        if (kinds && !(kind_of(v) & kinds)) {
            (void)snprintf(why, TT_SHAPE_PATH, "is not %s", expected(kinds));
            return wrong_below(path, key->name, i, true);
        }
        if (key->inside && !tt_shape_check(v, key->inside, examined, path, why))
            return wrong_below(path, key->name, i, true);
    }
    return true;
}

bool tt_shape_check(const json_t *object, const tt_shape_key *shape, uint64_t *examined,
                    char path[TT_SHAPE_PATH], char why[TT_SHAPE_PATH])
{
    for (const tt_shape_key *key = shape; key->name; key++) {
        const json_t *v = json_object_get(object, key->name);
        if (!v && key->optional) continue;
        ++*examined;
        if (!v) return wrong(path, why, key->name, "is", "missing");
        if (!(kind_of(v) & key->kinds))
            return wrong(path, why, key->name, "is not", expected(key->kinds));
        if (key->words && json_is_string(v) && !is_word(v, key->words))
            return wrong(path, why, key->name, "is", "none of the words that it may be");
        path[0] = '\0';
        if (json_is_object(v) && key->inside &&
            !tt_shape_check(v, key->inside, examined, path, why))
            return wrong_below(path, key->name, 0, false);
        if (json_is_array(v) && !check_array(v, key, examined, path, why)) return false;
    }
    return true;
}
