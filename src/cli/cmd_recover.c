/* tensortrace recover: finishes a trace whose process died. */
#include "record/recover.h"

#include "base/json.h"
#include "cli/command.h"
#include "cli/report.h"
#include "record/place.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEY_FORCE = 0x5400, KEY_JSON };

typedef struct arguments {
    const char *path;
    bool force;
    bool json;
} arguments;

static const struct argp_option options[] = {
    {"force", KEY_FORCE, 0, 0, "Replace the finished trace's file if it exists", 0},
    {"json", KEY_JSON, 0, 0, "Report as JSON on standard output", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_FORCE:
        args->force = true;
        return 0;
    case KEY_JSON:
        args->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->path) argp_error(state, "one file at a time");
        args->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which file? (FILE.ttrace.part)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options, parse, "FILE",
    "Finishes the trace of a program that was killed: what the program had recorded up to its "
    "last moment is added, an index is written, and FILE.part becomes FILE.\v"
    "FILE is the trace with or without its .part. Exit codes: 0 finished (or complete "
    "already), 2 not a trace, still being written, or not writable.",
    NULL, NULL, NULL};

static int report_json(const tt_recover_report *r)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "path", r->path);
    tt_json_kv_u64(&j, "chunks", r->chunks);
    tt_json_kv_u64(&j, "cut_bytes", r->cut_bytes);
    tt_json_kv_bool(&j, "area_found", r->area_found);
    tt_json_kv_u64(&j, "area_records", r->area_records);
    tt_json_object_end(&j);
    return tt_json_end(&j) ? TT_EXIT_OK : tt_report_usage("cannot write to standard output");
}

static int report_text(const tt_recover_report *r)
{
    (void)printf("%s: finished; %" PRIu64 " chunks were in the file", r->path, r->chunks);
    if (r->cut_bytes) (void)printf(", %" PRIu64 " bytes of a broken end were cut off", r->cut_bytes);
    if (r->area_found)
        (void)printf(", %" PRIu64 " op records were still in shared memory", r->area_records);
    else
        (void)printf("; its shared memory is gone (a reboot, or recovered before)");
    (void)putchar('\n');
    return fflush(stdout) == 0 ? TT_EXIT_OK : tt_report_usage("cannot write to standard output");
}

int tt_cmd_recover(int argc, char **argv)
{
    arguments args = {.path = NULL};
    tt_recover_report report;
    tt_error err;
    char part[PATH_MAX];
    tt_report_parse(&argp, argc, argv, 0, &args);
    const char *path = args.path;
    if (access(path, F_OK) != 0 && tt_place_part(part, sizeof part, path, NULL) == TT_OK &&
        access(part, F_OK) == 0)
        path = part;
    tt_status status = tt_recover(path, args.force, &report, &err);
    if (status == TT_E_EXISTS) {
        tt_report_note("%s", err.message);
        return TT_EXIT_OK;
    }
    if (status != TT_OK) return tt_report_error(&err);
    return args.json ? report_json(&report) : report_text(&report);
}
