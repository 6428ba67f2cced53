/* tensortrace verify FILE|DIR: checks that a trace, a dataset, or a folder of BitNet-style records
 * is complete and consistent. */
#include "analyze/verify/verify.h"
#include "base/units.h"
#include "bitnet/read.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "dataset/verify.h"

#include <inttypes.h>
#include <sys/stat.h>

static size_t count_verdict(const tt_check *checks, size_t n, tt_verdict v)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += checks[i].verdict == v;
    return found;
}

static uint64_t dropped_records(const tt_model *m)
{
    uint64_t counted;
    return tt_model_count(m, "ops_dropped", &counted) && counted > m->losses_total
               ? counted
               : m->losses_total;
}

/* A part of the file cannot be read. (The checks report details.) */
static bool damaged(const tt_model *m)
{
    return m->meta_damage.status != TT_OK || tt_pieces_damaged(m->pieces, NULL) > 0;
}

/* Dropped records are reported, but are no failure, because the recorder counted them. */
static bool passes(const tt_model *m, const tt_check *checks, size_t n)
{
    return m->trace.complete && !damaged(m) && count_verdict(checks, n, TT_CHECK_FAILED) == 0;
}

TT_COLUMN_GET(get_verdict, tt_check, c, tt_cell_text(cell, tt_verdict_name(c->verdict));)
TT_COLUMN_GET(get_unit, tt_check, c, tt_cell_text(cell, c->examined_what);)
TT_COLUMN_KNOWN(has_offset, tt_check, c, c->offset_bytes != TT_NO_OFFSET)
TT_COLUMN_SHOW(show_examined, tt_check, c, {
    char count[TT_UNITS_TEXT];
    (void)snprintf(out, room, "%s %s", tt_units_count(count, c->examined), c->examined_what);
})

static const tt_column check_columns[] = {
    TT_COLUMN("check", "CHECK", NONE, "its name", TT_MEMBER(tt_check, name), .show = TT_SHOW_KEY),
    TT_COLUMN("verdict", "VERDICT", NONE, "passed, failed or not observed", .type = TT_CELL_NAME,
              .get = get_verdict),
    TT_COLUMN("proves", "PROVES", NONE, "when it passes", TT_MEMBER(tt_check, what),
              .show = TT_SHOW_WRAP),
    TT_COLUMN("examined", "EXAMINED", COUNT, "how many", TT_MEMBER(tt_check, examined),
              .text = show_examined),
    TT_FIELD("examined_what", "of what", .type = TT_CELL_NAME, .get = get_unit),
    TT_FIELD("offences", "found", TT_MEMBER(tt_check, offences)),
    TT_FIELD("detail", "the first offence, or why not; of a check that passed, what it cannot tell",
             TT_MEMBER_CHARS(tt_check, detail)),
    TT_FIELD("offset_bytes", "of the first offence", TT_MEMBER(tt_check, offset_bytes),
             .known = has_offset),
};
static const tt_schema check_schema = TT_SCHEMA("checks", "of the file", check_columns);

/* All results for `path`; m NULL: a folder. */
typedef struct verdicts {
    const char *path;
    const tt_model *m;
    const tt_check *checks;
    size_t n;
} verdicts;

static bool has_passed(const verdicts *v)
{
    return v->m ? passes(v->m, v->checks, v->n)
                : count_verdict(v->checks, v->n, TT_CHECK_FAILED) == 0;
}

TT_COLUMN_KNOWN(is_trace, verdicts, v, v->m != NULL)
TT_COLUMN_KNOWN(is_folder_check, verdicts, v, v->m == NULL)
TT_COLUMN_VALUE(get_passed, verdicts, v, boolean, has_passed(v))
TT_COLUMN_VALUE(get_damaged, verdicts, v, boolean, damaged(v->m))
TT_COLUMN_VALUE(get_dropped, verdicts, v, u64, dropped_records(v->m))
TT_COLUMN_ROWS(checks_of, verdicts, v, v->checks, v->n)

#define OF_TRACE .known = is_trace, .show = TT_SHOW_OMIT
static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(verdicts, path), OF_TRACE),
    TT_FIELD("folder", "that was checked", TT_MEMBER(verdicts, path), .known = is_folder_check,
             .show = TT_SHOW_OMIT),
    TT_FIELD("passed", "no check failed", .type = TT_CELL_BOOL, .get = get_passed),
    TT_FIELD("complete", "the file has its end", OF_TRACE, TT_THROUGH(verdicts, m),
             TT_MEMBER(tt_model, trace.complete)),
    TT_FIELD("damaged", "a part cannot be read", .type = TT_CELL_BOOL, .get = get_damaged,
             OF_TRACE),
    TT_FIELD("dropped_records", "not in the trace", .type = TT_CELL_U64, .get = get_dropped,
             OF_TRACE),
    TT_FIELD("checks", "one by one", .type = TT_CELL_ROWS, .inner = &check_schema,
             .rows = checks_of),
};
static const tt_schema verify_schema = TT_SCHEMA("verify", "whether it is whole", columns);

static bool print_json(const char *path, const tt_model *m, const tt_check *checks, size_t n)
{
    const verdicts v = {path, m, checks, n};
    return tt_row_json_print(stdout, &verify_schema, NULL, &v);
}

/* What was not observed: checks with the same reason on one line. */
static void print_unseen(const tt_check *checks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[TT_CHECK_TEXT];
        bool listed = checks[i].verdict != TT_CHECK_NOT_OBSERVED;
        for (size_t k = 0; k < i && !listed; k++)
            listed = checks[k].verdict == TT_CHECK_NOT_OBSERVED &&
                     strcmp(checks[k].detail, checks[i].detail) == 0;
        if (listed) continue;
        char line[TT_CHECKS_MAX * 32 + TT_CHECK_TEXT];
        size_t used = 0;
        for (size_t k = i; k < n; k++)
            if (checks[k].verdict == TT_CHECK_NOT_OBSERVED &&
                strcmp(checks[k].detail, checks[i].detail) == 0)
                used += (size_t)snprintf(line + used, sizeof line - used, "%s%.24s",
                                         k > i ? ", " : "", checks[k].name);
        (void)snprintf(line + used, sizeof line - used, " not observed: %s",
                       tt_trace_text(text, sizeof text, checks[i].detail));
        tt_table_text(stdout, 2, line);
    }
}

/* What failed; and what a check that passed cannot tell. */
static void print_details(const tt_check *checks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tt_check *c = &checks[i];
        char text[TT_CHECK_TEXT];
        const bool failed = c->verdict == TT_CHECK_FAILED;
        if (!failed && (c->verdict != TT_CHECK_PASSED || !*c->detail)) continue;
        char line[TT_CHECK_TEXT + 128], at[48] = "", more[48] = "";
        if (c->offset_bytes != TT_NO_OFFSET)
            (void)snprintf(at, sizeof at, " (at byte %" PRIu64 ")", c->offset_bytes);
        if (c->offences > 1)
            (void)snprintf(more, sizeof more, "; %" PRIu64 " more like it", c->offences - 1);
        (void)snprintf(line, sizeof line, "%.24s %s: %s%s%s", c->name, failed ? "failed" : "passed",
                       tt_trace_text(text, sizeof text, c->detail), at, more);
        tt_table_text(stdout, 2, line);
    }
}

static bool print_table(const tt_check *checks, size_t n)
{
    const tt_rowset set = TT_ROWSET(&check_schema, 0, NULL, checks, n);
    const tt_listing_wish wish = {.columns = "check,verdict,examined,proves", .text = true};
    tt_listing l;
    bool ok = tt_listing_make(&l, &set, &wish, NULL) == TT_OK;
    l.chosen = false;
    ok = ok && tt_list_print(&l, NULL);
    tt_listing_free(&l);
    return ok;
}

/* The checks, and a line of how many passed, with `more` at its end. */
static bool print_checks(const tt_input *input, const tt_check *checks, size_t n, const char *more)
{
    char failures[48] = "", unknown[48] = "";
    if (!print_table(checks, n)) return false;
    print_unseen(checks, n);
    print_details(checks, n);
    const size_t failed = count_verdict(checks, n, TT_CHECK_FAILED);
    const size_t unseen = count_verdict(checks, n, TT_CHECK_NOT_OBSERVED);
    if (failed) (void)snprintf(failures, sizeof failures, ", %zu failed", failed);
    if (unseen) (void)snprintf(unknown, sizeof unknown, ", %zu not observed", unseen);
    tt_table_printf(stdout, 2, "%s: %zu of %zu checks passed%s%s%s", input->path,
                    n - failed - unseen, n, failures, unknown, more);
    return true;
}

static bool print_text(const tt_input *input, const tt_model *m, const tt_check *checks, size_t n)
{
    char more[256], cut[64] = "", lost[128] = "", count[TT_UNITS_TEXT];
    const uint64_t dropped = dropped_records(m);
    if (!m->trace.complete)
        (void)snprintf(cut, sizeof cut, "; the trace was cut off at byte %" PRIu64,
                       m->trace.end_bytes);
    if (dropped)
        (void)snprintf(lost, sizeof lost, "; %s record%s dropped and %s not in the trace",
                       tt_units_count(count, dropped), dropped == 1 ? " was" : "s were",
                       dropped == 1 ? "is" : "are");
    (void)snprintf(more, sizeof more, "%s%s%s", cut, damaged(m) ? "; the trace is damaged" : "",
                   lost);
    return print_checks(input, checks, n, more);
}

static int check_and_print(const tt_input *input, const tt_model *m)
{
    tt_error err;
    tt_check checks[TT_CHECKS_MAX];
    size_t n = 0;
    tt_progress bar;
    tt_progress_begin(&bar, "checking", 0, "checks");
    tt_status status = tt_verify(m, checks, &n, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (status != TT_OK) return tt_report_error(&err);
    int code = tt_report_output(input->json ? print_json(input->path, m, checks, n)
                                            : print_text(input, m, checks, n));
    if (code == TT_EXIT_OK && !passes(m, checks, n)) code = TT_EXIT_DIFFERS;
    return code;
}

/* --- folders --- */

static bool print_folder(const tt_input *input, const tt_check *checks, size_t n)
{
    if (input->json) return print_json(input->path, NULL, checks, n);
    return print_checks(input, checks, n, "");
}

static int check_folder(const tt_input *input)
{
    tt_error err;
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    tt_progress bar;
    tt_progress_begin(&bar, "checking", 0, "files");
    tt_status status = (tt_bitnet_is(input->path) ? tt_bitnet_verify : tt_dataset_verify)(
        input->path, checks, &n, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (status != TT_OK) return tt_report_error(&err);
    int code = tt_report_output(print_folder(input, checks, n));
    if (code == TT_EXIT_OK && count_verdict(checks, n, TT_CHECK_FAILED)) code = TT_EXIT_DIFFERS;
    return code;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int tt_cmd_verify(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE|DIR",
        .about =
            "Checks that the trace FILE, or the dataset or the BitNet-style records in the folder "
            "DIR, are complete and consistent, or shows what is missing.\v"
            "Exit code 0: no check failed; 1: a check failed (its first error is shown), or the "
            "file is cut off or damaged; 2: the file is not a trace, or the folder is neither "
            "kind. A check whose facts are missing is \"not observed\": neither passed nor failed.",
        .sets = {{tt_input_options, 0, tt_input_word, tt_input_check, NULL}}};
    tt_input input = {.what = "FILE or DIR"};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &input);
    if (is_folder(input.path) || tt_bitnet_is(input.path)) return check_folder(&input);
    int code = tt_input_open_trace(&input, TT_INPUT_REPORTED, &m);
    if (code == TT_EXIT_OK) code = check_and_print(&input, m);
    tt_model_close(m);
    return code;
}
