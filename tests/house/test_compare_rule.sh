#!/bin/sh
# test_compare_rule.sh SOURCES: the comparison of the CLI tests can fail.
set -eu
compare=$1/tests/cli/compare.awk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect same|differs WANTED GOT, with \n between lines.
expect() {
    printf "$2" >"$work/want"
    printf "$3" >"$work/got"
    result=same
    awk -f "$compare" -v want="$work/want" -v got="$work/got" || result=differs
    if [ $result != "$1" ]; then
        printf 'wanted %s for:\n%s\nand:\n%s\n' "$1" "$2" "$3"
        exit 1
    fi
}

expect same '' ''
expect differs '' 'a\n'
expect differs 'a\n' ''
expect same 'a\nb\n' 'a\nb\n'
expect differs 'a\nb\n' 'b\na\n'
expect same 'took <N> ms\n' 'took 1,234.5 ms\n'
expect differs 'took <N> ms\n' 'took x ms\n'
expect differs 'took <N> ms\n' 'took  ms\n'
expect same '<*> end\n' 'anything at all end\n'
expect differs 'a.c\n' 'abc\n'
expect same '[x] (y) {z} $ ^ | + ?\n' '[x] (y) {z} $ ^ | + ?\n'
expect same '...\n' ''
expect same 'a\n...\nd\n' 'a\nb\nc\nd\n'
expect same '...\nc\n...\nc\n' 'a\nc\nb\nc\n'
expect differs 'a\n...\nd\n' 'a\nb\n'
expect differs 'a\n...\n' 'b\n'
