#include "tests.h"

#include "base/outfile.h"
#include "dataset/shape.h"
#include "dataset/text.h"
#include "dataset/verify.h"
#include "export/dataset.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define GOLDEN TT_SOURCE_DIR "/tests/golden/good-memory-experts.ttrace"

static char folder[] = "/tmp/tt-verify-XXXXXX";
static tt_error error;
static tt_check checks[TT_CHECKS_MAX];
static size_t n_checks;

static void write_dataset(const char *path, tt_compress compress)
{
    tt_model *m;
    const tt_export_options o = {.force = true, .compress = compress};
    assert_int_equal(tt_model_open(GOLDEN, &m, &error), TT_OK);
    assert_int_equal(tt_export_find("dataset")->write(m, path, &o, &error), TT_OK);
    tt_model_close(m);
}

/* The golden's model does not say how many layers it has. */
static int tell_layers(void)
{
    json_t *map = json_load_file("d/memory-map.json", 0, NULL);
    json_object_set_new(json_object_get(map, "metadata"), "n_layers", json_integer(3));
    int failed = json_dump_file(map, "d/memory-map.json", 0);
    json_decref(map);
    return failed;
}

static int enter_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    write_dataset("d", TT_COMPRESS_NONE);
    return tell_layers();
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && tt_outdir_remove(folder) ? 0 : -1;
}

static void verify(const char *path)
{
    assert_int_equal(tt_dataset_verify(path, checks, &n_checks, NULL, NULL, &error), TT_OK);
    assert_int_equal(n_checks, 12);
}

static const tt_check *check_named(const char *name)
{
    for (size_t i = 0; i < n_checks; i++)
        if (strcmp(checks[i].name, name) == 0) return &checks[i];
    fail_msg("no check %s", name);
    return NULL;
}

/* The checks named in `names` ("order keys") fail, and no other; the first one's detail has `says`
 * in it. */
static void expect_failed(const char *names, const char *says)
{
    for (size_t i = 0; i < n_checks; i++) {
        const char *found = strstr(names, checks[i].name);
        if ((checks[i].verdict == TT_CHECK_FAILED) != (found != NULL))
            print_error("%s: %s\n", checks[i].name, checks[i].detail);
        assert_int_equal(checks[i].verdict == TT_CHECK_FAILED, found != NULL);
        if (found == names && !strstr(checks[i].detail, says))
            fail_msg("\"%s\" is not in \"%s\"", says, checks[i].detail);
    }
}

/* --- files as texts --- */

static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no %s", path);
    char *text = malloc((size_t)8 << 20);
    *n = fread(text, 1, (size_t)8 << 20, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void write_all(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* --- mutations of one value --- */

typedef struct mutation {
    const char *names; /* of the checks that fail */
    const char *says;
    const char *file;
    const char *path;  /* "entries/?MUL_MAT_ID/expert_ids/0": ? picks an entry by its operation */
    const char *value; /* JSON; NULL: the value is taken out */
} mutation;

static const mutation mutations[] = {
    {"files", "missing: graphs/token-00009.json", "experiment.json", "num_batches", "10"},
    {"files", "the experiment has 7", "experiment.json", "num_batches", "7"},
    {"keys", "experiment.json: host is missing", "experiment.json", "host", NULL},
    {"keys", "model_file is not a text", "experiment.json", "model_file", "null"},
    {"keys", "engine.version is missing", "experiment.json", "engine/version", NULL},
    {"keys", "num_tokens_generated is not a whole number", "experiment.json",
     "num_tokens_generated", "-1"},
    {"keys", "tensors[2].dtype is missing", "memory-map.json", "tensors/2/dtype", NULL},
    {"keys", "tensors[1].shape[0] is not a whole number", "memory-map.json", "tensors/1/shape/0",
     "\"64\""},
    {"keys", "tensors[3].category is none of the words", "memory-map.json", "tensors/3/category",
     "\"misc\""},
    {"keys", "timeline[0].event is none of the words", "buffer-timeline.json", "timeline/0/event",
     "\"malloc\""},
    {"keys", "buffers[0].dealloc_time_ms is missing", "buffer-timeline.json",
     "buffers/0/dealloc_time_ms", NULL},
    {"keys", "entries[0].sources[0].name is missing", "traces/token-00001.json",
     "entries/0/sources/0/name", NULL},
    {"keys", "disk_offset and no buffer_id", "traces/token-00001.json",
     "entries/0/sources/0/disk_offset", NULL},
    {"keys", "buffer_id and no disk_offset", "traces/token-00001.json",
     "entries/0/sources/1/buffer_id", NULL},
    {"keys", "entries[0].phase is none", "traces/token-00001.json", "entries/0/phase",
     "\"generate\""},
    {"keys", "metadata.format_version is none", "traces/token-00001.json",
     "metadata/format_version", "\"256-byte\""},
    {"keys", "entries[1].threads is missing", "traces/token-00001.json", "entries/1/threads", NULL},
    {"keys", "nodes[1].operation is missing", "graphs/token-00001.json", "nodes/1/operation", NULL},
    {"keys", "edges is not an array", "graphs/token-00001.json", "edges", "{}"},
    {"experiment-id", "it is of experiment other", "graphs/token-00002.json", "experiment_id",
     "\"other\""},
    {"experiment-id", "it is of experiment other", "memory-map.json", "experiment_id", "\"other\""},
    {"experiment-id", "0 characters", "traces/token-00002.json", "experiment_id", "\"\""},
    {"counts", "total_entries is 3", "traces/token-00001.json", "metadata/total_entries", "3"},
    {"counts", "num_tensors is 3", "memory-map.json", "num_tensors", "3"},
    {"counts", "n_tensors is 3", "memory-map.json", "metadata/n_tensors", "3"},
    {"counts", "total_nodes is 3", "graphs/token-00001.json", "metadata/total_nodes", "3"},
    {"counts", "total_edges is 3", "graphs/token-00001.json", "metadata/total_edges", "3"},
    {"counts", "total_events is 99", "buffer-timeline.json", "metadata/total_events", "99"},
    {"counts", "total_buffers is 99", "buffer-timeline.json", "metadata/total_buffers", "99"},
    {"counts", "usage_breakdown", "buffer-timeline.json", "metadata/usage_breakdown/WEIGHTS", "9"},
    {"counts", "peak_occupancy_bytes is 1", "buffer-timeline.json", "metadata/peak_occupancy_bytes",
     "1"},
    {"counts", "peak_occupancy_mb is 1.5", "buffer-timeline.json", "metadata/peak_occupancy_mb",
     "1.5"},
    {"counts", "duration_ms", "buffer-timeline.json", "metadata/duration_ms", "123456"},
    {"counts", "num_sources is 9", "traces/token-00001.json", "entries/0/num_sources", "9"},
    {"counts", "num_experts is not", "traces/token-00001.json", "entries/?MUL_MAT_ID/num_experts",
     "1"},
    {"counts", "num_experts is not", "traces/token-00001.json", "entries/0/num_experts", "null"},
    {"order", "its token_id is 5", "traces/token-00001.json", "token_id", "5"},
    {"order", "its token_id is 5", "graphs/token-00001.json", "token_id", "5"},
    {"order", "entries[3] has the entry_id 4", "traces/token-00001.json", "entries/3/entry_id",
     "4"},
    {"order", "entries[3] has the token_id 2", "traces/token-00001.json", "entries/3/token_id",
     "2"},
    {"order", "entries[3] begins before", "traces/token-00001.json", "entries/3/timestamp_ns", "1"},
    {"order", "timestamp_relative_ms is 7", "traces/token-00001.json",
     "entries/3/timestamp_relative_ms", "7"},
    {"order", "timestamp_relative_ms", "traces/token-00001.json", "metadata/timestamp_start_ns",
     "5"},
    {"order", "duration_ms", "traces/token-00001.json", "metadata/duration_ms", "0"},
    {"order", "do not ascend", "traces/token-00001.json", "entries/3/threads/0/release_ns", "1"},
    {"order", "do not ascend", "traces/token-00001.json", "entries/3/threads/0/arrive_ns", "null"},
    {"order", "no thread of it begins", "traces/token-00001.json", "entries/3/thread_id", "77"},
    {"memory-map", "are not", "memory-map.json", "tensors/4/size_bytes", "7"},
    {"memory-map", "before", "memory-map.json", "tensors/0/offset_end,size_bytes", "+64"},
    {"memory-map disk-offsets", "belong to no tensor", "memory-map.json",
     "tensors/0/offset_end,size_bytes", "-4096"},
    {"memory-map", "its name is that of another", "memory-map.json", "tensors/?[3]/expert_id", "5"},
    {"memory-map", "its name is that of another slice", "memory-map.json", "tensors/?[3]/name",
     "\"blk.0.ffn_up_exps.weight[4]\""},
    {"memory-map counts disk-offsets", "the model file has 1000", "experiment.json",
     "model_files/0/size_bytes", "1000"},
    {"counts", "total_size_bytes is 1000", "memory-map.json", "total_size_bytes", "1000"},
    {"disk-offsets", "not in the model file", "traces/token-00001.json",
     "entries/0/sources/0/disk_offset", "1099511627776"},
    {"disk-offsets", "are not in token_embd.weight", "traces/token-00001.json",
     "entries/0/sources/0/disk_offset", "+64"},
    {"disk-offsets", "is no tensor", "traces/token-00001.json", "entries/0/sources/0/name",
     "\"blk.9.none\""},
    {"layers", "layer 77", "traces/token-00001.json", "entries/3/layer_id", "77"},
    {"layers", "layer 77", "traces/token-00001.json", "entries/0/sources/0/layer_id", "77"},
    {"layers", "of layer 77", "graphs/token-00001.json", "nodes/0/layer_id", "77"},
    {"layers", "metadata.layers is 7", "graphs/token-00001.json", "metadata/layers", "7"},
    {"layers", "n_layers is 4", "memory-map.json", "metadata/n_layers", "4"},
    {"layers", "is in layer 77", "memory-map.json", "tensors/0/layer_id", "77"},
    {"buffers", "cumulative_size is 7", "buffer-timeline.json", "timeline/1/cumulative_size", "7"},
    {"buffers", "num_active_buffers is 7", "buffer-timeline.json", "timeline/1/num_active_buffers",
     "7"},
    {"buffers", "another name or size", "buffer-timeline.json", "timeline/1/buffer_name",
     "\"other\""},
    {"buffers counts", "is not listed", "buffer-timeline.json", "timeline/1/buffer_id", "77"},
    {"buffers", "usage 2 is not", "buffer-timeline.json", "buffers/0/usage", "2"},
    {"buffers", "at another time", "buffer-timeline.json", "buffers/1/alloc_time_ms", "77"},
    {"buffers", "dealloc_time_ms or a dealloc event", "buffer-timeline.json",
     "buffers/?open/dealloc_time_ms", "77"},
    {"buffers", "buffer 77 is not in the timeline", "traces/token-00001.json",
     "entries/0/sources/1/buffer_id", "77"},
    {"graphs", "nodes[1] has the id node_7", "graphs/token-00001.json", "nodes/1/id", "\"node_7\""},
    {"graphs", "there is no node node_99999", "graphs/token-00001.json", "edges/1/target",
     "\"node_99999\""},
    {"graphs", "there is no node x", "graphs/token-00001.json", "edges/1/source", "\"x\""},
    {"graphs", "its graph has no node node_5000", "traces/token-00001.json", "entries/1/node_id",
     "\"node_5000\""},
    {"graphs", "of its graph is no LOG", "traces/token-00001.json", "entries/3/operation_type",
     "\"LOG\""},
    {"graphs", "of its graph is no MUL_MAT_ID+ADD", "traces/token-00001.json",
     "entries/?MUL_MAT_ID/operation_type", "\"MUL_MAT_ID+ADD\""},
    {"experts", "expert 16 of", "traces/token-00001.json", "entries/?MUL_MAT_ID/expert_ids/0",
     "16"},
};

/* The element of an array that is meant: by number; by "?WORD" an entry by its operation, a tensor
 * by the end of its name, or (open) a buffer that was never freed. */
static json_t *pick(json_t *array, const char *word, size_t *at)
{
    size_t i;
    json_t *v;
    *at = strtoul(word, NULL, 10);
    if (*word != '?') return json_array_get(array, *at);
    json_array_foreach(array, i, v)
    {
        const char *op = json_string_value(json_object_get(v, "operation_type"));
        const char *name = json_string_value(json_object_get(v, "name"));
        bool open = json_is_null(json_object_get(v, "dealloc_time_ms"));
        *at = i;
        if ((op && strcmp(op, word + 1) == 0) || (name && strstr(name, word + 1)) ||
            (open && strcmp(word, "?open") == 0))
            return v;
    }
    return NULL;
}

static void set_value(json_t *object, const char *key, const char *value)
{
    json_t *old = json_object_get(object, key);
    if (!value) {
        assert_int_equal(json_object_del(object, key), 0);
    } else if (*value == '+' || (*value == '-' && old && json_integer_value(old) > 1000)) {
        json_int_t sum = json_integer_value(old) + strtoll(value, NULL, 10);
        assert_int_equal(json_object_set_new(object, key, json_integer(sum)), 0);
    } else {
        json_t *v = json_loads(value, JSON_DECODE_ANY, NULL);
        assert_non_null(v);
        assert_int_equal(json_object_set_new(object, key, v), 0);
    }
}

static void mutate(json_t *root, const mutation *m)
{
    char path[128], *rest = path, *word, *next, *keys;
    json_t *v = root;
    size_t at;
    (void)snprintf(path, sizeof path, "%s", m->path);
    word = strsep(&rest, "/");
    while ((next = strsep(&rest, "/"))) {
        v = json_is_array(v) ? pick(v, word, &at) : json_object_get(v, word);
        if (!v) fail_msg("%s: no %s", m->path, word);
        word = next;
    }
    if (json_is_array(v)) {
        (void)pick(v, word, &at);
        assert_int_equal(json_array_set_new(v, at, json_loads(m->value, JSON_DECODE_ANY, NULL)), 0);
        return;
    }
    keys = word;
    while ((word = strsep(&keys, ",")) != NULL)
        set_value(v, word, m->value);
}

static void each_check_fails_for_its_own_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
        const mutation *m = &mutations[i];
        char path[128];
        size_t n;
        (void)snprintf(path, sizeof path, "d/%s", m->file);
        char *before = read_all(path, &n);
        json_t *root = json_loadb(before, n, JSON_ALLOW_NUL, NULL);
        assert_non_null(root);
        mutate(root, m);
        assert_int_equal(json_dump_file(root, path, JSON_COMPACT), 0);
        json_decref(root);
        verify("d");
        print_message("%s %s\n", m->file, m->path);
        expect_failed(m->names, m->says);
        write_all(path, before, n);
        free(before);
    }
    verify("d");
    expect_failed("", "");
}

/* A token that lost a layer's entries, all else as it has to be: its graph tells. A trace that was
 * cut off may lack some. */
static void lost_entries_are_missed(void **state)
{
    static const char path[] = "m/traces/token-00001.json";
    size_t i = 0, lost = 0;
    (void)state;
    write_dataset("m", TT_COMPRESS_NONE);
    json_t *root = json_load_file(path, 0, NULL), *entries = json_object_get(root, "entries");
    while (i < json_array_size(entries)) {
        json_t *e = json_array_get(entries, i);
        const json_t *layer = json_object_get(e, "layer_id");
        if (json_is_integer(layer) && json_integer_value(layer) == 1) {
            /* A fused op is an entry of several nodes. */
            const char *op = json_string_value(json_object_get(e, "operation_type"));
            for (lost++; (op = strchr(op, '+')) != NULL; op++)
                lost++;
            assert_int_equal(json_array_remove(entries, i), 0);
        } else {
            assert_int_equal(json_object_set_new(e, "entry_id", json_integer((json_int_t)i)), 0);
            i++;
        }
    }
    assert_true(lost > 5);
    json_object_set_new(json_object_get(root, "metadata"), "total_entries",
                        json_integer((json_int_t)i));
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
    verify("m");
    char says[60];
    (void)snprintf(says, sizeof says, "no entry of %zu of the", lost);
    expect_failed("graphs", says);
    root = json_load_file("m/experiment.json", JSON_ALLOW_NUL, NULL);
    assert_non_null(root);
    json_object_set_new(json_object_get(root, "trace"), "complete", json_false());
    assert_int_equal(json_dump_file(root, "m/experiment.json", 0), 0);
    json_decref(root);
    verify("m");
    expect_failed("", "");
    assert_true(tt_outdir_remove("m"));
}

/* --- files that are missing, or too many --- */

static void missing_files_are_listed_at_once(void **state)
{
    (void)state;
    write_dataset("m", TT_COMPRESS_NONE);
    assert_int_equal(unlink("m/buffer-timeline.json"), 0);
    assert_int_equal(unlink("m/graphs/token-00000.json"), 0);
    assert_int_equal(unlink("m/traces/token-00003.json"), 0);
    assert_int_equal(unlink("m/traces/token-00004.json"), 0);
    assert_int_equal(unlink("m/traces/token-00007.json"), 0);
    verify("m");
    expect_failed("files", "missing: buffer-timeline.json, graphs/token-00000.json, "
                           "traces/token-00003.json to token-00004.json, traces/token-00007.json");
    assert_int_equal(check_named("files")->offences, 5);
    assert_true(tt_outdir_remove("m/traces"));
    verify("m");
    assert_non_null(strstr(check_named("files")->detail, "traces/token-00000.json to token-00008"));
    assert_true(tt_outdir_remove("m"));
}

static void names_that_are_none_are_told(void **state)
{
    (void)state;
    write_dataset("m", TT_COMPRESS_NONE);
    write_all("m/traces/token-3.json", "{}", 2);
    write_all("m/traces/README", "x", 1);
    verify("m");
    expect_failed("files", "traces/token-3.json");
    assert_int_equal(unlink("m/traces/token-3.json"), 0);
    write_all("m/traces/token-4294967295.json", "{}", 2);
    verify("m");
    expect_failed("files keys", "the experiment has 9");
    assert_true(tt_outdir_remove("m"));
}

static void a_folder_of_something_else_is_no_dataset(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_make("other", &error), TT_OK);
    write_all("other/notes.txt", "x", 1);
    assert_int_equal(tt_dataset_verify("other", checks, &n_checks, NULL, NULL, &error),
                     TT_E_FORMAT);
    assert_non_null(strstr(error.message, "no dataset"));
    assert_int_equal(tt_dataset_verify("nowhere", checks, &n_checks, NULL, NULL, &error), TT_E_IO);
    assert_non_null(strstr(error.message, "nowhere"));
}

/* --- texts that are no JSON --- */

static void expect_refused(const char *text, size_t n, const char *says)
{
    error.message[0] = '\0';
    json_t *j = tt_dataset_parse(text, n, &error);
    if (j || !strstr(error.message, says)) fail_msg("%.40s: %s", text, error.message);
}

static void bad_json_is_refused_with_its_place(void **state)
{
    static char deep[100000];
    (void)state;
    memset(deep, '[', sizeof deep);
    expect_refused("", 0, "empty");
    expect_refused("[]", 2, "no JSON object");
    expect_refused("{\"a\":1", 6, "line 1");
    expect_refused("{\"a\":1,\"a\":2}", 13, "duplicate");
    expect_refused("{\"a\":1e999}", 11, "overflow");
    expect_refused("{\"a\":99999999999999999999}", 26, "too big integer");
    expect_refused("{\"a\":\"\xff\"}", 9, "byte 0xff");
    expect_refused("{\"a\":1} x", 9, "end of file");
    expect_refused(deep, sizeof deep, "in each other");
    /* Brackets in texts are none. */
    json_t *j = tt_dataset_parse("{\"a\":\"[[[[[[[[[[[[[[[[[[[[\\\"[[[[\"}", 34, &error);
    assert_non_null(j);
    json_decref(j);
}

static void too_many_values_are_refused(void **state)
{
    size_t n = 2 * (size_t)TT_DATASET_VALUES_MAX + 20;
    char *text = malloc(n);
    (void)state;
    assert_non_null(text);
    memcpy(text, "{\"a\":[", 6);
    for (size_t i = 6; i + 2 < n; i += 2)
        memcpy(text + i, "0,", 2);
    expect_refused(text, n, "the most that is checked");
    free(text);
}

static void damaged_files_fail_one_check(void **state)
{
    char path[] = "d/traces/token-00002.json";
    size_t n;
    (void)state;
    char *before = read_all(path, &n);
    for (size_t cut = 0; cut < n; cut += n / 7 + 1) {
        write_all(path, before, cut);
        verify("d");
        expect_failed("json", "traces/token-00002.json: ");
    }
    write_all(path, before, n);
    free(before);
}

/* --- compressed ones --- */

static void packed_datasets_are_read(void **state)
{
    (void)state;
    write_dataset("z", TT_COMPRESS_ZSTD);
    verify("z");
    expect_failed("", "");
    write_dataset("g", TT_COMPRESS_GZIP);
    verify("g");
    expect_failed("", "");
    /* One file in two forms is one too many. */
    size_t n;
    char *text = read_all("d/memory-map.json", &n);
    write_all("z/memory-map.json", text, n);
    free(text);
    verify("z");
    expect_failed("files", "in another form");
}

static void damaged_packing_is_told(void **state)
{
    static const char *const paths[] = {"g/experiment.json.gz", "g/memory-map.json.gz"};
    size_t n;
    (void)state;
    write_dataset("g", TT_COMPRESS_GZIP);
    char *text = read_all(paths[1], &n);
    write_all(paths[1], text, n - 9);
    verify("g");
    expect_failed("json", "it is cut off");
    text[n / 2] ^= 0x55;
    write_all(paths[1], text, n);
    verify("g");
    expect_failed("json", "memory-map.json.gz: ");
    text[n / 2] ^= 0x55;
    text[n] = text[n + 1] = 'x';
    write_all(paths[1], text, n + 2);
    verify("g");
    expect_failed("json", "cannot be unpacked");
    /* A further member goes on with the text, and there must be none behind the document. */
    text = realloc(text, (size_t)16 << 20);
    memcpy(text + n, text, n);
    write_all(paths[1], text, 2 * n);
    verify("g");
    expect_failed("json", "end of file expected");
    free(text);
    write_dataset("z", TT_COMPRESS_ZSTD);
    text = read_all("z/memory-map.json.zst", &n);
    write_all("z/memory-map.json.zst", text, n - 9);
    verify("z");
    expect_failed("json", "it is cut off");
    text[n / 2] ^= 0x55;
    write_all("z/memory-map.json.zst", text, n);
    verify("z");
    expect_failed("json", "cannot be unpacked");
    free(text);
}

/* A small file that unpacks to more than is read of one. */
static void bombs_are_refused(void **state)
{
    size_t n = TT_DATASET_FILE_MAX + 1, size = ZSTD_compressBound(n);
    char *zeros = calloc(n, 1), *packed = malloc(size);
    tt_bytes text;
    (void)state;
    assert_true(zeros && packed);
    size_t stored = ZSTD_compress(packed, size, zeros, n, 1);
    assert_false(ZSTD_isError(stored));
    write_all("bomb.zst", packed, stored);
    gzFile gz = gzopen("bomb.gz", "wb1");
    for (size_t i = 0; i < n; i += 1 << 20)
        assert_true(gzwrite(gz, zeros, 1 << 20) == 1 << 20);
    assert_int_equal(gzclose(gz), Z_OK);
    write_all("bomb", zeros, n);
    tt_bytes_init(&text, TT_DATASET_FILE_MAX);
    assert_int_equal(tt_dataset_text_read("bomb", &text, &error), TT_E_LIMIT);
    assert_non_null(strstr(error.message, "128 MiB"));
    assert_int_equal(tt_dataset_text_read("bomb.zst", &text, &error), TT_E_LIMIT);
    assert_int_equal(tt_dataset_text_read("bomb.gz", &text, &error), TT_E_LIMIT);
    tt_bytes_free(&text);
    free(zeros);
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_check_fails_for_its_own_reason),
        cmocka_unit_test(lost_entries_are_missed),
        cmocka_unit_test(missing_files_are_listed_at_once),
        cmocka_unit_test(names_that_are_none_are_told),
        cmocka_unit_test(a_folder_of_something_else_is_no_dataset),
        cmocka_unit_test(bad_json_is_refused_with_its_place),
        cmocka_unit_test(too_many_values_are_refused),
        cmocka_unit_test(damaged_files_fail_one_check),
        cmocka_unit_test(packed_datasets_are_read),
        cmocka_unit_test(damaged_packing_is_told),
        cmocka_unit_test(bombs_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
