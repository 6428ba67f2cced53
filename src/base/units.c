#include "base/units.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the C library, in a few microseconds. */
static size_t write_slowly(double v, char *out)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, TT_DECIMAL_TEXT, "%.*g", digits, v);
        double back = strtod(out, NULL);
        if (memcmp(&back, &v, sizeof v) == 0) break;
    }
    /* The locale may have a decimal comma. */
    char *comma = strchr(out, ',');
    if (comma) *comma = '.';
    return strlen(out);
}

/* `m` with its last `decimals` digits after the point, without trailing zeros. */
static size_t write_scaled(bool negative, uint64_t m, unsigned decimals, char *out)
{
    char digits[24];
    size_t n = 0, at = 0;
    while (decimals > 0 && m % 10 == 0) {
        m /= 10;
        decimals--;
    }
    for (; m > 0 || n <= decimals; m /= 10)
        digits[n++] = (char)('0' + m % 10);
    if (negative) out[at++] = '-';
    while (n > 0) {
        if (n == decimals) out[at++] = '.';
        out[at++] = digits[--n];
    }
    out[at] = '\0';
    return at;
}

/* v (at least 1, below 10^15) with `digits` significant digits as m / 10^*decimals. False if the
 * rounding is ambiguous: then the C library decides. */
static bool scale(double v, unsigned digits, uint64_t *m, unsigned *decimals)
{
    static const long double powers[] = {1e0L, 1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L, 1e8L,
                                         1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L};
    unsigned whole = 1;
    while (v >= (double)powers[whole])
        whole++;
    *decimals = digits - whole;
    long double x = (long double)v * powers[*decimals], rest = x - floorl(x);
    /* Far more than the product's error. */
    if (fabsl(rest - 0.5L) < 0.01L) return false;
    *m = (uint64_t)x + (rest > 0.5L);
    return true;
}

/* Whether m / 10^decimals reads back as v; 2: unknown. */
static int reads_back(double v, uint64_t m, unsigned decimals)
{
    static const double powers[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                    1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    /* Both are exact, so their quotient is correctly rounded. */
    return m < (uint64_t)1 << DBL_MANT_DIG ? (double)m / powers[decimals] == v : 2;
}

size_t tt_decimal_write(double v, char out[TT_DECIMAL_TEXT])
{
    uint64_t m;
    unsigned decimals;
    double size = fabs(v);
    if (LDBL_MANT_DIG < 64 || !(size >= 1 && size < 1e15)) return write_slowly(v, out);
    for (unsigned digits = 15; digits <= 17; digits++) {
        if (!scale(size, digits, &m, &decimals)) break;
        /* 17 digits always do. */
        int same = digits == 17 ? 1 : reads_back(size, m, decimals);
        if (same == 2) break;
        if (same) return write_scaled(v < 0, m, decimals, out);
    }
    return write_slowly(v, out);
}

/* More decimals than this change nothing: 2^60 is the largest multiplier. */
#define FRACTION_DIGITS_MAX 18

static tt_status size_error(tt_error *err, const char *text, const char *why)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "\"%.64s\" is not a size%s: write a number with K, M, G or T after it",
                        text, why);
}

/* The power of 1024 of a suffix; -1 for an invalid one. "B" alone is bytes. */
static int suffix_power(const char *s)
{
    static const char letters[] = "KMGTPE";
    int power = 0;
    if (*s) {
        const char *at = strchr(letters, *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
        if (at) {
            power = (int)(at - letters) + 1;
            s++;
        }
    }
    if (power > 0 && s[0] == 'i' && s[1] == 'B') s++;
    if (*s == 'B') s++;
    return *s ? -1 : power;
}

tt_status tt_units_parse_size(const char *text, uint64_t *bytes, tt_error *err)
{
    const char *s = text;
    unsigned __int128 whole = 0, fraction = 0, denominator = 1;
    bool digits = false;
    for (; *s >= '0' && *s <= '9'; s++, digits = true) {
        whole = whole * 10 + (unsigned)(*s - '0');
        if (whole > UINT64_MAX) return size_error(err, text, " below 16 EiB");
    }
    if (digits && *s == '.') {
        int n = 0;
        for (s++, digits = false; *s >= '0' && *s <= '9'; s++, digits = true) {
            if (n++ >= FRACTION_DIGITS_MAX) continue;
            fraction = fraction * 10 + (unsigned)(*s - '0');
            denominator *= 10;
        }
    }
    int power = suffix_power(s);
    if (!digits || power < 0) return size_error(err, text, "");
    unsigned shift = (unsigned)power * 10;
    /* whole < 2^64 and shift <= 60, so this cannot pass 128 bits. */
    unsigned __int128 total = (whole << shift) + (fraction << shift) / denominator;
    if (total > UINT64_MAX) return size_error(err, text, " below 16 EiB");
    *bytes = (uint64_t)total;
    return TT_OK;
}

tt_status tt_units_parse_amount(const char *text, uint64_t *bytes, tt_error *err)
{
    const tt_status status = tt_units_parse_size(text, bytes, err);
    const bool bare = text[strspn(text, "0123456789.")] == '\0';
    if (status != TT_OK || !bare || *bytes == 0 || *bytes >= (1u << 20)) return status;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "\"%.64s\" has no unit: write %.64sG or %.64sM, or %.64sB for bytes", text,
                        text, text, text);
}

tt_status tt_units_parse_rate(const char *text, double *bytes_per_s, tt_error *err)
{
    static const char letters[] = "kKMGT";
    static const double powers[] = {1e3, 1e3, 1e6, 1e9, 1e12};
    static const double binary[] = {0x1p10, 0x1p10, 0x1p20, 0x1p30, 0x1p40};
    const size_t digits = strspn(text, "0123456789.");
    char *end;
    double v = strtod(text, &end);
    /* strtod also takes 0x10 and 1e3, which are slips here. */
    bool ok = digits > 0 && end == text + digits;
    const char *s = text + digits, *letter = *s ? strchr(letters, *s) : NULL;
    if (letter) {
        bool i = s[1] == 'i';
        v *= (i ? binary : powers)[letter - letters];
        s += 1 + i;
    }
    if (*s == 'B') s++;
    if (strcmp(s, "/s") == 0) s += 2;
    if (!ok || *s || !isfinite(v) || v <= 0)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "\"%.64s\" is not a rate: write bytes a second with K, M, G or T, "
                            "as in 2.5G or 500MB/s",
                            text);
    *bytes_per_s = v;
    return TT_OK;
}

tt_status tt_units_parse_int(const char *text, const char *what, int64_t min, int64_t max,
                             int64_t *value, tt_error *err)
{
    char *end;
    const char *digits = *text == '-' ? text + 1 : text;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    /* strtoll takes blanks and a plus sign, which would hide a slip in a script. */
    bool number = *digits >= '0' && *digits <= '9' && *end == '\0';
    if (!number || errno == ERANGE || v < min || v > max)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%s: \"%.64s\" is not a whole number from %lld to %lld", what, text,
                            (long long)min, (long long)max);
    *value = v;
    return TT_OK;
}

bool tt_units_parse_time(const char *text, double *ns)
{
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {{"", 1e6}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    size_t digits = strspn(text, "0123456789.");
    double v = strtod(text, &end);
    /* strtod also takes 0x10, 1e3 and inf, which are slips here. */
    if (digits == 0 || end != text + digits) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].suffix) != 0) continue;
        *ns = v * units[i].ns;
        return isfinite(*ns);
    }
    return false;
}

/* Three significant digits: 1.02, 12.3, 123. */
static int decimals(double v)
{
    double size = fabs(v);
    return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

/* Like printf's "%.*f %s", ten times as fast. */
static char *put_fixed(char out[TT_UNITS_TEXT], double v, int places, const char *unit)
{
    static const double powers[] = {1, 10, 100};
    const double x = fabs(v) * powers[places], whole = floor(x), rest = x - whole;
    /* If rounding is ambiguous the C library decides. */
    if (!(x < 1e9) || fabs(rest - 0.5) < 1e-6) {
        (void)snprintf(out, TT_UNITS_TEXT, "%.*f %s", places, v, unit);
        return out;
    }
    char digits[16], *to = out;
    int n = 0;
    for (uint32_t m = (uint32_t)whole + (rest > 0.5); m > 0 || n <= places; m /= 10)
        digits[n++] = (char)('0' + m % 10);
    if (signbit(v)) *to++ = '-';
    while (n > 0) {
        if (n-- == places) *to++ = '.';
        *to++ = digits[n];
    }
    *to++ = ' ';
    memcpy(to, unit, strlen(unit) + 1);
    return out;
}

char *tt_units_bytes(char out[TT_UNITS_TEXT], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double v = (double)bytes;
    /* 1023.96 KiB would print as 1024.0 KiB. */
    while (v >= (unit == 0 ? 1024.0 : 1023.95) && unit + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        unit++;
    }
    return put_fixed(out, v, unit == 0 ? 0 : 1, units[unit]);
}

char *tt_units_wait(char out[TT_UNITS_TEXT], double ns)
{
    static const struct {
        unsigned seconds, part; /* the part that is said besides */
        const char *name, *part_name;
    } units[] = {{86400, 3600, "d", "h"}, {3600, 60, "h", "min"}, {60, 1, "min", "s"}};
    if (!(ns >= 0 && ns < 1e18)) {
        (void)snprintf(out, TT_UNITS_TEXT, "-");
        return out;
    }
    const uint64_t seconds = (uint64_t)llround(ns / 1e9);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        /* What is rounded up to a whole one is one. */
        const uint64_t parts = (seconds + units[i].part / 2) / units[i].part,
                       per_unit = units[i].seconds / units[i].part;
        if (parts < per_unit) continue;
        (void)snprintf(out, TT_UNITS_TEXT, "%u %.3s %02u %.3s", (unsigned)(parts / per_unit),
                       units[i].name, (unsigned)(parts % per_unit) % 100, units[i].part_name);
        return out;
    }
    (void)snprintf(out, TT_UNITS_TEXT, "%" PRIu64 " s", seconds);
    return out;
}

char *tt_units_ns(char out[TT_UNITS_TEXT], double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    double v = ns;
    if (!isfinite(ns)) {
        (void)snprintf(out, TT_UNITS_TEXT, "-");
        return out;
    }
    while (fabs(v) >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        v /= 1000;
        unit++;
    }
    bool whole = unit == 0 && floor(v) == v;
    return put_fixed(out, v, whole ? 0 : decimals(v), units[unit]);
}

void tt_units_ns_apart(char a[TT_UNITS_TEXT], char b[TT_UNITS_TEXT], double a_ns, double b_ns)
{
    (void)tt_units_ns(a, a_ns);
    (void)tt_units_ns(b, b_ns);
    if (a_ns == b_ns || strcmp(a, b) != 0 || !isfinite(a_ns) || !isfinite(b_ns)) return;
    const char *unit = strchr(a, ' ') + 1;
    const double size = *unit == 'n' ? 1 : *unit == 'u' ? 1e3 : *unit == 'm' ? 1e6 : 1e9;
    char digits[2][TT_UNITS_TEXT];
    for (int places = decimals(a_ns / size) + 1; places < 10; places++) {
        (void)snprintf(digits[0], sizeof *digits, "%.*f %.2s", places, a_ns / size, unit);
        (void)snprintf(digits[1], sizeof *digits, "%.*f %.2s", places, b_ns / size, unit);
        if (strcmp(digits[0], digits[1]) == 0) continue;
        memcpy(a, digits[0], sizeof *digits);
        memcpy(b, digits[1], sizeof *digits);
        return;
    }
}

char *tt_units_count(char out[TT_UNITS_TEXT], uint64_t n)
{
    char digits[TT_UNITS_TEXT];
    char *to = out;
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    /* 20 digits and 6 commas are two more than fit: past 10^18 the commas are left out. */
    bool commas = length <= 18;
    for (int i = 0; i < length; i++) {
        if (commas && i > 0 && (length - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

char *tt_units_speed(char out[TT_UNITS_TEXT], double per_s)
{
    if (per_s >= 99.95 && per_s < 1e18) return tt_units_count(out, (uint64_t)llround(per_s));
    (void)snprintf(out, TT_UNITS_TEXT, "%.1f", per_s);
    return out;
}

char *tt_units_rate(char out[TT_UNITS_TEXT], double bytes_per_s)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    size_t unit = 0;
    double v = bytes_per_s;
    if (!isfinite(v)) {
        (void)snprintf(out, TT_UNITS_TEXT, "-");
        return out;
    }
    while (fabs(v) >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        v /= 1000;
        unit++;
    }
    return put_fixed(out, v, unit == 0 ? 0 : decimals(v), units[unit]);
}

bool tt_units_parse_u32(const char *text, const char *end, uint32_t *out)
{
    uint64_t v = 0;
    if (text == end) return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') return false;
        v = v * 10 + (unsigned)(*text - '0');
        if (v >= UINT32_MAX) return false;
    }
    *out = (uint32_t)v;
    return true;
}

bool tt_units_parse_range(const char *text, uint32_t *first, uint32_t *last)
{
    const char *dots = strstr(text, ".."), *end = text + strlen(text);
    bool from_begin = dots == text, to_end = dots && !dots[2];
    *first = 0;
    if (from_begin && to_end) return false;
    if (!from_begin && !tt_units_parse_u32(text, dots ? dots : end, first)) return false;
    *last = dots ? UINT32_MAX - 1 : *first;
    return !dots || to_end || (tt_units_parse_u32(dots + 2, end, last) && *last >= *first);
}

uint64_t tt_units_round_ns(double ns)
{
    if (!(ns > 0)) return 0;
    return ns < 9e18 ? (uint64_t)(ns + 0.5) : (uint64_t)9e18;
}
