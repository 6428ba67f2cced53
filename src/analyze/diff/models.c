/* Whether two runs computed with the same model, by what is in its files. */
#include "analyze/diff/diff.h"
#include "base/order.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tensors of one side, by name. */
typedef struct side {
    const tt_model *m;
    const tt_weight **list;
    size_t n;
    bool *paired; /* by file: the other side has it, or all of its tensors */
} side;

/* By name, then by all that the same tensors have in common. */
static int order(const tt_weight *a, const tt_weight *b)
{
    int order = strcmp(a->name, b->name);
    if (order == 0) order = strcmp(a->type_name, b->type_name);
    if (order == 0) order = tt_order(a->size_bytes, b->size_bytes);
    if (order == 0) order = tt_order(a->n_dims, b->n_dims);
    return order ? order : memcmp(a->ne, b->ne, sizeof a->ne);
}

static int by_order(const void *a, const void *b)
{
    return order(*(const tt_weight *const *)a, *(const tt_weight *const *)b);
}

/* Of the unpaired files, into list. */
static bool list_tensors(side *s)
{
    free(s->list);
    s->n = 0;
    s->list = reallocarray(NULL, (size_t)s->m->n_weights + 1, sizeof(const tt_weight *));
    if (!s->list) return false;
    for (uint32_t i = 0; i < s->m->n_weights; i++)
        if (s->m->weights[i].file < s->m->n_files && !s->paired[s->m->weights[i].file])
            s->list[s->n++] = &s->m->weights[i];
    qsort(s->list, s->n, sizeof(const tt_weight *), by_order);
    return true;
}

typedef enum found { FOUND_NONE, FOUND_OTHER, FOUND_SAME } found;

static found find_tensor(const side *s, const tt_weight *w)
{
    size_t at;
    tt_lower_bound(at, s->n, order(s->list[at], w) < 0);
    if (at < s->n && order(s->list[at], w) == 0) return FOUND_SAME;
    /* Those of its name are next to each other. */
    const bool named = (at < s->n && strcmp(s->list[at]->name, w->name) == 0) ||
                       (at > 0 && strcmp(s->list[at - 1]->name, w->name) == 0);
    return named ? FOUND_OTHER : FOUND_NONE;
}

static const char *kv_of(const tt_model_file *f, const char *key)
{
    for (uint32_t i = 0; i < f->n_kvs; i++)
        if (strcmp(f->kvs[i].key, key) == 0) return f->kvs[i].value;
    return NULL;
}

/* What goes with a model rather than being one; NULL: a model. */
static const char *accessory_of(const tt_model_file *f)
{
    const char *type = kv_of(f, "general.type"), *name = kv_of(f, "general.architecture");
    if (type && strcmp(type, "adapter") == 0) return "an adapter";
    if (name && strcmp(name, "controlvector") == 0) return "a control vector";
    if ((type && strcmp(type, "mmproj") == 0) || (name && strcmp(name, "clip") == 0))
        return "a projector of other media";
    return NULL;
}

/* A file under another name, or elsewhere, is the same file. */
static void pair_files(side *a, side *b)
{
    for (uint32_t i = 0; i < a->m->n_files; i++)
        for (uint32_t k = 0; k < b->m->n_files && !a->paired[i]; k++) {
            const tt_model_file *f = &a->m->files[i], *g = &b->m->files[k];
            a->paired[i] = !b->paired[k] && f->head_hash != 0 && f->head_hash == g->head_hash &&
                           f->size_bytes == g->size_bytes;
            b->paired[k] |= a->paired[i];
        }
}

/* Files whose tensors are all on the other side: parts of its files, or with another head. */
static bool cover_files(side *s, const side *other, bool *covered)
{
    bool any = false;
    for (uint32_t f = 0; f < s->m->n_files; f++) {
        const tt_model_file *file = &s->m->files[f];
        covered[f] = !s->paired[f] && file->n_weights > 0;
        for (uint32_t i = 0; i < file->n_weights && covered[f]; i++) {
            const uint32_t w = file->first_weight + i;
            covered[f] = w < s->m->n_weights && find_tensor(other, &s->m->weights[w]) == FOUND_SAME;
        }
        any |= covered[f];
    }
    return any;
}

static void add(tt_diff_models *x, const char *between, const char *text)
{
    const size_t used = strlen(x->text);
    (void)snprintf(x->text + used, sizeof x->text - used, "%s%s", used ? between : "", text);
}

/* "B also has lora.gguf (an adapter)" */
static void tell_others(tt_diff_models *x, const side *s, char name)
{
    unsigned listed = 0;
    for (uint32_t f = 0; f < s->m->n_files; f++) {
        char text[160];
        const tt_model_file *file = &s->m->files[f];
        if (s->paired[f]) continue;
        if (listed++ == 4) {
            add(x, ", ", "...");
            return;
        }
        const char *what = accessory_of(file);
        (void)snprintf(text, sizeof text, "%.80s (%s)", tt_base_name(file->path),
                       what ? what : "another model");
        if (listed == 1) {
            char begin[24];
            (void)snprintf(begin, sizeof begin, "%c also has ", name);
            add(x, "; ", begin);
            add(x, "", text);
        } else
            add(x, ", ", text);
    }
}

static void tell_tensors(tt_diff_models *x, const side *a, const side *b)
{
    uint32_t same = 0, others = 0, only_a = 0, only_b = 0;
    char text[200];
    for (size_t i = 0; i < a->n; i++) {
        const found f = find_tensor(b, a->list[i]);
        same += f == FOUND_SAME;
        others += f == FOUND_OTHER;
        only_a += f == FOUND_NONE;
    }
    for (size_t i = 0; i < b->n; i++)
        only_b += find_tensor(a, b->list[i]) == FOUND_NONE;
    (void)snprintf(text, sizeof text,
                   "of the tensors, %" PRIu32 " are alike, %" PRIu32
                   " have another type or shape, %" PRIu32 " are in A only, %" PRIu32 " in B only",
                   same, others, only_a, only_b);
    add(x, "; ", text);
}

static bool any_model(const side *s, bool paired)
{
    for (uint32_t f = 0; f < s->m->n_files; f++)
        if (s->paired[f] == paired && !accessory_of(&s->m->files[f])) return true;
    return false;
}

static bool compare(side *a, side *b, tt_diff_models *out)
{
    bool *covered_a = calloc(a->m->n_files + (size_t)1, sizeof *covered_a);
    bool *covered_b = calloc(b->m->n_files + (size_t)1, sizeof *covered_b);
    pair_files(a, b);
    bool ok = covered_a && covered_b && list_tensors(a) && list_tensors(b);
    if (ok && cover_files(a, b, covered_a) && cover_files(b, a, covered_b)) {
        uint32_t n_a = 0, n_b = 0;
        for (uint32_t f = 0; f < a->m->n_files; f++) {
            a->paired[f] |= covered_a[f];
            n_a += covered_a[f];
        }
        for (uint32_t f = 0; f < b->m->n_files; f++) {
            b->paired[f] |= covered_b[f];
            n_b += covered_b[f];
        }
        char text[120];
        (void)snprintf(text, sizeof text,
                       "the same tensors are in %" PRIu32 " file%s in A and %" PRIu32 " in B", n_a,
                       n_a == 1 ? "" : "s", n_b);
        add(out, "",
            n_a != n_b ? text
                       : "the files have the same tensors, but begin differently: other "
                         "metadata, or other weights");
        ok = list_tensors(a) && list_tensors(b);
    }
    if (ok) {
        out->differ = !any_model(a, true) && any_model(a, false) && any_model(b, false);
        if (out->differ)
            tell_tensors(out, a, b);
        else {
            tell_others(out, a, 'A');
            tell_others(out, b, 'B');
        }
    }
    free(covered_a);
    free(covered_b);
    return ok;
}

bool tt_diff_compare_models(const tt_model *a, const tt_model *b, tt_diff_models *out)
{
    memset(out, 0, sizeof *out);
    if (a->n_files == 0 || b->n_files == 0) return true; /* not observed */
    side x = {.m = a, .paired = calloc(a->n_files, sizeof *x.paired)};
    side y = {.m = b, .paired = calloc(b->n_files, sizeof *y.paired)};
    const bool ok = x.paired && y.paired && compare(&x, &y, out);
    free(x.list);
    free(y.list);
    free(x.paired);
    free(y.paired);
    return ok;
}
