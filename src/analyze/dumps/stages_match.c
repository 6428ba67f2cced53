#include "analyze/dumps/stages_match.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many digits stand there, and their number; 0 when there are none, or too many. */
static size_t digits(const char *text, int32_t *number)
{
    size_t n = 0;
    int32_t v = 0;
    while (is_digit(text[n])) {
        if (n == TT_STAGE_DIGITS_MAX) return 0;
        v = v * 10 + (text[n++] - '0');
    }
    if (n) *number = v;
    return n;
}

bool tt_stage_match(const char *pattern, const char *text, int32_t *number)
{
    /* Where the last `*` stands, and where what follows it was last tried: an earlier one need not
     * be tried again, as what follows is found at its first place. */
    const char *star = NULL, *from = NULL;
    for (;;) {
        size_t n;
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (!*pattern && !*text) {
            return true;
        } else if (*pattern == '%' && (n = digits(text, number)) > 0) {
            pattern++;
            text += n;
        } else if (*pattern && *pattern != '%' && *text && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else {
            if (!star || !*from) return false;
            text = ++from;
            pattern = star;
        }
    }
}

/* "node_21", "leaf_3": what ggml calls what nobody gave a name. */
static bool is_numbered(const char *name)
{
    int32_t number;
    return !*name || tt_stage_match("node_%*", name, &number) ||
           tt_stage_match("leaf_%*", name, &number);
}

/* The name without its bytes [from, to). */
static void cut(const char *name, size_t from, size_t to, tt_stage *out)
{
    size_t room = sizeof out->name - 1, n = from < room ? from : room;
    size_t rest = strlen(name + to);
    memcpy(out->name, name, n);
    if (rest > room - n) rest = room - n;
    memcpy(out->name + n, name + to, rest);
    out->name[n + rest] = '\0';
}

/* The layer in front: "t0/blk3/", "blk.3."; returns its length. */
static size_t front(const char *name, int32_t *layer)
{
    int32_t number;
    size_t at = 0, n;
    if (name[0] == 't' && (n = digits(name + 1, &number)) > 0 && name[1 + n] == '/') at = n + 2;
    if (strncmp(name + at, "blk", 3) != 0) return at;
    size_t dot = name[at + 3] == '.';
    n = digits(name + at + 3 + dot, &number);
    const char *end = name + at + 3 + dot + n;
    if (!n || (*end != '/' && *end != '.')) return at;
    *layer = number;
    return (size_t)(end + 1 - name);
}

bool tt_stage_strip(const char *name, tt_stage *out)
{
    out->layer = TT_STAGE_LAYER_UNKNOWN;
    size_t begin = front(name, &out->layer);
    cut(name, 0, begin, out);
    if (out->layer != TT_STAGE_LAYER_UNKNOWN) return !is_numbered(name + begin);
    for (size_t i = begin; name[i]; i++) {
        size_t mark = name[i] == '-' ? 1 : name[i] == '_' && name[i + 1] == 'l' ? 2 : 0;
        size_t n = mark && i > begin ? digits(name + i + mark, &out->layer) : 0;
        char after = n ? name[i + mark + n] : 'x';
        if (after == '\0' || after == ' ' || after == '.' || after == '/') {
            cut(name + begin, i - begin, i - begin + mark + n, out);
            break;
        }
        out->layer = TT_STAGE_LAYER_UNKNOWN;
    }
    return !is_numbered(name + begin);
}
