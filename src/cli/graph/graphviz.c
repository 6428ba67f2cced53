#include "cli/graph/graphviz.h"

#include "base/program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

tt_status tt_graphviz_svg(int in, int out, tt_error *err)
{
    char program[] = "dot", format[] = "-Tsvg";
    if (lseek(in, 0, SEEK_SET) != 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot run dot: %s", strerror(errno));
    return tt_program_run((char *[]){program, format, NULL}, (int[3]){in, out, -1},
                          "there is no `dot` on the PATH to draw it: install Graphviz (Debian's "
                          "package graphviz), or take --dot",
                          err);
}
