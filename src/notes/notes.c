#include "notes/notes.h"

#include "base/array.h"
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)TT_NOTES_MAX * TT_NOTES_CHANGE_MAX)
#define INTEGER_MAX ((json_int_t)1 << 53)
#define ID_MAX ((uint64_t)1 << 52)

static tt_status wrong(tt_error *err, const char *what)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s", what);
}

static void clear(tt_note *note)
{
    free(note->text);
    free(note->tensor);
    free(note->fragment);
}

void tt_notes_free(tt_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        clear(&notes->list[i]);
    free(notes->list);
    *notes = (tt_notes){0};
}

/* --- reading --- */

/* A text, or null. */
static bool take_text(const json_t *object, const char *key, char **out)
{
    const json_t *v = json_object_get(object, key);
    if (!v || json_is_null(v)) return true;
    if (!json_is_string(v) || json_string_length(v) > TT_NOTES_TEXT_MAX) return false;
    *out = strdup(json_string_value(v));
    return *out != NULL;
}

static bool take_number(const json_t *object, const char *key, bool *has, uint64_t *out)
{
    const json_t *v = json_object_get(object, key);
    if (!v || json_is_null(v)) return true;
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INTEGER_MAX)
        return false;
    *has = true;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static bool take_time(const json_t *object, tt_note *note)
{
    const json_t *v = json_object_get(object, "time_ns");
    if (!v || json_is_null(v)) return true;
    if (!json_is_number(v) || !isfinite(json_number_value(v))) return false;
    note->has_time = true;
    note->time_ns = json_number_value(v);
    return true;
}

static bool is_known(const char *key)
{
    static const char *const keys[] = {"note_id",  "text",   "time_ns",  "batch_id",
                                       "layer_id", "tensor", "fragment", "place"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

/* Everything but its number. */
static tt_status take_note(json_t *object, tt_note *note, tt_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return wrong(err, "a note is an object");
    json_object_foreach(object, key, value) if (!is_known(key)) return wrong(
        err, "a note has text, time_ns, batch_id, layer_id, tensor and fragment");
    if (!take_text(object, "text", &note->text) || !take_text(object, "tensor", &note->tensor) ||
        !take_text(object, json_object_get(object, "place") ? "place" : "fragment",
                   &note->fragment))
        return wrong(err, "a note's texts have at most 4,000 bytes");
    if (!note->text || !*note->text) return wrong(err, "a note has a text");
    if (!take_number(object, "batch_id", &note->has_batch, &note->batch_id) ||
        !take_number(object, "layer_id", &note->has_layer, &note->layer_id) ||
        !take_time(object, note))
        return wrong(err, "time_ns, batch_id and layer_id of a note are numbers, or null");
    return TT_OK;
}

/* Adds the note; `id` 0: the next free number. */
static tt_status add(tt_notes *notes, json_t *object, uint64_t id, tt_error *err)
{
    tt_note note = {0};
    note.note_id = id ? id : 1;
    for (size_t i = 0; id == 0 && i < notes->n; i++)
        if (notes->list[i].note_id >= note.note_id) note.note_id = notes->list[i].note_id + 1;
    tt_status status = TT_OK;
    if (notes->n >= TT_NOTES_MAX)
        status = wrong(err, "there are 1,000 notes already");
    else if (note.note_id > ID_MAX)
        status = wrong(err, "no number is left for another note");
    if (status == TT_OK) status = take_note(object, &note, err);
    if (status == TT_OK && !tt_array_one_more(notes->list, notes->n, notes->capacity))
        status = tt_error_memory(err, "the notes");
    if (status == TT_OK)
        notes->list[notes->n++] = note;
    else
        clear(&note);
    return status;
}

static tt_status take_all(json_t *root, tt_notes *out, tt_error *err)
{
    json_t *list = json_object_get(root, "notes"), *each;
    size_t i;
    if (!json_is_array(list)) return wrong(err, "it has no list of notes");
    json_array_foreach(list, i, each)
    {
        uint64_t id = 0;
        bool has = false;
        if (!take_number(each, "note_id", &has, &id) || id == 0 || id > ID_MAX)
            return wrong(err, "a note's note_id is a number from 1 on");
        tt_status status = add(out, each, id, err);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

static char *path_of(const char *trace_path)
{
    const size_t n = strlen(trace_path) + sizeof TT_NOTES_ENDING;
    char *path = malloc(n);
    if (path) (void)snprintf(path, n, "%s%s", trace_path, TT_NOTES_ENDING);
    return path;
}

/* As much of the file as jansson wants, but not without end. */
typedef struct limited {
    FILE *in;
    size_t left;
} limited;

static size_t read_some(void *buffer, size_t n, void *data)
{
    limited *l = data;
    const size_t got = fread(buffer, 1, n < l->left ? n : l->left, l->in);
    l->left -= got;
    return got;
}

/* Of a pipe or a device nobody knows when it answers: they are no notes. */
static FILE *open_notes(const char *path)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *in = NULL;
    if (fd < 0) return NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        errno = EINVAL;
    else
        in = fdopen(fd, "r");
    if (!in) (void)close(fd);
    return in;
}

tt_status tt_notes_read(const char *trace_path, tt_notes *out, tt_error *err)
{
    char *path = path_of(trace_path);
    if (!path) return tt_error_memory(err, "the notes");
    limited l = {open_notes(path), FILE_BYTES_MAX};
    tt_status status = TT_OK;
    if (l.in) {
        json_error_t why;
        json_t *root = json_load_callback(read_some, &l, JSON_REJECT_DUPLICATES, &why);
        tt_error inner = {0};
        if (!root)
            status = tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%s: line %d: %.100s", path,
                                  why.line, why.text);
        else if (take_all(root, out, &inner) != TT_OK)
            status =
                tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%s: %.200s", path, inner.message);
        json_decref(root);
        (void)fclose(l.in);
    } else if (errno != ENOENT) {
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: %s", path, strerror(errno));
    }
    free(path);
    return status;
}

/* --- changing --- */

static tt_note *find(tt_notes *notes, const json_t *id)
{
    for (size_t i = 0; json_is_integer(id) && i < notes->n; i++)
        if ((json_int_t)notes->list[i].note_id == json_integer_value(id)) return &notes->list[i];
    return NULL;
}

static tt_status missing(tt_error *err)
{
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "there is no such note");
}

static tt_status change(tt_notes *notes, const json_t *what, tt_error *err)
{
    tt_note *note = find(notes, json_object_get(what, "note_id"));
    char *text = NULL;
    if (json_object_size(what) != 2) return wrong(err, "a change has note_id and text");
    if (!take_text(what, "text", &text) || !text || !*text) {
        free(text);
        return wrong(err, "a note has a text of at most 4,000 bytes");
    }
    if (!note) {
        free(text);
        return missing(err);
    }
    free(note->text);
    note->text = text;
    return TT_OK;
}

static tt_status drop(tt_notes *notes, const json_t *id, tt_error *err)
{
    tt_note *note = find(notes, id);
    if (!note) return missing(err);
    clear(note);
    const size_t behind = notes->n - (size_t)(note - notes->list) - 1;
    memmove(note, note + 1, behind * sizeof *note);
    notes->n--;
    return TT_OK;
}

tt_status tt_notes_change(tt_notes *notes, const char *json, size_t n, tt_error *err)
{
    json_error_t why;
    json_t *root = json_loadb(json, n, JSON_REJECT_DUPLICATES, &why), *what;
    tt_status status;
    if (json_object_size(root) != 1)
        status = wrong(err, "a change is JSON: {\"add\": {...}}, {\"change\": {...}} or "
                            "{\"remove\": NUMBER}");
    else if ((what = json_object_get(root, "add")))
        status = json_object_get(what, "note_id") ? wrong(err, "a new note gets its number here")
                                                  : add(notes, what, 0, err);
    else if ((what = json_object_get(root, "change")))
        status = change(notes, what, err);
    else if ((what = json_object_get(root, "remove")))
        status = drop(notes, what, err);
    else
        status = wrong(err, "a change is add, change or remove");
    json_decref(root);
    return status;
}

/* --- writing --- */

void tt_notes_json(tt_json *j, const tt_notes *notes)
{
    tt_json_array(j);
    for (size_t i = 0; i < notes->n; i++) {
        const tt_note *note = &notes->list[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "note_id", note->note_id);
        tt_json_kv_string(j, "text", note->text);
        tt_json_kv_double_or_null(j, "time_ns", note->has_time, note->time_ns);
        tt_json_kv_u64_or_null(j, "batch_id", note->has_batch, note->batch_id);
        tt_json_kv_u64_or_null(j, "layer_id", note->has_layer, note->layer_id);
        tt_json_kv_string(j, "tensor", note->tensor);
        tt_json_kv_string(j, "fragment", note->fragment);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

bool tt_notes_are_writable(const char *trace_path)
{
    char *copy = strdup(trace_path), *path = path_of(trace_path);
    const bool can = copy && path && access(dirname(copy), W_OK) == 0 &&
                     (access(path, F_OK) != 0 || access(path, W_OK) == 0);
    free(copy);
    free(path);
    return can;
}

/* Whoever may not read the trace may not read what is said of it. */
static void keep_mode(FILE *to, const char *path, const char *trace_path)
{
    struct stat st;
    if (stat(path, &st) == 0 || stat(trace_path, &st) == 0)
        (void)fchmod(fileno(to), st.st_mode & 0666);
}

tt_status tt_notes_write(const char *trace_path, const tt_notes *notes, tt_error *err)
{
    char *path = path_of(trace_path);
    tt_outfile file;
    if (!path) return tt_error_memory(err, "the notes");
    tt_status status = tt_outfile_open(&file, path, true, err);
    if (status == TT_OK) {
        tt_json j;
        keep_mode(file.stream, path, trace_path);
        tt_json_begin(&j, file.stream, 1);
        tt_json_object(&j);
        tt_json_key(&j, "notes");
        tt_notes_json(&j, notes);
        tt_json_object_end(&j);
        if (tt_json_end(&j)) {
            status = tt_outfile_commit(&file, err);
        } else {
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: %s", path, strerror(errno));
            tt_outfile_abandon(&file);
        }
    }
    free(path);
    return status;
}
