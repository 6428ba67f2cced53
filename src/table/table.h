/* Rows and their columns. A column is declared once, with its key, type, unit and meaning; the text
 * tables of the commands, JSON, CSV, the viewer's binary columns, the tables of `export` and the
 * lists in the documentation are made from the declaration.
 *
 *     static const tt_column columns[] = {
 *         TT_COLUMN("layer_id", "LAYER", ID, "the layer", .type = TT_CELL_I32, .get = get_layer),
 *         TT_COLUMN("size_bytes", "SIZE", BYTES, "of its weights", TT_MEMBER(row, size_bytes)),
 *     };
 *     const tt_schema layer_schema = {"layers", "a row for each layer", columns, 2};
 *
 * Everything here only reads what it is given: one rowset may serve several threads. */
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
    TT_CELL_LIST,   /* the same, of each row only its first column: a list of plain values */
    TT_CELL_COLUMNS /* the same, as an object with an array for each column */
} tt_cell_type;

/* How a number is written for people. JSON and CSV have the plain number: the unit is the end of
 * the key (`_bytes`, `_ns`, `_per_s`). */
typedef enum tt_cell_unit {
    TT_UNIT_NONE,       /* digits; a number with a fraction with three of them */
    TT_UNIT_FIGURE,     /* five digits: 0.012345, 1.2e+09 */
    TT_UNIT_COUNT,      /* 1,234,567 */
    TT_UNIT_BYTES,      /* 1.5 MiB */
    TT_UNIT_NS,         /* 1.50 ms */
    TT_UNIT_MOMENT,     /* ns since the first batch began: 1.50 ms; sorted from the earliest */
    TT_UNIT_ID,         /* a number that names something: digits; sorted from the smallest */
    TT_UNIT_SHARE,      /* of one: 12.5 % */
    TT_UNIT_BYTES_PER_S /* 1.5 GB/s */
} tt_cell_unit;

/* Where a column is shown. In JSON and CSV all are, but those for text only. */
enum {
    TT_SHOW_WIDE = 1,     /* in text left out where there is little room: the last first, ... */
    TT_SHOW_WIDEST = 2,   /* ... but these before all others */
    TT_SHOW_ASKED = 4,    /* in text only when --columns names it */
    TT_SHOW_TEXT = 8,     /* in text only */
    TT_SHOW_FLAT = 4096,  /* in text and CSV: JSON has it in what is nested */
    TT_SHOW_LEFT = 16,    /* a number that is the row's name: on the left in text */
    TT_SHOW_RIGHT = 1024, /* a text of figures: on the right in text */
    TT_SHOW_SIGN = 2048,  /* a number with a fraction that is a difference: "+1.50 ms" in text */
    TT_SHOW_CUT = 32,     /* a text that may be cut in text */
    TT_SHOW_DASH = 256,  /* what is not known is a dash in text: it applies, and was not observed */
    TT_SHOW_KNOWN = 128, /* in text left out when no row that is listed has it */
    TT_SHOW_KEY = 64,    /* with CUT: tells rows apart; is cut last, and in the middle */
    TT_SHOW_ROW = 512,   /* of single rows: a sum has no such thing */
    TT_SHOW_OMIT = 8192  /* in JSON left out, not null, when it is not known */
};

/* How a number is to be taken; people see the sign before it. */
typedef enum tt_certainty {
    TT_EXACT,
    TT_AT_MOST,  /* "<= " */
    TT_AT_LEAST, /* ">= " */
    TT_ABOUT     /* "~" */
} tt_certainty;

/* The value of a column in a row. */
typedef struct tt_cell {
    bool known; /* false: was not observed, or does not apply; null */
    tt_certainty bound;
    union {
        bool boolean;
        uint64_t u64; /* U8 to U64 */
        int64_t i64;  /* I32, I64, TIME */
        double f64;   /* F32, F64; not finite: null */
        struct {
            const char *at; /* as long as the row, static, or in `room` */
            size_t n;
        } text;
    };
    char room[320]; /* for texts that are put together: tt_cell_format */
} tt_cell;

typedef struct tt_column tt_column;
typedef struct tt_schema tt_schema;
typedef struct tt_rowset tt_rowset;

struct tt_column {
    const char *key;   /* snake_case, the unit last; one name for one thing everywhere */
    const char *title; /* of the column in text; NULL: in text only when --columns names it */
    const char *about; /* one line, for the documentation and --columns help */
    tt_cell_type type;
    tt_cell_unit unit;
    bool nullable;    /* not every row has it */
    uint16_t show;    /* TT_SHOW_... */
    uint8_t kinds;    /* bits of the kinds of rowset that have it; 0: all */
    uint32_t offset;  /* of the member that it shows (TT_MEMBER), unless there is `get` */
    uint32_t through; /* 0, or 1 + the offset of the row's pointer to what has the member */
    bool chars;       /* a NAME's member is an array, not a pointer; empty: not known */
    bool (*known)(const void *context, const void *row);         /* NULL: always; for members */
    tt_certainty (*bound)(const void *context, const void *row); /* NULL: exact */
    /* Sets the value; the cell is not known and its type zero at first. */
    void (*get)(const void *context, const void *row, tt_cell *cell);
    /* Writes what text shows, where that is not the value in its unit. */
    void (*text)(const void *context, const void *row, char *out, size_t room);
    const char *sort; /* key of the column that sorts instead of it; NULL: itself */
    void (*json)(tt_json *j, const void *context,
                 const void *row); /* its value in JSON, where `get` has a text for the others */
    const tt_schema *inner;        /* what is nested: the row at `offset`, or ... */
    /* ... rows; of an OBJECT none: null. `out` has the schema and the context already. */
    void (*rows)(const void *context, const void *row, tt_rowset *out);
};

/* A column; TITLE is NULL where text does not show it by itself, UNIT the end of a TT_UNIT_...; the
 * rest are members by name. */
#define TT_COLUMN(key_, title_, unit_, about_, ...)                                                \
    {                                                                                              \
        .key = (key_), .title = (title_), .unit = TT_UNIT_##unit_, .about = (about_), __VA_ARGS__  \
    }

/* The type and the place of a member of a row's struct; by its address, so that an array does not
 * compile. */
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

/* The same of a text that is an array, and of what the row's POINTER points to. */
#define TT_MEMBER_CHARS(row_type, member)                                                          \
    .type = TT_CELL_NAME, .chars = true, .offset = offsetof(row_type, member)
#define TT_THROUGH(row_type, pointer) .through = offsetof(row_type, pointer) + 1

/* A key of an object that text does not show as a column; the end of the key is its unit. */
#define TT_FIELD(key_, about_, ...) TT_COLUMN(key_, NULL, NONE, about_, __VA_ARGS__)
#define TT_SCHEMA(name_, about_, columns_)                                                         \
    {                                                                                              \
        name_, about_, columns_, sizeof(columns_) / sizeof *(columns_)                             \
    }

/* Functions of columns, of a row R of ROW_TYPE: whether its value is known; its value, set as the
 * cell's MEMBER; statements that set `cell`; statements that write `out` of `room` bytes. */
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
/* Statements that write its value to `j`. */
#define TT_COLUMN_JSON(name, row_type, r, ...)                                                     \
    static void name(tt_json *j, const void *context, const void *row)                             \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        __VA_ARGS__                                                                                \
    }
/* The rows inside of a row: LIST of N; one, or none, for an OBJECT. */
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

/* The rows and columns of a tt_listing inside of a row. */
#define TT_COLUMN_LISTING(name, row_type, r, listing_)                                             \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const row_type *r = row;                                                                   \
        (void)context;                                                                             \
        *out = *(listing_)->set;                                                                   \
        out->listing = (listing_);                                                                 \
    }

/* The same of a member that is a struct with columns of its own. */
#define TT_MEMBER_OBJECT(row_type, member, schema)                                                 \
    .type = TT_CELL_OBJECT, .inner = (schema), .offset = offsetof(row_type, member)

struct tt_schema {
    const char *name;
    const char *about; /* what a row is */
    const tt_column *columns;
    size_t n_columns;
};

/* --- rows --- */

/* Rows one after the other in memory. Nothing of it is owned. */
struct tt_rowset {
    const tt_schema *schema;
    uint8_t kind;        /* one bit; 0: columns of all kinds */
    const void *context; /* what the columns' functions are given */
    const void *rows;
    size_t row_bytes;
    size_t n;
    /* In JSON: */
    bool sum; /* a sum of all rows: without the columns of single rows (TT_SHOW_KEY, TT_SHOW_ROW) */
    bool (*passes)(const void *context, const void *row); /* rows without it are left out */
    const struct tt_listing *listing;                     /* these rows and columns instead */
};

/* A rowset of N rows at ROWS, an array or pointer of their type. */
#define TT_ROWSET(schema_, kind_, context_, rows_, n_)                                             \
    ((tt_rowset){.schema = (schema_),                                                              \
                 .kind = (uint8_t)(kind_),                                                         \
                 .context = (context_),                                                            \
                 .rows = (rows_),                                                                  \
                 .row_bytes = sizeof *(rows_),                                                     \
                 .n = (n_)})

const void *tt_rowset_row(const tt_rowset *set, size_t i);
bool tt_rowset_has(const tt_rowset *set, const tt_column *column);

/* Whether it is in JSON only. */
bool tt_column_nested(const tt_column *column);
/* Whether text has it at the right: a number. */
bool tt_column_right(const tt_column *column);

void tt_cell_get(const tt_column *column, const void *context, const void *row, tt_cell *cell);
/* For `get`: sets a text. */
void tt_cell_text(tt_cell *cell, const char *text); /* NULL: not known */
void tt_cell_format(tt_cell *cell, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For `get`: sets whole ns (I64): decimals of many would be most of a reply. More than any run
 * takes (a damaged trace) is not known. */
void tt_cell_ns(tt_cell *cell, bool known, double ns);
/* For `text`: a copy of what may come from a file, without control bytes. */
void tt_cell_text_copy(char *out, size_t room, const char *text);
/* What text shows of it, without control bytes; nothing for what is not known, but a dash for NAN:
 * it applies, and was not observed. */
void tt_cell_show(const tt_column *column, const void *context, const void *row, char *out,
                  size_t room);

/* --- what is listed --- */

#define TT_LISTING_COLUMNS_MAX 64u

/* Which columns and rows are wanted, in what order: options of a command, parameters of a request.
 */
typedef struct tt_listing_wish {
    const char
        *columns;     /* keys or titles with commas in between; "all"; NULL: as the schema says */
    const char *sort; /* a key or title, with "-" or "+" in front for the largest or smallest
                         first (numbers: the largest, texts and ids: the smallest); NULL: as is */
    uint64_t limit;   /* rows; 0: all */
    bool text;        /* for people: not what is shown when asked for only */
    bool csv;         /* in text and CSV there is nothing nested */
    bool (*passes)(const void *context, const void *row); /* NULL: every row */
} tt_listing_wish;

typedef struct tt_listing {
    const tt_rowset *set;
    const tt_column *columns[TT_LISTING_COLUMNS_MAX];
    size_t n_columns;
    bool chosen; /* the columns were named */
    bool tabs;   /* not CSV: tabs between the cells; in them \t, \n, \r and \\; set by the caller */
    size_t *order; /* numbers of the rows that are listed */
    size_t n;
    size_t n_all; /* rows that pass, also those behind the limit */
} tt_listing;

/* TT_E_USAGE when there is no such column. `l` is freed with
 * tt_listing_free in every case. Rows that compare equal stay in their order; what is not known
 * comes last. */
tt_status tt_listing_make(tt_listing *l, const tt_rowset *set, const tt_listing_wish *wish,
                          tt_error *err);
void tt_listing_free(tt_listing *l);
const void *tt_listing_row(const tt_listing *l, size_t i);
/* The column of that key, or of that title in whatever case ("-" and "_" stand for blanks); NULL:
 * none. */
const tt_column *tt_schema_find(const tt_rowset *set, const char *name, size_t n);

/* --- as JSON and CSV --- */

/* A row's members, without the braces; columns that are in text only are left out. What is nested
 * is given the same context. */
void tt_rowset_json(tt_json *j, const tt_rowset *set, const void *row);
/* A key (NULL: none) and an object of the row; null when there is none. */
void tt_row_json(tt_json *j, const char *key, const tt_schema *schema, const void *context,
                 const void *row);
/* The whole document; false when it could not be written. */
bool tt_row_json_print(FILE *out, const tt_schema *schema, const void *context, const void *row);
/* A key and an array of the rows that pass (NULL: all) as objects. */
void tt_rowset_json_rows(tt_json *j, const char *key, const tt_rowset *set,
                         bool (*passes)(const void *context, const void *row));
/* A key and an object with an array for each column; NULL: the arrays alone. */
void tt_rowset_json_columns(tt_json *j, const char *key, const tt_rowset *set);
/* A key and its value. */
void tt_column_json(tt_json *j, const tt_column *column, const void *context, const void *row);
/* The members of the columns that are listed. */
void tt_listing_json_row(tt_json *j, const tt_listing *l, const void *row);
/* An array of the listed rows as objects. */
void tt_listing_json(tt_json *j, const tt_listing *l);
/* The header and the rows, as docs/tables.md describes; nested columns are left out. Failure is
 * out->failed; nothing is written to a file, so that the caller may flush between rows. */
void tt_listing_csv_header(tt_bytes *out, const tt_listing *l);
void tt_listing_csv_row(tt_bytes *out, const tt_listing *l, const void *row);

#endif
