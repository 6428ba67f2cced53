/* A report's page: what hostile texts become, what bounds an op, what a plot draws. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "base/json.h"
#include "report/analysis.h"
#include "report/page.h"
#include "report/render.h"
#include "report/sections.h"
#include "report/svg.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *written(void write(const char *, FILE *), const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    write(text, f);
    assert_int_equal(fclose(f), 0);
    return out;
}

static void check_text(void write(const char *, FILE *), const char *text, const char *want)
{
    char *out = written(write, text);
    assert_string_equal(out, want);
    free(out);
}

static void hostile_texts(void **state)
{
    (void)state;
    check_text(tt_text_markup, "a<b>&\"c'\nd\x01", "a&lt;b&gt;&amp;&quot;c&#39; d\xef\xbf\xbd");
    check_text(tt_text_markup, "\xff\xc3\xa4\xed\xa0\x80",
               "\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* What is UTF-8, but nothing that a document may hold. */
    check_text(tt_text_markup, "\xc2\x85\xef\xbf\xbe\xf0\x9f\xbf\xbf",
               "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_text(tt_text_markdown, "a|b*c_d`e[f](g)<h>\n# i",
               "a\\|b\\*c\\_d\\`e\\[f\\](g)&lt;h\\> \\# i");
}

static void pages_hold_their_texts(void **state)
{
    tt_page p;
    char *out = NULL;
    size_t size = 0;
    const char *titles[] = {"Name", "N>"}, *cells[] = {"<script>alert(1)</script>", "3"};
    (void)state;
    tt_page_open(&p);
    p.title = tt_page_text(&p, "</title><b>");
    tt_page_section_begin(&p, "one", "One?");
    tt_page_add(&p, TT_BLOCK_ANSWER, "%s", "<i>yes</i>");
    tt_page_table *t = tt_page_table_begin(&p, "A table", 2, titles);
    tt_page_table_row(&p, t, cells);
    (void)tt_page_table_begin(&p, "No rows", 2, titles);
    assert_false(p.failed);
    FILE *f = open_memstream(&out, &size);
    tt_page_html(&p, f);
    assert_int_equal(fclose(f), 0);
    assert_null(strstr(out, "<script"));
    /* Whatever gets into the page, nothing of it runs or is fetched. */
    assert_non_null(strstr(out, "<meta http-equiv=\"Content-Security-Policy\" "
                                "content=\"default-src 'none'; style-src 'unsafe-inline'\">"));
    assert_null(strstr(out, "<i>"));
    assert_non_null(strstr(out, "<title>&lt;/title&gt;&lt;b&gt;</title>"));
    assert_non_null(strstr(out, "<th scope=\"row\">&lt;script&gt;alert(1)&lt;/script&gt;</th>"
                                "<td class=\"n\">3</td>"));
    assert_null(strstr(out, "No rows"));
    free(out);
    tt_page_close(&p);
}

static char *drawn(const tt_plot *plot)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    tt_svg_write(plot, false, f);
    assert_int_equal(fclose(f), 0);
    return out;
}

static void expect_in(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("no %s in %s", what, text);
}

static void names_of_a_plot_stay_text(void **state)
{
    tt_page p;
    (void)state;
    tt_page_open(&p);
    tt_page_section_begin(&p, "one", "One?");
    tt_plot *plot = tt_page_plot(&p, "A <plot>", "x & y", "");
    tt_series *s = tt_plot_series(plot, "s<s>", TT_SERIES_BARS, 1, 3);
    plot->y_rows = true;
    tt_plot_label(plot, "</text><script>\xff\" ");
    tt_series_add(s, 0, 0, 1, 0);
    tt_series_add(s, NAN, 0, 1, 0);
    tt_series_add(s, 0, 0, INFINITY, 0);
    assert_int_equal(s->n, 1);
    char *text = drawn(plot);
    expect_in(text, "<title id=\"plot-1-title\">A &lt;plot&gt;</title>");
    expect_in(text, ">&lt;/text&gt;&lt;script&gt;\xef\xbf\xbd&quot; </text>");
    expect_in(text, ">x &amp; y</text>");
    expect_in(text, ">s&lt;s&gt;</text>");
    assert_null(strstr(text, "<script"));
    free(text);
    /* More than there is room for is left out. */
    for (int i = 0; i < 5; i++)
        tt_series_add(s, i, 0, 1, 0);
    assert_int_equal(s->n, 3);
    assert_false(p.failed);
    tt_page_close(&p);
}

/* Left end 14 + LINE (the y label) + the longest tick, 3 letters; top 10; bottom 300 - 30 - LINE.
 */
static void lines_are_where_their_values_are(void **state)
{
    tt_page p;
    (void)state;
    tt_page_open(&p);
    tt_page_section_begin(&p, "one", "One?");
    tt_plot *plot = tt_page_plot(&p, "A plot", "x", "y");
    tt_series *s = tt_plot_series(plot, "", TT_SERIES_LINE, 3, 3);
    plot->has_x = plot->has_y = true;
    plot->x_max = 10;
    plot->y_max = 100;
    tt_series_add(s, 0, 0, 0, 0);
    tt_series_add(s, 5, 50, 0, 0);
    tt_series_add(s, 10, 200, 0, 0); /* beyond the axis */
    char *text = drawn(plot);
    expect_in(text, "<path fill=\"none\" stroke=\"var(--c3)\" stroke-width=\"2\" "
                    "stroke-dasharray=\"2 3\" d=\"M53.0 252.0L394.5 131.0L736.0 10.0\"/>");
    expect_in(text, " text-anchor=\"end\">100</text>");
    free(text);
    /* By logarithms each decade is as high; what has none is not drawn below. */
    plot->log_y = true;
    plot->y_min = 1;
    s->y[1] = 10;
    s->y[0] = 0;
    text = drawn(plot);
    expect_in(text, "d=\"M53.0 252.0L394.5 131.0L736.0 10.0\"/>");
    expect_in(text, " text-anchor=\"end\">10</text>");
    free(text);
    tt_page_close(&p);
}

/* Nothing, one value, the same ones: an axis has a range all the same. */
static void every_range_is_an_axis(void **state)
{
    static const double values[][2] = {{0, 0}, {7, 7}, {-1e9, -1e9}, {1e-300, 1e-300}, {-5, 1e15}};
    tt_page p;
    (void)state;
    tt_page_open(&p);
    tt_page_section_begin(&p, "one", "One?");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (int style = TT_SERIES_LINE; style <= TT_SERIES_CELLS; style++) {
            tt_plot *plot = tt_page_plot(&p, "A plot", "", "");
            tt_series *s = tt_plot_series(plot, "s", (tt_series_style)style, 1, 2);
            plot->log_y = style % 2;
            tt_series_add(s, values[i][0], values[i][0], values[i][1], values[i][1]);
            tt_series_add(s, values[i][1], values[i][1], values[i][1], values[i][1]);
            char *text = drawn(plot);
            assert_null(strstr(text, "nan"));
            assert_null(strstr(text, "inf"));
            free(text);
        }
    }
    tt_page_close(&p);
}

/* Of more events than are drawn. */
static void a_peak_of_buffers_is_drawn(void **state)
{
    enum { N = 5000 };
    static tt_buffer list[N];
    double most = 0;
    tt_page p;
    (void)state;
    for (uint32_t i = 0; i < N; i++)
        list[i] = (tt_buffer){.name = "", .alloc_ticks = i < 2 ? i : i + 2, .size_bytes = 1};
    list[1].free_ticks = 2;
    list[1].size_bytes = 1 << 30;
    const tt_model m = {
        .buffers = list, .n_buffers = N, .clock = {.known = true, .ns_per_tick = 1}};
    tt_analysis a = {.m = &m, .timed = true};
    assert_int_equal(tt_buffers_analyze(&m, &a.buffers, NULL), TT_OK);
    tt_page_open(&p);
    tt_section_buffers(&p, &a);
    for (const tt_page_block *b = p.sections->blocks; b; b = b->next)
        if (b->plot) most = b->plot->y_max;
    assert_true(most >= 1024); /* MiB */
    tt_page_close(&p);
    tt_buffers_free(a.buffers);
}

static void what_bounds_an_op(void **state)
{
    const tt_peaks e = {.bytes_per_s = 10e9, .flops_per_s = 100e9, .int8_ops_per_s = 400e9};
    const tt_peaks none = {.bytes_per_s = 10e9};
    /* 1 ms: 8 MB moved, 1 MFLOP computed. */
    tt_rollup r = {.flops_known = true, .quiet_ns = 1e6, .moved_bytes = 8e6, .flops = 1e6};
    double share;
    (void)state;
    assert_int_equal(tt_bound_of(&e, &r, &share), TT_BOUND_MEMORY);
    assert_true(fabs(share - 0.8) < 1e-9);
    r.flops = 90e6;
    assert_int_equal(tt_bound_of(&e, &r, &share), TT_BOUND_COMPUTE);
    assert_true(fabs(share - 0.9) < 1e-9);
    /* The same in integers, whose edge is higher. */
    r.integers = true;
    assert_int_equal(tt_bound_of(&e, &r, &share), TT_BOUND_MEMORY);
    assert_true(fabs(tt_peaks_flops(&e, &r) - 400e9) < 1);
    r.quiet_ns = 1e8;
    assert_int_equal(tt_bound_of(&e, &r, &share), TT_BOUND_NEITHER);
    assert_int_equal(tt_bound_of(&none, &r, &share), TT_BOUND_UNKNOWN);
    r.flops_known = false;
    assert_int_equal(tt_bound_of(&e, &r, &share), TT_BOUND_UNKNOWN);
}

/* --- a whole page --- */

#define POISON "</td></table><script>x</script>\"'`%s|\n\xff\xf0 \\ $(x) @"

static void poison(tt_model *m)
{
    for (uint32_t i = 0; i < m->n_weights; i++) {
        m->weights[i].name = POISON;
        m->weights[i].place.component = m->weights[i].place.category = POISON;
    }
    for (uint32_t g = 0; g < m->n_graphs; g++) {
        for (uint32_t i = 0; i < m->graphs[g].n_tensors; i++) {
            tt_tensor *t = &m->graphs[g].tensors[i];
            t->name = POISON;
            t->place.component = t->place.category = POISON;
            if (i % 5 == 0) t->op_name = t->op_desc = t->type_name = POISON;
        }
    }
    for (uint32_t i = 0; i < m->n_environment; i++)
        m->environment[i].value = POISON;
    for (uint32_t i = 0; i < m->n_buffers; i++)
        m->buffers[i].name = POISON;
    for (uint32_t i = 0; i < m->n_files; i++)
        m->files[i].path = POISON;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* Every name of the trace means something to HTML or a shell. */
static void a_hostile_trace(void **state)
{
    synth_plan plan = synth_default();
    tt_bytes b;
    tt_model *m;
    tt_analysis a;
    tt_page p;
    char *out = NULL;
    size_t size = 0;
    const tt_analysis_options options = {.edges = {.bandwidth_from = TT_EDGES_GIVEN,
                                                   .peak_from = TT_EDGES_GIVEN,
                                                   .bytes_per_s = 1e10,
                                                   .flops_per_s = 1e11}};
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    plan.experts = 8;
    plan.experts_used = 2;
    plan.memory = true;
    assert_true(synth_build(&plan, &b));
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    poison(m);
    assert_int_equal(tt_analysis_make(m, POISON, &options, &a, NULL), TT_OK);
    tt_page_open(&p);
    tt_report_page(&p, &a);
    assert_false(p.failed);
    FILE *f = open_memstream(&out, &size);
    tt_page_html(&p, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(count(out, "<script"), 0);
    assert_int_equal(count(out, "<table>"), count(out, "</table>"));
    assert_true(count(out, "&lt;script&gt;") > 5);
    assert_int_equal(strlen(out), size);
    for (size_t i = 0; i < size;) {
        size_t n = tt_utf8_length(out + i, size - i);
        assert_true(n > 0);
        i += n;
    }
    free(out);
    tt_page_close(&p);
    tt_analysis_free(&a);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Of ops that were dropped the page says which option would have kept them, and counts no idleness.
 */
static void what_was_dropped(void **state)
{
    synth_plan plan = synth_default();
    tt_bytes b;
    tt_model *m;
    tt_analysis a;
    tt_page p;
    char *out = NULL;
    size_t size = 0;
    const tt_analysis_options options = {.disk_bytes_per_s = 0};
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&plan, &b));
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    m->losses_total = 5;
    assert_int_equal(tt_analysis_make(m, "a.ttrace", &options, &a, NULL), TT_OK);
    tt_page_open(&p);
    tt_report_page(&p, &a);
    FILE *f = open_memstream(&out, &size);
    tt_page_markdown(&p, NULL, f);
    assert_int_equal(fclose(f), 0);
    assert_non_null(strstr(out, "> **The trace is not whole: 5 op records were dropped."));
    assert_non_null(strstr(out, "run --thread-memory makes it larger"));
    assert_int_equal(count(out, "or in ops that were lost"), 1);
    free(out);
    tt_page_close(&p);
    tt_analysis_free(&a);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Of 100 ns, so many bound by memory and by computing: the word that says it, at both sides of the
 * half and where they are equal. */
static void what_bounds_a_run(void **state)
{
    static const struct {
        double memory, compute, lost;
        const char *says;
    } cases[] = {
        {50, 49, 0, "is memory-bound: 50.0 %"},
        {49.9, 49, 0, "is limited by no single thing"},
        {50, 50, 0, "is memory-bound: 50.0 %"},
        {49, 50, 0, "is compute-bound: 50.0 %"},
        {20, 49.9, 0, "is limited by no single thing"},
        {0, 0, 0, "is limited by no single thing"},
        {0, 100, 0, "is compute-bound: 100.0 %"},
        {100, 0, 1e6, "could not be decided: for 100 %"},
    };
    tt_analysis a = {.timed = true};
    (void)state;
    a.options.edges = (tt_edges){
        .bytes_per_s = 2e10, .flops_per_s = 3e11, .bandwidth_from = TT_EDGES_GIVEN};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        a.generate = (tt_bounds){.all_ns = 100, .lost_ns = cases[i].lost, .bytes = 100};
        a.generate.wall_ns[TT_BOUND_MEMORY] = cases[i].memory;
        a.generate.wall_ns[TT_BOUND_COMPUTE] = cases[i].compute;
        a.generate.wall_ns[TT_BOUND_NEITHER] = 100 - cases[i].memory - cases[i].compute;
        assert_true(tt_bound_sentence(&a, text, sizeof text));
        if (!strstr(text, cases[i].says)) fail_msg("case %zu: %s", i, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_texts),
        cmocka_unit_test(pages_hold_their_texts),
        cmocka_unit_test(names_of_a_plot_stay_text),
        cmocka_unit_test(lines_are_where_their_values_are),
        cmocka_unit_test(every_range_is_an_axis),
        cmocka_unit_test(a_peak_of_buffers_is_drawn),
        cmocka_unit_test(what_bounds_an_op),
        cmocka_unit_test(what_bounds_a_run),
        cmocka_unit_test(a_hostile_trace),
        cmocka_unit_test(what_was_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
