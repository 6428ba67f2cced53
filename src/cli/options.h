/* The options of commands: each is a row of a table; one parser for all parses and checks them and
 * reports errors (exit code 2). The options' headings in the man pages come from the same rows
 * (scripts/list-options).
 *
 * A row: long name, letter (0: none), the argument's name (NULL: none), the line of --help, the
 * group of --help; then where the value is stored (one of the TT_... below), and its relation to
 * other options. A row without a name is a heading of --help. */
#ifndef TT_CLI_OPTIONS_H
#define TT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A command line while it is parsed. */
typedef struct tt_parse tt_parse;

/* Stores a value in `member`, or reports an error with tt_parse_refuse. `arg` is in argv, NULL if
 * an optional argument was left out. */
typedef void tt_option_take(void *member, char *arg, tt_parse *p);
/* Checks that rows cannot express: after all values were stored, `options` is the set's struct. */
typedef void tt_options_check(void *options, tt_parse *p);

typedef enum tt_option_kind {
    TT_OPTION_NONE,   /* a heading */
    TT_OPTION_FORMER, /* another name of the row above, which is not listed */
    TT_OPTION_SET,
    TT_OPTION_TEXT,
    TT_OPTION_WHOLE,
    TT_OPTION_SIZE,
    TT_OPTION_AMOUNT,
    TT_OPTION_RATE,
    TT_OPTION_TIME,
    TT_OPTION_RANGE,
    TT_OPTION_NAME,
    TT_OPTION_ROW,
    TT_OPTION_TAKE
} tt_option_kind;

enum {
    TT_OPTION_HIDDEN = 1,   /* neither in --help nor in the man page */
    TT_OPTION_OPTIONAL = 2, /* its argument is optional */
    TT_OPTION_FIRST = 4,    /* parsed before options that depend on it, wherever it is */
    TT_OPTION_SECOND = 8,   /* after those, before all others */
    TT_OPTION_COLUMN = 16   /* its argument names columns of the command's list (--columns help) */
};

/* A word that an option accepts, and the value stored for it. */
typedef struct tt_option_name {
    const char *name;
    int value;
} tt_option_name;

typedef struct tt_option {
    const char *name;
    int letter;
    const char *arg, *about;
    int group;
    tt_option_kind kind;
    size_t at, bytes; /* the member */
    size_t last;      /* TT_RANGE: its second member */
    size_t given;     /* TT_GIVEN: 1 + the offset of a bool */
    int64_t least, most;
    const void *rows; /* each begins with its name */
    size_t n_rows, row_bytes;
    tt_option_take *take;
    const char *(*names)(size_t i); /* of TT_TAKE, for completion: what it takes; NULL: no more */
    unsigned flags;
    const char *excludes; /* "json csv": these names, separated by a blank */
    const char *needs;    /* one of these */
} tt_option;

#define TT_OF_(T, S, m) (offsetof(S, m) + 0 * sizeof((T *)0 == &((S *)0)->m))
#define TT_INTEGER_(S, m) .at = offsetof(S, m), .bytes = sizeof(((S *)0)->m)
#define TT_ROWS_(table)                                                                            \
    .rows = (table), .n_rows = sizeof(table) / sizeof *(table), .row_bytes = sizeof *(table)

/* Another name of the row above. */
#define TT_FORMER .kind = TT_OPTION_FORMER
/* An option without an argument; sets the integer or bool to a value. */
#define TT_SET(S, m, value)                                                                        \
    .kind = TT_OPTION_SET, TT_INTEGER_(S, m), .least = (value), .most = (value)
#define TT_FLAG(S, m) TT_SET(S, m, true)
/* const char *, in argv. */
#define TT_TEXT(S, m) .kind = TT_OPTION_TEXT, .at = TT_OF_(const char *, S, m)
/* const char *, one of a table of texts: points into the table. */
#define TT_WORD(S, m, table) TT_TEXT(S, m), TT_ROWS_(table)
/* An integer that fits the member. */
#define TT_WHOLE(S, m, from, to)                                                                   \
    .kind = TT_OPTION_WHOLE, TT_INTEGER_(S, m), .least = (from), .most = (to)
/* uint64_t, in bytes: parsed by tt_units_parse_size, and by tt_units_parse_amount. */
#define TT_SIZE(S, m, from, to)                                                                    \
    .kind = TT_OPTION_SIZE, .at = TT_OF_(uint64_t, S, m), .least = (from), .most = (to)
#define TT_AMOUNT(S, m, from, to)                                                                  \
    .kind = TT_OPTION_AMOUNT, .at = TT_OF_(uint64_t, S, m), .least = (from), .most = (to)
/* double, per second: parsed by tt_units_parse_rate. */
#define TT_RATE(S, m) .kind = TT_OPTION_RATE, .at = TT_OF_(double, S, m)
/* double, in ns: parsed by tt_units_parse_time. */
#define TT_TIME(S, m) .kind = TT_OPTION_TIME, .at = TT_OF_(double, S, m)
/* Two uint32_t: parsed by tt_units_parse_range. */
#define TT_RANGE(S, m, end)                                                                        \
    .kind = TT_OPTION_RANGE, .at = TT_OF_(uint32_t, S, m), .last = TT_OF_(uint32_t, S, end)
/* One of a table of tt_option_name, whose value is stored in the integer. */
#define TT_NAME(S, m, table) .kind = TT_OPTION_NAME, TT_INTEGER_(S, m), TT_ROWS_(table)
/* One of a table of rows that begin with their names, as in JSON ("token" is the former name of
 * "batch"). Stores a pointer to the row. */
#define TT_ROW(S, m, table, n)                                                                     \
    .kind = TT_OPTION_ROW,                                                                         \
    .at = offsetof(S, m) + 0 * sizeof(&((S *)0)->m == (const __typeof__(*(table)) **)0),           \
    .rows = (table), .n_rows = (n), .row_bytes = sizeof *(table)
/* By a function. TT_ROWS_ or `names` may say which words it takes. */
#define TT_TAKE(S, m, f) .kind = TT_OPTION_TAKE, .at = offsetof(S, m), .take = (f)
/* A bool: whether the option was given. */
#define TT_GIVEN(S, m) .given = 1 + TT_OF_(bool, S, m)

/* A group of options, perhaps shared by several commands. */
typedef struct tt_option_set {
    const tt_option *options; /* the last has neither name nor about; NULL: none */
    size_t at;                /* of the set's struct in the command's */
    tt_option_take *word;     /* for an argument that is not an option (member: the set's struct);
                                 NULL: none */
    tt_options_check *check;  /* NULL: none */
    tt_options_check *last;   /* after the checks of all sets; NULL: none */
} tt_option_set;

#define TT_OPTION_SETS_MAX 4

typedef struct tt_options {
    const char *words; /* after the options in --help's first line */
    const char *about; /* text after \v is printed after the options */
    tt_option_set sets[TT_OPTION_SETS_MAX];
    bool in_order;                   /* everything after the first argument is an argument */
    char *(*more)(const char *text); /* text after the options instead of `text`, for free(); NULL:
                                        text */
} tt_options;

/* Parses a command's arguments into `options`; argv[0] is "tensortrace VERB". Ends the process
 * after --help, and with 2 after an error message. */
void tt_options_parse(const tt_options *command, int argc, char **argv, void *options);
/* Called first by tt_options_parse, unless it is NULL: returns the arguments to parse instead. */
extern char **(*tt_options_complete)(const tt_options *command, int argc, char **argv);
/* From then on tt_options_parse prints the command's options, one per line, and ends the
 * process. */
void tt_options_list(void);

/* End the process with an error about the value being parsed, "--OPTION: ...", or any other. */
_Noreturn void tt_parse_refuse(tt_parse *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void tt_parse_error(tt_parse *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether an option was given. */
bool tt_parse_given(const tt_parse *p, const char *name);
/* For a set's argument: it and all following ones, whatever they look like, NULL-terminated. */
char **tt_parse_rest(tt_parse *p);

#endif
