/* What is served when the viewer was not built. */
#include "serve/assets.h"

static const unsigned char page[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>tensortrace</title>\n</head>\n"
    "<body>\n<h1>tensortrace</h1>\n"
    "<p>This build has no viewer; its data is at <a href=\"/api/v1\">/api/v1</a>.</p>\n"
    "</body>\n</html>\n";

const tt_asset tt_assets[] = {
    {"/", "text/html; charset=utf-8", page, sizeof page - 1, "\"plain\"", false},
    {0},
};
