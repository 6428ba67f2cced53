#include "study/page.h"

#include "base/path.h"
#include "report/sections.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* --- repeated parts of the page --- */

static size_t count_killed(const tt_study *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_runs; i++)
        n += s->runs[i].result->ending != NULL;
    return n;
}

static const tt_study_answer *find(const tt_study *s, const char *id)
{
    for (size_t i = 0; i < s->n_answers; i++)
        if (strcmp(s->answers[i].id, id) == 0) return &s->answers[i];
    return NULL;
}

/* Capitalised, unless it begins with a file's name. */
static const char *sentence(tt_page *p, const char *text)
{
    if (!text[0] || memchr(text, '.', strcspn(text, " "))) return text;
    return tt_page_format(p, "%c%s", toupper((unsigned char)text[0]), text + 1);
}

/* The section's sentence: the answer to the question with this id. */
static void write_answer(tt_page *p, const tt_study *s, const char *id)
{
    const tt_study_answer *a = find(s, id);
    if (a->verdict == TT_STUDY_OPEN && !*a->runs)
        tt_page_add(p, TT_BLOCK_ANSWER, "These runs cannot tell: %s.", a->answer);
    else
        tt_page_add(p, TT_BLOCK_ANSWER, "%s.", sentence(p, a->answer));
}

static void head(tt_page *p, const tt_study *s)
{
    p->title = tt_page_format(p, "Study: %s", tt_base_name(s->folder));
    p->subtitle = tt_page_format(p, "%zu runs of %zu model%s under %zu condition%s, in %s",
                                 s->n_runs, s->n_models, s->n_models == 1 ? "" : "s", s->n_groups,
                                 s->n_groups == 1 ? "" : "s", s->folder);
    p->footer = "Made by tensortrace from the traces of the runs.";
    p->wide = true;
    tt_page_figure_add(p, tt_format_count(p, (double)s->n_runs), "runs");
    tt_page_figure_add(p, tt_format_count(p, (double)s->n_groups), "conditions");
    tt_page_figure_add(p, tt_format_count(p, (double)count_killed(s)), "killed by the system");
    size_t open = 0;
    for (size_t i = 0; i < s->n_answers; i++)
        open += s->answers[i].verdict == TT_STUDY_OPEN;
    tt_page_figure_add(p, tt_page_format(p, "%zu of %zu", s->n_answers - open, s->n_answers),
                       "questions answered");
}

static void summarize(tt_page *p, const tt_study *s)
{
    static const struct {
        const char *id, *question;
    } said[] = {{"H2.1", "What does less memory cost?"},
                {"Q1", "Is the file read in order or at random?"},
                {"Q8", "Which parameters are hot, and are they the same in each prompt?"},
                {"Q12", "Do domains choose different experts?"}};
    size_t unmet = 0;
    for (size_t i = 0; i < s->n_runs; i++)
        unmet += s->runs[i].result->unmet != NULL;
    if (unmet)
        tt_page_summary(p,
                        "%zu of %zu runs were not made under the conditions asked for: see the "
                        "notes of the runs below.",
                        unmet, s->n_runs);
    if (s->n_unread)
        tt_page_summary(p, "The trace%s of %zu of %zu runs %s missing or cut off, and %s left out.",
                        s->n_unread == 1 ? "" : "s", s->n_unread, s->n_runs,
                        s->n_unread == 1 ? "is" : "are", s->n_unread == 1 ? "is" : "are");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const tt_study_answer *a = find(s, said[i].id);
        if (a->verdict != TT_STUDY_OPEN || *a->runs)
            tt_page_summary(p, "%s %s.", said[i].question, sentence(p, a->answer));
    }
    if (!p->summary)
        tt_page_summary(p, "The runs answer few of the questions below; each says what it takes.");
}

/* --- sections --- */

#define CAPTION(model) tt_page_format(p, "%s", tt_base_name((model)->file))

/* A figure of each run over its memory. */
static void plot_by_memory(tt_page *p, const tt_study *s, const char *title, const char *y_label,
                           bool is_log, double (*get)(const tt_study_run *r))
{
    tt_plot *plot = tt_page_plot(p, title, "memory limit, % of the model (100: none)", y_label);
    double most = 0;
    if (!plot) return;
    for (size_t i = 0; i < s->n_models && i < TT_PLOT_SERIES_MAX; i++) {
        tt_series *series = tt_plot_series(plot, CAPTION(&s->models[i]), TT_SERIES_POINTS,
                                           (unsigned)i + 1, s->n_runs);
        for (size_t k = 0; k < s->n_runs; k++) {
            const tt_study_run *r = &s->runs[k];
            const double limit = (double)r->result->memory_limit_bytes;
            if (!r->model_bytes || strcmp(r->result->model_file, s->models[i].file) != 0) continue;
            const double x = limit > 0 ? 100 * limit / (double)r->model_bytes : 100;
            most = fmax(most, x);
            tt_series_add(series, x, get(r), 0, 0);
        }
    }
    plot->log_y = is_log;
    plot->has_x = true;
    plot->x_max = fmax(105, 1.05 * most);
    tt_plot_describe(plot, "A mark for each run.");
}

static double get_rate(const tt_study_run *r)
{
    return r->tokens_per_s > 0 ? r->tokens_per_s : NAN;
}

static double get_read_mib(const tt_study_run *r)
{
    return r->has_io ? r->token_read_bytes / 1048576.0 : NAN;
}

static double get_major(const tt_study_run *r)
{
    return r->has_faults ? r->token_major : NAN;
}

static bool has_limits(const tt_study *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_groups; i++)
        any |= s->groups[i].memory_limit_bytes > 0;
    return any;
}

static void section_memory(tt_page *p, const tt_study *s)
{
    const tt_rowset groups = TT_ROWSET(&tt_study_group_schema, 0, NULL, s->groups, s->n_groups);
    tt_page_section_begin(p, "memory", "What does less memory cost?");
    write_answer(p, s, "H2.1");
    if (has_limits(s))
        plot_by_memory(p, s, "Tokens per second by memory", "tokens per second", true, get_rate);
    (void)tt_page_rows(p, "The conditions", &groups, &(tt_listing_wish){.text = true});
    if (s->common && *s->common) tt_page_add(p, TT_BLOCK_TEXT, "All runs: %s.", s->common);
    tt_page_add(p, TT_BLOCK_NOTE,
                "Medians of the runs. In brackets the interval that covers the true median with "
                "95 %%, from %u runs on; of fewer the least and the largest. WEIGHTS: what a token "
                "uses. SLOWER compares each prompt with itself without a limit, under else the "
                "same settings: the ratio of geometric means, by least squares of the logarithms.",
                TT_STUDY_INTERVAL_MIN);
}

static void section_disk(tt_page *p, const tt_study *s)
{
    tt_page_section_begin(p, "disk", "What is read from the disk, and how fast?");
    write_answer(p, s, "H4.1");
    plot_by_memory(p, s, "Bytes read from the disk, a generated token", "MiB a token", false,
                   get_read_mib);
    plot_by_memory(p, s, "Major faults, a generated token", "major faults a token", false,
                   get_major);
}

static void section_loading(tt_page *p, const tt_study *s)
{
    tt_page_section_begin(p, "loading", "What did loading fetch in vain?");
    write_answer(p, s, "Q7");
}

#define LABEL_EVERY 12u

/* What each batch read, by interval of the file. */
static void plot_picture(tt_page *p, const tt_study_run *r)
{
    tt_plot *plot = tt_page_plot(p,
                                 tt_page_format(p, "What each batch reads: %s, %s",
                                                tt_base_name(r->result->model_file),
                                                tt_study_domain(r->result)),
                                 "MiB from the begin of the model file", "batch");
    tt_series *cells =
        tt_plot_series(plot, "", TT_SERIES_CELLS, 1, (size_t)r->picture_rows * TT_STUDY_BINS);
    const double bin = (double)r->picture_bin_bytes;
    if (!plot || bin <= 0) return;
    for (unsigned b = 0; b < TT_STUDY_BINS; b++)
        tt_plot_label(plot, b % LABEL_EVERY ? "" : tt_page_format(p, "%.0f", b * bin / 1048576.0));
    for (uint32_t row = 0; row < r->picture_rows; row++)
        for (unsigned b = 0; b < TT_STUDY_BINS; b++)
            if (r->picture[row][b])
                tt_series_add(cells, b, row, fmin(1, (double)r->picture[row][b] / bin), 0);
    plot->x_labelled = plot->has_y = true;
    plot->y_min = -0.5;
    plot->y_max = (double)r->picture_rows - 0.5;
    plot->y_integers = true;
    plot->height = 60 + 9 * r->picture_rows;
    tt_plot_describe(plot,
                     "A row for each batch, the first at the bottom; the model files from left to "
                     "right. The darker, the more of that part of the file the batch read.");
}

static void section_order(tt_page *p, const tt_study *s)
{
    tt_page_section_begin(p, "order", "Is the file read in order, or at random?");
    write_answer(p, s, "Q1");
    for (size_t i = 0; i < s->n_runs; i++)
        if (s->runs[i].picture && s->runs[i].picture_rows) plot_picture(p, &s->runs[i]);
    tt_page_add(
        p, TT_BLOCK_NOTE,
        "Of generated batches: reads of weights as the ops name them, in the order in which "
        "the ops began. What is read in a row is split into requests of 128 KiB, as the kernel "
        "reads ahead by default: all of them but the first continue where the last one ended.");
}

static void section_heat(tt_page *p, const tt_study *s)
{
    tt_page_section_begin(p, "hot", "Which parameters are hot, and in each prompt the same?");
    write_answer(p, s, "Q8");
}

static void section_domains(tt_page *p, const tt_study *s)
{
    tt_page_section_begin(p, "domains", "Do domains choose different experts?");
    write_answer(p, s, "Q12");
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        if (!m->has_domains) continue;
        const tt_rowset layers =
            TT_ROWSET(&tt_domain_layer_schema, 0, NULL, m->domains.layers, m->domains.n_layers);
        (void)tt_page_rows(p, CAPTION(m), &layers, &(tt_listing_wish){.text = true});
        tt_plots_domains(p, &m->domains);
    }
    if (find(s, "Q12")->verdict != TT_STUDY_OPEN)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "A prompt that was run several times counts once. `tensortrace routing "
                    "--domains %s` has each expert.",
                    s->folder);
}

static void section_kv(tt_page *p, const tt_study *s)
{
    tt_page_section_begin(p, "kv", "How does the KV cache grow?");
    write_answer(p, s, "Q14");
}

static void section_effects(tt_page *p, const tt_study *s)
{
    const tt_rowset effects = TT_ROWSET(&tt_study_effect_schema, 0, NULL, s->effects, s->n_effects);
    tt_page_section_begin(p, "effects", "What does each setting change?");
    if (s->n_effects == 0) {
        tt_page_add(p, TT_BLOCK_ANSWER,
                    "These runs cannot tell: no two conditions differ in one setting only, but for "
                    "the memory limit.");
        return;
    }
    tt_page_add(p, TT_BLOCK_ANSWER, "%zu pair%s of conditions differ in one setting only.",
                s->n_effects, s->n_effects == 1 ? "" : "s");
    (void)tt_page_rows(p, "Pairs of conditions", &effects, &(tt_listing_wish){.text = true});
}

static void section_answers(tt_page *p, const tt_study *s)
{
    const tt_rowset answers = TT_ROWSET(&tt_study_answer_schema, 0, NULL, s->answers, s->n_answers);
    tt_page_section_begin(p, "questions", "Questions and hypotheses");
    tt_page_table *t = tt_page_rows(
        p, NULL, &answers,
        &(tt_listing_wish){.columns = "id,question,verdict,answer,runs", .text = true});
    tt_page_retitle(p, t, "id", "");
    tt_page_retitle(p, t, "question", "Question, or what is supposed");
}

static bool is_outlier(const void *context, const void *row)
{
    (void)context;
    const tt_study_run *r = row;
    return r->is_outlier || r->unread || r->result->ending || r->result->unmet;
}

static void section_runs(tt_page *p, const tt_study *s)
{
    const tt_rowset runs = TT_ROWSET(&tt_study_run_schema, 0, NULL, s->runs, s->n_runs);
    tt_page_section_begin(p, "runs", "The runs");
    tt_page_table *t =
        tt_page_rows(p, NULL, &runs,
                     &(tt_listing_wish){
                         .columns = "folder,domain,differs,tokens_per_s,first_token_ns,"
                                    "token_read_bytes,token_major,batch_weights_bytes,in_sequence,"
                                    "notes",
                         .text = true});
    if (t) t->marked = is_outlier;
    tt_page_table *machine = tt_page_rows(
        p, "Memory and disk", &runs,
        &(tt_listing_wish){.columns = "folder,available_bytes,available_end_bytes,loaded_bytes,"
                                      "vain_bytes,first_batch_bytes,kv_token_bytes,fragments",
                           .text = true});
    if (machine) machine->folded = true;
    tt_page_add(p, TT_BLOCK_NOTE,
                "Marked: outliers, which are farther from their condition's median than 3.5 median "
                "absolute deviations and stay in it; runs whose trace is missing or cut "
                "off; runs that the system killed; and those that were not made under what was "
                "asked for.");
}

void tt_study_page(tt_page *p, const tt_study *s)
{
    head(p, s);
    summarize(p, s);
    section_memory(p, s);
    section_disk(p, s);
    section_loading(p, s);
    section_order(p, s);
    section_heat(p, s);
    section_domains(p, s);
    section_kv(p, s);
    section_effects(p, s);
    section_answers(p, s);
    section_runs(p, s);
}

bool tt_study_json(const tt_study *s, FILE *out)
{
    const tt_rowset runs = TT_ROWSET(&tt_study_run_schema, 0, NULL, s->runs, s->n_runs),
                    groups = TT_ROWSET(&tt_study_group_schema, 0, NULL, s->groups, s->n_groups),
                    effects = TT_ROWSET(&tt_study_effect_schema, 0, NULL, s->effects, s->n_effects),
                    answers = TT_ROWSET(&tt_study_answer_schema, 0, NULL, s->answers, s->n_answers);
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "folder", s->folder);
    tt_rowset_json_rows(&j, "answers", &answers, NULL);
    tt_rowset_json_rows(&j, "conditions", &groups, NULL);
    tt_rowset_json_rows(&j, "effects", &effects, NULL);
    tt_rowset_json_rows(&j, "runs", &runs, NULL);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}
