#include "cli/input.h"

#include "base/path.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "experiment/chosen.h"
#include "read/trace.h"
#include "record/place.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The group puts --json after a command's own options. */
const tt_option tt_input_options[] = {
    {"json", 0, 0, "Print JSON", 9, TT_FLAG(tt_input, json)},
    {0},
};

/* Replaces an experiment's folder by its trace, and a folder of experiments by that of the last one
 * requested (as tt_source_open does, too): then the output shows which, and a note names it. */
static const char *trace_of(const char *path)
{
    static char found[2 * PATH_MAX]; /* a command has one such argument */
    char current[256];
    (void)snprintf(found, sizeof found, "%s/" TT_RUN_TRACE, path);
    if (access(found, F_OK) == 0) return found;
    (void)snprintf(found, sizeof found, "%s/current", path);
    const ssize_t n = readlink(found, current, sizeof current - 1);
    if (n <= 0) return path;
    current[n] = '\0';
    (void)snprintf(found, sizeof found, "%s/%s/" TT_RUN_TRACE, path, current);
    return access(found, F_OK) == 0 ? found : path;
}

void tt_input_word(void *options, char *arg, tt_parse *p)
{
    tt_input *input = options;
    if (input->path)
        tt_parse_error(p, "one %s only%s%s", input->what ? input->what : "FILE",
                       input->hint ? "; " : "", input->hint ? input->hint : "");
    for (size_t n = strlen(arg); n > 1 && arg[n - 1] == '/';)
        arg[--n] = '\0';
    input->given = arg;
    input->path = trace_of(arg);
}

/* Where FILE.ttrace is not there: traces of other processes that `run` numbered, FILE-PID.ttrace.
 */
static void name_numbered(const char *path)
{
    static const char end[] = ".ttrace";
    const size_t n = strlen(path);
    char pattern[PATH_MAX];
    glob_t found;
    if (n < sizeof end || strcmp(path + n - sizeof end + 1, end) != 0 || strpbrk(path, "*?[\\") ||
        access(path, F_OK) == 0)
        return;
    (void)snprintf(pattern, sizeof pattern, "%.*s-[0-9]*%s", (int)(n - sizeof end + 1), path, end);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        tt_report_note("%s is a trace of one of the processes that a run with this name had",
                       found.gl_pathv[i]);
    globfree(&found);
}

void tt_input_check(void *options, tt_parse *p)
{
    const tt_input *input = options;
    if (!input->path) tt_parse_error(p, "which %s?", input->what ? input->what : "FILE");
    if (input->path) name_numbered(input->path);
}

static bool is_gguf(const char *path)
{
    char magic[4] = "";
    FILE *f = fopen(path, "rbe");
    bool is = f && fread(magic, 1, sizeof magic, f) == sizeof magic &&
              memcmp(magic, "GGUF", sizeof magic) == 0;
    if (f) (void)fclose(f);
    return is;
}

bool tt_input_is_trace(const char *path)
{
    tt_trace t;
    if (tt_trace_open(&t, path, NULL) != TT_OK) return false;
    tt_trace_close(&t);
    return true;
}

bool tt_input_is_within(const tt_input *input, const char *output)
{
    char *place = realpath(output, NULL), *file = realpath(input->path, NULL);
    size_t n = place ? strlen(place) : 0;
    bool holds = place && file && strncmp(file, place, n) == 0 &&
                 (file[n] == '\0' || file[n] == '/' || (n > 0 && place[n - 1] == '/'));
    free(place);
    free(file);
    return holds;
}

static int refuse(const tt_input *input, const tt_error *err)
{
    char part[PATH_MAX];
    if (access(input->path, F_OK) != 0 &&
        tt_place_part(part, sizeof part, input->path, NULL) == TT_OK && access(part, F_OK) == 0)
        return tt_report_usage("%s is not there, but %s is: it is still being written, or its run "
                               "was cut off: then \"%s recover %s\" finishes it",
                               input->path, part, tt_report_program(), part);
    if (err->status == TT_E_FORMAT && is_gguf(input->path))
        return tt_report_usage("%s: this is a GGUF model: try \"%s gguf %s\"", input->path,
                               tt_report_program(), input->path);
    return tt_report_error(err);
}

/* A folder of several experiments stands for one of them. */
static void note_current(const tt_input *input)
{
    char name[TT_RESULT_FOLDER];
    const char *folder = input->given ? input->given : input->path;
    if (tt_chosen_is_folder(folder) && tt_result_current(folder, name) &&
        tt_chosen_are_several(folder))
        tt_report_note(
            "%s: of its experiments this is %s, the last one requested; \"%s experiment list "
            "%s\" shows all",
            folder, name, tt_report_program(), folder);
}

int tt_input_open_part(const tt_input *input, const tt_part *part, tt_model **m)
{
    tt_error err;
    if (tt_model_open_part(input->path, part, m, &err) != TT_OK) return refuse(input, &err);
    note_current(input);
    tt_trace_note_cut(*m);
    return TT_EXIT_OK;
}

int tt_input_open_trace(const tt_input *input, tt_input_damage damage, tt_model **m)
{
    tt_error err;
    if (tt_model_open(input->path, m, &err) != TT_OK) return refuse(input, &err);
    note_current(input);
    if (damage != TT_INPUT_WALKS && tt_pieces_survey((*m)->pieces, &err) != TT_OK)
        return tt_report_error(&err);
    if (damage != TT_INPUT_REPORTED) tt_trace_note_cut(*m);
    if (damage == TT_INPUT_NOTES) tt_trace_note_damage(*m);
    return TT_EXIT_OK;
}
