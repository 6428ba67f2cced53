#!/bin/sh
# test_headers.sh SOURCES: each public header compiles alone as C99, C11 and C++.
set -eu
include=$1/include
tried=0
for header in "$include"/tensortrace/*.h; do
    name=tensortrace/$(basename "$header")
    for language in c:c99 c:c11 c++:c++11 c++:c++20; do
        for off in "" -DTT_RECORD_OFF; do
            # Unquoted: none, or a word.
            printf '#include <%s>\n#include <%s>\n' "$name" "$name" |
                g++ -x "${language%%:*}" "-std=${language##*:}" -pedantic -Wall -Wextra -Werror $off \
                    -fsyntax-only -I "$include" -
            tried=$((tried + 1))
        done
    done
done
echo "$tried compilations"
# Four headers, four languages, with and without recording.
[ "$tried" -ge 32 ] || { echo "fewer headers than there are"; exit 1; }
