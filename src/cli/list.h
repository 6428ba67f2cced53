/* Lists of rows: the options that all commands which list rows have, and the table for people. */
#ifndef TT_CLI_LIST_H
#define TT_CLI_LIST_H

#include "cli/options.h"
#include "report/page.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* --columns, --sort, --limit, --csv. */
typedef struct tt_list_options {
    const tt_schema *schema; /* of the rows, for --columns help; set by the command */
    const char *columns;     /* NULL: not said */
    const char *sort;
    uint64_t limit; /* rows; 0: all */
    bool limited;   /* --limit was said */
    bool csv;
} tt_list_options;

/* The sets of these options: of a list of rows; and of a command that prints its rows as it reads
 * them: --columns and --csv alone. */
#define TT_LIST(S, m)                                                                              \
    {                                                                                              \
        .options = tt_list_options_of_rows, .at = TT_OF_(tt_list_options, S, m)                    \
    }
#define TT_LIST_STREAM(S, m)                                                                       \
    {                                                                                              \
        .options = tt_list_options_of_stream, .at = TT_OF_(tt_list_options, S, m)                  \
    }
extern const tt_option tt_list_options_of_rows[], tt_list_options_of_stream[];

/* Says why a listing could not be made, and what --columns help is for. Returns the exit code. */
int tt_list_error(const tt_error *err);
/* tt_listing_make for a command. TT_EXIT_OK; else why not was told. */
int tt_list_make(tt_listing *l, const tt_rowset *set, const tt_listing_wish *wish);
/* The rows that are listed as a table on standard output, below them the row `total` (NULL: none),
 * whose name is "all"; it is left out where no column names the rows. Says on stderr how many more
 * there are. False when the output failed or memory ran out. */
bool tt_list_print(const tt_listing *l, const void *total);
/* The same as CSV, without a total. */
bool tt_list_print_csv(const tt_listing *l);
/* The rows of a set as the options say, `sort` (NULL: as they are) where they do not: as a table,
 * or as CSV. The exit code; when it is not TT_EXIT_OK the reason was told. */
int tt_list_show(const tt_rowset *set, const tt_list_options *o, const char *sort);
/* How a column stands in a table for people: TT_COLUMN_... of cli/table.h. `chosen`: by name,
 * which is not left out. */
int tt_list_layout(const tt_column *c, bool chosen);
/* A page's sentences and tables on a terminal, or as plain text in a file; plots are left out.
 * False when the output failed or memory ran out. */
bool tt_page_print(const tt_page *p, FILE *out);

#endif
