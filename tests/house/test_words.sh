#!/bin/sh
# test_words.sh SOURCES: words that readers stumble over stay out of the sources, documents, man pages
# and viewer; the list has the standard term for each.
set -eu
cd "$1"
bad=0
words='births?|origins
strangers?|build mismatch, other build
ingredients?|inputs
settles?|sanitize, merge, wait for
complaints?|diagnostics
shelf|cache
loans?|acquire, reference
taps|captures
lasting|retained
in the place of|instead of
thrown away|discarded, evicted
one a (line|token|row)|one per'
files=$(find src docs man -type f \( -name '*.[ch]' -o -name '*.md' -o -name '*.1' \) | sort
    ls README.md ARCHITECTURE.md CONTRIBUTING.md bench/README.md tests/*/README.md examples/*/README.md)
[ "$(echo "$files" | wc -l)" -gt 300 ] || { echo "too few files were found"; exit 1; }
# The pages: texts and comments, without style sheets.
files="$files $(find ui/src -name '*.ts' -o -name '*.tsx' | sort)"
found() { # shellcheck disable=SC2086 # a list of files without blanks
    grep -nwE "$1" $2
}
# The search itself can fail.
probe=$(mktemp)
trap 'rm -f "$probe"' EXIT
echo "/* Two births. */" >"$probe"
found 'births?' "$probe" >/dev/null || { echo "the search finds nothing"; exit 1; }
while IFS= read -r line; do
    word=${line%|*} term=${line##*|}
    if found "$word" "$files"; then
        echo "above: \"$word\"; say: $term"
        bad=1
    fi
done <<EOF
$words
EOF
exit $bad
