#!/bin/sh
# test_manual.sh SOURCES TENSORTRACE [VERB]: the page of a command (or of the whole)
# is clean, and the options it documents are those that --help prints.
set -eu
source=$1 tensortrace=$2 verb=${3:-}
page=$source/man/tensortrace${verb:+-$verb}.1
[ -f "$page" ] || { echo "no $page"; exit 1; }
command -v mandoc >/dev/null || { echo "skipped: mandoc is not there"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mandoc -T lint -W warning "$page" || { echo "mandoc is not content"; exit 1; }

# One paragraph a line, so that a line starts with an option only where one is listed.
mandoc -T ascii -O width=1000 "$page" | sed "s/.$(printf '\b')//g" >"$work/page"

if [ -z "$verb" ]; then
    "$tensortrace" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p' >"$work/verbs"
    [ -s "$work/verbs" ] || { echo "--help lists no command"; exit 1; }
    bad=0
    while read -r each; do
        [ "$each" = help ] || grep -q "tensortrace-$each(1)" "$work/page" ||
            { echo "tensortrace.1 does not mention tensortrace-$each(1)"; bad=1; }
    done <"$work/verbs"
    exit $bad
fi

# Both print an option's entry as "  -x, --word=ARG ..." at the start of a line;
# what every command has (--help, --usage, --version) is in tensortrace(1).
long_options() {
    grep -E '^ *-' | grep -oE -- '^ *(-[[:alnum:]?][^-]*, *)*--[a-z][-a-z0-9]*(\[?=[^ ,]*)?(, *--[a-z][-a-z0-9]*)*' |
        grep -oE -- '--[a-z][-a-z0-9]*' | grep -vxE -- '--(help|usage|version)' | sort -u
}
short_options() {
    grep -E '^ *-' | grep -oE -- '^ *-[[:alnum:]]([ ,=]|$)' | grep -oE -- '-[[:alnum:]]' | grep -vx -- '-V' | sort -u
}
LC_ALL=C.UTF-8 COLUMNS=200 ARGP_HELP_FMT=rmargin=200 "$tensortrace" "$verb" --help >"$work/help"
long_options <"$work/help" >"$work/help.options" || true
long_options <"$work/page" >"$work/page.options" || true
short_options <"$work/help" >>"$work/help.options" || true
short_options <"$work/page" >>"$work/page.options" || true
if ! diff "$work/help.options" "$work/page.options" >"$work/diff"; then
    sed -n "s|^< |in --help, not in $(basename "$page"): |p; s|^> |in $(basename "$page"), not in --help: |p" "$work/diff"
    exit 1
fi
echo "$(wc -l <"$work/help.options") options agree"
