#include "experiment/reader.h"
#include "experiment/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What paths in the settings are relative to: where the file is, links followed; what has no place
 * (a pipe, a terminal) is read in the current folder. */
static bool find_place(const char *path, int fd, char folder[PATH_MAX])
{
    struct stat st;
    bool is_file = fstat(fd, &st) != 0 || S_ISREG(st.st_mode);
    if (!is_file) return getcwd(folder, PATH_MAX) != NULL;
    if (!realpath(path, folder)) return false;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    return true;
}

tt_status tt_settings_load(const char *path, char **text, size_t *size, char folder[PATH_MAX],
                           tt_error *err)
{
    FILE *f = fopen(path, "rbe");
    *text = f ? malloc(TT_SETTINGS_BYTES_MAX + 1) : NULL;
    *size = *text ? fread(*text, 1, TT_SETTINGS_BYTES_MAX + 1, f) : 0;
    tt_status status = TT_OK;
    if (!f || (*text && (ferror(f) || !find_place(path, fileno(f), folder))))
        status = tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                              "cannot read the settings %.200s: %s", path, strerror(errno));
    else if (!*text)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    if (f) (void)fclose(f);
    if (status == TT_OK) return TT_OK;
    free(*text);
    *text = NULL;
    return status;
}

tt_status tt_settings_read(tt_settings *s, const char *path, tt_complaints *complaints,
                           tt_error *err)
{
    char folder[PATH_MAX];
    char *text;
    size_t size;
    memset(s, 0, sizeof *s);
    tt_status status = tt_settings_load(path, &text, &size, folder, err);
    if (status == TT_OK) status = tt_settings_parse(s, text, size, path, folder, complaints, err);
    free(text);
    return status;
}
