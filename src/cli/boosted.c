#include "cli/boosted.h"

#include "base/units.h"
#include "cli/report.h"
#include "table/table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static tt_boost_report *map_report(int fd)
{
    void *at = mmap(NULL, sizeof(tt_boost_report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* The descriptor stays open, as others open it by its name in /proc. */
tt_boost_report *tt_boosted_report_new(void)
{
    char path[64];
    const int fd = memfd_create("tensortrace-boost", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(tt_boost_report)) != 0) return NULL;
    (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    tt_boost_report *b = setenv(TT_ENV_BOOST_REPORT, path, 1) == 0 ? map_report(fd) : NULL;
    if (b) atomic_store(&b->magic, TT_BOOST_REPORT_NEW);
    return b;
}

/* NULL: nobody has counted in it. */
static const tt_boost_report *report_of_parent(void)
{
    const char *path = getenv(TT_ENV_BOOST_REPORT);
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    const tt_boost_report *b = tt_boost_report_is(fd) ? map_report(fd) : NULL;
    if (fd >= 0) (void)close(fd);
    return b && atomic_load(&b->magic) == TT_BOOST_REPORT_MAGIC ? b : NULL;
}

/* --- figures --- */

/* Rates of generated tokens after the first, by the time of their graphs; NAN: not known. */
typedef struct figures {
    uint64_t graphs, tokens, reads, read_bytes, slices_used, slices_missed, slices_left;
    uint64_t evictions, peak_bytes, waited_ns;
    bool fits;
    const char *problem; /* NULL: there was none */
    double rate, token_bytes, disk_bytes_per_s;
    double compute_rate, disk_rate; /* bounds: without waits; as fast as the disk reads */
    double bound;                   /* the lower one */
} figures;

static double per_s(double n, double ns)
{
    return n > 0 && ns > 0 ? n / ns * 1e9 : NAN;
}

static figures figures_of(const tt_boost_report *b)
{
    const double tokens = (double)atomic_load(&b->tokens), ns = (double)atomic_load(&b->token_ns);
    const double bytes = (double)atomic_load(&b->token_read_bytes);
    const double disk = tt_boost_report_disk(b);
    figures f = {.graphs = atomic_load(&b->graphs),
                 .tokens = atomic_load(&b->tokens),
                 .reads = atomic_load(&b->reads),
                 .read_bytes = atomic_load(&b->read_bytes),
                 .slices_used = atomic_load(&b->slices_used),
                 .slices_missed = atomic_load(&b->slices_read),
                 .slices_left = atomic_load(&b->slices_left),
                 .evictions = atomic_load(&b->evictions),
                 .peak_bytes = atomic_load(&b->pool_peak_bytes),
                 .waited_ns = atomic_load(&b->waited_ns),
                 .problem = atomic_load(&b->has_problem) ? b->problem : NULL};
    f.fits = f.graphs && atomic_load(&b->fits) == f.graphs;
    f.rate = per_s(tokens, ns);
    f.token_bytes = tokens > 0 ? bytes / tokens : NAN;
    f.disk_bytes_per_s = disk > 0 ? disk : NAN;
    f.compute_rate = per_s(tokens, ns - (double)atomic_load(&b->token_waited_ns));
    f.disk_rate = disk > 0 && bytes > 0 ? per_s(tokens, bytes / disk * 1e9) : NAN;
    f.bound = fmin(f.compute_rate, f.disk_rate);
    return f;
}

/* Of slices that ops used, those that were there; NAN: there are none. */
static double hits(const figures *f)
{
    return f->slices_used ? 1 - (double)(f->slices_missed + f->slices_left) / (double)f->slices_used
                          : NAN;
}

TT_COLUMN_VALUE(get_hits, figures, f, f64, hits(f))

#define MEMBER(member_) TT_MEMBER(figures, member_)
static const tt_column columns[] = {
    TT_FIELD("tokens_per_s", "of generated tokens after the first", MEMBER(rate), .nullable = true),
    TT_FIELD("at_most_tokens_per_s", "the smaller of the next two", MEMBER(bound),
             .nullable = true),
    TT_FIELD("compute_tokens_per_s", "without the waits for reads", MEMBER(compute_rate),
             .nullable = true),
    TT_FIELD("disk_tokens_per_s", "as fast as the disk reads", MEMBER(disk_rate), .nullable = true),
    TT_FIELD("disk_bytes_per_s", "the 90th percentile of what was read at a time",
             MEMBER(disk_bytes_per_s), .nullable = true),
    TT_FIELD("read_bytes_per_token", "of these tokens", MEMBER(token_bytes), .nullable = true),
    TT_FIELD("n_tokens", "of these", MEMBER(tokens)),
    TT_FIELD("graphs", "computations that read weights", MEMBER(graphs)),
    TT_FIELD("fits", "all weights fit: nothing was to be done", MEMBER(fits)),
    TT_FIELD("read_bytes", "in all", MEMBER(read_bytes)),
    TT_FIELD("reads", "of these bytes", MEMBER(reads)),
    TT_FIELD("peak_bytes", "the most that the pool held", MEMBER(peak_bytes)),
    TT_FIELD("waited_ns", "by threads at the start of ops, a sum over threads", MEMBER(waited_ns)),
    TT_FIELD("slices_used", "slices of experts that ops used", MEMBER(slices_used)),
    TT_FIELD("slices_missed", "of these, read for that use", MEMBER(slices_missed)),
    TT_FIELD("slices_left", "of these, left to the kernel's paging", MEMBER(slices_left)),
    TT_FIELD("hit_share", "the others, of slices_used", .type = TT_CELL_F64, .get = get_hits,
             .nullable = true),
    TT_FIELD("evictions", "ranges that were given up for others", MEMBER(evictions)),
    TT_FIELD("problem", "what kept boost from doing more", MEMBER(problem), .nullable = true),
};
static const tt_schema schema = TT_SCHEMA("boost", "what boost did", columns);

void tt_boosted_report_json(tt_json *j)
{
    const tt_boost_report *b = report_of_parent();
    if (!getenv(TT_ENV_BOOST_REPORT)) return;
    const figures f = b ? figures_of(b) : (figures){0};
    tt_row_json(j, "boost", &schema, NULL, b ? &f : NULL);
}

/* --- text --- */

static void print_rate(const figures *f)
{
    char rate[TT_UNITS_TEXT], most[TT_UNITS_TEXT], disk[TT_UNITS_TEXT], bytes[TT_UNITS_TEXT];
    const bool by_disk = f->bound == f->disk_rate; /* false if that is not known */
    if (isnan(f->rate) || isnan(f->bound)) return;
    tt_report_note("boost: %s tokens/s after the first, %.0f %% of the %s that %s%s%s; %s read a "
                   "token",
                   tt_units_speed(rate, f->rate), 100 * fmin(f->rate / f->bound, 1),
                   tt_units_speed(most, fmax(f->bound, f->rate)),
                   by_disk ? "the disk allows (" : "computing alone allows",
                   by_disk ? tt_units_rate(disk, f->disk_bytes_per_s) : "", by_disk ? ")" : "",
                   tt_units_bytes(bytes, (uint64_t)llround(f->token_bytes)));
}

static void print_experts(const figures *f)
{
    if (f->slices_used)
        tt_report_note("boost: %.1f %% of %" PRIu64 " slices of experts that ops used were there, "
                       "%" PRIu64 " were read, %" PRIu64 " left to the kernel's paging",
                       100 * hits(f), f->slices_used, f->slices_missed, f->slices_left);
}

void tt_boosted_report_print(const tt_boost_report *b, bool quiet, bool failed)
{
    char read[TT_UNITS_TEXT], peak[TT_UNITS_TEXT];
    const figures f = figures_of(b);
    if (atomic_load(&b->has_problem)) tt_report_note("boost: %.251s", b->problem);
    if (failed && !f.graphs) return;
    if (atomic_load(&b->magic) != TT_BOOST_REPORT_MAGIC)
        tt_report_note("boost: the program never loaded the hook library, or could not open this "
                       "report: nothing is known to be done");
    else if (!atomic_load(&b->regions))
        tt_report_note("boost: the program mapped no model: nothing was done");
    else if (!atomic_load(&b->weights_bytes))
        tt_report_note("boost: no op read weights where the model is mapped: they were copied "
                       "(llama.cpp: --no-repack), or the engine does not tell its ops");
    if (quiet || !f.graphs || (!f.read_bytes && atomic_load(&b->has_problem))) return;
    if (f.fits) {
        tt_report_note("boost: the weights fit: nothing to do");
        return;
    }
    print_rate(&f);
    tt_report_note("boost: %s read in %" PRIu64 " reads by %s for %" PRIu64
                   " graphs; the pool held %s at most; compute threads waited %.3f s for it",
                   tt_units_bytes(read, f.read_bytes), f.reads,
                   atomic_load(&b->urings) ? "io_uring" : "threads", f.graphs,
                   tt_units_bytes(peak, f.peak_bytes), (double)f.waited_ns / 1e9);
    print_experts(&f);
}
