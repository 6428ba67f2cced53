/* tensortrace recover: finishes a trace whose process died. */
#include "record/recover.h"

#include "base/json.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "record/place.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

struct options {
    tt_input input;
    bool force;
};

static const tt_option option_table[] = {
    {"force", 0, 0,
     "Replace the finished trace's file if it exists; cut the trace at a damaged chunk even "
     "if whole ones follow",
     1, TT_FLAG(struct options, force)},
    {0},
};

static const tt_options command = {
    .words = "FILE",
    .about = "Finishes the trace of a killed program: adds what the program had recorded up to its "
             "end, writes an index, and renames FILE.part to FILE.\v"
             "FILE is the trace with or without its .part. Exit codes: 0 finished (or complete "
             "already), 2 not a trace, still being written, or not writable.",
    .sets = {{.options = option_table}, TT_INPUT(struct options, input)}};

static bool print_json(const tt_recover_report *r)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "path", r->path);
    tt_json_kv_bool(&j, "recovered", true);
    tt_json_kv_u64(&j, "chunks", r->chunks);
    tt_json_kv_u64(&j, "cut_bytes", r->cut_bytes);
    tt_json_kv_bool(&j, "area_found", r->area_found);
    tt_json_kv_u64(&j, "area_records", r->area_records);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

/* For a trace that was complete already: a script still gets its JSON. */
static bool print_json_complete(const char *path)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "path", path);
    tt_json_kv_bool(&j, "recovered", false);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static bool print_text(const tt_recover_report *r)
{
    (void)printf("%s: finished; %" PRIu64 " chunk%s in the file", r->path, r->chunks,
                 r->chunks == 1 ? " was" : "s were");
    if (r->cut_bytes)
        (void)printf(", %" PRIu64 " bytes of a broken end were cut off", r->cut_bytes);
    if (r->area_found)
        (void)printf(", %" PRIu64 " op records were still in shared memory", r->area_records);
    else
        (void)printf("; its shared memory is gone (a reboot, or recovered before)");
    (void)putchar('\n');
    return true;
}

int tt_cmd_recover(int argc, char **argv)
{
    struct options o = {.force = false};
    tt_recover_report report;
    tt_error err;
    char part[PATH_MAX];
    tt_options_parse(&command, argc, argv, &o);
    const char *path = o.input.path;
    if (access(path, F_OK) != 0 && tt_place_part(part, sizeof part, path, NULL) == TT_OK &&
        access(part, F_OK) == 0)
        path = part;
    unsigned how = o.force ? TT_RECOVER_REPLACE | TT_RECOVER_CUT : 0;
    tt_status status = tt_recover(path, how, &report, &err);
    if (status == TT_E_EXISTS) {
        tt_report_note("%s", err.message);
        return tt_report_output(!o.input.json || print_json_complete(path));
    }
    if (status != TT_OK) return tt_report_error(&err);
    (void)tt_sweep();
    return tt_report_output(o.input.json ? print_json(&report) : print_text(&report));
}
