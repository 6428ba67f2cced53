/* drop_cache FILE: puts the file's pages out of the page cache, as far as the kernel lets us, and
 * prints "pages BEFORE AFTER TOTAL".
 * drop_cache --show FILE: leaves them, and prints which are there (see pages.h). */
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int only_show = argc == 3 && strcmp(argv[1], "--show") == 0;
    size_t n;
    if (argc != 2 && !only_show) return 64;
    const char *path = argv[argc - 1];
    unsigned char *before = pages_of(path, &n), *after = before;
    if (only_show) {
        pages_print(before, n);
    } else {
        pages_drop(path);
        after = pages_of(path, &n);
        (void)printf("pages %zu %zu %zu\n", pages_count(before, n), pages_count(after, n), n);
        free(after);
    }
    free(before);
    return 0;
}
