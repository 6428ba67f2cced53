#!/bin/sh
# test_api.sh SOURCES: docs/api-http.md has a section for each endpoint and no other, and each names
# the parameters that the endpoint takes. "as for `NAME`" and "as of `NAME`" stand for NAME's.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# NAME OF_TRACE PARAMETERS...; a macro's name stands for the filter's.
tr '\n' ' ' <"$source/src/serve/endpoints.c" | grep -oE '\{"[^}]*\}' |
    sed -E 's/^\{"([^"]*)", *(true|false), *[a-z_]*, */\1|\2|/; s/, *(true|false)\}$//; s/"//g; s/\|([^|]*)$/| \1 /' >"$work/endpoints"
[ "$(wc -l <"$work/endpoints")" -gt 20 ] || { echo "no endpoints were found in endpoints.c"; exit 1; }

awk -F '|' -v endpoints="$work/endpoints" '
function heading(name, of_trace) { return of_trace == "true" ? "traces/ID/" name : name == "" ? "The index" : name }
function known(title, word) {
    if (index(text[title], "`" word "`")) return 1
    n = split(text[title], parts, /[Aa]s (for|of) `/)
    for (i = 2; i <= n; i++) {
        other = "traces/ID/" substr(parts[i], 1, index(parts[i], "`") - 1)
        if (other != title && index(text[other], "`" word "`")) return 1
    }
    return 0
}
/^## / { title = substr($0, 4); sections[title] = 1; next }
{ text[title] = text[title] " " $0 }
END {
    while ((getline < endpoints) > 0) {
        title = heading($1, $2); bad_here = 0
        if (!(title in sections)) { print "no section \"## " title "\""; bad = 1; continue }
        has[title] = 1
        words = split($3, word, " ")
        for (w = 1; w <= words; w++) {
            ok = word[w] == "TT_REQUEST_FILTER_PARAMS" ? text[title] ~ /[Ff]ilter/ \
               : word[w] == "TT_LOG_FILTER_PARAMS" ? known(title, "min_duration_ns") \
               : known(title, word[w]) || (word[w] ~ /^(batch|batch_to|phase|layer|op|tensor)$/ && text[title] ~ /filter/)
            if (!ok) { print title " takes " word[w] ", which its section does not name"; bad = 1 }
        }
    }
    for (title in sections)
        if (title ~ /^traces\/ID\// && !(title in has)) { print "no endpoint " title; bad = 1 }
    exit bad
}' "$source/docs/api-http.md" || exit 1
echo "$(wc -l <"$work/endpoints") endpoints are described"
