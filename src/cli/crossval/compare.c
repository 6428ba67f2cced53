/* The comparison of a scenario's two sides. */
#include "analyze/dumps/dump.h"
#include "answer/valuediff.h"
#include "bitnet/read.h"
#include "cli/crossval/crossval.h"
#include "cli/diff/valuediff_view.h"
#include "cli/interrupt.h"
#include "cli/list.h"
#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX TT_VALUEDIFF_KEPT_MAX
#define TEXT_ROWS 20u

/* Both sides, open. */
typedef struct sides {
    char paths[2][TT_CV_PATH];
    tt_model *models[2];
    tt_dump *dumps[2];
} sides;

static bool open_side(tt_cv_scenario *c, sides *s, size_t side)
{
    tt_error err;
    tt_cv_values_path(c, s->paths[side], side);
    const tt_stages *stages = c->x->stages[side];
    if (tt_bitnet_is(s->paths[side]))
        return tt_dump_of_bitnet(s->paths[side], stages, &s->dumps[side], &err) == TT_OK ||
               tt_cv_fail(c, side, "%s", err.message);
    tt_status status = tt_model_open(s->paths[side], &s->models[side], &err);
    if (status == TT_OK)
        status = tt_dump_of_trace(s->models[side], s->paths[side], stages, &s->dumps[side], &err);
    return status == TT_OK || tt_cv_fail(c, side, "%s", err.message);
}

static void close_sides(sides *s)
{
    for (size_t i = 0; i < 2; i++) {
        tt_dump_close(s->dumps[i]);
        tt_model_close(s->models[i]);
    }
}

static bool is_interrupted(void *context)
{
    (void)context;
    return tt_interrupted() != 0;
}

static void progress(void *context, uint64_t done, uint64_t total)
{
    tt_cv_scenario *c = context;
    c->progress.total = total;
    tt_progress_update(&c->progress, done);
}

static tt_valuediff_options options_of(tt_cv_scenario *c)
{
    const tt_crossval_settings *s = &c->x->settings;
    return (tt_valuediff_options){.exact = s->exact,
                                  .has_tolerance = s->has_tolerance,
                                  .tolerance = {s->rel_l2, s->cosine, s->max_abs},
                                  .items_max = ITEMS_MAX,
                                  .keep_all = true,
                                  .progress = progress,
                                  .context = c,
                                  .over = {is_interrupted, NULL}};
}

/* --- its files --- */

static bool put_json(const tt_valuediff *d, const char *const paths[2], FILE *out)
{
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_valuediff_json(&j, d, paths);
    return tt_json_end(&j);
}

static bool put_text(const tt_valuediff *d, const char *const paths[2], FILE *out)
{
    const tt_valuediff_view view = {.d = d, .paths = {paths[0], paths[1]}, .limit = TEXT_ROWS};
    tt_page p;
    tt_valuediff_page_make(&p, &view);
    const bool ok = tt_page_print(&p, out);
    tt_page_close(&p);
    return ok;
}

static bool write_answer(tt_cv_scenario *c, const tt_valuediff *d, const char *const paths[2],
                         bool (*put)(const tt_valuediff *, const char *const[2], FILE *),
                         const char *name)
{
    char path[TT_CV_PATH];
    (void)snprintf(path, sizeof path, "%.*s/%s", PATH_MAX + 80, c->folder, name);
    FILE *out = fopen(path, "we");
    bool ok = out && put(d, paths, out);
    if (out && fclose(out) != 0) ok = false;
    return ok || tt_cv_fail(c, 2, "cannot write %s: %s", path, strerror(errno));
}

/* Has the sides' final paths. */
static bool write_answers(tt_cv_scenario *c, const sides *s, const tt_valuediff *d)
{
    char *retained[2] = {tt_cv_retained(c->x, s->paths[0]), tt_cv_retained(c->x, s->paths[1])};
    const char *const paths[2] = {retained[0], retained[1]};
    bool ok = retained[0] && retained[1] ? write_answer(c, d, paths, put_json, "diff.json") &&
                                               write_answer(c, d, paths, put_text, "diff.txt")
                                         : tt_cv_fail(c, 2, "out of memory");
    free(retained[0]);
    free(retained[1]);
    return ok;
}

static bool compare(tt_cv_scenario *c, const sides *s)
{
    tt_error err;
    tt_valuediff *d = NULL;
    tt_valuediff_options options = options_of(c);
    tt_progress_begin(&c->progress, "compare", 0, "steps");
    tt_status status = tt_valuediff_make(s->dumps[0], s->dumps[1], &options, &d, &err);
    tt_progress_end(&c->progress);
    if (tt_interrupted()) {
        tt_valuediff_free(d);
        return false;
    }
    if (status != TT_OK) return tt_cv_fail(c, 2, "%s", err.message);
    tt_crossval_evaluate(c->end, d);
    c->end->agreement =
        tt_agreement_of(c->chosen[0].ids, c->chosen[0].n, c->chosen[1].ids, c->chosen[1].n);
    bool ok = write_answers(c, s, d);
    tt_valuediff_free(d);
    return ok;
}

bool tt_cv_compare(tt_cv_scenario *c)
{
    sides s = {.models = {NULL}};
    bool ok = open_side(c, &s, 0) && open_side(c, &s, 1) && compare(c, &s);
    close_sides(&s);
    return ok;
}
