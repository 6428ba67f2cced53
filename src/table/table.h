/* Rows and their columns. A column is declared once, with its key, type, unit and meaning. The
 * commands' text tables, JSON, CSV, the viewer's binary columns, the tables of `export` and the
 * lists in the documentation are made from the declaration.
 *
 *     static const tt_column columns[] = {
 *         TT_COLUMN("layer_id", "LAYER", ID, "the layer", .type = TT_CELL_I32, .get = get_layer),
 *         TT_COLUMN("size_bytes", "SIZE", BYTES, "of its weights", TT_MEMBER(row, size_bytes)),
 *     };
 *     const tt_schema layer_schema = {"layers", "a row for each layer", columns, 2};
 *
 * Functions only read their input: several threads may use one rowset. */
#ifndef TT_TABLE_TABLE_H
#define TT_TABLE_TABLE_H

#include "base/bytes.h"
#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- columns --- */

typedef enum tt_cell_type {
    TT_CELL_BOOL, /* uint8_t in the arrays of `export`: 0 or 1 */
    TT_CELL_U8,
    TT_CELL_U16,
    TT_CELL_U32,
    TT_CELL_U64,
    TT_CELL_I32,
    TT_CELL_I64,
    TT_CELL_F32,
    TT_CELL_F64,
    TT_CELL_TIME,   /* int64_t: ns since 1970-01-01 00:00 UTC */
    TT_CELL_NAME,   /* a text; in the arrays of `export` the uint32_t code of a dictionary */
    TT_CELL_OBJECT, /* one row of another schema: in JSON only */
    TT_CELL_ROWS,   /* rows of another schema: in JSON only */
    TT_CELL_LIST,   /* the same, with only the first column of each row: a list of plain values */
    TT_CELL_COLUMNS /* the same, as an object with an array for each column */
} tt_cell_type;

/* How text shows a number. JSON and CSV have the plain number: its unit ends the key (`_bytes`,
 * `_ns`, `_per_s`). */
typedef enum tt_cell_unit {
    TT_UNIT_NONE,       /* digits; a number with a fraction has three decimals */
    TT_UNIT_FIGURE,     /* five significant digits: 0.012345, 1.2e+09 */
    TT_UNIT_COUNT,      /* 1,234,567 */
    TT_UNIT_BYTES,      /* 1.5 MiB */
    TT_UNIT_NS,         /* 1.50 ms */
    TT_UNIT_MOMENT,     /* ns since the first batch began: 1.50 ms; sorted from the earliest */
    TT_UNIT_ID,         /* a number that identifies: digits; sorted from the smallest */
    TT_UNIT_SHARE,      /* a fraction of 1: 12.5 % */
    TT_UNIT_BYTES_PER_S /* 1.5 GB/s */
} tt_cell_unit;

/* Where a column is shown. JSON and CSV have all of them, except those for text only. */
enum {
    /* What text leaves out where the line is short: WIDEST, then WIDE, then others that do not
     * identify rows, each from the last. */
    TT_SHOW_WIDE = 1,
    TT_SHOW_WIDEST = 2,
    TT_SHOW_ASKED = 4,    /* in text only when --columns names it */
    TT_SHOW_TEXT = 8,     /* in text only */
    TT_SHOW_FLAT = 4096,  /* in text and CSV; in JSON it is part of a nested row */
    TT_SHOW_LEFT = 16,    /* a number that names the row: left-aligned in text */
    TT_SHOW_RIGHT = 1024, /* a text of digits: right-aligned in text */
    TT_SHOW_SIGN = 2048,  /* a difference with a fraction: "+1.50 ms" in text */
    TT_SHOW_CUT = 32,     /* a text that may be shortened in text */
    TT_SHOW_WRAP = 16384, /* sentences, which text continues in the next line */
    TT_SHOW_DASH = 256,   /* a dash in text if it is not known: it applies, but was not observed */
    TT_SHOW_KNOWN = 128,  /* left out of text if no listed row has it */
    TT_SHOW_KEY = 64,     /* with CUT: identifies the row; shortened last, and in the middle */
    TT_SHOW_ROW = 512,    /* of single rows: sums do not have it */
    TT_SHOW_OMIT = 8192   /* left out of JSON, not null, if it is not known */
};

/* What a column of a layer has of it; not known if there is no layer. */
enum {
    TT_OF_LAYER_NUMBER = 1, /* text shows its stack, too: "enc 3" */
    TT_OF_LAYER_STACK = 2,
    TT_OF_LAYER_WHOLE = 3 /* all in one number */
};

/* How exact a number is; text shows it as a prefix. */
typedef enum tt_certainty {
    TT_EXACT,
    TT_AT_MOST,  /* "<= " */
    TT_AT_LEAST, /* ">= " */
    TT_ABOUT     /* "~" */
} tt_certainty;

/* The value of a column in a row. */
typedef struct tt_cell {
    bool known; /* false: not observed, or not applicable; null */
    tt_certainty bound;
    union {
        bool boolean;
        uint64_t u64; /* U8 to U64 */
        int64_t i64;  /* I32, I64, TIME */
        double f64;   /* F32, F64; null if not finite */
        struct {
            const char *at; /* lives as long as the row, static, or in `room` */
            size_t n;
        } text;
    };
    char room[320]; /* for formatted texts: tt_cell_format */
} tt_cell;

typedef struct tt_column tt_column;
typedef struct tt_schema tt_schema;
typedef struct tt_rowset tt_rowset;

struct tt_column {
    const char *key;   /* snake_case, the unit last; the same name for the same thing everywhere */
    const char *title; /* of the column in text; NULL: in text only if --columns names it */
    const char *about; /* one line, for the documentation and --columns help */
    tt_cell_type type;
    tt_cell_unit unit;
    bool nullable;    /* not every row has it */
    uint16_t show;    /* TT_SHOW_... */
    uint16_t kinds;   /* bits of the kinds of rowset that have the column; 0: all */
    uint32_t offset;  /* of the member (TT_MEMBER), if there is no `get` */
    uint32_t through; /* 0, or 1 + the offset of the row's pointer to the struct with the member */
    bool chars;       /* a NAME's member is an array, not a pointer; empty: not known */
    uint8_t layer;    /* TT_OF_LAYER_...: the member, or what `get` sets, is one of base/layer.h */
    bool (*known)(const void *context, const void *row);         /* for members; NULL: always */
    tt_certainty (*bound)(const void *context, const void *row); /* NULL: exact */
    /* Sets the value; the cell is not known and its value zero before. */
    void (*get)(const void *context, const void *row, tt_cell *cell);
    /* Writes the text cell, if that is not the value in its unit. */
    void (*text)(const void *context, const void *row, char *out, size_t room);
    const char *sort; /* key of the column to sort by instead; NULL: itself */
    void (*json)(tt_json *j, const void *context,
                 const void *row); /* its value in JSON, if `get` returns a text for other outputs
                                    */
    const tt_schema *inner;        /* the schema of nested rows: the row at `offset`, or ... */
    /* ... these rows; an OBJECT without a row is null. `out` already has the schema and the
     * context. */
    void (*rows)(const void *context, const void *row, tt_rowset *out);
};

/* A column. TITLE is NULL if text does not show it by default; UNIT is the end of a TT_UNIT_...;
 * the rest are designated initialisers. */
#define TT_COLUMN(key_, title_, unit_, about_, ...)                                                \
    {                                                                                              \
        .key = (key_), .title = (title_), .unit = TT_UNIT_##unit_, .about = (about_), __VA_ARGS__  \
    }

/* The type and offset of a member of a row's struct. By address, so that an array does not compile.
 * */
#define TT_MEMBER(row_type, member)                                                                \
    .type = _Generic(&((row_type *)0)->member,                                                     \
        bool *: TT_CELL_BOOL,                                                                      \
        uint8_t *: TT_CELL_U8,                                                                     \
        uint16_t *: TT_CELL_U16,                                                                   \
        uint32_t *: TT_CELL_U32,                                                                   \
        uint64_t *: TT_CELL_U64,                                                                   \
        int32_t *: TT_CELL_I32,                                                                    \
        int64_t *: TT_CELL_I64,                                                                    \
        float *: TT_CELL_F32,                                                                      \
        double *: TT_CELL_F64,                                                                     \
        char **: TT_CELL_NAME,                                                                     \
        const char **: TT_CELL_NAME),                                                              \
    .offset = offsetof(row_type, member)

/* For a column with a layer's number, and the column of its stack that goes with it: both with
 * TT_LAYER_AT, or a `get` that sets a layer (cell->i64). JSON has a TT_LAYER_KEY behind the stack
 * where the number does not tell which layer it is (base/layer.h). */
#define TT_LAYER .type = TT_CELL_I32, .nullable = true, .layer = TT_OF_LAYER_NUMBER
#define TT_STACK(...)                                                                              \
    TT_COLUMN("stack", NULL, NONE,                                                                 \
              "the layer's stack, if it has a name: enc, dec, v (images), a (sound), ...",         \
              .type = TT_CELL_NAME, .nullable = true, .layer = TT_OF_LAYER_STACK, __VA_ARGS__)
/* A member, an int32_t. */
#define TT_LAYER_AT(row_type, member)                                                              \
    .offset = offsetof(row_type, member) + 0 * sizeof(&((row_type *)0)->member == (int32_t *)0)

/* The same for a text that is an array, and for a member of the struct that the row's POINTER
 * points to. */
#define TT_MEMBER_CHARS(row_type, member)                                                          \
    .type = TT_CELL_NAME, .chars = true, .offset = offsetof(row_type, member)
#define TT_THROUGH(row_type, pointer) .through = offsetof(row_type, pointer) + 1

/* A key of an object, which text does not show as a column; the end of the key is its unit. */
#define TT_FIELD(key_, about_, ...) TT_COLUMN(key_, NULL, NONE, about_, __VA_ARGS__)
#define TT_SCHEMA(name_, about_, columns_)                                                         \
    {                                                                                              \
        name_, about_, columns_, sizeof(columns_) / sizeof *(columns_)                             \
    }

/* Define functions of columns, for a row R of ROW_TYPE: whether the value is known; the value, set
 * as the cell's MEMBER; statements that set `cell`; statements that write `out` of `room` bytes. */
#define TT_COLUMN_KNOWN(name, row_type, r, test)                                                   \
    static bool name(const void *context, const void *row)                                         \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        return (test);                                                                             \
    }
#define TT_COLUMN_VALUE(name, row_type, r, member, value)                                          \
    static void name(const void *context, const void *row, tt_cell *cell)                          \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        cell->member = (value);                                                                    \
        cell->known = true;                                                                        \
    }
#define TT_COLUMN_GET(name, row_type, r, ...)                                                      \
    static void name(const void *context, const void *row, tt_cell *cell)                          \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        __VA_ARGS__                                                                                \
    }
#define TT_COLUMN_SHOW(name, row_type, r, ...)                                                     \
    static void name(const void *context, const void *row, char *out, size_t room)                 \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        __VA_ARGS__                                                                                \
    }
/* Statements that write the value to `j`. */
#define TT_COLUMN_JSON(name, row_type, r, ...)                                                     \
    static void name(tt_json *j, const void *context, const void *row)                             \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        __VA_ARGS__                                                                                \
    }
/* The nested rows: LIST of N; for an OBJECT, one or none. */
#define TT_COLUMN_ROWS(name, row_type, r, list, n_)                                                \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        out->rows = (list);                                                                        \
        out->row_bytes = sizeof *(list);                                                           \
        out->n = (n_);                                                                             \
    }

/* The same as a whole rowset: of a kind, or of several schemas. */
#define TT_COLUMN_ROWSET(name, row_type, r, ...)                                                   \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        *out = (__VA_ARGS__);                                                                      \
    }

/* The rows and columns of a tt_listing, nested in a row. */
#define TT_COLUMN_LISTING(name, row_type, r, listing_)                                             \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        *out = *(listing_)->set;                                                                   \
        out->listing = (listing_);                                                                 \
    }

/* The same for a member that is a struct with columns of its own. */
#define TT_MEMBER_OBJECT(row_type, member, schema)                                                 \
    .type = TT_CELL_OBJECT, .inner = (schema), .offset = offsetof(row_type, member)

struct tt_schema {
    const char *name;
    const char *about; /* what a row is */
    const tt_column *columns;
    size_t n_columns;
};

/* --- rows --- */

/* Rows one after the other in memory. It owns nothing. */
struct tt_rowset {
    const tt_schema *schema;
    uint16_t kind;       /* one bit; 0: columns of all kinds */
    const void *context; /* passed to the columns' functions */
    const void *rows;
    size_t row_bytes;
    size_t n;
    /* In JSON: */
    bool sum; /* a sum of all rows: without columns of single rows (TT_SHOW_KEY, TT_SHOW_ROW) */
    bool (*passes)(const void *context, const void *row); /* rows that fail it are left out */
    const struct tt_listing *listing;                     /* these rows and columns instead */
};

/* A rowset of N rows at ROWS, an array or pointer of their type. */
#define TT_ROWSET(schema_, kind_, context_, rows_, n_)                                             \
    ((tt_rowset){.schema = (schema_),                                                              \
                 .kind = (uint16_t)(kind_),                                                        \
                 .context = (context_),                                                            \
                 .rows = (rows_),                                                                  \
                 .row_bytes = sizeof *(rows_),                                                     \
                 .n = (n_)})

const void *tt_rowset_row(const tt_rowset *set, size_t i);
bool tt_rowset_has(const tt_rowset *set, const tt_column *column);

/* Whether the column is in JSON only. */
bool tt_column_nested(const tt_column *column);
/* Whether text right-aligns it: a number. */
bool tt_column_right(const tt_column *column);

void tt_cell_get(const tt_column *column, const void *context, const void *row, tt_cell *cell);
/* For `get`: sets a text. */
void tt_cell_text(tt_cell *cell, const char *text); /* NULL: not known */
void tt_cell_format(tt_cell *cell, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For `get`: sets a number (I32 or I64) that is not known if negative. */
void tt_cell_id(tt_cell *cell, int64_t id);
/* For `get`: sets whole ns (I64), because decimals would be most of a reply. Not known if longer
 * than any run can be (a damaged trace). */
void tt_cell_ns(tt_cell *cell, bool known, double ns);
/* For `text`: copies a text that may come from a file, without control bytes. */
void tt_cell_text_copy(char *out, size_t room, const char *text);
/* The cell's text, without control bytes. Unknown values are empty; NAN is a dash: it applies, but
 * was not observed. */
void tt_cell_show(const tt_column *column, const void *context, const void *row, char *out,
                  size_t room);

/* --- listings --- */

#define TT_LISTING_COLUMNS_MAX 64u

/* Which columns and rows are wanted, in what order: from options of a command or parameters of a
 * request. */
typedef struct tt_listing_wish {
    const char *columns; /* comma-separated keys or titles; "all"; NULL: the schema's default */
    const char *sort;    /* a key or title, with "-" or "+" in front for descending or ascending
                            (default: numbers descend, texts and ids ascend); NULL: unsorted */
    uint64_t limit;      /* rows; 0: all */
    bool text;           /* for people: without columns that are shown only if named */
    bool csv;            /* text and CSV have no nested rows */
    bool (*passes)(const void *context, const void *row); /* NULL: every row */
} tt_listing_wish;

typedef struct tt_listing {
    const tt_rowset *set;
    const tt_column *columns[TT_LISTING_COLUMNS_MAX];
    size_t n_columns;
    const tt_column *sorted_by; /* first; NULL: unsorted */
    bool chosen;                /* the columns were named */
    bool tabs;     /* not CSV: tab-separated cells with \t, \n, \r and \\ escaped; set by the caller
                    */
    size_t *order; /* indices of the listed rows */
    size_t n;
    size_t n_all; /* rows that pass, including those beyond the limit */
} tt_listing;

/* TT_E_USAGE if there is no such column. Free `l` with tt_listing_free in every case. The sort is
 * stable; unknown values come last. */
tt_status tt_listing_make(tt_listing *l, const tt_rowset *set, const tt_listing_wish *wish,
                          tt_error *err);
void tt_listing_free(tt_listing *l);
const void *tt_listing_row(const tt_listing *l, size_t i);
/* A column to sort by. */
typedef struct tt_sort_key {
    const tt_column *column;
    bool falling;
} tt_sort_key;

/* Reads a column's key or title with "-" or "+" in front, as in tt_listing_wish. TT_E_USAGE if
 * there is no such column, or if it is nested. */
tt_status tt_sort_key_read(tt_sort_key *key, const tt_rowset *set, const char *name, size_t n,
                           tt_error *err);
/* The column with that key or title, ignoring case ("-" and "_" match blanks); NULL: none. */
const tt_column *tt_schema_find(const tt_rowset *set, const char *name, size_t n);

/* --- as JSON and CSV --- */

/* Writes a row's members, without the braces and without text-only columns. Nested rows get the
 * same context. */
void tt_rowset_json(tt_json *j, const tt_rowset *set, const void *row);
/* Writes a key (NULL: none) and an object of the row; null if there is none. */
void tt_row_json(tt_json *j, const char *key, const tt_schema *schema, const void *context,
                 const void *row);
/* Writes the whole document; false if that failed. */
bool tt_row_json_print(FILE *out, const tt_schema *schema, const void *context, const void *row);
/* Writes a key and an array of the rows that pass (NULL: all) as objects. */
void tt_rowset_json_rows(tt_json *j, const char *key, const tt_rowset *set,
                         bool (*passes)(const void *context, const void *row));
/* Writes a key (NULL: none) and an object with an array for each column. */
void tt_rowset_json_columns(tt_json *j, const char *key, const tt_rowset *set);
/* Writes a key and its value. */
void tt_column_json(tt_json *j, const tt_column *column, const void *context, const void *row);
/* Writes the members of the listed columns. */
void tt_listing_json_row(tt_json *j, const tt_listing *l, const void *row);
/* Writes an array of the listed rows as objects. */
void tt_listing_json(tt_json *j, const tt_listing *l);
/* Append the header and a row, as docs/tables.md describes; nested columns are left out. Failure is
 * out->failed. Nothing is written to a file, so the caller may flush between rows. */
void tt_listing_csv_header(tt_bytes *out, const tt_listing *l);
void tt_listing_csv_row(tt_bytes *out, const tt_listing *l, const void *row);

#endif
