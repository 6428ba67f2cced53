/* Bytes as hexadecimal digits: hashes, ids. */
#ifndef TT_BASE_HEX_H
#define TT_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes two lower-case digits for each of n bytes, and a NUL. */
static inline void tt_hex(char *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

#endif
