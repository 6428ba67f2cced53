/* Numbers with a fraction as decimal text, the same in every locale. */
#ifndef TT_BASE_UNITS_H
#define TT_BASE_UNITS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DECIMAL_TEXT 40

/* The shortest of 15, 16 and 17 significant digits that reads back as the same number, as printf's
 * "%.*g" writes it. v is finite. Returns the length; out is NUL-terminated. */
size_t tt_decimal_write(double v, char out[TT_DECIMAL_TEXT]);

/* Numbers as people type and read them. */

/* "4096", "64K", "1.5M", "2G", "1T" (powers of 1024; an optional trailing "B" or
 * "iB") to bytes. TT_E_USAGE with a message that names the text otherwise. */
tt_status tt_units_parse_size(const char *text, uint64_t *bytes, tt_error *err);
/* The same for a size of memory or of a file: TT_E_USAGE for numbers without a unit between 1 and 1
 * MiB, because "8" is more likely a slip for "8G" than 8 bytes ("8B"). */
tt_status tt_units_parse_amount(const char *text, uint64_t *bytes, tt_error *err);
/* "2.5G", "500MB/s", "3G/s" (powers of 1000, as disks are sold; "GiB/s": of 1024) to bytes per
 * second, more than 0. TT_E_USAGE with a message that names the text otherwise. */
tt_status tt_units_parse_rate(const char *text, double *bytes_per_s, tt_error *err);
/* "1.5ms", "200us", "7ns", "2s"; a bare number is milliseconds. False for anything else. */
bool tt_units_parse_time(const char *text, double *ns);
/* A whole decimal number in [min, max]. The message names the option `what`. */
tt_status tt_units_parse_int(const char *text, const char *what, int64_t min, int64_t max,
                             int64_t *value, tt_error *err);

/* A short text with its unit, in the caller's buffer of TT_UNITS_TEXT bytes, which is also
 * returned. */
#define TT_UNITS_TEXT 24
char *tt_units_bytes(char out[TT_UNITS_TEXT], uint64_t bytes); /* "705.3 MiB" */
char *tt_units_ns(char out[TT_UNITS_TEXT], double ns);         /* "12.3 us", "1.02 s" */
/* The same of two times, with as many more digits, of one unit, as tell different ones apart. */
void tt_units_ns_apart(char a[TT_UNITS_TEXT], char b[TT_UNITS_TEXT], double a_ns, double b_ns);
/* How long something takes: "12 s", "1 min 05 s", "1 h 02 min", "2 d 03 h". */
char *tt_units_wait(char out[TT_UNITS_TEXT], double ns);
char *tt_units_speed(char out[TT_UNITS_TEXT], double per_s);      /* "23.6", "936", "1,684" */
char *tt_units_count(char out[TT_UNITS_TEXT], uint64_t n);        /* "1,234,567" */
char *tt_units_rate(char out[TT_UNITS_TEXT], double bytes_per_s); /* "12.4 GB/s" (10^9) */

/* ns rounded to an integer that JSON can represent; 0 for negative numbers and NaN. */
uint64_t tt_units_round_ns(double ns);

/* The digits from text to end, below UINT32_MAX; false for anything else. */
bool tt_units_parse_u32(const char *text, const char *end, uint32_t *out);
/* "12", "12..20", "12.." or "..20"; false for anything else. */
bool tt_units_parse_range(const char *text, uint32_t *first, uint32_t *last);

#endif
