/* The pages of the viewer, in the binary. */
#ifndef TT_SERVE_ASSETS_H
#define TT_SERVE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_asset {
    const char *path; /* "/", "/app.js" */
    const char *type; /* media type */
    const unsigned char *data;
    size_t size;
    const char *etag; /* with its quotation marks; changes with the content */
    bool gzipped;     /* the data is; the page is what it unpacks to */
} tt_asset;

/* Ends with a NULL path. */
extern const tt_asset tt_assets[];

#endif
