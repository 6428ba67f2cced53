/* One scenario: both sides, then their comparison. */
#include "cli/crossval/crossval.h"
#include "cli/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void tt_cv_path(const tt_cv_scenario *c, char out[TT_CV_PATH], size_t side, const char *suffix)
{
    (void)snprintf(out, TT_CV_PATH, "%.*s/%c%s", PATH_MAX + 80, c->folder, "ab"[side], suffix);
}

void tt_cv_values_path(const tt_cv_scenario *c, char out[TT_CV_PATH], size_t side)
{
    const tt_crossval_side *s = &c->x->settings.sides[side];
    if (s->kind != TT_SIDE_TRACE) {
        bool folder = s->kind == TT_SIDE_COMMAND && s->records == TT_RECORDS_BITNET;
        tt_cv_path(c, out, side, folder ? "" : ".ttrace");
        return;
    }
    tt_crossval_words w = {.scenario = c->settings->name};
    char *path = tt_crossval_fill(s->trace, &w);
    (void)snprintf(out, TT_CV_PATH, "%s", path ? path : "");
    free(path);
}

char *tt_cv_retained(const tt_crossval *x, const char *text)
{
    char *out = NULL;
    size_t size = 0, n = strlen(x->folder.temporary);
    FILE *f = open_memstream(&out, &size);
    if (!f) return NULL;
    for (const char *at; (at = strstr(text, x->folder.temporary)) != NULL; text = at + n)
        fprintf(f, "%.*s%s", (int)(at - text), text, x->folder.path);
    fputs(text, f);
    if (fclose(f) == 0) return out;
    free(out);
    return NULL;
}

bool tt_cv_fail(tt_cv_scenario *c, size_t side, const char *fmt, ...)
{
    tt_crossval_end *end = c->end;
    char text[2 * TT_CV_PATH];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char *retained = tt_cv_retained(c->x, text);
    (void)snprintf(end->cause, sizeof end->cause, "%.399s", retained ? retained : text);
    free(retained);
    end->state = TT_SCENARIO_FAILED;
    end->failed_side = side < 2 ? "ab"[side] : '\0';
    tt_progress_end(&c->progress);
    tt_log_line(&c->x->log, c->settings->name, "FAILED%s%.1s: %s", side < 2 ? ": side " : "",
                side == 0   ? "a"
                : side == 1 ? "b"
                            : "",
                end->cause);
    return false;
}

static bool run_side(tt_cv_scenario *c, size_t side, bool leads)
{
    return tt_cv_side_run(c, side, leads) && tt_cv_tokens_read(c, side, leads);
}

/* The leader first: the other side gets the same input. */
static bool run_sides(tt_cv_scenario *c)
{
    tt_crossval_lead lead = tt_crossval_leader(&c->x->settings, c->settings);
    if (lead == TT_LEAD_SETTINGS)
        return tt_cv_tokens_given(c) && run_side(c, 0, false) && run_side(c, 1, false);
    return run_side(c, lead, true) && run_side(c, 1 - lead, false);
}

static void report(tt_cv_scenario *c)
{
    const tt_crossval_end *e = c->end;
    const tt_crossval_first *f = &e->first;
    tt_log *log = &c->x->log;
    if (e->state == TT_SCENARIO_MATCHED)
        tt_log_line(log, e->name,
                    "matched: %" PRIu64 " values equal, %" PRIu64 " close, %" PRIu64
                    " unmeasured; batches: %" PRIu64 " compared, %" PRIu64 " unmeasured",
                    e->counts[TT_VALUE_EQUAL], e->counts[TT_VALUE_CLOSE],
                    e->counts[TT_VALUE_UNMEASURED], e->n_steps_compared, e->n_steps_alone);
    else if (e->state == TT_SCENARIO_UNMEASURED)
        tt_log_line(log, e->name, "Not measured: %s", e->cause);
    else if (e->state == TT_SCENARIO_DIVERGED) {
        char error[32] = "not known";
        if (!isnan(f->rel_l2)) (void)snprintf(error, sizeof error, "%.3g", f->rel_l2);
        tt_log_line(log, e->name,
                    "DIVERGED first at position %" PRId32 ", layer %" PRId32
                    ", %s (%s, relative error %s)",
                    f->position, f->layer, f->stage, tt_value_verdict_name(f->verdict), error);
    }
}

void tt_crossval_scenario_run(tt_crossval *x, size_t number)
{
    tt_cv_scenario *c = calloc(1, sizeof *c);
    tt_crossval_end *end = &x->summary.ends[number];
    if (!c) {
        end->state = TT_SCENARIO_FAILED;
        (void)snprintf(end->cause, sizeof end->cause, "out of memory");
        return;
    }
    c->x = x;
    c->settings = &x->settings.scenarios[number];
    c->end = end;
    (void)snprintf(c->folder, sizeof c->folder, "%.*s/%s", PATH_MAX, x->folder.temporary,
                   end->name);
    if (mkdir(c->folder, 0777) != 0)
        (void)tt_cv_fail(c, 2, "cannot create %s: %s", c->folder, strerror(errno));
    else if (run_sides(c) && tt_cv_compare(c))
        report(c);
    if (tt_interrupted() && end->state == TT_SCENARIO_NOT_TRIED)
        (void)tt_outdir_remove(c->folder); /* half of it is no result */
    end->n_prompt = c->tokens.prompt.n;
    end->n_generated = c->tokens.n > 0 ? (uint64_t)c->tokens.n : 0;
    tt_cv_tokens_free(c);
    free(c);
}
