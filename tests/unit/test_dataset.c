#include "tests.h"

#include "base/checksum.h"
#include "base/outfile.h"
#include "dataset/text.h"
#include "dataset/verify.h"
#include "export/damage.h"
#include "export/dataset.h"
#include "export/dataset/parts.h"
#include "gguf/synth.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define GOLDEN TT_SOURCE_DIR "/tests/golden/"

/* What file systems have free, when it is to be other than it is. */
static uint64_t claimed_free;

int statvfs(const char *path, struct statvfs *fs)
{
    struct statfs real;
    if (statfs(path, &real) != 0) return -1;
    uint64_t block = (uint64_t)real.f_bsize;
    *fs = (struct statvfs){.f_frsize = block, .f_blocks = real.f_blocks};
    fs->f_bavail = claimed_free ? claimed_free / block : real.f_bavail;
    return 0;
}

static char folder[] = "/tmp/tt-dataset-XXXXXX";
static tt_error error;
static char last_note[512];
static unsigned notes;

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && tt_outdir_remove(folder) ? 0 : -1;
}

static void note(void *context, const char *text)
{
    (void)context;
    (void)snprintf(last_note, sizeof last_note, "%s", text);
    notes++;
}

static tt_status export_model(const tt_model *m, const char *path, const tt_export_options *options)
{
    tt_export_options o = *options;
    o.note = note;
    notes = 0;
    return tt_export_find("dataset")->write(m, path, &o, &error);
}

static tt_model *open_golden(const char *name)
{
    tt_model *m;
    char path[512];
    (void)snprintf(path, sizeof path, GOLDEN "%s", name);
    assert_int_equal(tt_model_open(path, &m, &error), TT_OK);
    return m;
}

static json_t *load(const char *path)
{
    json_error_t why;
    json_t *j = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j) print_error("%s: line %d: %s\n", path, why.line, why.text);
    assert_non_null(j);
    return j;
}

static const json_t *at(const json_t *array, size_t i)
{
    const json_t *v = json_array_get(array, i);
    assert_non_null(v);
    return v;
}

static const json_t *in(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!v) print_error("no %s\n", key);
    assert_non_null(v);
    return v;
}

static void expect_text(const json_t *object, const char *key, const char *wanted)
{
    assert_string_equal(json_string_value(in(object, key)), wanted);
}

static uint64_t count(const json_t *object, const char *key)
{
    assert_true(json_is_integer(in(object, key)));
    return (uint64_t)json_integer_value(in(object, key));
}

static void expect_verified(const char *path)
{
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    assert_int_equal(tt_dataset_verify(path, checks, &n, NULL, NULL, &error), TT_OK);
    for (size_t i = 0; i < n; i++) {
        if (checks[i].verdict == TT_CHECK_FAILED)
            print_error("%s: %s\n", checks[i].name, checks[i].detail);
        assert_int_not_equal(checks[i].verdict, TT_CHECK_FAILED);
    }
}

/* --- files --- */

static void a_file_reads_back_however_it_is_packed(void **state)
{
    static const char *const names[] = {"f/text", "f/text.zst", "f/text.gz"};
    static char wanted[3 << 20];
    tt_dataset_file file = {0};
    tt_bytes got;
    tt_outdir dir;
    (void)state;
    for (size_t i = 0; i < sizeof wanted; i++)
        wanted[i] = (char)('a' + i * i % 26);
    assert_int_equal(tt_outdir_open(&dir, "f", false, &error), TT_OK);
    for (unsigned c = 0; c < 3; c++) {
        assert_int_equal(tt_dataset_file_open(&file, &dir, "text", (tt_compress)c, &error), TT_OK);
        tt_dataset_file_put(&file, wanted, 100);
        tt_dataset_file_put(&file, wanted + 100, sizeof wanted - 200);
        char *room = tt_dataset_file_room(&file, 100);
        memcpy(room, wanted + sizeof wanted - 100, 100);
        file.used += 100;
        assert_int_equal(tt_dataset_file_close(&file, &error), TT_OK);
    }
    tt_dataset_file_free(&file);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    tt_bytes_init(&got, TT_DATASET_FILE_MAX);
    for (unsigned c = 0; c < 3; c++) {
        assert_int_equal(tt_dataset_text_read(names[c], &got, &error), TT_OK);
        assert_int_equal(got.size, sizeof wanted);
        assert_memory_equal(got.data, wanted, sizeof wanted);
    }
    tt_bytes_free(&got);
}

/* A byte more than the room passes on what is there; a large one makes the room larger. */
static void a_file_takes_texts_of_any_length(void **state)
{
    static char large[1 << 20];
    tt_dataset_file file = {0};
    tt_bytes got;
    tt_outdir dir;
    (void)state;
    memset(large, 'x', sizeof large);
    assert_int_equal(tt_outdir_open(&dir, "large", false, &error), TT_OK);
    assert_int_equal(tt_dataset_file_open(&file, &dir, "t", TT_COMPRESS_NONE, &error), TT_OK);
    for (size_t n = 1; n <= sizeof large; n *= 2) {
        char *room = tt_dataset_file_room(&file, n);
        assert_non_null(room);
        memcpy(room, large, n);
        file.used += n;
    }
    assert_int_equal(tt_dataset_file_close(&file, &error), TT_OK);
    assert_int_equal(file.size_bytes, 2 * sizeof large - 1);
    tt_dataset_file_free(&file);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    tt_bytes_init(&got, TT_DATASET_FILE_MAX);
    assert_int_equal(tt_dataset_text_read("large/t", &got, &error), TT_OK);
    assert_int_equal(got.size, 2 * sizeof large - 1);
    tt_bytes_free(&got);
}

/* --- whole datasets --- */

static void goldens_are_written_and_verified(void **state)
{
    static const char *const names[] = {"good-plain",  "good-memory-experts", "good-killed",
                                        "good-flight", "good-described",      "good-zstd"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        (void)snprintf(file, sizeof file, "%s.ttrace", names[i]);
        tt_model *m = open_golden(file);
        for (unsigned c = 0; c < 3; c++) {
            const tt_export_options o = {
                .threads = 1 + c, .force = true, .compress = (tt_compress)c};
            assert_int_equal(export_model(m, "golden", &o), TT_OK);
            expect_verified("golden");
        }
        tt_model_close(m);
    }
}

/* Twice the same, by however many threads. */
static void threads_do_not_show(void **state)
{
    tt_model *m = open_golden("good-memory-experts.ttrace");
    char a[96], b[96];
    (void)state;
    assert_int_equal(export_model(m, "one", &(tt_export_options){.threads = 1}), TT_OK);
    assert_int_equal(export_model(m, "many", &(tt_export_options){.threads = 7}), TT_OK);
    for (uint32_t i = 0; i < m->n_batches; i++) {
        (void)snprintf(a, sizeof a, "one/traces/token-%05u.json", i);
        (void)snprintf(b, sizeof b, "many/traces/token-%05u.json", i);
        json_t *x = load(a), *y = load(b);
        assert_true(json_equal(x, y));
        json_decref(x);
        json_decref(y);
    }
    tt_model_close(m);
}

static void experts_are_all_tokens_choices(void **state)
{
    tt_model *m = open_golden("good-memory-experts.ttrace");
    size_t i, found = 0;
    const json_t *e;
    (void)state;
    assert_int_equal(export_model(m, "experts", &(tt_export_options){0}), TT_OK);
    json_t *trace = load("experts/traces/token-00000.json");
    json_array_foreach(in(trace, "entries"), i, e)
    {
        uint64_t n = count(e, "num_experts");
        assert_int_equal(n, json_array_size(in(e, "expert_ids")));
        /* Ten of each token, as the trace's generator says. */
        if (strcmp(json_string_value(in(e, "operation_type")), "MUL_MAT_ID") == 0) {
            assert_int_equal(n, 10 * m->batches[0].n_tokens);
            found++;
        } else {
            assert_int_equal(n, 0);
        }
    }
    assert_true(found > 0);
    json_decref(trace);
    json_t *map = load("experts/memory-map.json");
    uint64_t sliced = count(map, "num_tensors");
    assert_true(sliced > count(in(map, "metadata"), "n_tensors"));
    json_decref(map);
    const tt_export_options whole = {.has_experts = true, .force = true};
    assert_int_equal(export_model(m, "experts", &whole), TT_OK);
    map = load("experts/memory-map.json");
    assert_int_equal(count(map, "num_tensors"), count(in(map, "metadata"), "n_tensors"));
    json_decref(map);
    expect_verified("experts");
    tt_model_close(m);
}

/* --- names that mean harm --- */

static const char *const hostile[] = {
    "a\"b\\c",      "line\nbreak\ttab",       "\xff\xfe bad \xc3",      "<script>alert(1)</script>",
    "\x01\x1b[31m", "token-00000.json/../..", "\xed\xa0\x80 surrogate", "\xf0\x9f\x98\x80"};

#define HOSTILE (sizeof hostile / sizeof *hostile)

/* Gives every tensor and weight such a name; weights keep different ones, as model files have. */
static void name_hostile(tt_model *m, char (*names)[96])
{
    for (uint32_t i = 0; i < m->n_weights; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s%u", hostile[i % HOSTILE], i);
        m->weights[i].name = names[i];
    }
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t i = 0; i < m->graphs[g].n_tensors; i++) {
            tt_tensor *t = &m->graphs[g].tensors[i];
            t->name =
                t->weight != TT_NONE && t->root == i ? names[t->weight] : hostile[i % HOSTILE];
            t->op_name = hostile[(i + 3) % HOSTILE];
            t->type_name = hostile[(i + 5) % HOSTILE];
        }
    for (uint32_t i = 0; i < m->n_buffers; i++)
        m->buffers[i].name = hostile[i % HOSTILE];
    for (uint32_t i = 0; i < m->n_environment; i++)
        m->environment[i].value = hostile[i % HOSTILE];
    m->files[0].path = "/m/\"model\"\n\xff.gguf";
}

static void names_of_any_bytes_are_valid_json(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    char(*names)[96] = calloc(m->n_weights, sizeof *names);
    (void)state;
    name_hostile(m, names);
    assert_int_equal(export_model(m, "hostile", &(tt_export_options){0}), TT_OK);
    expect_verified("hostile");
    json_t *graph = load("hostile/graphs/token-00000.json");
    expect_text(at(in(graph, "nodes"), 0), "label", "a\"b\\c");
    expect_text(at(in(graph, "nodes"), 1), "label", "line\nbreak\ttab");
    expect_text(at(in(graph, "nodes"), 2), "label", "\xef\xbf\xbd\xef\xbf\xbd bad \xef\xbf\xbd");
    expect_text(at(in(graph, "nodes"), 7), "label", "\xf0\x9f\x98\x80");
    json_decref(graph);
    tt_model_close(m);
    free(names);
}

/* --- the model file --- */

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A model of which the trace's file has the size and the head. */
static void claim(tt_model *m, const char *path)
{
    static uint8_t data[1 << 16];
    struct stat st;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(data, 1, sizeof data, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(stat(path, &st), 0);
    m->files[0].size_bytes = (uint64_t)st.st_size;
    m->files[0].head_hash = tt_checksum(data, n);
    m->files[0].path = path;
}

static void make_model(const char *path, uint32_t layers)
{
    tt_synth_config c;
    assert_true(tt_synth_preset(&c, "tiny"));
    c.n_layers = layers;
    assert_int_equal(tt_synth_write(&c, path, true, NULL, NULL, NULL, &error), TT_OK);
}

static json_t *exported_map(const tt_model *m, const char *model_path)
{
    const tt_export_options o = {.force = true, .model_path = model_path};
    assert_int_equal(export_model(m, "map", &o), TT_OK);
    return load("map/memory-map.json");
}

static void the_file_is_read_when_it_is_the_same(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    make_model("a.gguf", 2);
    make_model("b.gguf", 3);
    claim(m, "a.gguf");
    json_t *map = exported_map(m, NULL);
    assert_int_equal(notes, 2); /* of the prompt, and of copies of weights */
    assert_int_equal(count(in(map, "metadata"), "n_layers"), 2);
    assert_string_not_equal(json_string_value(in(in(map, "metadata"), "source")), "trace");
    json_decref(map);
    /* Moved: found by --model, and told in experiment.json. */
    m->files[0].path = "/gone/a.gguf";
    map = exported_map(m, "a.gguf");
    assert_int_equal(count(in(map, "metadata"), "n_layers"), 2);
    json_decref(map);
    json_t *experiment = load("map/experiment.json");
    const char *path = json_string_value(in(experiment, "model_file"));
    assert_true(path[0] == '/' && strstr(path, "a.gguf"));
    json_decref(experiment);
    /* Gone: what the trace holds. */
    map = exported_map(m, NULL);
    assert_string_equal(json_string_value(in(in(map, "metadata"), "source")), "trace");
    assert_int_equal(count(in(map, "metadata"), "n_tensors"), m->n_weights);
    json_decref(map);
    assert_int_equal(notes, 3);
    tt_model_close(m);
}

static void another_file_is_refused(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    claim(m, "a.gguf");
    tt_export_options o = {.model_path = "b.gguf"};
    assert_int_equal(export_model(m, "refused", &o), TT_E_USAGE);
    assert_non_null(strstr(error.message, "b.gguf"));
    assert_non_null(strstr(error.message, "size"));
    o.model_path = "nowhere.gguf";
    assert_int_equal(export_model(m, "refused", &o), TT_E_USAGE);
    assert_non_null(strstr(error.message, "No such file"));
    o.model_path = ".";
    assert_int_equal(export_model(m, "refused", &o), TT_E_USAGE);
    /* The same size, other bytes. */
    m->files[0].head_hash++;
    o.model_path = "a.gguf";
    assert_int_equal(export_model(m, "refused", &o), TT_E_USAGE);
    assert_non_null(strstr(error.message, "another file"));
    assert_int_equal(access("refused", F_OK), -1);
    tt_model_close(m);
}

/* The file at the trace's path has changed: that is told, and the trace's layout stands. */
static void a_changed_file_is_not_read(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    claim(m, "a.gguf");
    m->files[0].size_bytes++;
    json_t *map = exported_map(m, NULL);
    assert_string_equal(json_string_value(in(in(map, "metadata"), "source")), "trace");
    json_decref(map);
    tt_model_close(m);
}

/* Metadata too are in the trace. */
static void the_trace_alone_tells_the_shape(void **state)
{
    static const tt_file_kv kvs[] = {{"general.architecture", "llama", 8},
                                     {"general.name", "It \"is\"", 8},
                                     {"llama.block_count", "3", 4},
                                     {"llama.embedding_length", "18446744073709551615", 10},
                                     {"llama.attention.head_count", "[u32 x 3]", 9},
                                     {"llama.rope.freq_base", "10000", 6},
                                     {"tokenizer.ggml.tokens", "[str x 77]", 9}};
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    m->files[0].kvs = kvs;
    m->files[0].n_kvs = sizeof kvs / sizeof *kvs;
    json_t *map = exported_map(m, NULL);
    const json_t *about = in(map, "metadata");
    expect_text(map, "model_name", "It \"is\"");
    assert_int_equal(count(about, "n_layers"), 3);
    assert_int_equal(count(about, "n_vocab"), 77);
    assert_true(json_is_null(in(about, "n_embd")));  /* more than a number can be */
    assert_true(json_is_null(in(about, "n_heads"))); /* one a layer: the trace holds their number */
    json_decref(map);
    tt_model_close(m);
}

/* Adapters and drafts are files of their own: their tensors are told apart by it. */
static void several_files_are_told_apart(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    tt_model_file *one = m->files, two[2] = {m->files[0], m->files[0]};
    (void)state;
    two[1].path = "/else/synth.gguf";
    m->files = two;
    m->n_files = 2;
    two[0].n_weights--;
    two[1].first_weight = two[0].n_weights;
    two[1].n_weights = 1;
    m->weights[m->n_weights - 1].file = 1;
    assert_int_equal(export_model(m, "several", &(tt_export_options){0}), TT_OK);
    expect_verified("several");
    json_t *map = load("several/memory-map.json");
    size_t n = json_array_size(in(map, "tensors"));
    expect_text(at(in(map, "tensors"), 0), "file", "synth.gguf");
    expect_text(at(in(map, "tensors"), n - 1), "file", "synth.gguf (2)");
    assert_int_equal(count(map, "total_size_bytes"), 2 * one->size_bytes);
    json_decref(map);
    m->files = one;
    m->n_files = 1;
    tt_model_close(m);
}

/* A byte in each chunk of ops and of details is changed: all are found, also those that nothing
 * else has asked for. */
static void damage_is_found_wherever_it_is(void **state)
{
    static uint8_t bytes[1 << 20];
    tt_model *m = open_golden("good-memory-experts.ttrace");
    uint64_t chunks, wanted = 0, of_details = 0;
    FILE *f = fopen(GOLDEN "good-memory-experts.ttrace", "rb");
    (void)state;
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(tt_damage_count(m, &chunks, &error), TT_OK);
    assert_int_equal(chunks, 0);
    assert_true(tt_damage_is_complete(m, chunks));
    for (size_t i = 0; i < m->trace.n_chunks; i++) {
        const tt_index_entry *e = &m->trace.chunks[i];
        if (e->type != TT_CHUNK_OPS && e->type != TT_CHUNK_DETAIL) continue;
        bytes[e->offset + TT_CHUNK_HEADER_BYTES + 1] ^= 0x55;
        of_details += e->type == TT_CHUNK_DETAIL;
        wanted++;
    }
    tt_model_close(m);
    assert_true(of_details > 0 && wanted > of_details);
    assert_int_equal(tt_model_open_memory(bytes, n, &m, &error), TT_OK);
    assert_int_equal(tt_damage_count(m, &chunks, &error), TT_OK);
    assert_int_equal(chunks, wanted);
    assert_true(m->trace.complete && !tt_damage_is_complete(m, chunks));
    tt_model_close(m);
}

/* --- what cannot be written --- */

static void what_is_missing_is_told(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    m->clock.known = false;
    assert_int_equal(export_model(m, "none", &(tt_export_options){0}), TT_E_FORMAT);
    m->clock.known = true;
    uint32_t n = m->n_batches;
    m->n_batches = 0;
    assert_int_equal(export_model(m, "none", &(tt_export_options){0}), TT_E_FORMAT);
    assert_non_null(strstr(error.message, "no batch"));
    m->n_batches = n;
    n = m->n_weights;
    m->n_weights = 0;
    assert_int_equal(export_model(m, "none", &(tt_export_options){0}), TT_E_FORMAT);
    assert_non_null(strstr(error.message, "layout"));
    m->n_weights = n;
    m->weights[3].n_dims = 0;
    assert_int_equal(export_model(m, "none", &(tt_export_options){0}), TT_E_FORMAT);
    assert_non_null(strstr(error.message, "--model"));
    assert_int_equal(access("none", F_OK), -1);
    tt_model_close(m);
}

static bool is_empty(const char *path)
{
    return rmdir(path) == 0 && mkdir(path, 0777) == 0;
}

static void an_existing_folder_is_kept(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    assert_int_equal(mkdir("there", 0777), 0);
    write_file("there/mine", "x", 1);
    assert_int_equal(export_model(m, "there", &(tt_export_options){0}), TT_E_EXISTS);
    assert_int_equal(access("there/mine", F_OK), 0);
    assert_int_equal(export_model(m, "there", &(tt_export_options){.force = true}), TT_E_EXISTS);
    assert_int_equal(access("there/mine", F_OK), 0);
    assert_int_equal(rename("there/mine", "there/experiment.json.zst"), 0);
    assert_int_equal(export_model(m, "there", &(tt_export_options){.force = true}), TT_OK);
    assert_int_equal(access("there/experiment.json.zst", F_OK), -1);
    expect_verified("there");
    tt_model_close(m);
}

/* A dataset is not begun where it cannot fit; the estimate is not above what it comes to. */
static void room_is_looked_for_first(void **state)
{
    static const char *const names[] = {"good-plain.ttrace", "good-memory-experts.ttrace"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const tt_export_options o = {.note = note};
        tt_model *m = open_golden(names[i]);
        tt_dataset *d;
        tt_dataset_sum graphs, traces;
        double bytes;
        assert_int_equal(tt_dataset_open(m, "roomy", &o, &d, &error), TT_OK);
        assert_true(tt_dataset_estimate(d, &bytes));
        assert_int_equal(tt_dataset_graphs(d, &graphs, &error), TT_OK);
        assert_int_equal(tt_dataset_traces(d, &traces, &error), TT_OK);
        tt_dataset_abandon(d);
        double real = (double)(graphs.size_bytes + traces.size_bytes);
        print_message("%s: %.0f estimated, %.0f written\n", names[i], bytes, real);
        assert_true(bytes < real && bytes > real / 2);
        claimed_free = 32768;
        assert_int_equal(export_model(m, "roomy", &(tt_export_options){0}), TT_E_IO);
        assert_non_null(strstr(error.message, "roomy"));
        assert_non_null(strstr(error.message, "32.0 KiB are free"));
        assert_int_equal(access("roomy", F_OK), -1);
        claimed_free = 0;
        tt_model_close(m);
    }
}

/* Nothing is left of what did not fit. */
static void a_full_disk_leaves_nothing(void **state)
{
    tt_model *m = open_golden("good-plain.ttrace");
    (void)state;
    assert_int_equal(mkdir("small", 0777), 0);
    if (mount("none", "small", "tmpfs", 0, "size=64k") != 0) {
        print_message("skipped: no tmpfs can be mounted (%s)\n", strerror(errno));
        tt_model_close(m);
        skip();
    }
    tt_status refused = export_model(m, "small/out", &(tt_export_options){.threads = 2});
    bool told = strstr(error.message, "64.0 KiB are free") != NULL;
    claimed_free = (uint64_t)1 << 40; /* it seems to fit, and does not */
    tt_status status = export_model(m, "small/out", &(tt_export_options){.threads = 2});
    claimed_free = 0;
    bool empty = access("small/out", F_OK) != 0;
    tt_status packed =
        export_model(m, "small/out", &(tt_export_options){.compress = TT_COMPRESS_GZIP});
    char message[sizeof error.message];
    (void)snprintf(message, sizeof message, "%s", error.message);
    assert_int_equal(mkdir("small/sub", 0777), 0);
    bool clean = tt_outdir_remove("small/sub") && access("small/out", F_OK) != 0;
    int unmounted = umount("small");
    assert_int_equal(unmounted, 0);
    assert_int_equal(refused, TT_E_IO);
    assert_true(told);
    assert_int_equal(status, TT_E_IO);
    assert_true(empty && clean);
    assert_true(packed == TT_OK || packed == TT_E_IO);
    assert_true(packed == TT_OK || strstr(message, "No space left"));
    assert_true(is_empty("small"));
    tt_model_close(m);
}

/* Files by the hundred thousand, and graphs, are for who asks for them. */
static void too_many_tokens_are_refused(void **state)
{
    tt_model m = {.n_batches = TT_DATASET_TOKENS_MAX + 1};
    tt_export_options o = {.threads = 1};
    tt_error err;
    (void)state;
    assert_int_equal(tt_format_dataset.write(&m, "never-there", &o, &err), TT_E_LIMIT);
    assert_non_null(strstr(err.message, "50001 tokens"));
    assert_non_null(strstr(err.message, "--all"));
    m.n_batches--;
    assert_int_not_equal(tt_format_dataset.write(&m, "never-there", &o, &err), TT_E_LIMIT);
    m.n_runs = TT_DATASET_RUNS_MAX + 1;
    assert_int_equal(tt_format_dataset.write(&m, "never-there", &o, &err), TT_E_LIMIT);
    assert_non_null(strstr(err.message, "100001 computations"));
    m.n_runs--;
    assert_int_not_equal(tt_format_dataset.write(&m, "never-there", &o, &err), TT_E_LIMIT);
    m.n_batches++;
    m.n_runs++;
    o.all = true;
    assert_int_not_equal(tt_format_dataset.write(&m, "never-there", &o, &err), TT_E_LIMIT);
    assert_int_not_equal(access("never-there", F_OK), 0);
}

static void steps_tell_what_they_wrote(void **state)
{
    tt_model *m = open_golden("good-memory-experts.ttrace");
    const tt_export_options o = {.compress = TT_COMPRESS_ZSTD};
    tt_dataset *d;
    tt_dataset_sum sum;
    (void)state;
    assert_int_equal(tt_dataset_open(m, "steps", &o, &d, &error), TT_OK);
    assert_int_equal(access(tt_dataset_folder(d), F_OK), 0);
    assert_int_equal(tt_dataset_traces(d, &sum, &error), TT_OK);
    assert_int_equal(sum.n_files, m->n_batches);
    assert_true(sum.n_items > 0 && sum.size_bytes > 0);
    assert_int_equal(tt_dataset_graphs(d, &sum, &error), TT_OK);
    assert_int_equal(sum.n_files, m->n_batches);
    assert_int_equal(tt_dataset_buffers(d, &sum, &error), TT_OK);
    assert_int_equal(tt_dataset_memory_map(d, NULL, &error), TT_OK);
    assert_int_equal(tt_dataset_experiment(d, &sum, &error), TT_OK);
    assert_int_equal(sum.n_files, 1);
    assert_int_equal(access("steps", F_OK), -1);
    assert_int_equal(tt_dataset_commit(d, &error), TT_OK);
    assert_int_equal(access("steps/experiment.json.zst", F_OK), 0);
    expect_verified("steps");
    tt_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_tokens_are_refused),
        cmocka_unit_test(a_file_reads_back_however_it_is_packed),
        cmocka_unit_test(a_file_takes_texts_of_any_length),
        cmocka_unit_test(goldens_are_written_and_verified),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(experts_are_all_tokens_choices),
        cmocka_unit_test(names_of_any_bytes_are_valid_json),
        cmocka_unit_test(the_file_is_read_when_it_is_the_same),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(a_changed_file_is_not_read),
        cmocka_unit_test(the_trace_alone_tells_the_shape),
        cmocka_unit_test(several_files_are_told_apart),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(damage_is_found_wherever_it_is),
        cmocka_unit_test(an_existing_folder_is_kept),
        cmocka_unit_test(room_is_looked_for_first),
        cmocka_unit_test(a_full_disk_leaves_nothing),
        cmocka_unit_test(steps_tell_what_they_wrote),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
