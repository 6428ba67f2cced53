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
printf '#include "read/b.h"\n' >tree/src/read/a.c
printf '#include "read/a.h"\n' >tree/src/read/b.h
expect 1 'src/read/a.c:1: read/a and read/b include each other (src/read/b.h:1)'
printf '<!-- circles: begin -->\n- `read/a`, `read/b`\n<!-- circles: end -->\n' >>tree/ARCHITECTURE.md
expect 0 "no offence"
echo >tree/src/read/b.h
expect 1 'read/a and read/b no longer include each other'
fresh
mkdir tree/src/utils && touch tree/src/utils/all.c
expect 1 'src/utils/all.c:1: its folder has no row'
fresh
mkdir -p tree/ui/src/views/log tree/ui/src/views/stats
printf 'import { view } from "../module";\nimport { row } from "../../parts/log/rows";\nimport "./stats.css";\n' \
    >tree/ui/src/views/stats/index.tsx
expect 0 "no offence"
for import in 'import { row } from "../log/rows";' 'import { Component } from "../log";' \
    'const log = await import("../../views/log/index");'; do
    echo "$import" >tree/ui/src/views/stats/Table.tsx
    expect 1 "ui/src/views/stats/Table.tsx:1:$import"
done
fresh
echo nothing >tree/ARCHITECTURE.md
expect 1 'no include table'
fresh
printf 'typedef struct tt_thing {\n    int a;\n} tt_thing;\nenum { TT_ONE = 1, TT_TWO };\n#define TT_MOST 3\n' >tree/src/record/a.h
printf 'struct tt_other;\ntypedef struct tt_thing tt_thing;\nint tt_use(tt_thing *t);\n' >tree/src/read/a.h
expect 0 "no offence"
echo '#define TT_MOST 4' >>tree/src/read/a.h
expect 1 'TT_MOST is defined in src/read/a.h, too'
fresh
printf 'typedef enum tt_way {\n    TT_THERE, /* a */\n    TT_BACK\n} tt_way;\n' >tree/src/record/a.h
printf 'enum { TT_AWAY, TT_BACK = 2 };\nstruct tt_way {\n    int n;\n};\n' >tree/src/read/a.h
expect 1 'TT_BACK is defined in src/read/a.h, too'
expect 1 'tt_way is defined in src/read/a.h, too'
fresh
printf 'typedef int tt_visit(void *context);\n' >tree/src/record/a.h
printf 'typedef bool (*tt_visit)(int);\n' >tree/src/read/a.h
expect 1 'tt_visit is defined in src/read/a.h, too'
fresh
printf 'typedef uint64_t tt_node;\n' >tree/src/record/a.h
printf '#define tt_node(a) (a)\n' >tree/src/read/a.h
expect 1 'tt_node is defined in'
# A type of a source, too.
fresh
printf 'typedef struct tt_lap {\n    int a;\n} tt_lap;\n' >>tree/src/record/a.c
printf 'struct tt_lap {\n    int b;\n};\n' >tree/src/read/a.h
expect 1 'tt_lap is defined in'

# What was looked at in the real tree; a check that finds no name passes everything.
counts=$("$source/scripts/check-includes" "$source")
echo "$counts"
echo "$counts" | awk '{ files = $2; rooms = $4; names = $6 }
    END { exit !(files > 600 && rooms > 20 && names > 2000) }' ||
    { echo "fewer files, rooms or names than there are"; exit 1; }
