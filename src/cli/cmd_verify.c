/* tensortrace verify FILE|DIR: checks that a trace, a dataset, or a folder of BitNet-style records
 * is whole and consistent. */
#include "analyze/verify/verify.h"
#include "base/json.h"
#include "base/units.h"
#include "bitnet/read.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "dataset/verify.h"
#include "dataset/verify_bitnet.h"

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

/* A part of the file cannot be read. (The checks tell more of it.) */
static bool damaged(const tt_model *m)
{
    return m->meta_damage.status != TT_OK || tt_pieces_damaged(m->pieces, NULL) > 0;
}

/* Dropped records are told, and are no offence: the recorder was honest about them. */
static bool passes(const tt_model *m, const tt_check *checks, size_t n)
{
    return m->trace.complete && !damaged(m) && count_verdict(checks, n, TT_CHECK_FAILED) == 0;
}

static void put_checks(tt_json *j, const tt_check *checks, size_t n)
{
    tt_json_key(j, "checks");
    tt_json_array(j);
    for (size_t i = 0; i < n; i++) {
        const tt_check *c = &checks[i];
        tt_json_object(j);
        tt_json_kv_string(j, "check", c->name);
        tt_json_kv_string(j, "verdict", tt_verdict_name(c->verdict));
        tt_json_kv_string(j, "proves", c->what);
        tt_json_kv_u64(j, "examined", c->examined);
        tt_json_kv_string(j, "examined_what", c->examined_what);
        tt_json_kv_u64(j, "offences", c->offences);
        tt_json_kv_string(j, "detail", c->detail[0] ? c->detail : NULL);
        tt_json_key(j, "offset_bytes");
        if (c->offset_bytes == TT_NO_OFFSET)
            tt_json_null(j);
        else
            tt_json_u64(j, c->offset_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static bool print_json(const tt_input *input, const tt_model *m, const tt_check *checks, size_t n)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", input->path);
    tt_json_kv_bool(&j, "passed", passes(m, checks, n));
    tt_json_kv_bool(&j, "complete", m->trace.complete);
    tt_json_kv_bool(&j, "damaged", damaged(m));
    tt_json_kv_u64(&j, "dropped_records", dropped_records(m));
    put_checks(&j, checks, n);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

/* What was not observed: checks with the same reason on one line. */
static void print_unseen(const tt_check *checks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[TT_CHECK_TEXT];
        bool told = checks[i].verdict != TT_CHECK_NOT_OBSERVED;
        for (size_t k = 0; k < i && !told; k++)
            told = checks[k].verdict == TT_CHECK_NOT_OBSERVED &&
                   strcmp(checks[k].detail, checks[i].detail) == 0;
        if (told) continue;
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

static void print_failed(const tt_check *checks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tt_check *c = &checks[i];
        char text[TT_CHECK_TEXT];
        if (c->verdict != TT_CHECK_FAILED) continue;
        char line[TT_CHECK_TEXT + 128], at[48] = "", more[48] = "";
        if (c->offset_bytes != TT_NO_OFFSET)
            (void)snprintf(at, sizeof at, " (at byte %" PRIu64 ")", c->offset_bytes);
        if (c->offences > 1)
            (void)snprintf(more, sizeof more, "; %" PRIu64 " more like it", c->offences - 1);
        (void)snprintf(line, sizeof line, "%.24s failed: %s%s%s", c->name,
                       tt_trace_text(text, sizeof text, c->detail), at, more);
        tt_table_text(stdout, 2, line);
    }
}

static bool print_table(const tt_check *checks, size_t n)
{
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    tt_table_column(t, "CHECK", TT_COLUMN_LEFT);
    tt_table_column(t, "VERDICT", TT_COLUMN_LEFT);
    tt_table_column(t, "EXAMINED", TT_COLUMN_RIGHT);
    tt_table_column(t, "PROVES", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    for (size_t i = 0; i < n; i++) {
        char count[TT_UNITS_TEXT], examined[64];
        (void)snprintf(examined, sizeof examined, "%s %s",
                       tt_units_count(count, checks[i].examined), checks[i].examined_what);
        const char *cells[] = {checks[i].name, tt_verdict_name(checks[i].verdict), examined,
                               checks[i].what};
        tt_table_row(t, cells);
    }
    return tt_table_print(t);
}

/* All but the end of the last line. */
static bool print_checks(const tt_input *input, const tt_check *checks, size_t n)
{
    if (!print_table(checks, n)) return false;
    print_unseen(checks, n);
    print_failed(checks, n);
    size_t failed = count_verdict(checks, n, TT_CHECK_FAILED);
    size_t unseen = count_verdict(checks, n, TT_CHECK_NOT_OBSERVED);
    printf("%s: %zu of %zu checks passed", input->path, n - failed - unseen, n);
    if (failed) printf(", %zu failed", failed);
    if (unseen) printf(", %zu not observed", unseen);
    return true;
}

static bool print_text(const tt_input *input, const tt_model *m, const tt_check *checks, size_t n)
{
    if (!print_checks(input, checks, n)) return false;
    if (!m->trace.complete) printf("; the trace was cut off at byte %" PRIu64, m->trace.end_bytes);
    if (damaged(m)) printf("; the trace is damaged");
    uint64_t dropped = dropped_records(m);
    char count[TT_UNITS_TEXT];
    if (dropped)
        printf("; %s record%s dropped and %s not in the trace", tt_units_count(count, dropped),
               dropped == 1 ? " was" : "s were", dropped == 1 ? "is" : "are");
    putchar('\n');
    return true;
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
    int code = tt_report_output(input->json ? print_json(input, m, checks, n)
                                            : print_text(input, m, checks, n));
    if (code == TT_EXIT_OK && !passes(m, checks, n)) code = TT_EXIT_DIFFERS;
    return code;
}

/* --- folders --- */

static bool print_folder(const tt_input *input, const tt_check *checks, size_t n)
{
    tt_json j;
    if (!input->json) return print_checks(input, checks, n) && putchar('\n') != EOF;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "folder", input->path);
    tt_json_kv_bool(&j, "passed", count_verdict(checks, n, TT_CHECK_FAILED) == 0);
    put_checks(&j, checks, n);
    tt_json_object_end(&j);
    return tt_json_end(&j);
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
        .about = "Checks that the trace FILE, or the dataset or the BitNet-style records in the "
                 "folder DIR, are whole and consistent, or says what is missing.\v"
                 "Exit code 0: no check failed; 1: one failed, and its first offence is named, or "
                 "the file is cut off or damaged; 2: the file is no trace, or the folder neither. "
                 "A check whose facts are not there is \"not observed\", which is neither.",
        .sets = {{tt_input_options, 0, tt_input_word, tt_input_check}}};
    tt_input input = {.what = "FILE or DIR"};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &input);
    if (is_folder(input.path) || tt_bitnet_is(input.path)) return check_folder(&input);
    int code = tt_input_open_trace(&input, TT_INPUT_TELLS, &m);
    if (code == TT_EXIT_OK) code = check_and_print(&input, m);
    tt_model_close(m);
    return code;
}
