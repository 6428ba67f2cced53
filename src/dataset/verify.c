#include "dataset/verify.h"

#include "analyze/verify/checks.h"
#include "base/order.h"
#include "bitnet/names.h"
#include "bitnet/read.h"
#include "dataset/text.h"
#include "dataset/verifier.h"

#include <math.h>
#include <stdio.h>
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

/* Names of missing files, while they fit. */
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

/* Tokens first to last have no file: those that were not left out are missing. */
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

/* The gaps of a list that should have 0 to n - 1. */
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

/* The number of the run's tokens: from experiment.json, else up to the last file. */
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

/* Error bound of an RMS: 2^20 additions of float64, generously. */
#define RMS_SLACK 1e-9

enum { CHECK_RECORDS, CHECK_ELEMENTS, CHECK_VALUES, CHECK_RMS, CHECK_NAMES, CHECKS };

static const struct {
    const char *name, *what, *examined;
} texts[CHECKS] = {
    {"records", "each file holds whole records: JSON, every key with its type", "files"},
    {"elements", "as many elements as the shape has", "records"},
    {"first-values", "no more first values than elements", "records"},
    {"rms", "no value is larger than the RMS allows, and a value that is not finite has none",
     "records"},
    {"names", "each file has the name of its record", "files"},
};

static void offend(tt_check *c, const tt_bitnet_item *i, const char *what)
{
    tt_check_offend(c, TT_NO_OFFSET, "%.120s, line %llu: %s", i->file, (unsigned long long)i->line,
                    what);
}

static void check_elements(const tt_bitnet_item *i, tt_check *c)
{
    unsigned __int128 n = 1;
    const tt_bitnet_record *r = &i->record;
    for (uint32_t k = 0; k < r->n_dims && n <= UINT64_MAX; k++)
        n *= r->shape[k];
    /* A product that is too large may still become 0. */
    for (uint32_t k = 0; k < r->n_dims; k++)
        if (r->shape[k] == 0) n = 0;
    c->examined++;
    if (n != r->n_elements) offend(c, i, "\"num_elements\" is not the product of \"shape\"");
}

static void check_values(const tt_bitnet_item *i, tt_check *c)
{
    if (!i->record.has_first_values) return;
    c->examined++;
    if (i->record.n_first_values > i->record.n_elements)
        offend(c, i, "more \"first_values\" than \"num_elements\"");
}

/* |x| <= sqrt(sum of squares) = RMS * sqrt(n). */
static void check_rms(const tt_bitnet_item *i, tt_check *c)
{
    const tt_bitnet_record *r = &i->record;
    double most = r->rms * sqrt((double)r->n_elements) * (1 + RMS_SLACK);
    bool larger = false, not_finite = false;
    c->examined++;
    for (uint32_t k = 0; k < r->n_first_values; k++) {
        if (isnan(r->first_values[k]))
            not_finite = true;
        else if (fabs((double)r->first_values[k]) > most)
            larger = true;
    }
    if (!r->has_rms) return;
    if (r->n_elements == 0)
        offend(c, i, "there are no elements, but an \"rms\"");
    else if (not_finite)
        offend(c, i, "a first value is not finite, but the \"rms\" is");
    else if (larger)
        offend(c, i, "a first value is larger than the \"rms\" allows");
}

/* For a file with one record. */
static void check_name(const tt_bitnet_item *i, tt_check *c)
{
    char name[TT_BITNET_FILE_NAME], plain[TT_BITNET_FILE_NAME];
    size_t n_base, length = strlen(i->file);
    if (length < 6 || strcmp(i->file + length - 6, ".trace") != 0) return;
    c->examined++;
    (void)tt_bitnet_file_name(i->record.name, tt_bitnet_file_number(i->file, &n_base), name);
    /* A name may itself end in something like a number. */
    (void)tt_bitnet_file_name(i->record.name, 1, plain);
    if (strcmp(name, i->file) != 0 && strcmp(plain, i->file) != 0)
        tt_check_offend(c, TT_NO_OFFSET, "%.120s: its record's file would be %.120s", i->file,
                        plain);
}

static tt_status check_bitnet_file(tt_bitnet_folder *f, const char *folder, const char *file,
                                   tt_check *checks, tt_error *err)
{
    tt_error why;
    size_t first = f->n;
    tt_status status = tt_bitnet_read_file(f, folder, file, &why);
    checks[CHECK_RECORDS].examined++;
    if (status == TT_E_MEMORY) return tt_error_set(err, status, TT_NO_OFFSET, "%s", why.message);
    if (status != TT_OK) tt_check_offend(&checks[CHECK_RECORDS], TT_NO_OFFSET, "%s", why.message);
    for (size_t i = first; i < f->n; i++) {
        check_elements(&f->items[i], &checks[CHECK_ELEMENTS]);
        check_values(&f->items[i], &checks[CHECK_VALUES]);
        check_rms(&f->items[i], &checks[CHECK_RMS]);
    }
    if (folder && f->n - first == 1) check_name(&f->items[first], &checks[CHECK_NAMES]);
    return TT_OK;
}

static void begin(tt_check *checks)
{
    for (size_t i = 0; i < CHECKS; i++) {
        checks[i] = (tt_check){.name = texts[i].name,
                               .what = texts[i].what,
                               .verdict = TT_CHECK_PASSED,
                               .offset_bytes = TT_NO_OFFSET};
        (void)snprintf(checks[i].examined_what, sizeof checks[i].examined_what, "%s",
                       texts[i].examined);
    }
}

tt_status tt_bitnet_verify(const char *path, tt_check *checks, size_t *n,
                           tt_verify_progress *progress, void *context, tt_error *err)
{
    bool single;
    tt_bitnet_folder f = {0};
    begin(checks);
    *n = CHECKS;
    tt_status status = tt_bitnet_list(&f, path, &single, err);
    for (size_t i = 0; i < f.n_files && status == TT_OK; i++) {
        status = check_bitnet_file(&f, single ? NULL : path, f.files[i], checks, err);
        if (progress) progress(context, i + 1, f.n_files);
    }
    for (size_t i = 0; i < CHECKS && status == TT_OK; i++)
        if (checks[i].examined == 0)
            tt_check_not_observed(&checks[i], "no record has what it needs");
    tt_bitnet_free(&f);
    return status;
}
