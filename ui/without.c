/* The pages of a build without them (-DTT_UI=OFF): one that says so. */
#include "serve/assets.h"

static const unsigned char page[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><title>tensortrace: no pages</title></head>\n"
    "<body>\n"
    "<h1>This tensortrace was built without its pages</h1>\n"
    "<p>It was configured with <code>-DTT_UI=OFF</code>. Install node "
    "(<code>make deps</code>) and build it again with <code>-DTT_UI=ON</code>.</p>\n"
    "<p>The API is there all the same, <a href=\"/api/v1/\">/api/v1/</a>, and so are the commands: "
    "<code>tensortrace stats FILE</code>, <code>tensortrace report FILE</code>.</p>\n"
    "</body>\n"
    "</html>\n";

const tt_asset tt_assets[] = {{.path = "/",
                               .type = "text/html; charset=utf-8",
                               .data = page,
                               .size = sizeof page - 1,
                               .etag = "\"none\""},
                              {.path = NULL}};
