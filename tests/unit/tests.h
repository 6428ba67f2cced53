/* cmocka wants these before it; every test file includes this first. */
#ifndef TT_TESTS_UNIT_TESTS_H
#define TT_TESTS_UNIT_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
