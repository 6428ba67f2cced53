#!/bin/sh
# test_columns.sh SOURCES TENSORTRACE: docs/columns.md is what the commands say, and has the columns of all of their lists.
set -eu
source=$1 tensortrace=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/scripts/list-columns" "$tensortrace" >"$work/columns.md"
[ "$(grep -c '^| `' "$work/columns.md")" -gt 50 ] || { echo "the commands list too few columns"; exit 1; }
diff "$source/docs/columns.md" "$work/columns.md" || { echo "scripts/list-columns TENSORTRACE >docs/columns.md"; exit 1; }

# Every list that an option of a command selects: all of its columns are in docs/columns.md.
lists=0
for verb in $("$tensortrace" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    "$tensortrace" "$verb" --help >"$work/help" 2>/dev/null || continue
    grep -q -- '--columns=LIST' "$work/help" || continue
    case $verb in experiment) what='experiment list' ;; *) what=$verb ;; esac
    # Options without a value; a layer, which selects another list.
    for option in --sort=key $(sed -n 's/^ *\(-., \)\?\(--[a-z-]*\)  .*/\2/p' "$work/help") --layer=0; do
        case $option in --help | --usage | --version) continue ;; esac
        "$source/scripts/list-columns" "$tensortrace" "$what $option" >"$work/list" 2>/dev/null
        grep '^| `' "$work/list" >"$work/rows" || continue
        lists=$((lists + 1))
        if grep -vxFf "$source/docs/columns.md" "$work/rows"; then
            echo "$what $option: docs/columns.md lacks these: extend scripts/list-columns"
            exit 1
        fi
    done
done
[ $lists -gt 30 ] || { echo "only $lists lists were found"; exit 1; }
