#include "runner/token_ids.h"

#include "base/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)256 << 20)

tt_status tt_token_ids_add(tt_token_ids *list, int32_t id, tt_error *err)
{
    if (list->n == TT_TOKEN_IDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %zu token ids",
                            TT_TOKEN_IDS_MAX);
    if (!tt_array_one_more(list->ids, list->n, list->capacity))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    list->ids[list->n++] = id;
    return TT_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_blanks(const char *text, size_t size, size_t at)
{
    while (at < size && is_blank(text[at]))
        at++;
    return at;
}

/* Reads no further than INT32_MAX; false: no digit, or a greater number. */
static bool read_id(const char *text, size_t size, size_t *at, int32_t *id)
{
    int64_t value = 0;
    size_t begin = *at;
    for (; *at < size && is_digit(text[*at]); ++*at) {
        value = 10 * value + (text[*at] - '0');
        if (value > INT32_MAX) return false;
    }
    *id = (int32_t)value;
    return *at > begin && (*at == size || text[*at] == ',' || is_blank(text[*at]));
}

tt_status tt_token_ids_parse(tt_token_ids *list, const char *text, size_t size, const char *what,
                             tt_error *err)
{
    tt_status status = TT_OK;
    size_t at = skip_blanks(text, size, 0);
    bool wanted = true; /* at the start and after a comma */
    while (status == TT_OK && (at < size || wanted)) {
        int32_t id;
        size_t begin = at;
        if (!read_id(text, size, &at, &id)) {
            int n = size - begin < 12 ? (int)(size - begin) : 12;
            return tt_error_set(err, TT_E_USAGE, begin,
                                "%.200s: a token id (0 to 2147483647) is expected, not \"%.*s\"",
                                what, n, text + begin);
        }
        status = tt_token_ids_add(list, id, err);
        at = skip_blanks(text, size, at);
        wanted = at < size && text[at] == ',';
        if (wanted) at = skip_blanks(text, size, at + 1);
    }
    return status;
}

static tt_status load_file(tt_token_ids *list, const char *path, tt_error *err)
{
    char *text = NULL;
    size_t size = 0, got;
    char part[4096];
    FILE *in = fopen(path, "rbe");
    FILE *out = in ? open_memstream(&text, &size) : NULL;
    tt_status status = TT_OK;
    if (!in)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot open the token ids %.200s: %s",
                            path, strerror(errno));
    size_t read = 0;
    while (out && read <= FILE_BYTES_MAX && (got = fread(part, 1, sizeof part, in)) > 0) {
        (void)fwrite(part, 1, got, out);
        read += got;
    }
    if (ferror(in))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read the token ids %.200s: %s",
                              path, strerror(errno));
    else if (read > FILE_BYTES_MAX)
        status =
            tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.200s: over 256 MiB of token ids", path);
    if ((!out || fclose(out) != 0) && status == TT_OK)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    (void)fclose(in);
    if (status == TT_OK) status = tt_token_ids_parse(list, text, size, path, err);
    free(text);
    return status;
}

tt_status tt_token_ids_load(tt_token_ids *list, const char *word, const char *what, tt_error *err)
{
    if (word[0] == '@') return load_file(list, word + 1, err);
    return tt_token_ids_parse(list, word, strlen(word), what, err);
}

void tt_token_ids_free(tt_token_ids *list)
{
    free(list->ids);
    memset(list, 0, sizeof *list);
}
