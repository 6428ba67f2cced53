#include "report/text.h"

#include "base/json.h"

#include <stdbool.h>
#include <string.h>

/* Writes the character at `text` if it is allowed there, else the replacement; returns the bytes
 * consumed. The caller handles ASCII. */
static size_t wide(const char *text, size_t left, FILE *out)
{
    size_t n = tt_utf8_length(text, left);
    /* C1 controls, and characters that XML forbids. */
    bool is_control = n == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0;
    bool is_not_xml = n == 3 && (unsigned char)text[0] == 0xef && (unsigned char)text[1] == 0xbf &&
                      (unsigned char)text[2] >= 0xbe;
    bool is_plane_end = n == 4 && ((unsigned char)text[1] & 0x0f) == 0x0f &&
                        (unsigned char)text[2] == 0xbf && (unsigned char)text[3] >= 0xbe;
    if (n == 0 || is_control || is_not_xml || is_plane_end)
        fputs("\xef\xbf\xbd", out);
    else
        (void)fwrite(text, 1, n, out);
    return n ? n : 1;
}

/* Common to all formats: writes the character at *text unless it is plain ASCII, which the caller
 * handles. */
static bool put_other(const char **text, const char *end, FILE *out)
{
    unsigned char c = (unsigned char)**text;
    if (c >= 0x80) {
        *text += wide(*text, (size_t)(end - *text), out);
        return true;
    }
    if (c >= 0x20 && c != 0x7f) return false;
    if (c == '\n' || c == '\t')
        fputc(' ', out);
    else
        fputs("\xef\xbf\xbd", out);
    ++*text;
    return true;
}

void tt_text_markup(const char *text, FILE *out)
{
    const char *end = text + strlen(text);
    while (text < end) {
        if (put_other(&text, end, out)) continue;
        char c = *text++;
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else if (c == '\'')
            fputs("&#39;", out);
        else
            fputc(c, out);
    }
}

void tt_text_markdown(const char *text, FILE *out)
{
    const char *end = text + strlen(text);
    while (text < end) {
        if (put_other(&text, end, out)) continue;
        char c = *text++;
        if (c == '<') {
            fputs("&lt;", out);
        } else if (c == '&') {
            fputs("&amp;", out);
        } else {
            if (strchr("\\`*_[]|>#!~$", c)) fputc('\\', out);
            fputc(c, out);
        }
    }
}
