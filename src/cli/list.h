/* Lists of rows: the common options of commands that list rows, and the table for people. */
#ifndef TT_CLI_LIST_H
#define TT_CLI_LIST_H

#include "cli/options.h"
#include "cli/table.h"
#include "report/page.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* --columns, --sort, --limit, --csv. */
typedef struct tt_list_options {
    const tt_schema *schema; /* of the rows; set by the command, or by options before this set */
    uint16_t kind;           /* likewise: that of their rowset; 0: not known */
    const char *columns;     /* NULL: not given */
    const char *sort;
    uint64_t limit; /* rows; 0: all */
    bool limited;   /* --limit was given */
    bool csv;
} tt_list_options;

/* The sets of these options: for a list of rows; and for a command that prints rows while reading
 * them, only --columns and --csv. Columns that the rows do not have are refused at once. */
#define TT_LIST(S, m)                                                                              \
    {                                                                                              \
        .options = tt_list_options_of_rows, .at = TT_OF_(tt_list_options, S, m),                   \
        .last = tt_list_check_options                                                              \
    }
#define TT_LIST_STREAM(S, m)                                                                       \
    {                                                                                              \
        .options = tt_list_options_of_stream, .at = TT_OF_(tt_list_options, S, m),                 \
        .last = tt_list_check_options                                                              \
    }
extern const tt_option tt_list_options_of_rows[], tt_list_options_of_stream[];
tt_options_check tt_list_check_options;

/* What the options request, sorted by `sort` (NULL: unsorted) by default; json: for JSON. */
tt_listing_wish tt_list_wish(const tt_list_options *o, bool json, const char *sort);
/* Prints why a listing could not be made, and mentions --columns help. Returns the exit code. */
int tt_list_error(const tt_error *err);
/* tt_listing_make for a command. TT_EXIT_OK; else the reason was printed. */
int tt_list_make(tt_listing *l, const tt_rowset *set, const tt_listing_wish *wish);
/* The same for rows that are not there yet: only whether it can be made. */
int tt_list_check(const tt_rowset *set, const tt_listing_wish *wish);
/* Prints the listed rows as a table on standard output, and below them the row `total` (NULL:
 * none), named "all"; it is left out if no column names the rows. Prints on stderr how many more
 * there are. False if the output failed or memory ran out. */
bool tt_list_print(const tt_listing *l, const void *total);
/* A table with the columns of a listing, for rows one by one; NULL if out of memory. */
tt_table *tt_list_table(const tt_listing *l, FILE *out);
void tt_list_row(tt_table *t, const tt_listing *l, const void *row);
/* The rows of a set as a table; the columns that the wish names are left out where there is little
 * room. False as above. */
bool tt_list_print_set(const tt_rowset *set, const tt_listing_wish *wish, FILE *out);
/* The same on standard output below a heading, with a total as tt_list_print; nothing if there are
 * no rows. How many more than the wish's limit there are is not said. */
bool tt_list_print_under(const char *heading, const tt_rowset *set, const tt_listing_wish *wish,
                         const void *total);
/* The listed rows as CSV, without a total. */
bool tt_list_print_csv(const tt_listing *l);
/* The same on another stream. */
bool tt_list_write(const tt_listing *l, const void *total, FILE *out);
bool tt_list_write_csv(const tt_listing *l, FILE *out);
/* Prints the rows of a set as the options request, sorted by `sort` (NULL: unsorted) by default: as
 * a table, or as CSV. Returns the exit code; if it is not TT_EXIT_OK, the reason was printed. */
int tt_list_show(const tt_rowset *set, const tt_list_options *o, const char *sort);
/* Prints a page's sentences and tables on a terminal, or as plain text in a file, without plots.
 * False if the output failed or memory ran out. */
bool tt_page_print(const tt_page *p, FILE *out);

#endif
