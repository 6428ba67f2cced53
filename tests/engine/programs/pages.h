/* The page cache's view of a file, asked of the kernel directly: what the tests compare traces
 * with. Everything exits with 1 and a sentence when it fails. */
#ifndef TT_TESTS_PAGES_H
#define TT_TESTS_PAGES_H

#include <stddef.h>

/* One byte a page, bit 0: it is in RAM. malloc'ed. mincore tells others' pages only to who
 * could write the file. */
unsigned char *pages_of(const char *path, size_t *n);
size_t pages_count(const unsigned char *pages, size_t n);
/* Prints "pages PRESENT TOTAL" and "intervals N N ...": pages absent, present, absent, ... */
void pages_print(const unsigned char *pages, size_t n);

/* Puts the file's pages out of the cache, as far as the kernel lets us: not those that some
 * process has mapped and touched. */
void pages_drop(const char *path);
/* Forgets this process's own touches, so that pages_drop can work. */
void pages_untouch(const char *path);

#endif
