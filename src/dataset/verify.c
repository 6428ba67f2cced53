#include "dataset/verify.h"

#include "base/order.h"
#include "dataset/text.h"
#include "dataset/verifier.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TT_DATASET_CHECKS <= TT_CHECKS_MAX, "callers have room for TT_CHECKS_MAX");

typedef struct driver {
    tt_dataset_folder folder;
    tt_dataset_verifier v;
    tt_bytes text;
    char *path; /* room for the folder's path and a name */
    size_t path_size;
    uint64_t done, total;
    tt_verify_progress *progress;
    void *context;
} driver;

/* --- files --- */

/* Texts of what is missing, as long as there is room. */
typedef struct missing {
    char text[TT_CHECK_TEXT - 80];
    size_t used;
    uint64_t n, left_out;
} missing;

static void miss(missing *m, tt_dataset_part part, uint64_t first, uint64_t last)
{
    char name[TT_DATASET_NAME], range[TT_DATASET_NAME + 32] = "";
    tt_dataset_name(part, (uint32_t)first, 0, name);
    if (last > first) (void)snprintf(range, sizeof range, " to token-%05u.json", (unsigned)last);
    m->n += last - first + 1;
    int n = snprintf(m->text + m->used, sizeof m->text - m->used, "%s%s%s", m->used ? ", " : "",
                     name, range);
    if (n < 0 || (size_t)n >= sizeof m->text - m->used) {
        m->text[m->used] = '\0';
        m->left_out += last - first + 1;
        return;
    }
    m->used += (size_t)n;
}

/* Tokens first to last are not there: those of them that were not left out are missing. */
static void miss_tokens(missing *m, const tt_dataset_verifier *v, tt_dataset_part part,
                        uint64_t first, uint64_t last)
{
    for (size_t i = 0; part >= TT_DATASET_GRAPH && i < v->n_left_out && first <= last; i++) {
        const tt_token_range *r = &v->left_out[i];
        if (r->last < first || r->first > last) continue;
        if (r->first > first) miss(m, part, first, r->first - 1);
        first = r->last + 1;
    }
    if (first <= last) miss(m, part, first, last);
}

/* The gaps of a list that ought to hold 0 to n - 1. */
static void miss_gaps(missing *m, const driver *d, tt_dataset_part part, uint64_t n)
{
    const tt_dataset_list *l = &d->folder.parts[part];
    uint64_t next = 0;
    for (size_t i = 0; i < l->n && next < n; i++) {
        uint64_t number = l->entries[i].number;
        if (number > next) miss_tokens(m, &d->v, part, next, number - 1);
        if (number >= next) next = number + 1;
    }
    if (next < n) miss_tokens(m, &d->v, part, next, n - 1);
}

/* How many tokens the run has: what experiment.json says, else up to the last that is there. */
static uint64_t expected_tokens(const driver *d)
{
    uint64_t n = 0;
    if (d->v.has_batches) {
        const uint64_t room =
            TT_NONE - (d->v.tokens_left_out < TT_NONE ? d->v.tokens_left_out : TT_NONE);
        return d->v.n_batches < room ? d->v.n_batches + d->v.tokens_left_out : TT_NONE;
    }
    for (unsigned part = TT_DATASET_GRAPH; part <= TT_DATASET_TRACE; part++) {
        const tt_dataset_list *l = &d->folder.parts[part];
        if (l->n && l->entries[l->n - 1].number >= n) n = (uint64_t)l->entries[l->n - 1].number + 1;
    }
    return n;
}

static bool is_left_out(const tt_dataset_verifier *v, uint64_t token)
{
    size_t low;
    tt_lower_bound(low, v->n_left_out, v->left_out[low].last < token);
    return low < v->n_left_out && v->left_out[low].first <= token;
}

static void check_doubles(driver *d, tt_dataset_part part, uint64_t n_tokens, tt_check *c)
{
    char a[TT_DATASET_NAME];
    const tt_dataset_list *l = &d->folder.parts[part];
    for (size_t i = 0; i < l->n; i++) {
        tt_dataset_name(part, l->entries[i].number, l->entries[i].packing, a);
        c->examined++;
        if (i > 0 && l->entries[i].number == l->entries[i - 1].number)
            tt_check_offend(c, TT_NO_OFFSET, "%s: the file is there in another form too", a);
        else if (part >= TT_DATASET_GRAPH && l->entries[i].number >= n_tokens)
            tt_check_offend(c, TT_NO_OFFSET, "%s: the experiment has %llu batches", a,
                            (unsigned long long)n_tokens);
        else if (part >= TT_DATASET_GRAPH && is_left_out(&d->v, l->entries[i].number))
            tt_check_offend(c, TT_NO_OFFSET, "%s: experiment.json says that it was left out", a);
    }
}

static void check_files(driver *d)
{
    tt_check *c = &d->v.checks[TT_CHECK_FILES];
    missing m = {0};
    uint64_t n_tokens = expected_tokens(d);
    for (unsigned part = 0; part < TT_DATASET_PARTS; part++)
        miss_gaps(&m, d, (tt_dataset_part)part, part < TT_DATASET_GRAPH ? 1 : n_tokens);
    if (m.n && m.left_out)
        tt_check_offend(c, TT_NO_OFFSET, "missing: %s, and %llu more", m.text,
                        (unsigned long long)m.left_out);
    else if (m.n)
        tt_check_offend(c, TT_NO_OFFSET, "missing: %s", m.text);
    if (m.n) c->offences += m.n - 1;
    if (n_tokens == 0)
        tt_check_offend(c, TT_NO_OFFSET, "there is no graph and no trace of any token");
    if (d->folder.odd_names)
        tt_check_offend(c, TT_NO_OFFSET, "%s: tokens are numbered token-00000.json and so on",
                        d->folder.odd_name);
    for (unsigned part = 0; part < TT_DATASET_PARTS; part++)
        check_doubles(d, (tt_dataset_part)part, n_tokens, c);
}

/* --- their contents --- */

static tt_status check_file(driver *d, tt_dataset_part part, const tt_dataset_entry *e,
                            tt_error *err)
{
    char name[TT_DATASET_NAME];
    tt_error why;
    tt_dataset_name(part, e->number, e->packing, name);
    (void)snprintf(d->path, d->path_size, "%s/%s", d->folder.path, name);
    if (d->progress) d->progress(d->context, ++d->done, d->total);
    tt_status status = tt_dataset_text_read(d->path, &d->text, &why);
    if (status == TT_E_MEMORY) {
        if (err) *err = why;
        return status;
    }
    if (status == TT_OK) {
        tt_dataset_verifier_file(&d->v, part, e->number, name, (const char *)d->text.data,
                                 d->text.size);
    } else {
        d->v.checks[TT_CHECK_JSON].examined++;
        tt_check_offend(&d->v.checks[TT_CHECK_JSON], TT_NO_OFFSET, "%s: %s", name, why.message);
    }
    if (d->v.no_memory)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check %s", d->path);
    return TT_OK;
}

/* A token's graph comes before its trace, which names the graph's nodes. */
static tt_status check_tokens(driver *d, tt_error *err)
{
    const tt_dataset_list *graphs = &d->folder.parts[TT_DATASET_GRAPH];
    const tt_dataset_list *traces = &d->folder.parts[TT_DATASET_TRACE];
    size_t g = 0, t = 0;
    tt_status status = TT_OK;
    while (status == TT_OK && (g < graphs->n || t < traces->n)) {
        bool graph = g < graphs->n &&
                     (t == traces->n || graphs->entries[g].number <= traces->entries[t].number);
        status = graph ? check_file(d, TT_DATASET_GRAPH, &graphs->entries[g++], err)
                       : check_file(d, TT_DATASET_TRACE, &traces->entries[t++], err);
    }
    return status;
}

static tt_status check_all(driver *d, tt_error *err)
{
    tt_status status = TT_OK;
    for (unsigned part = 0; part < TT_DATASET_PARTS; part++)
        d->total += d->folder.parts[part].n;
    for (unsigned part = 0; part < TT_DATASET_GRAPH; part++)
        for (size_t i = 0; i < d->folder.parts[part].n && i < 1 && status == TT_OK; i++)
            status = check_file(d, (tt_dataset_part)part, &d->folder.parts[part].entries[i], err);
    if (status == TT_OK) check_files(d);
    return status == TT_OK ? check_tokens(d, err) : status;
}

tt_status tt_dataset_verify(const char *path, tt_check *checks, size_t *n,
                            tt_verify_progress *progress, void *context, tt_error *err)
{
    driver d = {.progress = progress, .context = context};
    *n = 0;
    tt_status status = tt_dataset_folder_open(&d.folder, path, err);
    d.path_size = strlen(path) + TT_DATASET_NAME + 2;
    d.path = malloc(d.path_size);
    tt_bytes_init(&d.text, TT_DATASET_FILE_MAX);
    tt_dataset_verifier_begin(&d.v, checks);
    if (status == TT_OK && !d.path)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check %s", path);
    if (status == TT_OK) status = check_all(&d, err);
    for (unsigned i = 0; i < TT_DATASET_CHECKS; i++)
        if (checks[i].verdict == TT_CHECK_PASSED && checks[i].examined == 0)
            tt_check_not_observed(&checks[i], "there was nothing to examine");
    tt_bytes_free(&d.text);
    tt_dataset_verifier_free(&d.v);
    tt_dataset_folder_close(&d.folder);
    free(d.path);
    if (status == TT_OK) *n = TT_DATASET_CHECKS;
    return status;
}
