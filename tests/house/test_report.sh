#!/bin/sh
# test_report.sh SOURCES: with mawk, Debian's own awk, and with gawk where it is there, the figures of
# bench/results become the very report that is kept beside them.
set -eu
source=$1
command -v mawk >/dev/null || { echo "skipped: mawk is not there"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/build" "$work/tree/bench"
cp -R "$source/bench/common.sh" "$source/bench/report" "$source/bench/results" "$work/tree/bench"
# The pictures are not compared: another version of gnuplot draws them otherwise.
printf '#!/bin/sh\necho "<svg/>"\n' >"$work/bin/gnuplot"
chmod +x "$work/bin/gnuplot"
for awk in mawk gawk; do
    command -v $awk >/dev/null || continue
    ln -sf "$(command -v $awk)" "$work/bin/awk"
    PATH=$work/bin:$PATH "$work/tree/bench/report/write" 2>"$work/said" ||
        { cat "$work/said"; echo "bench/report/write fails with $awk"; exit 1; }
    diff -u "$source/bench/report.md" "$work/tree/bench/report.md" ||
        { echo "with $awk the report is another than bench/report.md"; exit 1; }
    echo "$awk makes the same report, of $(wc -l <"$work/tree/bench/report.md") lines"
done
