#!/bin/sh
# test_columns.sh SOURCES TENSORTRACE: docs/columns.md is what the commands say.
set -eu
source=$1 tensortrace=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/scripts/list-columns" "$tensortrace" >"$work/columns.md"
[ "$(grep -c '^| `' "$work/columns.md")" -gt 50 ] || { echo "the commands list too few columns"; exit 1; }
diff "$source/docs/columns.md" "$work/columns.md" || { echo "scripts/list-columns TENSORTRACE >docs/columns.md"; exit 1; }
