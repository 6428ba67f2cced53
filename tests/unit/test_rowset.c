#include "tests.h"

#include "table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct inside {
    uint32_t n;
    bool whole;
} inside;

typedef struct sample {
    const char *name;
    int32_t layer;
    uint64_t size;
    double time;
    bool bound;
    inside part;
} sample;

static bool has_layer(const void *context, const void *r)
{
    (void)context;
    return ((const sample *)r)->layer >= 0;
}

static tt_certainty is_bound(const void *context, const void *r)
{
    (void)context;
    return ((const sample *)r)->bound ? TT_AT_MOST : TT_EXACT;
}

/* The context is a number that all rows are multiplied by. */
static void get_scaled(const void *context, const void *r, tt_cell *cell)
{
    cell->u64 = ((const sample *)r)->size * *(const uint64_t *)context;
    cell->known = true;
}

enum { ALL = 1, SOME = 2 };

static const tt_column inner_columns[] = {
    TT_COLUMN("n", NULL, NONE, "how many", TT_MEMBER(inside, n)),
    TT_COLUMN("whole", NULL, NONE, "not a part", TT_MEMBER(inside, whole)),
};
static const tt_schema inner = {"inside", "a part", inner_columns, 2};

static void pair(const void *context, const void *r, tt_rowset *out)
{
    (void)context;
    out->rows = &((const sample *)r)->part;
    out->n = ((const sample *)r)->bound ? 0 : 1;
}

static const tt_column columns[] = {
    TT_COLUMN("name", "NAME", NONE, "of it", .show = TT_SHOW_CUT | TT_SHOW_KEY,
              TT_MEMBER(sample, name)),
    TT_COLUMN("layer_id", "LAYER", ID, "where", .known = has_layer, TT_MEMBER(sample, layer)),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "of it", .bound = is_bound, TT_MEMBER(sample, size)),
    TT_COLUMN("scaled_bytes", "SCALED SIZE", BYTES, "more of it", .type = TT_CELL_U64,
              .kinds = SOME, .get = get_scaled),
    TT_COLUMN("time_ns", NULL, NS, "it took", TT_MEMBER(sample, time)),
    TT_COLUMN("bar", "BAR", NONE, "for people", .show = TT_SHOW_TEXT, TT_MEMBER(sample, bound)),
    TT_COLUMN("part", NULL, NONE, "inside", TT_MEMBER_OBJECT(sample, part, &inner)),
    TT_COLUMN("parts", NULL, NONE, "inside", .type = TT_CELL_ROWS, .inner = &inner, .rows = pair),
};
static const tt_schema schema = {"rows", "a row", columns, sizeof columns / sizeof *columns};

static const sample rows[] = {
    {"b", 1, 2048, 1500, false, {1, true}},
    {"a,\"\n", -1, 10, NAN, true, {2, false}},
    {"\x1b[31m", 0, 2048, -1, false, {3, true}},
};

static const uint64_t three = 3;

static tt_rowset make(uint8_t kind)
{
    return (tt_rowset){.schema = &schema,
                       .kind = kind,
                       .context = &three,
                       .rows = rows,
                       .row_bytes = sizeof *rows,
                       .n = sizeof rows / sizeof *rows};
}

/* The names of the listed rows, one letter each. */
static void expect_order(const char *sort, const char *wanted)
{
    const tt_rowset set = make(ALL);
    tt_listing l;
    char got[8] = "";
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.sort = sort}, NULL), TT_OK);
    for (size_t i = 0; i < l.n; i++)
        got[i] = ((const sample *)tt_listing_row(&l, i))->name[0];
    assert_string_equal(got, wanted);
    tt_listing_free(&l);
}

static void rows_are_sorted(void **state)
{
    (void)state;
    expect_order(NULL, "ba\x1b");
    expect_order("key", "ba\x1b");
    expect_order("name", "\x1b"
                         "ab");
    expect_order("-NAME", "ba\x1b");
    expect_order("size", "b\x1b"
                         "a"); /* equal ones stay in their order */
    expect_order("+size_bytes", "ab\x1b");
    expect_order("layer_id", "\x1b"
                             "ba"); /* not known: last ... */
    expect_order("-layer-id", "b\x1b"
                              "a"); /* ... either way */
    expect_order("size,-name", "b\x1b"
                               "a");
    expect_order("-size,name", "\x1b"
                               "ba");
    expect_order("time_ns", "b\x1b"
                            "a");
}

static void columns_are_chosen(void **state)
{
    const tt_rowset set = make(ALL), some = make(SOME);
    tt_listing l;
    tt_error err;
    (void)state;
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.text = true}, &err), TT_OK);
    assert_int_equal(l.n_columns, 4); /* name, layer, size, bar */
    tt_listing_free(&l);
    assert_int_equal(tt_listing_make(&l, &some, &(tt_listing_wish){0}, &err), TT_OK);
    assert_int_equal(l.n_columns, 7); /* all but bar */
    tt_listing_free(&l);
    assert_int_equal(
        tt_listing_make(&l, &some, &(tt_listing_wish){.columns = "Scaled_Size,name"}, &err), TT_OK);
    assert_int_equal(l.n_columns, 2);
    assert_string_equal(l.columns[0]->key, "scaled_bytes");
    tt_listing_free(&l);
    /* What is nested is in JSON only. */
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.columns = "part"}, &err), TT_OK);
    tt_listing_free(&l);
    for (int csv = 0; csv < 2; csv++) {
        assert_int_equal(
            tt_listing_make(&l, &set,
                            &(tt_listing_wish){.columns = "part", .csv = csv, .text = !csv}, &err),
            TT_E_USAGE);
        assert_string_equal(err.message, "columns: \"part\" has parts: only JSON shows it");
        tt_listing_free(&l);
    }
    /* Not of this kind, misspelt, or empty. */
    static const char *const wrong[] = {"scaled_bytes", "nix", "", "name,", "name,,size"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.columns = wrong[i]}, &err),
                         TT_E_USAGE);
        tt_listing_free(&l);
    }
    assert_string_equal(err.message, "columns: there is no column \"\"");
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.columns = "scaled_bytes"}, &err),
                     TT_E_USAGE);
    assert_string_equal(
        err.message,
        "columns: these rows have no column \"scaled_bytes\", only those by something else");
    tt_listing_free(&l);
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.sort = "part"}, &err),
                     TT_E_USAGE);
    tt_listing_free(&l);
}

static bool small(const void *context, const void *r)
{
    (void)context;
    return ((const sample *)r)->size < 100;
}

static void rows_are_left_out(void **state)
{
    const tt_rowset set = make(ALL);
    tt_listing l;
    (void)state;
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.passes = small}, NULL), TT_OK);
    assert_int_equal(l.n, 1);
    tt_listing_free(&l);
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.limit = 2}, NULL), TT_OK);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.n_all, 3);
    tt_listing_free(&l);
}

static void json_has_every_column(void **state)
{
    const tt_rowset set = make(SOME);
    char *text = NULL;
    size_t size = 0;
    tt_json j;
    tt_listing l;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.limit = 2}, NULL), TT_OK);
    tt_json_begin(&j, out, 0);
    tt_listing_json(&j, &l);
    assert_true(tt_json_end(&j));
    (void)fclose(out);
    assert_string_equal(
        text,
        "[{\"name\":\"b\",\"layer_id\":1,\"size_bytes\":2048,\"scaled_bytes\":6144,"
        "\"time_ns\":1500,\"part\":{\"n\":1,\"whole\":true},\"parts\":[{\"n\":1,\"whole\":true}]},"
        "{\"name\":\"a,\\\"\\n\",\"layer_id\":null,\"size_bytes\":10,\"scaled_bytes\":30,"
        "\"time_ns\":null,\"part\":{\"n\":2,\"whole\":false},\"parts\":[]}]\n");
    tt_listing_free(&l);
    free(text);
}

static void json_by_column(void **state)
{
    tt_rowset set = make(SOME);
    char *text = NULL;
    size_t size = 0;
    tt_json j;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    set.n = 2;
    tt_json_begin(&j, out, 0);
    tt_json_object(&j);
    tt_rowset_json_columns(&j, "rows", &set);
    tt_json_object_end(&j);
    assert_true(tt_json_end(&j));
    (void)fclose(out);
    assert_string_equal(text, "{\"rows\":{\"name\":[\"b\",\"a,\\\"\\n\"],\"layer_id\":[1,null],"
                              "\"size_bytes\":[2048,10],\"scaled_bytes\":[6144,30],"
                              "\"time_ns\":[1500,null],"
                              "\"part\":[{\"n\":1,\"whole\":true},{\"n\":2,\"whole\":false}],"
                              "\"parts\":[[{\"n\":1,\"whole\":true}],[]]}}\n");
    free(text);
}

static void csv_has_no_nested_columns(void **state)
{
    const tt_rowset set = make(ALL);
    tt_listing l;
    tt_bytes out;
    (void)state;
    tt_bytes_init(&out, 4096);
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.limit = 2}, NULL), TT_OK);
    tt_listing_csv_header(&out, &l);
    for (size_t i = 0; i < l.n; i++)
        tt_listing_csv_row(&out, &l, tt_listing_row(&l, i));
    tt_bytes_u8(&out, 0);
    assert_string_equal((const char *)out.data, "name,layer_id,size_bytes,time_ns\n"
                                                "b,1,2048,1500\n"
                                                "\"a,\"\"\n\",,10,\n");
    tt_listing_free(&l);
    tt_bytes_free(&out);
}

static void expect_text(size_t column, size_t at, const char *wanted)
{
    char got[32];
    tt_cell_show(&columns[column], &three, &rows[at], got, sizeof got);
    assert_string_equal(got, wanted);
}

static void people_see_units(void **state)
{
    (void)state;
    expect_text(1, 0, "1");
    expect_text(1, 1, "");
    expect_text(2, 0, "2.0 KiB");
    expect_text(2, 1, "<= 10 B");
    expect_text(4, 0, "1.50 us");
    expect_text(4, 1, "-"); /* applies, and is not known */
    expect_text(5, 1, "yes");
    expect_text(0, 2, "?[31m"); /* a terminal is not driven by a file */
}

TT_COLUMN_GET(get_ns, double, ns, tt_cell_ns(cell, true, *ns);)

static void ns_are_whole_numbers(void **state)
{
    static const tt_column column =
        TT_COLUMN("t_ns", NULL, MOMENT, "", .type = TT_CELL_I64, .get = get_ns);
    static const double times[] = {-1499.5, 9.1e18, NAN};
    tt_cell cell;
    char got[32];
    (void)state;
    tt_cell_get(&column, NULL, &times[0], &cell);
    assert_true(cell.known && cell.i64 == -1500);
    tt_cell_show(&column, NULL, &times[0], got, sizeof got);
    assert_string_equal(got, "-1.50 us");
    for (size_t i = 1; i < 3; i++) {
        tt_cell_get(&column, NULL, &times[i], &cell);
        assert_false(cell.known);
    }
}

/* --- single objects --- */

typedef struct object {
    char chars[8];
    const inside *behind;
    inside part;
} object;

static bool is_whole(const void *context, const void *o)
{
    (void)context;
    return ((const object *)o)->part.whole;
}

static const tt_column object_columns[] = {
    TT_FIELD("chars", "an array", TT_MEMBER_CHARS(object, chars)),
    TT_FIELD("behind", "a pointer", TT_THROUGH(object, behind), TT_MEMBER(inside, n)),
    TT_FIELD("omitted", "no null", TT_MEMBER(object, part.n), .known = is_whole,
             .show = TT_SHOW_OMIT),
    TT_FIELD("part", "null", TT_MEMBER_OBJECT(object, part, &inner), .known = is_whole),
};
static const tt_schema object_schema = TT_SCHEMA("object", "one", object_columns);

static void expect_object(const object *o, const char *want)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    tt_json j;
    assert_non_null(out);
    tt_json_begin(&j, out, 0);
    tt_row_json(&j, NULL, &object_schema, NULL, o);
    assert_true(tt_json_end(&j));
    (void)fclose(out);
    assert_string_equal(text, want);
    free(text);
}

static void an_object_leaves_out_what_it_says(void **state)
{
    const inside behind = {7, false};
    (void)state;
    expect_object(
        &(object){"text", &behind, {3, true}},
        "{\"chars\":\"text\",\"behind\":7,\"omitted\":3,\"part\":{\"n\":3,\"whole\":true}}\n");
    expect_object(&(object){"", &behind, {3, false}},
                  "{\"chars\":null,\"behind\":7,\"part\":null}\n");
    expect_object(NULL, "null\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted),
        cmocka_unit_test(columns_are_chosen),
        cmocka_unit_test(rows_are_left_out),
        cmocka_unit_test(json_has_every_column),
        cmocka_unit_test(csv_has_no_nested_columns),
        cmocka_unit_test(people_see_units),
        cmocka_unit_test(json_by_column),
        cmocka_unit_test(ns_are_whole_numbers),
        cmocka_unit_test(an_object_leaves_out_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
