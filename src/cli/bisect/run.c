#include "cli/bisect/bisect.h"

#include "base/path.h"
#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/traced.h"
#include "runner/engine_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUES "stats"
#define ROOM (PATH_MAX + 160)

/* --- the builds --- */

static int is_shown(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* The whole path: folders of one name may be in several places. */
static tt_status add_engine(tt_bisect *x, const char *dir, tt_error *err)
{
    static tt_engine_found engine; /* large */
    char real[PATH_MAX];
    if (!tt_engine_find_in(dir, &engine) || !realpath(dir, real))
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no engine in %.250s", dir);
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->builds[i].dir, real) == 0) return TT_OK;
    if (x->n == TT_BISECT_BUILDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %u builds",
                            TT_BISECT_BUILDS_MAX);
    tt_bisect_build *b = tt_bisect_add(x, tt_base_name(real), real);
    if (!b) return tt_error_memory(err, "the builds");
    (void)snprintf(b->release, sizeof b->release, "%s", engine.release);
    return TT_OK;
}

tt_status tt_bisect_find(tt_bisect *x, const char *dir, tt_error *err)
{
    struct dirent **entries;
    const size_t before = x->n;
    tt_status status = add_engine(x, dir, err);
    if (status != TT_E_NOT_FOUND) return status;
    int n = scandir(dir, &entries, is_shown, versionsort);
    if (n < 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "%.250s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        if (status == TT_OK || status == TT_E_NOT_FOUND) {
            (void)snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
            status = add_engine(x, path, err);
        }
        free(entries[i]);
    }
    free(entries);
    if (status == TT_E_NOT_FOUND && x->n > before) status = TT_OK;
    return status == TT_E_NOT_FOUND
               ? tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                              "no engine in %.230s, nor in the folders in it", dir)
               : status;
}

/* --- a run --- */

typedef struct runs {
    tt_bisect *x;
    const tt_bisect_plan *plan;
    tt_progress progress;
    uint64_t done;
    bool led; /* the tokens are known: in these files, as arguments */
    char prompt[ROOM], force[ROOM];
    char note[TT_BISECT_TEXT]; /* the last one of the recorder */
} runs;

static void path_of(const runs *r, size_t build, const char *name, char out[ROOM])
{
    (void)snprintf(out, ROOM, "%s/%02zu-%.64s/%s", r->plan->folder->temporary, build + 1,
                   r->x->builds[build].name, name);
}

static void refuse(tt_bisect_build *b, const char *text)
{
    b->runs = 0;
    (void)snprintf(b->refused, sizeof b->refused, "%.*s", (int)sizeof b->refused - 1, text);
}

/* The program's last words. */
static void last_line(const char *path, char *out, size_t room)
{
    char line[TT_BISECT_TEXT];
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0]) (void)snprintf(out, room, "%s", line);
    }
    if (f) (void)fclose(f);
}

static void note(void *context, const char *text)
{
    runs *r = context;
    (void)snprintf(r->note, sizeof r->note, "%.*s", (int)sizeof r->note - 1, text);
}

static char **words_of(const runs *r, size_t build, const char *ids)
{
    char self[PATH_MAX];
    char **words = NULL;
    tt_runner_args args = *r->plan->runner;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return NULL;
    self[n] = '\0';
    args.options.engine = r->x->builds[build].dir;
    if (r->led) {
        args.prompt = args.prompt_file = NULL;
        args.prompt_ids = r->prompt;
        args.force_ids = r->force;
        args.has_predict = false;
    }
    args.write_ids = ids;
    return tt_runner_args_to_argv(&args, self, 0, &words) < 0 ? NULL : words;
}

/* Sets why it failed, if it did. */
static bool evaluate(tt_bisect_build *b, const tt_traced_end *end, const char *messages,
                     const char *last_note)
{
    char line[TT_BISECT_TEXT], text[2 * TT_BISECT_TEXT];
    last_line(messages, line, sizeof line);
    if (end->program.asked) {
        tt_interrupt_note(end->program.asked);
        return false;
    }
    if (end->program.timed_out)
        refuse(b, "it was not done in time (--timeout)");
    else if (end->program.signal) {
        (void)snprintf(text, sizeof text, "signal %d (%s)%s%s", end->program.signal,
                       strsignal(end->program.signal), line[0] ? ": " : "", line);
        refuse(b, text);
    } else if (end->program.code) {
        (void)snprintf(text, sizeof text, "exit code %d: %s", end->program.code, line);
        refuse(b, line[0] ? line : text);
    } else if (end->n_traces == 0)
        refuse(b, end->why_nothing);
    else if (end->unfinished)
        refuse(b, last_note[0] ? last_note : "its trace could not be finished");
    else
        return true;
    return false;
}

static int create(const char *path, int more)
{
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | more, 0666);
}

/* False: it failed, and the build was refused; or the command ends. */
static bool run_once(runs *r, size_t build, const char *name, const char *values, const char *ids)
{
    char output[ROOM], messages[ROOM], text[ROOM];
    tt_bisect_build *b = &r->x->builds[build];
    tt_traced_end end;
    tt_error err;
    path_of(r, build, name, output);
    path_of(r, build, "messages.txt", messages);
    path_of(r, build, "text.txt", text);
    char **words = words_of(r, build, ids);
    tt_spawn_setup setup = {.in = open("/dev/null", O_RDONLY | O_CLOEXEC),
                            .out = create(text, O_TRUNC),
                            .error = create(messages, O_APPEND),
                            .ends_with_parent = true,
                            .own_group = true,
                            .timeout_ns = r->plan->timeout_ns};
    const tt_traced traced = {.capture = {.values = values},
                              .output = output,
                              .setup = &setup,
                              .quiet = true,
                              .discards = true,
                              .note = note,
                              .context = r};
    bool ok = words && setup.in >= 0 && setup.out >= 0 && setup.error >= 0;
    r->note[0] = '\0';
    if (!ok)
        refuse(b, words ? "its files cannot be written" : "out of memory");
    else if (tt_traced_run(&traced, words, &end, &err) != TT_OK) {
        refuse(b, err.message);
        ok = false;
    } else
        ok = evaluate(b, &end, messages, r->note);
    if (setup.in >= 0) (void)close(setup.in);
    if (setup.out >= 0) (void)close(setup.out);
    if (setup.error >= 0) (void)close(setup.error);
    tt_runner_argv_free(words);
    tt_progress_update(&r->progress, ++r->done);
    return ok;
}

/* --- all of them --- */

/* What the first build that works computed is what all compute. */
static tt_status lead(runs *r, const char *ids, tt_error *err)
{
    tt_token_ids prompt = {.n = 0}, taken = {.n = 0};
    const char *root = r->plan->folder->temporary;
    (void)snprintf(r->prompt, sizeof r->prompt, "@%s/prompt.ids", root);
    (void)snprintf(r->force, sizeof r->force, "@%s/tokens.ids", root);
    r->led = tt_runner_ids_read(ids, &prompt, &taken, NULL) && taken.n &&
             tt_runner_ids_write(r->prompt + 1, &prompt) &&
             tt_runner_ids_write(r->force + 1, &taken);
    tt_token_ids_free(&prompt);
    tt_token_ids_free(&taken);
    return r->led
               ? TT_OK
               : tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                              "no tokens were generated (-n), or they cannot be written in %.200s",
                              root);
}

/* Once with values, which show whether a build works at all. */
static tt_status run_values(runs *r, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0; i < r->x->n && status == TT_OK && !tt_interrupted(); i++) {
        char folder[ROOM], ids[ROOM];
        path_of(r, i, "", folder);
        path_of(r, i, "ids.json", ids);
        status = tt_outdir_make(folder, err);
        if (status != TT_OK || !run_once(r, i, "values.ttrace", VALUES, ids)) continue;
        if (!r->led) status = lead(r, ids, err);
    }
    return status;
}

static void add_run(runs *r, size_t build, const char *name)
{
    char path[ROOM];
    tt_model *m = NULL;
    tt_error err;
    tt_bisect_build *b = &r->x->builds[build];
    path_of(r, build, name, path);
    tt_status status = tt_model_open(path, &m, &err);
    if (status == TT_OK) status = tt_bisect_add_run(r->x, b, m, &err);
    if (status != TT_OK) refuse(b, err.message);
    tt_model_close(m);
}

/* Rounds of all builds, each in the other direction: what changes in the machine meanwhile changes
 * all of them. */
static void run_rounds(runs *r)
{
    const size_t n = r->x->n;
    for (uint32_t round = 0; round < r->plan->runs; round++)
        for (size_t k = 0; k < n && !tt_interrupted(); k++) {
            const size_t i = round % 2 ? n - 1 - k : k;
            char name[32];
            (void)snprintf(name, sizeof name, "run-%u.ttrace", round + 1);
            if (r->x->builds[i].refused[0]) continue;
            if (run_once(r, i, name, NULL, NULL)) add_run(r, i, name);
        }
}

/* --- values --- */

typedef struct side {
    tt_model *m;
    tt_dump *dump;
} side;

static void close_side(side *s)
{
    tt_dump_close(s->dump);
    tt_model_close(s->m);
    *s = (side){NULL, NULL};
}

/* Each traced build against the one before it. */
static tt_status compare_values(runs *r, tt_error *err)
{
    tt_stages *stages = tt_stages_builtin();
    if (!stages) return tt_error_memory(err, "a map of stages");
    side before = {NULL, NULL};
    tt_status status = TT_OK;
    for (size_t i = 0; i < r->x->n && status == TT_OK && !tt_interrupted(); i++) {
        char path[ROOM];
        side now = {NULL, NULL};
        tt_valuediff *d = NULL;
        const tt_valuediff_options options = {.items_max = 1};
        if (!r->x->builds[i].runs) continue;
        path_of(r, i, "values.ttrace", path);
        status = tt_model_open(path, &now.m, err);
        if (status == TT_OK) status = tt_dump_of_trace(now.m, path, stages, &now.dump, err);
        if (status == TT_OK && before.dump)
            status = tt_valuediff_make(before.dump, now.dump, &options, &d, err);
        if (d) tt_bisect_set_values(&r->x->builds[i], d);
        tt_valuediff_free(d);
        close_side(&before);
        before = now;
    }
    close_side(&before);
    tt_stages_free(stages);
    return status;
}

tt_status tt_bisect_run(tt_bisect *x, const tt_bisect_plan *plan, tt_error *err)
{
    runs *r = calloc(1, sizeof *r);
    if (!r) return tt_error_memory(err, "the runs");
    r->x = x;
    r->plan = plan;
    tt_progress_begin(&r->progress, "running", (uint64_t)x->n * (1 + plan->runs), "runs");
    tt_status status = run_values(r, err);
    if (status == TT_OK && r->led) run_rounds(r);
    for (size_t i = 0; i < x->n; i++)
        if (!x->builds[i].runs && !x->builds[i].refused[0])
            refuse(&x->builds[i], "interrupted before it was run");
    tt_progress_end(&r->progress);
    if (status == TT_OK) status = compare_values(r, err);
    free(r);
    if (status == TT_OK) tt_bisect_compare(x);
    return status;
}
