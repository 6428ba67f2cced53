/* The trace as tables: their columns, their parts, and that docs/tables.md says the same. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "hand_trace.h"

#include "base/outfile.h"
#include "export/csv/csv.h"
#include "export/tables/columns.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const tt_export_table *table_named(const char *name)
{
    size_t n;
    const tt_export_table *const *list = tt_export_tables(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i]->name, name) == 0) return list[i];
    fail_msg("no table %s", name);
    return NULL;
}

static uint32_t column_named(const tt_export_table *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].key, name) == 0) return i;
    fail_msg("no column %s in %s", name, t->name);
    return 0;
}

/* --- columns --- */

static void check_name(const char *name)
{
    assert_true(islower((unsigned char)name[0]));
    for (const char *c = name; *c; c++)
        assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
}

static void there_are_fourteen_with_sound_columns(void **state)
{
    static const char *const names[] = {"run",     "tokens",  "ops",           "lanes", "sources",
                                        "tensors", "buffers", "buffer_events", "nodes", "edges",
                                        "routing", "faults",  "page_faults",   "values"};
    size_t n;
    (void)state;
    const tt_export_table *const *list = tt_export_tables(&n);
    assert_int_equal(n, sizeof names / sizeof *names);
    assert_int_equal(n, TT_EXPORT_TABLES);
    for (size_t i = 0; i < n; i++) {
        const tt_export_table *t = list[i];
        assert_string_equal(t->name, names[i]);
        assert_in_range(t->n_columns, 1, TT_COLUMNS_MAX);
        assert_string_equal(t->columns[0].key, "run_id");
        assert_int_equal(t->columns[0].type, TT_CELL_NAME);
        for (uint32_t k = 0; k < t->n_columns; k++) {
            assert_non_null(t->columns[k].key);
            check_name(t->columns[k].key);
            assert_true(strlen(t->columns[k].about) >= 5);
            for (uint32_t other = 0; other < k; other++)
                assert_string_not_equal(t->columns[k].key, t->columns[other].key);
        }
    }
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    char *text = calloc(1, (size_t)size + 1);
    rewind(f);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    (void)fclose(f);
    if (n) *n = (size_t)size;
    return text;
}

static void docs_say_the_same(void **state)
{
    static const char *const types[] = {"bool", "u8",  "u16", "u32",  "u64", "i32",
                                        "i64",  "f32", "f64", "time", "text"};
    size_t n;
    (void)state;
    const tt_export_table *const *list = tt_export_tables(&n);
    char *docs = read_file(TT_SOURCE_DIR "/docs/tables.md", NULL);
    for (size_t i = 0; i < n; i++) {
        char head[200], line[400];
        (void)snprintf(head, sizeof head, "\n## %s\n\n%s.\n", list[i]->name, list[i]->about);
        const char *at = strstr(docs, head);
        if (!at) fail_msg("docs/tables.md has no \"%s\"", head);
        at = strstr(at, "\n|---|---|---|---|\n");
        assert_non_null(at);
        at += strlen("\n|---|---|---|---|\n");
        for (uint32_t k = 0; k < list[i]->n_columns; k++) {
            const tt_column *c = &list[i]->columns[k];
            (void)snprintf(line, sizeof line, "| `%s` | %s | %s | %s |\n", c->key, types[c->type],
                           c->nullable ? "null" : "", c->about);
            if (strncmp(at, line, strlen(line)) != 0)
                fail_msg("docs/tables.md, %s: expected\n%sbut there is\n%.300s", list[i]->name,
                         line, at);
            at += strlen(line);
        }
        /* And no column more. */
        assert_int_not_equal(*at, '|');
    }
    free(docs);
}

/* --- rows --- */

/* What holds of the rows of any part of any table. */
static void check_rows(const tt_rows *rows)
{
    const tt_export_table *t = rows->table;
    for (uint32_t k = 0; k < t->n_columns; k++) {
        const tt_values *v = &rows->columns[k];
        if (v->valid) assert_true(t->columns[k].nullable);
        for (size_t i = 0; i < rows->n; i++) {
            if (v->valid) assert_in_range(v->valid[i], 0, 1);
            bool valid = !v->valid || v->valid[i];
            if (t->columns[k].type == TT_CELL_NAME && valid)
                assert_true(((uint32_t *)v->values)[i] < v->dictionary.n);
            if (t->columns[k].type == TT_CELL_BOOL)
                assert_in_range(((uint8_t *)v->values)[i], 0, 1);
            if (!valid && tt_cell_size(t->columns[k].type) == 8)
                assert_int_equal(((uint64_t *)v->values)[i], 0);
        }
    }
}

static tt_model *open_plan(synth_plan *p, tt_bytes *bytes)
{
    tt_model *m;
    tt_bytes_init(bytes, SIZE_MAX / 2);
    assert_true(synth_build(p, bytes));
    assert_int_equal(tt_model_open_memory(bytes->data, bytes->size, &m, NULL), TT_OK);
    return m;
}

/* All parts of a table: rows in all. */
static size_t count_rows(const tt_model *m, const tt_export_table *t, const tt_filter *filter)
{
    tt_rows rows = {0};
    tt_error err;
    size_t n = 0;
    for (uint32_t part = 0; part < t->parts(m, filter); part++) {
        if (t->fill(m, filter, part, &rows, &err) != TT_OK) fail_msg("%s", err.message);
        check_rows(&rows);
        n += rows.n;
    }
    tt_rows_free(&rows);
    return n;
}

static void parts_make_up_the_table(void **state)
{
    synth_plan p = synth_default();
    tt_bytes bytes;
    tt_rows rows = {0};
    (void)state;
    p.generate = 6000;
    tt_model *m = open_plan(&p, &bytes);
    const tt_export_table *ops = table_named("ops"), *lanes = table_named("lanes");
    const uint32_t id = column_named(ops, "op_id"), lane_id = column_named(lanes, "op_id");
    uint64_t last = 0, n = 0;
    assert_true(ops->parts(m, NULL) > 1);
    assert_true(lanes->parts(m, NULL) > 1);
    for (uint32_t part = 0; part < ops->parts(m, NULL); part++) {
        assert_int_equal(ops->fill(m, NULL, part, &rows, NULL), TT_OK);
        check_rows(&rows);
        assert_in_range(rows.n, 1, TT_ROWS_MAX);
        for (size_t i = 0; i < rows.n; i++) {
            uint64_t v = ((uint64_t *)rows.columns[id].values)[i];
            assert_true(v > last);
            last = v;
        }
        n += rows.n;
    }
    assert_int_equal(n * p.lanes, p.n_records);
    assert_int_equal(count_rows(m, lanes, NULL), p.n_records);
    /* One memory for one table after the other, also backwards. */
    last = UINT64_MAX;
    for (uint32_t part = lanes->parts(m, NULL); part-- > 0;) {
        assert_int_equal(lanes->fill(m, NULL, part, &rows, NULL), TT_OK);
        assert_true(((uint64_t *)rows.columns[lane_id].values)[rows.n - 1] < last);
        last = ((uint64_t *)rows.columns[lane_id].values)[0];
    }
    tt_error err;
    assert_int_equal(lanes->fill(m, NULL, lanes->parts(m, NULL), &rows, &err), TT_E_USAGE);
    tt_rows_free(&rows);
    tt_model_close(m);
    tt_bytes_free(&bytes);
}

static void a_filter_picks_batches(void **state)
{
    synth_plan p = synth_default();
    tt_bytes bytes;
    (void)state;
    p.memory = true;
    p.experts = 4;
    tt_model *m = open_plan(&p, &bytes);
    const tt_filter one = {.has_batch = true, .batch_first = 2, .batch_last = 2};
    const tt_filter prompt = {.phase = TT_PHASE_PROMPT}, rest = {.phase = TT_PHASE_GENERATE};
    size_t n;
    const tt_export_table *const *list = tt_export_tables(&n);
    for (size_t i = 0; i < n; i++) {
        size_t all = count_rows(m, list[i], NULL), picked = count_rows(m, list[i], &one);
        if (!list[i]->filtered) {
            assert_int_equal(picked, all);
            continue;
        }
        assert_true(all == 0 || (picked > 0 && picked < all));
        /* Nothing of the plan is outside of batches. */
        assert_int_equal(count_rows(m, list[i], &prompt) + count_rows(m, list[i], &rest), all);
    }
    tt_model_close(m);
    tt_bytes_free(&bytes);
}

/* Without a clock nothing is known of times, and all else is there. */
static void without_a_clock_times_are_null(void **state)
{
    tt_model *m;
    tt_error err;
    tt_rows rows = {0};
    (void)state;
    if (tt_model_open(TT_SOURCE_DIR "/tests/golden/bad-no-clock.ttrace", &m, &err) != TT_OK)
        fail_msg("%s", err.message);
    assert_false(m->clock.known);
    const char *const names[] = {"start_ns", "arrive_ns",  "release_ns",    "busy_ns",
                                 "wait_ns",  "off_cpu_ns", "wait_inside_ns"};
    for (int lanes = 0; lanes < 2; lanes++) {
        const tt_export_table *t = table_named(lanes ? "lanes" : "ops");
        assert_int_equal(t->fill(m, NULL, 0, &rows, &err), TT_OK);
        check_rows(&rows);
        assert_true(rows.n > 0);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const tt_values *v = &rows.columns[column_named(t, names[k])];
            for (size_t i = 0; i < rows.n; i++)
                assert_int_equal(v->valid[i], 0);
        }
    }
    tt_rows_free(&rows);
    tt_model_close(m);
}

/* Whatever a trace says: rows, or an error with a message. */
static void damaged_traces_do_no_harm(void **state)
{
    glob_t found;
    size_t n, opened = 0;
    (void)state;
    const tt_export_table *const *list = tt_export_tables(&n);
    assert_int_equal(glob(TT_SOURCE_DIR "/tests/golden/*.ttrace", 0, NULL, &found), 0);
    for (size_t f = 0; f < found.gl_pathc; f++) {
        tt_model *m;
        tt_rows rows = {0};
        if (tt_model_open(found.gl_pathv[f], &m, NULL) == TT_OK) {
            opened++;
            for (size_t i = 0; i < n; i++)
                for (uint32_t part = 0; part < list[i]->parts(m, NULL); part++) {
                    tt_error err = {.status = TT_OK};
                    if (list[i]->fill(m, NULL, part, &rows, &err) == TT_OK)
                        check_rows(&rows);
                    else
                        assert_true(err.message[0]);
                }
        }
        tt_rows_free(&rows);
        tt_model_close(m);
    }
    assert_true(opened > 20);
    globfree(&found);
}

/* --- hostile names --- */

/* The next field of RFC 4180 at *text; false behind the last of a line. */
static bool next_field(const char **text, char *out)
{
    const char *p = *text;
    if (*p == '"') {
        for (p++; !(p[0] == '"' && p[1] != '"'); p++) {
            assert_int_not_equal(*p, '\0');
            if (*p == '"') p++;
            *out++ = *p;
        }
        p++;
    } else {
        while (*p != ',' && *p != '\n') {
            assert_true(*p != '"' && *p != '\0' && *p != '\r');
            *out++ = *p++;
        }
    }
    *out = '\0';
    bool more = *p == ',';
    assert_true(more || *p == '\n');
    *text = p + 1;
    return more;
}

static void names_cannot_break_a_line(void **state)
{
    static const char *const names[] = {
        "plain",      "a,b",  "say \"hi\"", "\"",       "two\nlines",   "cr\r\nlf",
        "\"\"\n\",,", "=1+1", " ",          "\xff\xfe", "<b>&amp;</b>", "gr\xc3\xbcn",
        "'",          "\\N",  "NULL",       "true",
    };
    static const char *const expected_bad = "\xef\xbf\xbd\xef\xbf\xbd";
    enum { NAMES = sizeof names / sizeof *names };
    char folder[] = "test-tables-XXXXXX", path[100], cell[1000];
    hand h;
    tt_error err = {.status = TT_OK};
    (void)state;
    assert_non_null(mkdtemp(folder));
    hand_begin(&h);
    for (uint32_t i = 0; i < NAMES; i++)
        (void)hand_tensor(&h, names[i], names[NAMES - 1 - i], 4, 1, 1);
    hand_graph(&h, 1, NAMES);
    tt_model *m = hand_open(&h, true);
    const tt_export_options options = {.force = true, .threads = 2};
    if (tt_format_csv.write(m, folder, &options, &err) != TT_OK) fail_msg("%s", err.message);
    (void)snprintf(path, sizeof path, "%s/nodes.csv", folder);
    char *text = read_file(path, NULL);
    const char *at = strchr(text, '\n') + 1;
    const tt_export_table *t = table_named("nodes");
    for (uint32_t i = 0; i < NAMES; i++) {
        for (uint32_t k = 0; k < t->n_columns; k++) {
            assert_int_equal(next_field(&at, cell), k + 1 < t->n_columns);
            const char *name = k == column_named(t, "name") ? names[i]
                               : k == column_named(t, "op") ? names[NAMES - 1 - i]
                                                            : NULL;
            if (name) assert_string_equal(cell, name[0] == '\xff' ? expected_bad : name);
        }
    }
    assert_int_equal(*at, '\0');
    free(text);
    hand_close(&h, m);
    assert_true(tt_outdir_remove(folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_fourteen_with_sound_columns),
        cmocka_unit_test(docs_say_the_same),
        cmocka_unit_test(parts_make_up_the_table),
        cmocka_unit_test(a_filter_picks_batches),
        cmocka_unit_test(without_a_clock_times_are_null),
        cmocka_unit_test(damaged_traces_do_no_harm),
        cmocka_unit_test(names_cannot_break_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
