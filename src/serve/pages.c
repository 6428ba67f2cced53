#include "serve/pages.h"

#include <stdio.h>

static void put(tt_bytes *out, const char *text)
{
    tt_bytes_put(out, text, strlen(text));
}

/* Messages quote what was asked. */
static void put_escaped(tt_bytes *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '<')
            put(out, "&lt;");
        else if (*p == '&')
            put(out, "&amp;");
        else
            tt_bytes_put(out, p, 1);
    }
}

static const char *name_of(unsigned status)
{
    switch (status) {
    case 400:
        return "Bad request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not found";
    case 405:
        return "Method not allowed";
    case 414:
        return "Address too long";
    case 503:
        return "Not yet";
    default:
        return "Error";
    }
}

static void head(tt_bytes *out, const char *more)
{
    put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n");
    put(out, more);
    put(out, "<title>tensortrace</title>\n</head>\n<body>\n");
}

void tt_page_error(tt_bytes *out, unsigned status, const char *message)
{
    char heading[64];
    (void)snprintf(heading, sizeof heading, "<h1>%u: %s</h1>\n<p>", status, name_of(status));
    head(out, "");
    put(out, heading);
    put_escaped(out, message);
    put(out, ".</p>\n</body>\n</html>\n");
}

void tt_page_enter(tt_bytes *out)
{
    head(out, "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n");
    put(out, "<p><a href=\"/\">Open the viewer</a></p>\n</body>\n</html>\n");
}
