/* print_fingerprint TYPE NE0 NE1 NE2 NE3 NB0 NB1 NB2 NB3 FILE: the fingerprint of a file's bytes as
 * a value, one "key value" a line, for check_fingerprint.py. */
#include "value/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hex(const char *key, const uint8_t *bytes, size_t n)
{
    printf("%s ", key);
    for (size_t i = 0; i < n; i++)
        printf("%02x", bytes[i]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    tt_value_data v = {0};
    tt_fingerprint f;
    if (argc != 11) return 2;
    v.type = tt_value_type_of(argv[1]);
    for (int i = 0; i < 4; i++) {
        v.ne[i] = strtoull(argv[2 + i], NULL, 10);
        v.nb[i] = strtoull(argv[6 + i], NULL, 10);
    }
    FILE *in = fopen(argv[10], "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0) return 2;
    size_t size = (size_t)ftell(in);
    void *data = malloc(size);
    rewind(in);
    if (!data || fread(data, 1, size, in) != size) return 2;
    (void)fclose(in);
    v.data = data;
    uint32_t n = tt_value_pieces(&v);
    tt_value_piece *pieces = calloc(n + 1, sizeof *pieces);
    if (!pieces || n == 0) return 2;
    for (uint32_t k = 0; k < n; k++)
        tt_value_take(&v, k, TT_VALUE_WITH_BLAKE3, &pieces[k]);
    tt_value_look(&v, &f);
    tt_value_finish(pieces, n, TT_VALUE_WITH_BLAKE3, &f);
    printf("n %llu\nn_nan %llu\nn_inf %llu\nfirst_bad %lld\n", (unsigned long long)f.n,
           (unsigned long long)f.n_nan, (unsigned long long)f.n_inf, (long long)f.first_bad);
    printf("min %.9g\nmax %.9g\nmean %.17g\nrms %.17g\n", (double)f.min, (double)f.max, f.mean,
           f.rms);
    hex("hash", f.hash, sizeof f.hash);
    hex("blake3", f.blake3, sizeof f.blake3);
    for (uint32_t i = 0; i < f.n_samples; i++)
        printf("sample%u %.9g\n", i, (double)f.samples[i]);
    free(pieces);
    free(data);
    return 0;
}
