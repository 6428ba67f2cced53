/* cmocka wants these before it; every test file includes this first. */
#ifndef TT_TESTS_UNIT_TESTS_H
#define TT_TESTS_UNIT_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 has a macro of this name, which is a test's own here. It also warns of assert_in_range()
 * in favour of one that cmocka 1 does not have and that takes its unsigned numbers as signed ones.
 */
#undef stop
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, minimum, maximum)                                                   \
    _assert_uint_in_range((uintmax_t)(value), (uintmax_t)(minimum), (uintmax_t)(maximum),          \
                          __FILE__, __LINE__)
#endif

#endif
