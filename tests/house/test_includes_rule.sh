#!/bin/sh
# test_includes_rule.sh SOURCES: the include check finds what it is there to find.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fresh() {
    rm -rf tree
    mkdir -p tree/src/base tree/src/record tree/src/read tree/include/tensortrace
    cp "$source/ARCHITECTURE.md" tree
    printf '#include "base/a.h"\n#include "tensortrace/types.h"\n#include <stdio.h>\n' >tree/src/record/a.c
    printf 'tt_room(record\n  SOURCES a.c\n  ROOMS base)\n' >tree/src/record/CMakeLists.txt
}

# expect 0|1 TEXT: the check's exit code, and what it says.
expect() {
    code=0
    "$source/scripts/check-includes" tree >out 2>&1 || code=$?
    if [ $code != "$1" ] || ! grep -qF "$2" out; then
        echo "wanted exit $1 and \"$2\", got exit $code and:"
        cat out
        exit 1
    fi
}

fresh
expect 0 "no offence"
fresh
echo '#  include "read/trace.h"' >>tree/src/record/a.c
expect 1 'src/record/a.c:4: record may not include read ("read/trace.h")'
fresh
echo '#include "a.h"' >>tree/src/record/a.c
expect 1 '"a.h" names no room'
fresh
echo 'target_link_libraries(tt_record PUBLIC tt_read)' >>tree/src/record/CMakeLists.txt
expect 1 'src/record/CMakeLists.txt:4: record may not link read'
fresh
echo '#include "base/status.h"' >tree/include/tensortrace/types.h
expect 1 'a public header includes "base/status.h"'
fresh
mkdir tree/src/utils && touch tree/src/utils/all.c
expect 1 'src/utils/all.c:1: its folder has no row'
fresh
echo nothing >tree/ARCHITECTURE.md
expect 1 'no include table'
