#include "dataset/verify_bitnet.h"

#include "analyze/verify/checks.h"
#include "bitnet/names.h"
#include "bitnet/read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the sums of an RMS may be off by: 2^20 additions of float64, generously. */
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

/* Of a file with one record. */
static void check_name(const tt_bitnet_item *i, tt_check *c)
{
    char name[TT_BITNET_FILE_NAME], plain[TT_BITNET_FILE_NAME];
    size_t n_base, length = strlen(i->file);
    if (length < 6 || strcmp(i->file + length - 6, ".trace") != 0) return;
    c->examined++;
    (void)tt_bitnet_file_name(i->record.name, tt_bitnet_file_number(i->file, &n_base), name);
    /* A name may itself end in what looks like a number. */
    (void)tt_bitnet_file_name(i->record.name, 1, plain);
    if (strcmp(name, i->file) != 0 && strcmp(plain, i->file) != 0)
        tt_check_offend(c, TT_NO_OFFSET, "%.120s: its record's file would be %.120s", i->file,
                        plain);
}

static tt_status check_file(tt_bitnet_folder *f, const char *folder, const char *file,
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
        status = check_file(&f, single ? NULL : path, f.files[i], checks, err);
        if (progress) progress(context, i + 1, f.n_files);
    }
    for (size_t i = 0; i < CHECKS && status == TT_OK; i++)
        if (checks[i].examined == 0)
            tt_check_not_observed(&checks[i], "no record has what it needs");
    tt_bitnet_free(&f);
    return status;
}
