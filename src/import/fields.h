/* The names that columns of CSV and keys of JSON have in published routing, and what they say. */
#ifndef TT_IMPORT_FIELDS_H
#define TT_IMPORT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum tt_import_field {
    TT_IMPORT_UNKNOWN,
    TT_IMPORT_COUNTED,    /* unknown, too: how often, without which token */
    TT_IMPORT_IDLE,       /* does not say who picked what */
    TT_IMPORT_KIND,       /* of the record */
    TT_IMPORT_VOCABULARY, /* the token's number in the vocabulary, if another one has its place */
    TT_IMPORT_LAYER,
    TT_IMPORT_EXPERTS, /* of a layer: of one token, or lists of those of several */
    TT_IMPORT_LAYERS,  /* of a token: a list of experts for each layer */
    TT_IMPORT_ROUTED,  /* of a sequence: such a list for each token */
    TT_IMPORT_TOKEN,
    TT_IMPORT_BATCH,
    TT_IMPORT_SEQUENCE,
    TT_IMPORT_RANK,
    TT_IMPORT_WEIGHTS,
    TT_IMPORT_FIELDS
} tt_import_field;

/* In upper or lower case. */
tt_import_field tt_import_field_named(const char *name, size_t n);
bool tt_import_is_named(const char *name, const char *text, size_t n);

#endif
