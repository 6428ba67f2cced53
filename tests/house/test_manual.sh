#!/bin/sh
# test_manual.sh SOURCES TENSORTRACE [VERB]: the page of a command (or of the whole)
# is clean, and the options it documents are those that --help prints, as the command declares them.
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
    [ "$(wc -l <"$work/verbs")" -gt 5 ] || { echo "--help lists only: $(tr '\n' ' ' <"$work/verbs")"; exit 1; }
    bad=0
    while read -r each; do
        [ "$each" = help ] || grep -q "tensortrace-$each(1)" "$work/page" ||
            { echo "tensortrace.1 does not mention tensortrace-$each(1)"; bad=1; }
    done <"$work/verbs"
    exit $bad
fi

"$source/scripts/list-options" "$tensortrace" "$verb" "$page" >"$work/made" || exit 1
diff "$page" "$work/made" ||
    { echo "the page is not up to date: scripts/list-options TENSORTRACE $verb man/$(basename "$page")"; exit 1; }

# Both print an option's entry as "  -x, --word=ARG ..." at the start of a line;
# what every command has (--help, --usage, --version) is in tensortrace(1).
long_options() {
    grep -E '^ *-' | grep -oE -- '^ *(-[[:alnum:]?][^-]*, *)*--[a-z][-a-z0-9]*(\[?=[^ ,]*)?(, *--[a-z][-a-z0-9]*)*' |
        grep -oE -- '--[a-z][-a-z0-9]*' | sort -u
}
short_options() {
    grep -E '^ *-' | grep -oE -- '^ *-[[:alnum:]]([ ,=]|$)' | grep -oE -- '-[[:alnum:]]' | sort -u
}
LC_ALL=C.UTF-8 COLUMNS=200 ARGP_HELP_FMT=rmargin=200 "$tensortrace" "$verb" --help >"$work/help"
for where in help page; do
    { long_options <"$work/$where"; short_options <"$work/$where"; } >"$work/$where.found"
    # `verify` and the like have no other option than --json.
    grep -vxE -- '--(help|usage)' "$work/$where.found" >"$work/$where.options" ||
        { echo "no option is found in the $where of $verb"; exit 1; }
done
# What every --help prints is found, or the patterns above are wrong.
for each in --help --usage; do
    grep -qx -- "$each" "$work/help.found" || { echo "$each is not found in the --help of $verb"; exit 1; }
done
if ! diff "$work/help.options" "$work/page.options" >"$work/diff"; then
    sed -n "s|^< |in --help, not in $(basename "$page"): |p; s|^> |in $(basename "$page"), not in --help: |p" "$work/diff"
    exit 1
fi
echo "$(wc -l <"$work/help.options") options agree"
