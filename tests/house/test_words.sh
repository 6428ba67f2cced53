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
by hand of|by, with
sees to it|ensures
let loose|released
unbidden|automatically
whereabouts|location, offset
of its own accord|automatically
judges|evaluates, checks
in sight|in view, visible
goes by|passes
to be had|available
one a (line|token|row)|one per
not decided whether|B seems to take ..., but the runs vary too much to be sure
goe?s? on where|continue where
bounds the run is not|memory- or compute-bound could not be decided
comes from the model.s file|the model file itself contains it
take a filter away|remove a filter
has these letters|no match
UNMEASURED|not measured
born here|made here
several as one|merged
read from a copy;|copied at load
in equal factors|log scale
Tensor before|Previous tensor
Fill rows|Stretch rows
One scale|Common scale
machine.s edges|machine.s limits
BLOCKED|OFF CPU
\[disk\]|[file]
@disk:|@file:'
# Of comments and of the viewer only: in the documents these have their usual sense.
comment_words='told|reported, recorded, known
stretch(es)?|range, interval
under way|running, in progress
on (its|their) way|loading, pending
one behind the other|consecutive
without memory|if out of memory
on no processor|off CPU
put out|output
lets? go of|clears, releases'
files=$(find src docs man -type f \( -name '*.[ch]' -o -name '*.md' -o -name '*.1' \) | sort
    ls README.md ARCHITECTURE.md CONTRIBUTING.md bench/README.md tests/*/README.md examples/*/README.md)
[ "$(echo "$files" | wc -l)" -gt 300 ] || { echo "too few files were found"; exit 1; }
# The pages: texts and comments, without style sheets.
files="$files $(find ui/src -name '*.ts' -o -name '*.tsx' | sort)"
# Comments of C files as FILE:LINE:TEXT, a line each.
comments() {
    find src include -name '*.[ch]' -exec awk '
        FNR == 1 { inside = 0 }
        {
            text = $0
            while (text != "") {
                if (!inside) {
                    at = index(text, "/*")
                    if (!at) break
                    text = substr(text, at + 2)
                    inside = 1
                }
                end = index(text, "*/")
                print FILENAME ":" FNR ":" (end ? substr(text, 1, end - 1) : text)
                if (!end) break
                text = substr(text, end + 2)
                inside = 0
            }
        }' {} +
}
found() { # shellcheck disable=SC2086 # a list of files without blanks
    grep -nwE "$1" $2
}
texts=$(mktemp)
trap 'rm -f "$texts"' EXIT
comments >"$texts"
[ "$(wc -l <"$texts")" -gt 10000 ] || { echo "too few comments were found"; exit 1; }
pages=$(find ui/src -name '*.ts' -o -name '*.tsx')
[ "$(echo "$pages" | wc -l)" -gt 100 ] || { echo "too few pages were found"; exit 1; }
# shellcheck disable=SC2086 # a list of files without blanks
grep -n '' $pages >>"$texts"
# The searches themselves can fail.
probe=$(mktemp)
trap 'rm -f "$texts" "$probe"' EXIT
echo "/* Two births. */" >"$probe"
found 'births?' "$probe" >/dev/null || { echo "the search finds nothing"; exit 1; }
grep -q 'status.h:[0-9]*:.*TT_E_' "$texts" || { echo "no comment of status.h was found"; exit 1; }
refuse() { # FILES: reads lines of WORD|TERM
    while IFS= read -r line; do
        word=${line%|*} term=${line##*|}
        if found "$word" "$1"; then
            echo "above: \"$word\"; say: $term"
            bad=1
        fi
    done
}
refuse "$files" <<EOF
$words
EOF
refuse "$texts" <<EOF
$comment_words
EOF
exit $bad
