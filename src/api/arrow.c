/* The public calls of columns (tensortrace/arrow.h). */
#include "api/reader.h"
#include "arrow/analyses.h"
#include "arrow/stream.h"

#include <string.h>

#define FILTER "columns threads batch phase model context"
#define FILTER_OPS FILTER " layer op tensor"

static const tt_export_table *table_at(uint32_t index)
{
    size_t n;
    const tt_export_table *const *list = tt_export_tables(&n);
    return index < n ? list[index] : NULL;
}

static const tt_export_table *find_table(const char *name)
{
    const tt_export_table *t;
    for (uint32_t i = 0; name && (t = table_at(i)); i++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

const char *tt_arrow_table_name(uint32_t index)
{
    const tt_export_table *t = table_at(index);
    return t ? t->name : NULL;
}

const char *tt_arrow_table_about(const char *name)
{
    const tt_export_table *t = find_table(name);
    return t ? t->about : NULL;
}

const char *tt_arrow_analysis_name(uint32_t index)
{
    const tt_arrow_analysis_kind *k = tt_arrow_analysis_at(index);
    return k ? k->name : NULL;
}

const char *tt_arrow_analysis_about(const char *name)
{
    const tt_arrow_analysis_kind *k = tt_arrow_analysis_find(name);
    return k ? k->about : NULL;
}

tt_status tt_arrow_table(tt_reader *reader, const char *name, const char *const *options,
                         struct ArrowArrayStream *out, tt_error *err)
{
    const tt_export_table *t = find_table(name);
    tt_arrow_options o;
    memset(out, 0, sizeof *out);
    if (!t)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "there is no table \"%.40s\"",
                            name ? name : "");
    const char *takes = t->of_ops ? FILTER_OPS : t->filtered ? FILTER : "columns threads";
    tt_status status = tt_arrow_options_read(&o, t->name, takes, options, err);
    if (status == TT_OK) status = tt_arrow_table_stream(reader->held, t, &o, out, err);
    tt_arrow_options_free(&o);
    return status;
}

tt_status tt_arrow_analysis(tt_reader *reader, const char *name, const char *const *options,
                            struct ArrowArrayStream *out, tt_error *err)
{
    const tt_arrow_analysis_kind *k = tt_arrow_analysis_find(name);
    memset(out, 0, sizeof *out);
    if (!k)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "there is no analysis \"%.40s\"",
                            name ? name : "");
    return tt_arrow_analysis_stream(reader->m, k, options, out, err);
}

/* --- capsules --- */

#define STREAM "arrow_array_stream"
#define SCHEMA "arrow_schema"

static _Atomic(tt_arrow_pointer_of *) capsule_pointer;
static _Atomic(tt_arrow_give_back *) capsule_give_back;

static void destroy_stream(void *capsule)
{
    struct ArrowArrayStream *s = capsule_pointer(capsule, STREAM);
    if (s->release) s->release(s);
    capsule_give_back(s);
}

static void destroy_schema(void *capsule)
{
    struct ArrowSchema *s = capsule_pointer(capsule, SCHEMA);
    if (s->release) s->release(s);
    capsule_give_back(s);
}

tt_arrow_destructor *tt_arrow_capsule_destructor(const char *name, tt_arrow_pointer_of *pointer_of,
                                                 tt_arrow_give_back *give_back)
{
    capsule_pointer = pointer_of;
    capsule_give_back = give_back;
    return strcmp(name, STREAM) == 0   ? destroy_stream
           : strcmp(name, SCHEMA) == 0 ? destroy_schema
                                       : NULL;
}
