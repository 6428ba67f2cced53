/* The compiled-in pages of ui/ (ui/CMakeLists.txt makes the table). */
#ifndef TT_SERVE_ASSETS_H
#define TT_SERVE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_asset {
    const char *path; /* path of the URL: "/", "/app.js" */
    const char *type; /* the media type, with its charset */
    const unsigned char *data;
    size_t size;      /* of data, in bytes */
    const char *etag; /* with quotation marks; of the content, compressed or not */
    bool gzipped;     /* data is a gzip of the content */
} tt_asset;

/* Ends with a NULL path. */
extern const tt_asset tt_assets[];

#endif
