#!/bin/sh
# test_docs.sh SOURCES: what the documents link to is there, docs/README.md lists all of docs, docs/tour.md all commands.
set -eu
cd "$1"
bad=0 links=0
for file in ./*.md docs/*.md bench/*.md bench/report/*.md examples/*/*.md tests/*/README.md; do
    folder=$(dirname "$file")
    # Links and pictures; not those of the web, nor anchors of the same page.
    for to in $(grep -o '](\([^)]*\))' "$file" | sed 's/^](//; s/)$//; s/ .*//; s/#.*//'); do
        case $to in http://* | https://*) continue ;; esac
        links=$((links + 1))
        [ -e "$folder/$to" ] || { echo "$file links to $to, which is not there"; bad=1; }
    done
done
[ $links -gt 60 ] || { echo "only $links links were found"; bad=1; }
for file in docs/*.md; do
    name=$(basename "$file")
    [ "$name" = README.md ] || grep -q "](\(.*/\)\?$name)" docs/README.md || { echo "docs/README.md does not list $name"; bad=1; }
done
for page in man/tensortrace-*.1; do
    verb=${page#man/tensortrace-}
    grep -q "^tensortrace ${verb%.1} " docs/tour.md || { echo "docs/tour.md does not list the command ${verb%.1}"; bad=1; }
done
exit $bad
