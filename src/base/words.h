/* The words of a command line. */
#ifndef TT_BASE_WORDS_H
#define TT_BASE_WORDS_H

/* Words (the last is NULL) quoted for a shell; to be freed. NULL if out of memory. */
char *tt_words_quote(char *const *words);

#endif
