/* doctor --disk: the storage of a file, and how fast it is read. */
#include "machine/disk.h"
#include "analyze/storage.h"
#include "base/units.h"
#include "boost/bursts.h"
#include "cli/command.h"
#include "cli/doctor/doctor.h"
#include "cli/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct disk_test {
    const char *path;
    tt_host_disk disk;
    tt_disk_rates rates;
    tt_boost_bursts bursts;
} disk_test;

#define COUNT(a) (sizeof(a) / sizeof *(a))

TT_COLUMN_KNOWN(was_measured, tt_disk_cell, c, c->requests > 0)
TT_COLUMN_KNOWN(has_rate, tt_disk_cell, c, c->bytes_per_s > 0)
TT_COLUMN_GET(get_order, tt_disk_cell, c,
              tt_cell_text(cell, c->is_mapped   ? "mapped"
                                 : c->is_random ? "random"
                                                : "sequential");)
TT_COLUMN_GET(get_requests_per_s, tt_disk_cell, c, cell->known = c->bytes_per_s > 0;
              cell->f64 = c->bytes_per_s / (double)c->request_bytes;)

static const tt_column cell_columns[] = {
    TT_COLUMN("order", "ORDER", NONE,
              "sequential or random offsets in the file; or mapped: by page faults",
              .type = TT_CELL_NAME, .get = get_order),
    TT_COLUMN("request_bytes", "REQUEST", BYTES,
              "bytes of a request; mapped: of a range that all threads read",
              TT_MEMBER(tt_disk_cell, request_bytes)),
    TT_COLUMN("depth", "DEPTH", COUNT, "requests at a time; mapped: threads",
              TT_MEMBER(tt_disk_cell, depth)),
    TT_COLUMN("bytes_per_s", "RATE", BYTES_PER_S, "bytes read per second: median of the samples",
              .nullable = true, .show = TT_SHOW_DASH, .known = has_rate,
              TT_MEMBER(tt_disk_cell, bytes_per_s)),
    TT_COLUMN("requests_per_s", "REQUESTS/S", FIGURE, "requests per second", .nullable = true,
              .show = TT_SHOW_DASH, .type = TT_CELL_F64, .get = get_requests_per_s),
    TT_COLUMN("latency_ns", "LATENCY", NS, "median of a request; mapped: mean of a range",
              .nullable = true, .show = TT_SHOW_DASH, .known = was_measured,
              TT_MEMBER(tt_disk_cell, latency_ns)),
    TT_COLUMN("latency_p99_ns", "99 %", NS, "99th percentile of a request", .nullable = true,
              .show = TT_SHOW_DASH | TT_SHOW_WIDE, .known = was_measured,
              TT_MEMBER(tt_disk_cell, latency_p99_ns)),
    TT_COLUMN("requests", "REQUESTS", COUNT,
              "number of requests; 0: no time was left, or the file is smaller",
              .show = TT_SHOW_WIDE, TT_MEMBER(tt_disk_cell, requests)),
    TT_COLUMN("samples", NULL, COUNT, "number of samples, whose median is the rate",
              .nullable = true, .known = was_measured, TT_MEMBER(tt_disk_cell, samples)),
};

const tt_schema tt_doctor_disk_schema = {"rates",
                                         "how fast a file is read, one way of reading a row",
                                         cell_columns, COUNT(cell_columns)};

TT_COLUMN_VALUE(get_file_bytes, disk_test, t, u64, t->rates.file_bytes)
TT_COLUMN_VALUE(get_direct, disk_test, t, boolean, t->rates.is_direct)
TT_COLUMN_VALUE(get_read_bytes, disk_test, t, u64, t->rates.read_bytes)
TT_COLUMN_VALUE(get_took, disk_test, t, f64, t->rates.took_ns)
/* The value for `whatif --disk`. bursts: of boost, or NULL. */
static void set_fit(tt_cell *cell, const tt_disk_rates *r,
                    bool fit_rates(const tt_disk_rates *r, tt_disk_fit *fit),
                    const tt_boost_bursts *bursts)
{
    tt_disk_fit fit;
    cell->known = fit_rates(r, &fit) && (!bursts || bursts->n);
    if (!cell->known) return;
    const double rate = fit.bytes_per_s / 1e6, latency = fit.latency_ns / 1e3;
    const double request = fit.request_ns / 1e3;
    if (bursts) {
        char group[32] = "", move[32] = "";
        if (bursts->grouped) (void)snprintf(group, sizeof group, "%.0fus", bursts->group_ns / 1e3);
        if (bursts->has_moves) (void)snprintf(move, sizeof move, ",%.0fus", bursts->move_ns / 1e3);
        tt_cell_format(cell, "%.0fMB/s,%.0fus,%.1fus,%.0fus%s%s%s", rate, latency, request,
                       bursts->begin_ns / 1e3, group[0] || move[0] ? "," : "", group, move);
    } else if (request > 0) {
        tt_cell_format(cell, "%.0fMB/s,%.0fus,%.1fus", rate, latency, request);
    } else {
        tt_cell_format(cell, "%.0fMB/s,%.0fus", rate, latency);
    }
}

TT_COLUMN_GET(get_mapped_fit, disk_test, t, set_fit(cell, &t->rates, tt_disk_fit_mapped, NULL);)
TT_COLUMN_GET(get_requests_fit, disk_test, t, set_fit(cell, &t->rates, tt_disk_fit_requests, NULL);)
TT_COLUMN_GET(get_boost_fit, disk_test, t,
              set_fit(cell, &t->rates, tt_disk_fit_requests, &t->bursts);)

#define FIT(key_, title_, about_, ...)                                                             \
    TT_COLUMN(key_, title_, NONE, about_, .type = TT_CELL_NAME, .nullable = true, __VA_ARGS__)

static const tt_column fit_columns[] = {
    FIT("mmap", "mmap", "as page faults read the file, by all threads", .get = get_mapped_fit),
    FIT("direct", "direct", "as requests read it; with --reader=direct", .get = get_requests_fit),
    FIT("boost", "boost", "as `tensortrace boost` reads it; with --boost", .get = get_boost_fit),
    TT_COLUMN("mmap_unknown", "no mmap", NONE, "why that was not measured", .nullable = true,
              .show = TT_SHOW_KNOWN, TT_MEMBER(disk_test, rates.mapped_unknown)),
    TT_COLUMN("boost_unknown", "no boost", NONE, "why that was not measured", .nullable = true,
              .show = TT_SHOW_KNOWN, TT_MEMBER(disk_test, bursts.problem)),
};

static const tt_schema fit_schema = {"whatif", "what whatif --disk takes", fit_columns,
                                     COUNT(fit_columns)};

static const tt_column test_columns[] = {
    TT_COLUMN("path", "file", NONE, "file that was read", TT_MEMBER(disk_test, path)),
    TT_COLUMN("size_bytes", "size", BYTES, "of the file", .type = TT_CELL_U64,
              .get = get_file_bytes),
    TT_COLUMN("disk", NULL, NONE, "what it lies on",
              TT_MEMBER_OBJECT(disk_test, disk, &tt_disk_schema)),
    TT_COLUMN("is_direct", "direct", NONE, "read past the page cache", .type = TT_CELL_BOOL,
              .get = get_direct),
    TT_COLUMN("read_bytes", "read", BYTES, "in all", .type = TT_CELL_U64, .get = get_read_bytes),
    TT_COLUMN("took_ns", "took", NS, "in all", .type = TT_CELL_F64, .get = get_took),
    TT_COLUMN("whatif", NULL, NONE, "what whatif --disk takes", .type = TT_CELL_OBJECT,
              .inner = &fit_schema),
};

static const tt_schema test_schema = {"disk", "a file and its disk", test_columns,
                                      COUNT(test_columns)};

static void print_fact(const char *title, const char *value, FILE *out)
{
    tt_table_printf(out, 15, "  %-12s %s", title, value);
}

void tt_doctor_print_facts(const tt_schema *schema, const void *row, FILE *out)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        char text[320];
        const tt_column *c = &schema->columns[i];
        if (!c->title) continue;
        tt_cell_show(c, NULL, row, text, sizeof text);
        if (!text[0] && c->show & TT_SHOW_KNOWN) continue;
        print_fact(c->title, text[0] ? text : "unknown", out);
    }
}

static bool print_text(const disk_test *t, const tt_listing *l)
{
    char took[TT_UNITS_TEXT], size[TT_UNITS_TEXT], path[320];
    tt_cell_text_copy(path, sizeof path, t->path);
    printf("File\n");
    print_fact("path", path, stdout);
    print_fact("size", tt_units_bytes(size, t->rates.file_bytes), stdout);
    printf("\nDisk\n");
    tt_doctor_print_facts(&tt_disk_schema, &t->disk, stdout);
    tt_table_printf(stdout, 2, "\nReading, %s; %s in %s",
                    t->rates.is_direct
                        ? "past the page cache (O_DIRECT)"
                        : "through the page cache: this file system has no O_DIRECT, so what "
                          "was in memory was not read from the disk",
                    tt_units_bytes(size, t->rates.read_bytes), tt_units_ns(took, t->rates.took_ns));
    if (!tt_list_print(l, NULL)) return false;
    printf("\nFor whatif --disk\n");
    tt_doctor_print_facts(&fit_schema, t, stdout);
    return true;
}

static bool print_json(const disk_test *t, const tt_listing *l)
{
    const tt_rowset set = TT_ROWSET(&test_schema, 0, NULL, t, 1);
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_rowset_json(&j, &set, t);
    tt_json_key(&j, "rates");
    tt_listing_json(&j, l);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int measure(disk_test *t, const char *path, bool with_bursts)
{
    char real[PATH_MAX], read[TT_UNITS_TEXT];
    struct stat st;
    tt_disk_fit fit;
    tt_error err;
    if (!realpath(path, real) || stat(real, &st) != 0)
        return tt_report_usage("%s: %s", path, strerror(errno));
    t->path = path;
    tt_host_disk_look("", real, (uint64_t)(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev), &t->disk);
    tt_report_note("reading %s for up to %u s and %s; nothing is written", path,
                   (unsigned)(TT_DISK_TOTAL_NS / 1000000000u),
                   tt_units_bytes(read, TT_DISK_READ_BYTES_MAX));
    if (tt_disk_measure(real, &t->rates, &err) != TT_OK)
        return tt_report_usage("%s: %s", path, err.message);
    t->bursts.problem = "how fast requests are was not measured";
    if (with_bursts && tt_disk_fit_requests(&t->rates, &fit)) {
        const tt_boost_reads reads = {.byte_ns = 1e9 / fit.bytes_per_s,
                                      .latency_ns = fit.latency_ns,
                                      .request_ns = fit.request_ns};
        tt_boost_bursts_measure(real, &reads, &t->bursts);
    }
    return TT_EXIT_OK;
}

int tt_doctor_disk(const char *path, const tt_list_options *list, bool json)
{
    disk_test *t = calloc(1, sizeof *t);
    tt_listing l = {0};
    if (!t) return tt_report_memory();
    const tt_rowset set =
        TT_ROWSET(&tt_doctor_disk_schema, 0, NULL, t->rates.cells, (size_t)TT_DISK_CELLS);
    const tt_listing_wish wish = tt_list_wish(list, json, NULL);
    /* A wrong option is reported before anything is measured. */
    int code = tt_list_check(&set, &wish);
    if (code == TT_EXIT_OK) code = measure(t, path, !list->csv);
    if (code == TT_EXIT_OK) code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(json        ? print_json(t, &l)
                                : list->csv ? tt_list_print_csv(&l)
                                            : print_text(t, &l));
    tt_listing_free(&l);
    free(t);
    return code;
}
