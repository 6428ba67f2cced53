#include "dataset/verifier.h"

#include "base/array.h"
#include "base/order.h"
#include "dataset/shape.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void dataset_check_experiment(tt_dataset_verifier *v, const json_t *file);

static const char *const names[TT_DATASET_PARTS] = {"experiment.json", "memory-map.json",
                                                    "buffer-timeline.json", "graphs", "traces"};
static const char *const packings[] = {"", ".zst", ".gz"};

#define PACKINGS (sizeof packings / sizeof *packings)

void tt_dataset_name(tt_dataset_part part, uint32_t number, unsigned packing,
                     char out[TT_DATASET_NAME])
{
    if (part < TT_DATASET_GRAPH)
        (void)snprintf(out, TT_DATASET_NAME, "%s%s", names[part], packings[packing]);
    else
        (void)snprintf(out, TT_DATASET_NAME, "%s/token-%05u.json%s", names[part], (unsigned)number,
                       packings[packing]);
}

static tt_status add(tt_dataset_list *l, tt_dataset_entry e, tt_error *err)
{
    if (l->n == TT_FOLDER_FILES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %u files of a kind",
                            TT_FOLDER_FILES_MAX);
    if (!tt_array_one_more(l->entries, l->n, l->capacity)) return tt_error_memory(err, "the files");
    l->entries[l->n++] = e;
    return TT_OK;
}

/* Whether the name is exactly that of a token's file. */
static bool is_token(tt_dataset_part part, const char *name, tt_dataset_entry *e)
{
    char right[TT_DATASET_NAME];
    unsigned number;
    if (sscanf(name, "token-%10u.json", &number) != 1) return false;
    for (uint8_t p = 0; p < PACKINGS; p++) {
        tt_dataset_name(part, number, p, right);
        *e = (tt_dataset_entry){number, p};
        if (strcmp(strchr(right, '/') + 1, name) == 0) return true;
    }
    return false;
}

static tt_status list_tokens(tt_dataset_folder *f, tt_dataset_part part, const char *path,
                             tt_error *err)
{
    DIR *dir = opendir(path);
    tt_status status = TT_OK;
    const struct dirent *d;
    /* A missing folder is reported like a missing file. */
    if (!dir && (errno == ENOENT || errno == ENOTDIR)) return TT_OK;
    if (!dir)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot open %s: %s", path,
                            strerror(errno));
    while (status == TT_OK && (d = readdir(dir))) {
        tt_dataset_entry e;
        if (is_token(part, d->d_name, &e))
            status = add(&f->parts[part], e, err);
        else if (strncmp(d->d_name, "token-", 6) == 0 && f->odd_names++ == 0)
            (void)snprintf(f->odd_name, sizeof f->odd_name, "%s/%.60s", names[part], d->d_name);
    }
    (void)closedir(dir);
    return status;
}

TT_ORDER_BY(by_number, tt_dataset_entry, number, packing)

static tt_status list_all(tt_dataset_folder *f, char *room, size_t size, tt_error *err)
{
    struct stat st;
    tt_status status = TT_OK;
    bool any = false;
    for (unsigned part = 0; part < TT_DATASET_PARTS && status == TT_OK; part++) {
        for (uint8_t p = 0; p < PACKINGS && part < TT_DATASET_GRAPH && status == TT_OK; p++) {
            (void)snprintf(room, size, "%s/%s%s", f->path, names[part], packings[p]);
            if (stat(room, &st) == 0) status = add(&f->parts[part], (tt_dataset_entry){0, p}, err);
        }
        if (part >= TT_DATASET_GRAPH) {
            (void)snprintf(room, size, "%s/%s", f->path, names[part]);
            status = list_tokens(f, (tt_dataset_part)part, room, err);
        }
        tt_dataset_list *l = &f->parts[part];
        if (l->n) qsort(l->entries, l->n, sizeof *l->entries, by_number);
        any |= l->n > 0;
    }
    if (status == TT_OK && !any)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%s is no dataset: it holds neither experiment.json nor any other file "
                            "of one",
                            f->path);
    return status;
}

tt_status tt_dataset_folder_open(tt_dataset_folder *f, const char *path, tt_error *err)
{
    memset(f, 0, sizeof *f);
    size_t size = strlen(path) + TT_DATASET_NAME;
    char *room = malloc(size);
    f->path = strdup(path);
    DIR *dir = opendir(path);
    tt_status status;
    if (!dir)
        status =
            tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot open %s: %s", path, strerror(errno));
    else if (!room || !f->path)
        status = tt_error_memory(err, "the files");
    else
        status = list_all(f, room, size, err);
    if (dir) (void)closedir(dir);
    free(room);
    return status;
}

void tt_dataset_folder_close(tt_dataset_folder *f)
{
    free(f->path);
    for (unsigned part = 0; part < TT_DATASET_PARTS; part++)
        free(f->parts[part].entries);
    memset(f, 0, sizeof *f);
}

static const struct {
    const char *name, *what, *examined_what;
} rows[TT_DATASET_CHECKS] = {
    {"files", "every file is there, once: three, and a graph and a trace for each token", "files"},
    {"json", "every file is JSON: UTF-8, no key twice, no number too large", "files"},
    {"keys", "every key is there, with the type it has to have", "values"},
    {"experiment-id", "all files are of one experiment", "files"},
    {"counts", "totals are what there is", "totals"},
    {"order", "entries stand in the order of execution, ids and times ascend", "entries"},
    {"memory-map", "tensors do not overlap, leave no gaps, lie in the file", "tensors"},
    {"disk-offsets", "every offset lies in the model file, in the tensor named", "offsets"},
    {"layers", "every layer is one of the model's, and all of those are there", "layer ids"},
    {"buffers", "the timeline adds up; sources name buffers that it has", "events"},
    {"graphs", "edges lead from node to node; each op of a graph has an entry, of that op", "ids"},
    {"experts", "experts chosen are experts of the tensor", "choices"},
};

void tt_dataset_verifier_begin(tt_dataset_verifier *v, tt_check *checks)
{
    memset(v, 0, sizeof *v);
    memset(checks, 0, TT_DATASET_CHECKS * sizeof *checks);
    v->checks = checks;
    for (unsigned i = 0; i < TT_DATASET_CHECKS; i++) {
        checks[i].name = rows[i].name;
        checks[i].what = rows[i].what;
        checks[i].offset_bytes = TT_NO_OFFSET;
        (void)snprintf(checks[i].examined_what, sizeof checks[i].examined_what, "%s",
                       rows[i].examined_what);
    }
}

void tt_dataset_verifier_free(tt_dataset_verifier *v)
{
    for (size_t i = 0; i < v->n_tensors; i++) {
        free(v->tensors[i].name);
        free(v->tensors[i].file);
    }
    for (size_t i = 0; i < v->n_files; i++)
        free(v->files[i].name);
    free(v->tensors);
    free(v->files);
    free(v->left_out);
    free(v->buffers);
    tt_dataset_ops_free(v);
    memset(v, 0, sizeof *v);
}

void tt_dataset_check_count(tt_dataset_verifier *v, const char *what, uint64_t is, uint64_t right)
{
    if (!TT_EXAMINE(v, TT_CHECK_COUNTS, is == right))
        TT_OFFEND(v, TT_CHECK_COUNTS, "%s is %" PRIu64 "; there are %" PRIu64, what, is, right);
}

static void check_id(tt_dataset_verifier *v, const json_t *file)
{
    const char *id = tt_text_of(file, "experiment_id");
    if (!v->id_name[0]) {
        (void)snprintf(v->id, sizeof v->id, "%s", id);
        (void)snprintf(v->id_name, sizeof v->id_name, "%s", v->name);
    }
    bool fits = *id && strlen(id) < sizeof v->id;
    if (TT_EXAMINE(v, TT_CHECK_ID, fits && strcmp(id, v->id) == 0)) return;
    if (!fits)
        TT_OFFEND(v, TT_CHECK_ID, "the experiment_id has %zu characters", strlen(id));
    else
        TT_OFFEND(v, TT_CHECK_ID, "it is of experiment %.80s; %s is of %s", id, v->id_name, v->id);
}

static void check_parsed(tt_dataset_verifier *v, tt_dataset_part part, uint32_t number,
                         const json_t *file)
{
    static const tt_shape_key *const shapes[TT_DATASET_PARTS] = {
        tt_shape_experiment, tt_shape_memory_map, tt_shape_buffers, tt_shape_graph, tt_shape_trace};
    char path[TT_SHAPE_PATH], why[TT_SHAPE_PATH];
    if (!tt_shape_check(file, shapes[part], &v->checks[TT_CHECK_KEYS].examined, path, why)) {
        /* The other checks may need missing keys. */
        TT_OFFEND(v, TT_CHECK_KEYS, "%s %s", path, why);
        return;
    }
    check_id(v, file);
    switch (part) {
    case TT_DATASET_EXPERIMENT:
        dataset_check_experiment(v, file);
        break;
    case TT_DATASET_MEMORY_MAP:
        tt_dataset_check_map(v, file);
        break;
    case TT_DATASET_BUFFERS:
        tt_dataset_check_buffers(v, file);
        break;
    case TT_DATASET_GRAPH:
        tt_dataset_check_graph(v, file, number);
        break;
    case TT_DATASET_TRACE:
        tt_dataset_check_trace(v, file, number);
        break;
    }
}

void tt_dataset_verifier_file(tt_dataset_verifier *v, tt_dataset_part part, uint32_t number,
                              const char *name, const char *text, size_t n)
{
    tt_error why;
    v->name = name;
    json_t *file = tt_dataset_parse(text, n, &why);
    v->no_memory |= !file && why.status == TT_E_MEMORY;
    v->checks[TT_CHECK_JSON].examined++;
    if (file)
        check_parsed(v, part, number, file);
    else
        TT_OFFEND(v, TT_CHECK_JSON, "%s", why.message);
    json_decref(file);
    v->name = NULL;
}

/* Invalid ranges are reported, and ignored. */
static void take_left_out(tt_dataset_verifier *v, const json_t *ranges)
{
    const json_t *range;
    size_t i;
    v->left_out = calloc(json_array_size(ranges) + 1, sizeof *v->left_out);
    v->no_memory |= !v->left_out;
    if (!v->left_out) return;
    json_array_foreach(ranges, i, range)
    {
        const tt_token_range r = {tt_count_of(range, "first"), tt_count_of(range, "last")};
        const tt_token_range *before = v->n_left_out ? &v->left_out[v->n_left_out - 1] : NULL;
        if (!TT_EXAMINE(v, TT_CHECK_COUNTS,
                        r.first <= r.last && r.last < UINT32_MAX &&
                            (!before || r.first > before->last))) {
            TT_OFFEND(v, TT_CHECK_COUNTS,
                      "tokens_left_out[%zu] is %" PRIu64 " to %" PRIu64
                      ", which is no range behind the one before",
                      i, r.first, r.last);
            continue;
        }
        v->left_out[v->n_left_out++] = r;
        v->tokens_left_out += r.last - r.first + 1;
    }
}

/* The checks of each kind of file, after its keys and types were checked. */
static void dataset_check_experiment(tt_dataset_verifier *v, const json_t *file)
{
    const json_t *files = json_object_get(file, "model_files"), *f;
    size_t i;
    v->has_batches = json_object_get(file, "num_batches") != NULL;
    v->n_batches = tt_count_of(file, "num_batches");
    take_left_out(v, json_object_get(file, "tokens_left_out"));
    const json_t *trace = json_object_get(file, "trace");
    v->may_lack = json_is_false(json_object_get(trace, "complete")) ||
                  tt_count_of(trace, "dropped_records") || tt_count_of(trace, "damaged_chunks");
    v->files = calloc(json_array_size(files) + 1, sizeof *v->files);
    v->no_memory |= !v->files;
    if (!v->files) return;
    json_array_foreach(files, i, f)
    {
        char *name = strdup(tt_text_of(f, "file"));
        v->no_memory |= !name;
        if (name) v->files[v->n_files++] = (tt_map_file){name, tt_count_of(f, "size_bytes")};
    }
}

bool tt_dataset_file_size(const tt_dataset_verifier *v, const char *file, uint64_t *size_bytes)
{
    for (size_t i = 0; i < v->n_files; i++) {
        if (v->n_files > 1 && strcmp(v->files[i].name, file ? file : "") != 0) continue;
        *size_bytes = v->files[i].size_bytes;
        return true;
    }
    *size_bytes = v->total_size_bytes;
    return v->has_map && v->n_files == 0;
}

bool tt_dataset_node_number(const char *id, uint64_t *number)
{
    if (strncmp(id, "node_", 5) != 0 || id[5] < '0' || id[5] > '9') return false;
    uint64_t v = 0;
    for (id += 5; *id >= '0' && *id <= '9'; id++)
        if (v < UINT64_MAX / 16) v = v * 10 + (uint64_t)(*id - '0');
    *number = v;
    return *id == '\0';
}
