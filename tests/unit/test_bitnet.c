/* BitNet-style records: their bytes, their files, and reading both back. */
#include "tests.h"

#include "base/outfile.h"
#include "bitnet/names.h"
#include "bitnet/number.h"
#include "bitnet/read.h"
#include "bitnet/write.h"

#include <dirent.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGEST "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"
#define UPPER "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1EFF"
#define ROOT "bitnet-test"

/* --- numbers --- */

/* What serde_json 1.0 (with ryu) prints. */
static void numbers_are_those_of_rust(void **state)
{
    static const struct {
        double v;
        const char *f64;
    } wide[] = {{0, "0.0"},
                {-0.0, "-0.0"},
                {1, "1.0"},
                {-1.5, "-1.5"},
                {0.1, "0.1"},
                {0.9982, "0.9982"},
                {1.0 / 3, "0.3333333333333333"},
                {0.1 + 0.2, "0.30000000000000004"},
                {100, "100.0"},
                {123456.75, "123456.75"},
                {1e-4, "0.0001"},
                {1.25e-5, "0.0000125"},
                {1e-5, "0.00001"},
                {1e-6, "1e-6"},
                {1.5e-6, "1.5e-6"},
                {1e-7, "1e-7"},
                {1e15, "1000000000000000.0"},
                {9007199254740993.0, "9007199254740992.0"},
                {1e16, "1e16"},
                {1.2345e20, "1.2345e20"},
                {1e23, "1e23"},
                {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: not the rounded one */
                {DBL_MAX, "1.7976931348623157e308"},
                {DBL_MIN, "2.2250738585072014e-308"},
                {5e-324, "5e-324"}};
    static const struct {
        float v;
        const char *f32;
    } narrow[] = {{0.1f, "0.1"},
                  {1.0f / 3, "0.33333334"},
                  {16777216.0f, "16777216.0"},
                  {1e12f, "1000000000000.0"},
                  {1e13f, "1e13"},
                  {1e-6f, "0.000001"},
                  {1.5e-7f, "1.5e-7"},
                  {-2.5e-5f, "-0.000025"},
                  {FLT_MAX, "3.4028235e38"},
                  {FLT_MIN, "1.1754944e-38"},
                  {1e-45f, "1e-45"}};
    char text[TT_BITNET_NUMBER];
    (void)state;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        assert_int_equal(tt_bitnet_number_f64(wide[i].v, text), strlen(wide[i].f64));
        assert_string_equal(text, wide[i].f64);
    }
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        assert_int_equal(tt_bitnet_number_f32(narrow[i].v, text), strlen(narrow[i].f32));
        assert_string_equal(text, narrow[i].f32);
    }
}

/* Whatever it is, it reads back, and no shorter text does. */
static void numbers_read_back_and_are_short(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[TT_BITNET_NUMBER], rounded[48];
        double v;
        random = random * 6364136223846793005u + 1442695040888963407u;
        memcpy(&v, &random, sizeof v);
        if (!isfinite(v)) continue;
        (void)tt_bitnet_number_f64(v, text);
        assert_true(strtod(text, NULL) == v);
        int digits = 0;
        for (const char *p = text; *p && *p != 'e'; p++)
            digits += *p >= '0' && *p <= '9';
        if (digits < 2 || digits > 17 || !strchr(text, 'e')) continue;
        (void)snprintf(rounded, sizeof rounded, "%.*e", digits - 2, v);
        assert_true(strtod(rounded, NULL) != v);
    }
}

/* --- a record's bytes --- */

static const uint64_t the_shape[] = {1, 2560};
static const float the_values[] = {0.5f, -1, NAN, 1e-7f, INFINITY};

static tt_bitnet_record the_record(const char *name)
{
    tt_bitnet_record r = {.name = name,
                          .shape = the_shape,
                          .n_dims = 2,
                          .dtype = "F32",
                          .has_blake3 = true,
                          .has_rms = true,
                          .rms = 0.9982,
                          .n_elements = 2560};
    for (unsigned i = 0; i < 32; i++)
        r.blake3[i] = (uint8_t)i;
    r.blake3[31] = 0xff;
    return r;
}

static void expect_bytes(const tt_bitnet_record *r, const char *want)
{
    tt_bytes out;
    tt_bytes_init(&out, 1 << 20);
    tt_bitnet_put(&out, r, TT_BITNET_PRETTY);
    tt_bytes_u8(&out, 0);
    assert_false(out.failed);
    assert_string_equal((const char *)out.data, want);
    tt_bytes_free(&out);
}

static void six_keys_as_in_the_crate_s_documentation(void **state)
{
    tt_bitnet_record r = the_record("blk0/attn_norm");
    (void)state;
    expect_bytes(&r, "{\n"
                     "  \"name\": \"blk0/attn_norm\",\n"
                     "  \"shape\": [\n"
                     "    1,\n"
                     "    2560\n"
                     "  ],\n"
                     "  \"dtype\": \"F32\",\n"
                     "  \"blake3\": \"" DIGEST "\",\n"
                     "  \"rms\": 0.9982,\n"
                     "  \"num_elements\": 2560\n"
                     "}");
}

static void ten_keys_in_their_order(void **state)
{
    tt_bitnet_record r = the_record("t3/logits");
    (void)state;
    r.has_first_values = r.has_seq = r.has_layer = true;
    r.first_values = the_values;
    r.n_first_values = 5;
    r.seq = 3;
    r.layer = TT_BITNET_LAYER_OUTSIDE;
    r.stage = "logits";
    r.rms = 1;
    expect_bytes(&r, "{\n"
                     "  \"name\": \"t3/logits\",\n"
                     "  \"shape\": [\n"
                     "    1,\n"
                     "    2560\n"
                     "  ],\n"
                     "  \"dtype\": \"F32\",\n"
                     "  \"blake3\": \"" DIGEST "\",\n"
                     "  \"rms\": 1.0,\n"
                     "  \"num_elements\": 2560,\n"
                     "  \"first_values\": [\n"
                     "    0.5,\n"
                     "    -1.0,\n"
                     "    null,\n"
                     "    1e-7,\n"
                     "    null\n"
                     "  ],\n"
                     "  \"seq\": 3,\n"
                     "  \"layer\": -1,\n"
                     "  \"stage\": \"logits\"\n"
                     "}");
}

static void one_line_is_what_to_string_writes(void **state)
{
    static const char want[] =
        "{\"name\":\"t3/logits\",\"shape\":[1,2560],\"dtype\":\"F32\",\"blake3\":"
        "\"" DIGEST "\",\"rms\":1.0,\"num_elements\":2560,\"first_values\":"
        "[0.5,-1.0,null,1e-7,null],\"seq\":3,\"layer\":-1,\"stage\":\"logits\"}";
    tt_bitnet_record r = the_record("t3/logits");
    tt_bytes out;
    (void)state;
    r.has_first_values = r.has_seq = r.has_layer = true;
    r.first_values = the_values;
    r.n_first_values = 5;
    r.seq = 3;
    r.layer = TT_BITNET_LAYER_OUTSIDE;
    r.stage = "logits";
    r.rms = 1;
    tt_bytes_init(&out, 1 << 20);
    tt_bitnet_put(&out, &r, TT_BITNET_ONE_LINE);
    tt_bytes_u8(&out, 0);
    assert_string_equal((const char *)out.data, want);
    tt_bytes_free(&out);
}

static void what_is_not_there_is_null_and_texts_are_escaped(void **state)
{
    tt_bitnet_record r = the_record("a\"b\\c\n\t\b\f\r\x01\x7f\xc3\xa9\xff");
    (void)state;
    r.n_dims = 0;
    r.n_elements = 0;
    r.has_blake3 = false;
    r.rms = NAN;
    r.has_first_values = true;
    expect_bytes(&r, "{\n"
                     "  \"name\": \"a\\\"b\\\\c\\n\\t\\b\\f\\r\\u0001\x7f\xc3\xa9\xef\xbf\xbd\",\n"
                     "  \"shape\": [],\n"
                     "  \"dtype\": \"F32\",\n"
                     "  \"blake3\": null,\n"
                     "  \"rms\": null,\n"
                     "  \"num_elements\": 0,\n"
                     "  \"first_values\": []\n"
                     "}");
}

/* --- names --- */

static void names_become_files_and_say_where(void **state)
{
    char file[TT_BITNET_FILE_NAME], longest[400];
    tt_bitnet_parts parts;
    size_t n_base;
    (void)state;
    assert_true(tt_bitnet_file_name("t0/blk0\\q_proj", 1, file));
    assert_string_equal(file, "t0_blk0_q_proj.trace");
    assert_true(tt_bitnet_file_name("t0/logits", 12, file));
    assert_string_equal(file, "t0_logits.12.trace");
    assert_int_equal(tt_bitnet_file_number(file, &n_base), 12);
    assert_int_equal(n_base, strlen("t0_logits"));
    assert_int_equal(tt_bitnet_file_number("a.1.trace", &n_base), 1);
    assert_int_equal(n_base, 3);
    assert_false(tt_bitnet_file_name("", 1, file));
    longest[0] = 'a';
    for (size_t i = 1; i + 3 < sizeof longest; i += 3)
        memcpy(longest + i, "\xe2\x82\xac\0", 4);
    assert_true(tt_bitnet_file_name(longest, UINT64_MAX, file));
    assert_in_range(strlen(file), 200, 255);
    assert_int_equal((strchr(file, '.') - file) % 3, 1);

    tt_bitnet_name_parts("t12/blk7/attn_norm", &parts);
    assert_true(parts.has_seq && parts.has_layer);
    assert_int_equal(parts.seq, 12);
    assert_int_equal(parts.layer, 7);
    assert_string_equal(parts.stage, "attn_norm");
    tt_bitnet_name_parts("blk0/a/b", &parts);
    assert_true(!parts.has_seq && parts.has_layer);
    assert_string_equal(parts.stage, "a/b");
    tt_bitnet_name_parts("t0/all_layers_out", &parts);
    assert_int_equal(parts.layer, -2);
    tt_bitnet_name_parts("t99999999999/blk99999999999/x", &parts);
    assert_true(!parts.has_seq && !parts.has_layer);
    tt_bitnet_name_parts("t4294967296/blk2147483648/x", &parts);
    assert_true(!parts.has_seq && !parts.has_layer);
    tt_bitnet_name_parts("t4294967295/blk2147483647/x", &parts);
    assert_true(parts.has_seq && parts.has_layer);
    tt_bitnet_name_parts("table", &parts);
    assert_true(!parts.has_seq && !parts.has_layer);
    assert_string_equal(parts.stage, "table");
}

/* --- a folder --- */

static int clean(void **state)
{
    (void)state;
    (void)tt_outdir_remove(ROOT);
    return 0;
}

static void put_file(const char *name, const char *text)
{
    char path[300];
    (void)mkdir(ROOT, 0777);
    (void)snprintf(path, sizeof path, ROOT "/%s", name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static unsigned count_files(const char *ending)
{
    unsigned n = 0;
    DIR *d = opendir(ROOT);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += strstr(e->d_name, ending) != NULL;
    (void)closedir(d);
    return n;
}

static void no_file_is_written_over(void **state)
{
    tt_error err;
    tt_bitnet_writer *w;
    tt_bitnet_folder f;
    char file[TT_BITNET_FILE_NAME];
    uint64_t n_files, n_numbered;
    static const char *const names[] = {"a/b", "a_b", "a_b.2", "a/b", "a\\b"};
    static const char *const files[] = {"a_b.trace", "a_b.2.trace", "a_b.2.2.trace", "a_b.3.trace",
                                        "a_b.4.trace"};
    (void)state;
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_PRETTY, &w, &err), TT_OK);
    for (size_t i = 0; i < 5; i++) {
        tt_bitnet_record r = the_record(names[i]);
        r.n_elements = i;
        assert_int_equal(tt_bitnet_writer_put(w, &r, file, &err), TT_OK);
        assert_string_equal(file, files[i]);
    }
    tt_bitnet_writer_count(w, &n_files, &n_numbered, file);
    assert_int_equal(n_files, 5);
    assert_int_equal(n_numbered, 4);
    assert_string_equal(file, "a_b.2.trace");
    tt_bitnet_record nameless = the_record("");
    assert_int_equal(tt_bitnet_writer_put(w, &nameless, NULL, &err), TT_E_USAGE);
    tt_bitnet_writer_close(w);
    assert_int_equal(count_files(".part"), 0);

    /* What another program left is not mixed with ours. */
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_PRETTY, &w, &err), TT_E_EXISTS);
    assert_non_null(strstr(err.message, "holds traces already"));

    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_OK);
    assert_int_equal(f.n, 5);
    for (size_t i = 0; i < f.n; i++)
        assert_string_equal(f.items[i].record.name, names[f.items[i].record.n_elements]);
    tt_bitnet_free(&f);
}

static void lines_are_one_file(void **state)
{
    tt_error err;
    tt_bitnet_writer *w;
    tt_bitnet_folder f;
    char file[TT_BITNET_FILE_NAME];
    uint64_t n_files, n_numbered;
    (void)state;
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_ONE_LINE, &w, &err), TT_OK);
    for (size_t i = 0; i < 3; i++) {
        tt_bitnet_record r = the_record(i == 1 ? "a\nb" : "same");
        r.n_elements = i;
        assert_int_equal(tt_bitnet_writer_put(w, &r, file, &err), TT_OK);
        assert_string_equal(file, "values.jsonl");
    }
    tt_bitnet_writer_count(w, &n_files, &n_numbered, file);
    assert_int_equal(n_files, 3);
    assert_int_equal(n_numbered, 0);
    tt_bitnet_writer_close(w);
    assert_int_equal(count_files(".trace"), 0);
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_ONE_LINE, &w, &err), TT_E_EXISTS);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_OK);
    assert_int_equal(f.n, 3);
    for (size_t i = 0; i < f.n; i++) {
        assert_int_equal(f.items[i].record.n_elements, i);
        assert_int_equal(f.items[i].line, i + 1);
    }
    tt_bitnet_free(&f);
}

static void numbered_files_are_read_in_their_order(void **state)
{
    tt_error err;
    tt_bitnet_writer *w;
    tt_bitnet_folder f;
    (void)state;
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_PRETTY, &w, &err), TT_OK);
    for (uint64_t i = 0; i < 12; i++) {
        tt_bitnet_record r = the_record("t0/embeddings");
        r.n_elements = i;
        assert_int_equal(tt_bitnet_writer_put(w, &r, NULL, &err), TT_OK);
    }
    tt_bitnet_writer_close(w);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_OK);
    assert_int_equal(f.n, 12);
    for (uint64_t i = 0; i < 12; i++)
        assert_int_equal(f.items[i].record.n_elements, i);
    tt_bitnet_free(&f);
}

/* As on a full disk: nothing of the file is left, and the next one can be written. */
static void a_file_appears_whole_or_not_at_all(void **state)
{
    tt_error err;
    tt_bitnet_writer *w;
    struct rlimit before, low;
    tt_bitnet_record r = the_record("t0/logits");
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = (struct rlimit){100, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_PRETTY, &w, &err), TT_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    tt_status status = tt_bitnet_writer_put(w, &r, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, TT_E_IO);
    assert_non_null(strstr(err.message, "cannot write a file in " ROOT));
    assert_int_equal(count_files("."), 2); /* . and .. */
    assert_int_equal(tt_bitnet_writer_put(w, &r, NULL, &err), TT_OK);
    assert_int_equal(count_files("t0_logits.trace"), 1);
    tt_bitnet_writer_close(w);
}

#define THREADS 4
#define EACH 200

static void *write_some(void *writer)
{
    for (unsigned i = 0; i < EACH; i++) {
        tt_error err;
        char name[32];
        (void)snprintf(name, sizeof name, "t%u/logits", i / 2);
        tt_bitnet_record r = the_record(name);
        if (tt_bitnet_writer_put(writer, &r, NULL, &err) != TT_OK) return writer;
    }
    return NULL;
}

static void threads_write_at_the_same_time(void **state)
{
    tt_error err;
    tt_bitnet_writer *w;
    tt_bitnet_folder f;
    pthread_t threads[THREADS];
    (void)state;
    assert_int_equal(tt_bitnet_writer_open(ROOT "/below", TT_BITNET_PRETTY, &w, &err), TT_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_some, w), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    tt_bitnet_writer_close(w);
    assert_int_equal(tt_bitnet_read(&f, ROOT "/below", &err), TT_OK);
    assert_int_equal(f.n, THREADS * EACH);
    tt_bitnet_free(&f);
}

static void what_was_written_reads_back(void **state)
{
    tt_error err;
    tt_bitnet_writer *w;
    tt_bitnet_folder f;
    tt_bitnet_record r = the_record("t5/blk2/q\"proj\xc3\xa9");
    (void)state;
    r.has_first_values = r.has_seq = r.has_layer = true;
    r.first_values = the_values;
    r.n_first_values = 5;
    r.seq = 6;
    r.layer = 2;
    r.stage = "other";
    assert_int_equal(tt_bitnet_writer_open(ROOT, TT_BITNET_PRETTY, &w, &err), TT_OK);
    assert_int_equal(tt_bitnet_writer_put(w, &r, NULL, &err), TT_OK);
    tt_bitnet_writer_close(w);
    assert_true(tt_bitnet_is(ROOT));
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_OK);
    const tt_bitnet_record *got = &f.items[0].record;
    assert_string_equal(got->name, r.name);
    assert_string_equal(got->dtype, "F32");
    assert_string_equal(got->stage, "other");
    assert_int_equal(got->n_dims, 2);
    assert_memory_equal(got->shape, the_shape, sizeof the_shape);
    assert_true(got->has_blake3 && got->has_rms && got->has_first_values);
    assert_memory_equal(got->blake3, r.blake3, 32);
    assert_true(got->rms == 0.9982);
    assert_int_equal(got->n_elements, 2560);
    assert_int_equal(got->n_first_values, 5);
    assert_true(got->first_values[3] == 1e-7f && isnan(got->first_values[4]));
    assert_true(got->has_seq && got->seq == 6 && got->has_layer && got->layer == 2);
    tt_bitnet_free(&f);
}

#define SIX                                                                                        \
    "\"name\":\"t1/blk4/q_proj\",\"shape\":[2],\"dtype\":\"F32\",\"blake3\":\"" DIGEST             \
    "\",\"rms\":1.5,\"num_elements\":2"

static void all_forms_are_read(void **state)
{
    tt_error err;
    tt_bitnet_folder f;
    (void)state;
    /* Six keys: the name tells the rest. Nine, and null. Unknown keys. One a line, with and without
     * a last newline. */
    put_file("a.trace", "{" SIX "}");
    put_file("b.trace", "\n{" SIX ",\n\"seq\":7,\"layer\":-1,\"stage\":\"logits\"}\n");
    put_file("c.jsonl", "{" SIX ",\"extra\":{\"x\":[1]}}\r\n\n{" SIX
                        ",\"seq\":null,\"layer\":null,\"stage\":null,\"first_values\":null}");
    put_file("d.trace", "{\"name\":\"x\",\"shape\":[],\"dtype\":\"F16\",\"blake3\":null,"
                        "\"rms\":null,\"num_elements\":1,\"first_values\":[null,1]}");
    put_file("README", "not a record");
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_OK);
    assert_int_equal(f.n, 5);
    assert_int_equal(f.n_files, 4);
    for (size_t i = 0; i < 4; i++) {
        const tt_bitnet_record *r = &f.items[i].record;
        assert_true(r->has_seq && r->has_layer);
        assert_int_equal(r->seq, i == 1 ? 7 : 1);
        assert_int_equal(r->layer, i == 1 ? -1 : 4);
        assert_string_equal(r->stage, i == 1 ? "logits" : "q_proj");
        assert_int_equal(f.items[i].has_stage, i == 1);
    }
    assert_int_equal(f.items[1].line, 2);
    assert_int_equal(f.items[3].line, 3);
    const tt_bitnet_record *last = &f.items[4].record;
    assert_true(!last->has_blake3 && !last->has_rms && !last->has_seq && !last->has_layer);
    assert_string_equal(last->dtype, "F16");
    assert_true(isnan(last->first_values[0]) && last->first_values[1] == 1);
    tt_bitnet_free(&f);

    assert_int_equal(tt_bitnet_read(&f, ROOT "/c.jsonl", &err), TT_OK);
    assert_int_equal(f.n, 2);
    tt_bitnet_free(&f);
}

static void expect_error(const char *file, const char *text, tt_status status, const char *message)
{
    tt_error err;
    tt_bitnet_folder f;
    assert_int_equal(clean(NULL), 0);
    put_file("a.trace", "{" SIX "}"); /* a good one does not help */
    put_file(file, text);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), status);
    if (!strstr(err.message, file) || !strstr(err.message, message))
        fail_msg("\"%s\" instead of \"%s: %s\"", err.message, file, message);
    tt_bitnet_free(&f);
}

#define WITH(text) "{\"name\":\"x\",\"shape\":[2],\"dtype\":\"F32\"," text "}"
#define REST "\"blake3\":\"" DIGEST "\",\"rms\":1,\"num_elements\":2"

static void what_cannot_be_used_is_named(void **state)
{
    (void)state;
    expect_error("b.trace", "", TT_E_TRUNCATED, "there is no record");
    expect_error("b.trace", " \n", TT_E_TRUNCATED, "there is no record");
    expect_error("b.jsonl", "\n", TT_E_TRUNCATED, "there is no record");
    expect_error("b.trace", "{\n" SIX, TT_E_TRUNCATED, "line 2: it ends in the middle");
    expect_error("b.trace", "{" SIX "}}", TT_E_FORMAT, "line 1: it is no JSON");
    expect_error("b.trace", "[]", TT_E_FORMAT, "no JSON object");
    expect_error("b.jsonl", "{" SIX "}\n\n{" SIX ",}\n", TT_E_FORMAT, "line 3: it is no JSON");
    expect_error("b.trace", "{" SIX ",\"a\":\"\xff\"}", TT_E_FORMAT, "UTF-8");
    expect_error("b.trace", "{" SIX ",\"a\":NaN}", TT_E_FORMAT, "no JSON");
    expect_error("b.trace", "{" SIX ",\"rms\":2}", TT_E_FORMAT, "duplicate");
    expect_error("b.trace", WITH("\"rms\":1,\"num_elements\":2"), TT_E_FORMAT,
                 "\"blake3\" is missing");
    expect_error("b.trace", WITH("\"blake3\":\"00\",\"rms\":1,\"num_elements\":2"), TT_E_FORMAT,
                 "64 lower-case hexadecimal");
    expect_error("b.trace", WITH("\"blake3\":\"" DIGEST "00\",\"rms\":1,\"num_elements\":2"),
                 TT_E_FORMAT, "64 lower-case hexadecimal");
    expect_error("b.trace", WITH("\"blake3\":\"" UPPER "\",\"rms\":1,\"num_elements\":2"),
                 TT_E_FORMAT, "64 lower-case hexadecimal");
    expect_error("b.trace", WITH("\"blake3\":12,\"rms\":1,\"num_elements\":2"), TT_E_FORMAT,
                 "64 lower-case hexadecimal");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":\"1\",\"num_elements\":2"), TT_E_FORMAT,
                 "\"rms\" is no number");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":-1,\"num_elements\":2"), TT_E_FORMAT,
                 "\"rms\" is negative");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":1e999,\"num_elements\":2"), TT_E_FORMAT,
                 "overflow");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":1,\"num_elements\":-2"), TT_E_FORMAT,
                 "\"num_elements\" is negative");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":1,\"num_elements\":2.5"), TT_E_FORMAT,
                 "\"num_elements\" is no whole number");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":1,\"num_elements\":99999999999999999999"),
                 TT_E_FORMAT, "too big integer");
    expect_error("b.trace", WITH("\"blake3\":null,\"rms\":1,\"num_elements\":null"), TT_E_FORMAT,
                 "\"num_elements\" is null");
    expect_error("b.trace", WITH(REST ",\"first_values\":[1,true]"), TT_E_FORMAT,
                 "\"first_values\" holds what is no number");
    expect_error("b.trace", WITH(REST ",\"first_values\":[1e39]"), TT_E_FORMAT,
                 "\"first_values\" holds a number that is no float32");
    expect_error("b.trace", WITH(REST ",\"first_values\":1"), TT_E_FORMAT,
                 "\"first_values\" is no array");
    expect_error("b.trace", WITH(REST ",\"seq\":-1"), TT_E_FORMAT, "\"seq\" is negative");
    expect_error("b.trace", WITH(REST ",\"layer\":-3"), TT_E_FORMAT, "\"layer\" is no layer");
    expect_error("b.trace", WITH(REST ",\"stage\":1"), TT_E_FORMAT, "\"stage\" is no string");
    expect_error("b.trace", "{\"name\":\"\",\"shape\":[],\"dtype\":\"F32\"," REST "}", TT_E_FORMAT,
                 "\"name\" is empty");
    expect_error("b.trace", "{\"name\":\"x\",\"shape\":[1,-1],\"dtype\":\"F32\"," REST "}",
                 TT_E_FORMAT, "\"shape\" is negative");
    expect_error("b.trace",
                 "{\"name\":\"x\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"
                 "\"dtype\":\"F32\"," REST "}",
                 TT_E_FORMAT, "more than 16");
    expect_error("b.trace", "{\"name\":\"x\",\"shape\":2,\"dtype\":\"F32\"," REST "}", TT_E_FORMAT,
                 "\"shape\" is no array");
    expect_error("b.trace", "{\"name\":\"x\",\"shape\":[2],\"dtype\":null," REST "}", TT_E_FORMAT,
                 "\"dtype\" is null");
}

/* Nothing that has the name of a record is passed over. */
static void odd_files_are_errors(void **state)
{
    tt_error err;
    tt_bitnet_folder f;
    (void)state;
    put_file("a.trace", "{" SIX "}");
    assert_int_equal(mkdir(ROOT "/b.trace", 0777), 0);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_E_FORMAT);
    assert_non_null(strstr(err.message, "b.trace: it is no regular file"));
    tt_bitnet_free(&f);
    assert_int_equal(rmdir(ROOT "/b.trace"), 0);
    assert_int_equal(mkfifo(ROOT "/c.trace", 0666), 0);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_E_FORMAT);
    assert_non_null(strstr(err.message, "c.trace: it is no regular file"));
    tt_bitnet_free(&f);
    assert_int_equal(unlink(ROOT "/c.trace"), 0);
    assert_int_equal(symlink("nowhere", ROOT "/d.trace"), 0);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "d.trace: cannot be opened"));
    tt_bitnet_free(&f);
    assert_int_equal(unlink(ROOT "/d.trace"), 0);
    assert_int_equal(symlink("a.trace", ROOT "/e.trace"), 0);
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_OK);
    assert_int_equal(f.n, 2);
    tt_bitnet_free(&f);
}

static void a_folder_without_records_is_an_error(void **state)
{
    tt_error err;
    tt_bitnet_folder f;
    (void)state;
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_E_NOT_FOUND);
    tt_bitnet_free(&f);
    put_file("token.json", "{}");
    assert_false(tt_bitnet_is(ROOT));
    assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "there are no records"));
    tt_bitnet_free(&f);
}

static void long_texts_have_a_limit(void **state)
{
    tt_error err;
    tt_bitnet_folder f;
    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        const char *name = lines ? ROOT "/a.jsonl" : ROOT "/a.trace";
        assert_int_equal(clean(NULL), 0);
        (void)mkdir(ROOT, 0777);
        FILE *out = fopen(name, "w");
        assert_non_null(out);
        /* Many short lines are no long one. */
        for (size_t i = 0; lines && i < TT_BITNET_TEXT_MAX / 128; i++)
            (void)fputs("{" SIX "}\n", out);
        (void)fprintf(out, "{\"x\":\"%*s\",", (int)TT_BITNET_TEXT_MAX, "");
        assert_int_equal(fclose(out), 0);
        assert_int_equal(tt_bitnet_read(&f, ROOT, &err), TT_E_LIMIT);
        assert_non_null(strstr(err.message, "longer than the 4 MiB"));
        assert_int_equal(f.n, lines ? TT_BITNET_TEXT_MAX / 128 : 0);
        tt_bitnet_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_rust),
        cmocka_unit_test(numbers_read_back_and_are_short),
        cmocka_unit_test(six_keys_as_in_the_crate_s_documentation),
        cmocka_unit_test(ten_keys_in_their_order),
        cmocka_unit_test(one_line_is_what_to_string_writes),
        cmocka_unit_test(what_is_not_there_is_null_and_texts_are_escaped),
        cmocka_unit_test(names_become_files_and_say_where),
        cmocka_unit_test_setup_teardown(no_file_is_written_over, clean, clean),
        cmocka_unit_test_setup_teardown(lines_are_one_file, clean, clean),
        cmocka_unit_test_setup_teardown(numbered_files_are_read_in_their_order, clean, clean),
        cmocka_unit_test_setup_teardown(a_file_appears_whole_or_not_at_all, clean, clean),
        cmocka_unit_test_setup_teardown(threads_write_at_the_same_time, clean, clean),
        cmocka_unit_test_setup_teardown(what_was_written_reads_back, clean, clean),
        cmocka_unit_test_setup_teardown(all_forms_are_read, clean, clean),
        cmocka_unit_test_setup_teardown(what_cannot_be_used_is_named, clean, clean),
        cmocka_unit_test_setup_teardown(odd_files_are_errors, clean, clean),
        cmocka_unit_test_setup_teardown(a_folder_without_records_is_an_error, clean, clean),
        cmocka_unit_test_setup_teardown(long_texts_have_a_limit, clean, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
