#include "experiment/store.h"

#include "base/outfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INDEX "experiments.json"
#define UNFINISHED ".unfinished-"
#define EARLIER_TRIES 100

/* The names that readers open, and their compressed forms. */
static const char *const names[] = {
    "experiment.json", "experiment.json.zst",    "experiment.json.gz",
    "memory-map.json", "memory-map.json.zst",    "memory-map.json.gz",
    "graphs",          "buffer-timeline.json",   "buffer-timeline.json.zst",
    "traces",          "buffer-timeline.json.gz"};
#define NAMES (sizeof names / sizeof *names)
/* Further names that readers open. */
static const char *const other_names[] = {TT_RESULT_CURRENT, INDEX};
#define OTHER_NAMES (sizeof other_names / sizeof *other_names)

static tt_status io_error(tt_error *err, const char *what, const char *path)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot %s %.250s: %s", what, path,
                        strerror(errno));
}

static bool put_path(char out[PATH_MAX], const char *folder, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX;
}

static tt_status too_long(const char *folder, tt_error *err)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "the path is too long: %.200s...", folder);
}

/* --- entries of earlier pipelines --- */

static bool leads_to(const char *path, const char *wanted)
{
    char target[64];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) return false;
    target[n] = '\0';
    return strcmp(target, wanted) == 0;
}

static bool is_ours(const char *path, const char *name)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, TT_RESULT_CURRENT "/%s", name);
    return leads_to(path, wanted);
}

/* Name number i if an entry of that name is not ours; its path goes to out. */
static const char *foreign(const char *folder, size_t i, char out[PATH_MAX])
{
    struct stat st;
    char current[TT_RESULT_FOLDER];
    const char *name = i < NAMES ? names[i] : other_names[i - NAMES];
    if (!put_path(out, folder, name) || lstat(out, &st) != 0) return NULL;
    /* The list is not a link; it is ours if the other names are. */
    bool ours = i < NAMES ? is_ours(out, name) : tt_result_current(folder, current);
    return ours ? NULL : name;
}

size_t tt_store_foreign(const char *folder, void (*found)(void *context, const char *name),
                        void *context)
{
    char path[PATH_MAX];
    size_t n = 0;
    for (size_t i = 0; i < NAMES + OTHER_NAMES; i++) {
        const char *name = foreign(folder, i, path);
        if (!name) continue;
        if (found) found(context, name);
        n++;
    }
    return n;
}

/* Makes a new folder OUT/earlier-DATE-TIME. */
static tt_status make_earlier(const char *folder, char out[PATH_MAX], tt_error *err)
{
    char name[64], stamp[32];
    time_t now = time(NULL);
    struct tm local;
    (void)strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    for (int i = 1; i <= EARLIER_TRIES; i++) {
        char number[16] = "";
        if (i > 1) (void)snprintf(number, sizeof number, "-%d", i);
        (void)snprintf(name, sizeof name, "earlier-%s%s", stamp, number);
        if (!put_path(out, folder, name)) return too_long(folder, err);
        if (mkdir(out, 0777) == 0) return TT_OK;
        if (errno != EEXIST) break;
    }
    return io_error(err, "create", out);
}

tt_status tt_store_move_foreign(const char *folder, char out[PATH_MAX], tt_error *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    tt_status status = make_earlier(folder, out, err);
    for (size_t i = 0; status == TT_OK && i < NAMES + OTHER_NAMES; i++) {
        const char *name = foreign(folder, i, from);
        if (!name) continue;
        if (!put_path(to, out, name)) return too_long(out, err);
        if (rename(from, to) != 0) status = io_error(err, "move", from);
    }
    return status;
}

/* --- the folder --- */

tt_status tt_store_open(tt_store *s, const char *folder, tt_error *err)
{
    memset(s, 0, sizeof *s);
    s->lock = -1;
    tt_status status = tt_outdir_make(folder, err);
    if (status != TT_OK) return status;
    if (access(folder, W_OK | X_OK) != 0) return io_error(err, "write into", folder);
    s->folder = strdup(folder);
    if (!s->folder) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    s->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) == 0) return TT_OK;
    bool taken = errno == EWOULDBLOCK;
    if (s->lock >= 0) (void)close(s->lock);
    s->lock = -1;
    if (!taken) return TT_OK;
    tt_store_close(s);
    return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET,
                        "another `tensortrace experiment` is at work in %.250s", folder);
}

void tt_store_close(tt_store *s)
{
    if (s->lock >= 0) (void)close(s->lock);
    free(s->folder);
    memset(s, 0, sizeof *s);
    s->lock = -1;
}

static bool is_leftover(const char *folder, const char *name, char path[PATH_MAX])
{
    struct stat st;
    return strncmp(name, UNFINISHED, strlen(UNFINISHED)) == 0 && put_path(path, folder, name) &&
           lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

size_t tt_store_clean(const tt_store *s)
{
    char path[PATH_MAX];
    size_t n = 0;
    DIR *dir = s->lock >= 0 ? opendir(s->folder) : NULL;
    if (!dir) return 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (is_leftover(s->folder, entry->d_name, path) && tt_outdir_remove(path)) n++;
    (void)closedir(dir);
    return n;
}

tt_status tt_store_begin(const tt_store *s, char out[PATH_MAX], tt_error *err)
{
    if (!put_path(out, s->folder, UNFINISHED "XXXXXX")) return too_long(s->folder, err);
    return mkdtemp(out) ? TT_OK : io_error(err, "create a folder in", s->folder);
}

#define WORDS_MOST 48 /* characters of the words of a name */

/* Appends the text in lower case, with a dash for other characters than ASCII letters and
 * digits. */
static void add_words(char words[WORDS_MOST + 1], const char *text)
{
    size_t n = strlen(words);
    bool gap = n > 0;
    for (; *text && n < WORDS_MOST; text++) {
        const bool plain = isascii((unsigned char)*text) && isalnum((unsigned char)*text);
        if (plain && gap && n) words[n++] = '-';
        if (plain && n < WORDS_MOST) words[n++] = (char)tolower((unsigned char)*text);
        gap = !plain;
    }
    while (n && words[n - 1] == '-')
        n--;
    words[n] = '\0';
}

void tt_store_name(const tt_store *s, const char *domain, const char *label, const char *otherwise,
                   char name[TT_RESULT_FOLDER])
{
    char words[WORDS_MOST + 1] = "", of_domain[WORDS_MOST + 1] = "", of_label[WORDS_MOST + 1] = "";
    unsigned long highest = 0;
    DIR *dir = opendir(s->folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        const bool is_numbered = tt_result_is_name(e->d_name) && !tt_result_is_id(e->d_name);
        const unsigned long number = is_numbered ? strtoul(e->d_name, NULL, 10) : 0;
        if (number > highest) highest = number;
    }
    if (dir) (void)closedir(dir);
    add_words(of_domain, domain ? domain : "");
    add_words(of_label, label ? label : otherwise);
    if (!strstr(of_label, of_domain)) add_words(words, of_domain);
    add_words(words, of_label);
    (void)snprintf(name, TT_RESULT_FOLDER, "%02lu-%s", highest + 1, *words ? words : "run");
}

tt_status tt_store_keep(const tt_store *s, const char *made, const char *name, tt_error *err)
{
    char path[PATH_MAX];
    if (!put_path(path, s->folder, name)) return too_long(s->folder, err);
    if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return TT_OK;
    /* The file system does not support this: rename refuses a folder that is not empty. */
    bool is_unsupported = errno == EINVAL || errno == ENOSYS;
    if (is_unsupported && rename(made, path) == 0) return TT_OK;
    return io_error(err, "create", path);
}

bool tt_store_has_data(const tt_store *s, const char *name)
{
    static const char *const folders[] = {"traces", "graphs"};
    char path[PATH_MAX];
    struct stat st;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int n = snprintf(path, sizeof path, "%s/%s/%s", s->folder, name, folders[i]);
        if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
            return false;
    }
    return true;
}

/* --- the names that readers open --- */

/* Makes or replaces a link, in one step. */
static tt_status put_link(const char *folder, const char *name, const char *target, tt_error *err)
{
    char path[PATH_MAX], temporary[PATH_MAX], hidden[80];
    (void)snprintf(hidden, sizeof hidden, ".%s.link", name);
    if (!put_path(path, folder, name) || !put_path(temporary, folder, hidden))
        return too_long(folder, err);
    (void)unlink(temporary);
    if (symlink(target, temporary) != 0 || rename(temporary, path) != 0) {
        tt_status status = io_error(err, "make the link", path);
        (void)unlink(temporary);
        return status;
    }
    return TT_OK;
}

/* Makes a link for each name that the experiment has, and removes the others. */
static tt_status put_names(const char *folder, const char *name, tt_error *err)
{
    char path[PATH_MAX], inside[PATH_MAX], target[64];
    struct stat st;
    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(target, sizeof target, TT_RESULT_CURRENT "/%s", names[i]);
        if (!put_path(path, folder, names[i])) return too_long(folder, err);
        int n = snprintf(inside, sizeof inside, "%s/%s/%s", folder, name, names[i]);
        if (n < 0 || (size_t)n >= sizeof inside) return too_long(folder, err);
        bool wanted = lstat(inside, &st) == 0, ours = is_ours(path, names[i]);
        if (!wanted && ours) (void)unlink(path);
        if (!wanted || ours) continue;
        tt_status status = put_link(folder, names[i], target, err);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

static tt_status put_index(const char *folder, const tt_results *results, tt_error *err)
{
    char path[PATH_MAX];
    tt_outfile file;
    tt_json j;
    if (!put_path(path, folder, INDEX)) return too_long(folder, err);
    tt_status status = tt_outfile_open(&file, path, true, err);
    if (status != TT_OK) return status;
    tt_json_begin(&j, file.stream, 2);
    tt_results_json(&j, results);
    (void)tt_json_end(&j); /* a failure stays in the stream; the commit reports it */
    return tt_outfile_commit(&file, err);
}

tt_status tt_store_publish(const tt_store *s, const char *name, tt_results *results, tt_error *err)
{
    tt_status status = put_link(s->folder, TT_RESULT_CURRENT, name, err);
    if (status == TT_OK) status = put_names(s->folder, name, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < results->n; i++)
        results->list[i].is_current = strcmp(results->list[i].folder, name) == 0;
    return put_index(s->folder, results, err);
}
