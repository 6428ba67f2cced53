#include "table/csv_text.h"

#include "base/json.h"
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <time.h>

char *tt_csv_put_time(char *p, int64_t ns, tt_digits_front *front, const tt_digits *d)
{
    int64_t second = ns / 1000000000, rest = ns % 1000000000;
    if (rest < 0) {
        rest += 1000000000;
        second--;
    }
    if (front->value != (uint64_t)second || front->n == 0) {
        struct tm tm;
        time_t t = (time_t)second;
        char text[sizeof front->text] = "";
        /* 64-bit ns have years of four digits. */
        if (gmtime_r(&t, &tm)) front->n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &tm);
        memcpy(front->text, text, sizeof text);
        front->value = (uint64_t)second;
    }
    memcpy(p, front->text, sizeof front->text);
    p += front->n;
    *p++ = (char)('0' + rest / 100000000);
    p = tt_digits_put_eight(p, (uint32_t)(rest % 100000000), d);
    *p++ = 'Z';
    return p;
}

char *tt_csv_put_real(char *p, double v)
{
    char text[TT_DECIMAL_TEXT];
    if (!isfinite(v)) return p;
    size_t n = tt_decimal_write(v, text);
    memcpy(p, text, n);
    return p + n;
}

static bool is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c >= 0x7f || c == '"' || c == ',') return false;
    }
    return n > 0;
}

void tt_csv_put_text(tt_bytes *out, const char *text, size_t n)
{
    if (is_plain(text, n)) {
        tt_bytes_put(out, text, n);
        return;
    }
    tt_bytes_u8(out, '"');
    for (size_t i = 0; i < n;) {
        size_t length = text[i] ? tt_utf8_length(text + i, n - i) : 0;
        if (text[i] == '"') tt_bytes_u8(out, '"');
        if (length)
            tt_bytes_put(out, text + i, length);
        else
            tt_bytes_put(out, "\xef\xbf\xbd", 3);
        i += length ? length : 1;
    }
    tt_bytes_u8(out, '"');
}
