/* The header and the names of NumPy files. (numpy itself reads them in tests/oracle.) */
#include "tests.h"

#include "export/npy/npy.h"

#include <string.h>

static void header_is(const char *dtype, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                      const char *text)
{
    char out[TT_NPY_HEADER_MAX];
    size_t n = tt_npy_header(dtype, (uint64_t[]){a, b, c, d}, out), size = strlen(text);
    assert_int_equal(n % 64, 0);
    assert_memory_equal(out, "\x93NUMPY\x01\0", 8);
    assert_int_equal((uint8_t)out[8] + 256 * (uint8_t)out[9], n - 10);
    assert_memory_equal(out + 10, text, size);
    for (size_t i = 10 + size; i < n - 1; i++)
        assert_int_equal(out[i], ' ');
    assert_int_equal(out[n - 1], '\n');
}

static void headers_are_as_numpy_writes_them(void **state)
{
    (void)state;
    header_is("<f4", 256, 5, 1, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 256), }");
    header_is("|i1", 7, 1, 1, 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }");
    header_is("<f2", 1, 1, 1, 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }");
    header_is("<i8", 2, 1, 3, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 1, 2), }");
    header_is("<f8", UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
              "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, "
              "18446744073709551615, 18446744073709551615, 18446744073709551615), }");
}

static void types_are_numpys_or_converted(void **state)
{
    bool converted;
    (void)state;
    assert_string_equal(tt_npy_dtype(TT_VALUE_F16, &converted), "<f2");
    assert_false(converted);
    assert_string_equal(tt_npy_dtype(TT_VALUE_BF16, &converted), "<f4");
    assert_true(converted);
    assert_string_equal(tt_npy_dtype(TT_VALUE_Q8_0, &converted), "<f4");
    assert_true(converted);
    assert_null(tt_npy_dtype(TT_VALUE_UNKNOWN, &converted));
}

static void name_is(tt_npy_names *n, int64_t token, const char *node, const char *expected)
{
    char out[TT_NPY_NAME_TEXT];
    assert_true(tt_npy_name(n, token, node, out));
    assert_string_equal(out, expected);
}

static void names_are_safe_and_different(void **state)
{
    tt_npy_names n = {0};
    char long_name[1000], out[TT_NPY_NAME_TEXT];
    (void)state;
    name_is(&n, 3, "Qcur-0", "token-00003/Qcur-0.npy");
    name_is(&n, 3, "Qcur-0", "token-00003/Qcur-0~2.npy");
    name_is(&n, 3, "qcur-0", "token-00003/qcur-0~3.npy"); /* some file systems take them for one */
    name_is(&n, 4, "Qcur-0", "token-00004/Qcur-0.npy");
    name_is(&n, -1, "../../etc/passwd", "outside/_._.._etc_passwd.npy");
    name_is(&n, 0, "cache_k_l0 (view)", "token-00000/cache_k_l0__view_.npy");
    name_is(&n, 0, "a/b\n~2", "token-00000/a_b__2.npy");
    name_is(&n, 0, "", "token-00000/_.npy");
    name_is(&n, 0, "\xc3\xa9", "token-00000/__.npy");
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_true(tt_npy_name(&n, INT64_MAX, long_name, out));
    assert_non_null(strstr(out, "x.npy"));
    assert_true(tt_npy_name(&n, INT64_MAX, long_name, out));
    assert_non_null(strstr(out, "x~2.npy"));
    tt_npy_names_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_as_numpy_writes_them),
        cmocka_unit_test(types_are_numpys_or_converted),
        cmocka_unit_test(names_are_safe_and_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
