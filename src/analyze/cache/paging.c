#include "analyze/cache/paging.h"

#include "base/array.h"
#include "base/units.h"
#include "policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct transfer {
    double begin_ns, end_ns;
} transfer;

/* How much of an op's bytes was requested, and when the last of it arrives. */
typedef struct progress {
    uint64_t requested;
    double whole_ns;
} progress;

typedef struct paging {
    const tt_paging_op *ops;
    size_t n;
    const tt_paging_reader *reader;
    const tt_disk_speed *disk;
    progress *progress;    /* of each op */
    size_t begun;          /* ops that have begun or are about to */
    size_t always, chosen; /* the first op of each kind that may have bytes to request */
    uint64_t ahead_bytes;  /* requested for ops that are not about to begin */
    double reader_ns;      /* time of the reader's last request */
    double disk_ns;        /* end of the last requested transfer */
    double group_end_ns;   /* arrival of the last group */
    double *arrivals;      /* of the last `depth` requests, as a ring */
    size_t requests;
    transfer *transfers; /* those that may not have ended, from first_transfer on */
    size_t n_transfers, transfers_capacity, first_transfer;
} paging;

/* The first op from *at on with bytes to request, of those that are always known or of the others;
 * n: none. */
static size_t next_of(const paging *p, size_t *at, bool always)
{
    while (*at < p->n && ((p->ops[*at].known_at == TT_PAGING_ALWAYS) != always ||
                          p->progress[*at].requested == p->ops[*at].missed_bytes))
        (*at)++;
    return *at;
}

/* The next op whose choice is known; n: none. */
static size_t next_chosen(paging *p)
{
    const size_t op = next_of(p, &p->chosen, false);
    return op < p->n && p->ops[op].known_at >= p->begun ? p->n : op;
}

/* The next op to request bytes for: the first known one. n: none, or no room for more. */
static size_t next_known(paging *p)
{
    const size_t always = next_of(p, &p->always, true), chosen = next_chosen(p);
    const size_t op = always < chosen ? always : chosen;
    return op >= p->begun && p->ahead_bytes >= p->reader->ahead_bytes ? p->n : op;
}

/* Takes the op's next bytes, at most so many; how many. */
static uint64_t take(paging *p, size_t op, uint64_t most)
{
    uint64_t size = p->ops[op].missed_bytes - p->progress[op].requested;
    if (size > most) size = most;
    p->progress[op].requested += size;
    if (op >= p->begun) p->ahead_bytes += size;
    return size;
}

/* Of n requests. */
static bool add_transfer(paging *p, double at_ns, uint32_t n, uint64_t bytes)
{
    transfer t = {at_ns > p->disk_ns ? at_ns : p->disk_ns, 0};
    t.end_ns = t.begin_ns + n * p->disk->request_ns + (double)bytes / p->disk->bytes_per_s * 1e9;
    p->disk_ns = t.end_ns;
    p->reader_ns = at_ns;
    if (!tt_array_one_more(p->transfers, p->n_transfers, p->transfers_capacity)) return false;
    p->transfers[p->n_transfers++] = t;
    return true;
}

static bool request(paging *p, size_t op, double at_ns)
{
    if (!add_transfer(p, at_ns, 1, take(p, op, p->reader->request_bytes))) return false;
    p->progress[op].whole_ns = p->disk_ns + p->disk->latency_ns;
    p->arrivals[p->requests++ % p->reader->depth] = p->progress[op].whole_ns;
    return true;
}

static bool request_group(paging *p, size_t first, double at_ns)
{
    const bool follows = at_ns <= p->group_end_ns + p->disk->group_ns;
    uint64_t bytes = 0;
    uint32_t n = 0;
    size_t last = first;
    for (size_t op = first; op < p->n && p->ops[op].group_request_bytes; op = next_chosen(p)) {
        if (!tt_policy_may_read(n, bytes)) break;
        n++;
        bytes += take(p, op, p->ops[op].group_request_bytes);
        last = op;
    }
    if (!add_transfer(p, at_ns, n, bytes)) return false;
    p->group_end_ns = p->disk_ns + (follows ? 0 : p->disk->latency_ns);
    for (size_t i = first; i <= last; i++)
        if (p->ops[i].group_request_bytes) p->progress[i].whole_ns = p->group_end_ns;
    return true;
}

/* Lets the reader make requests before until_ns; with `op`, at least all of that one's. */
static bool read_until(paging *p, double until_ns, size_t op)
{
    for (;;) {
        const bool wanted = op < p->n && p->progress[op].requested < p->ops[op].missed_bytes;
        const size_t next = next_known(p);
        const bool grouped = next < p->n && p->ops[next].group_request_bytes;
        double at = grouped ? p->group_end_ns + p->disk->group_ns
                            : p->arrivals[p->requests % p->reader->depth];
        if (at < p->reader_ns) at = p->reader_ns;
        if (next == p->n || (!wanted && at >= until_ns)) return true;
        if (!(grouped ? request_group(p, next, at) : request(p, next, at))) return false;
    }
}

/* How long the disk transferred within from_ns .. to_ns; calls must be for ascending times. */
static double transferring(paging *p, double from_ns, double to_ns)
{
    double sum = 0;
    while (p->first_transfer < p->n_transfers && p->transfers[p->first_transfer].end_ns <= from_ns)
        p->first_transfer++;
    for (size_t i = p->first_transfer; i < p->n_transfers && p->transfers[i].begin_ns < to_ns; i++)
        sum += fmin(p->transfers[i].end_ns, to_ns) - fmax(p->transfers[i].begin_ns, from_ns);
    if (p->first_transfer == p->n_transfers) p->first_transfer = p->n_transfers = 0;
    return sum;
}

static bool compute(paging *p, tt_paging_op *ops)
{
    double now = 0;
    for (size_t i = 0; i < p->n; i++) {
        now += ops[i].before_ns + ops[i].prepare_ns;
        if (!read_until(p, now, p->n)) return false;
        /* The op is about to begin: what it reads is known from now on. */
        p->begun = i + 1;
        p->ahead_bytes -= p->progress[i].requested;
        if (p->reader_ns < now) p->reader_ns = now;
        if (ops[i].is_guess) p->progress[i] = (progress){ops[i].missed_bytes, 0};
        if (!read_until(p, now, i)) return false;
        const double whole = p->progress[i].whole_ns;
        ops[i].wait_ns = ops[i].missed_bytes && whole > now ? whole - now : 0;
        ops[i].transfer_ns = transferring(p, now, now + ops[i].wait_ns);
        now += ops[i].wait_ns + ops[i].compute_ns;
        ops[i].wait_ns += ops[i].prepare_ns;
        if (!read_until(p, now, p->n)) return false;
    }
    return true;
}

bool tt_paging_run(tt_paging_op *ops, size_t n, const tt_paging_reader *reader,
                   const tt_disk_speed *disk)
{
    paging p = {.ops = ops, .n = n, .reader = reader, .disk = disk, .group_end_ns = -INFINITY};
    p.progress = calloc(n + 1, sizeof *p.progress);
    p.arrivals = calloc(reader->depth, sizeof *p.arrivals);
    const bool ok = p.progress && p.arrivals && compute(&p, ops);
    free(p.progress);
    free(p.arrivals);
    free(p.transfers);
    return ok;
}

tt_status tt_disk_speed_parse(const char *text, tt_disk_speed *disk, tt_error *err)
{
    double *const times[] = {&disk->latency_ns, &disk->request_ns, &disk->begin_ns, &disk->group_ns,
                             &disk->move_ns};
    enum { GROUP = 4 }; /* index of its word */
    const size_t n_times = sizeof times / sizeof *times;
    disk->grouped = false;
    for (size_t i = 0; text; i++) {
        char word[48];
        const size_t n = strcspn(text, ",");
        (void)snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : (int)sizeof word - 1,
                       text);
        text = text[n] ? text + n + 1 : NULL;
        if (i == 0) {
            const tt_status status = tt_units_parse_rate(word, &disk->bytes_per_s, err);
            if (status != TT_OK) return status;
        } else if (i == GROUP && !n && text) {
            continue;
        } else if (i > n_times || !tt_units_parse_time(word, times[i - 1])) {
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "\"%.40s\" is not a time: "
                                "RATE,LATENCY,REQUEST,BEGIN,GROUP,MOVE as in "
                                "1.3G,50us,10us,180us,300us,40us",
                                word);
        }
        disk->grouped |= i == GROUP;
    }
    return TT_OK;
}
