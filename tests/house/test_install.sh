#!/bin/sh
# test_install.sh SOURCES BUILD: what is installed is complete, works from there,
# and goes away again.
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR="$work" cmake --install "$build" --prefix /opt/tt >/dev/null
root=$work/opt/tt
for file in bin/tensortrace lib/tensortrace/libtensortrace-hook.so share/man/man1/tensortrace.1 \
    lib/libtensortrace.so lib/libtensortrace.so.0 lib/pkgconfig/tensortrace.pc; do
    [ -f "$root/$file" ] || { echo "$file is not installed"; exit 1; }
done
for page in "$source"/man/*.1; do
    [ -f "$root/share/man/man1/$(basename "$page")" ] || { echo "$page is not installed"; exit 1; }
done
"$root/bin/tensortrace" --version | grep -q '^tensortrace [0-9]' || exit 1
for file in bin/tensortrace lib/libtensortrace.so.0; do
    if ldd "$root/$file" | grep -F "$build"; then
        echo "the installed $file needs the build folder"
        exit 1
    fi
done

# The library exports what the public headers declare, no more and no less.
sed -n 's/^TT_API .*[ *]\(tt_[a-z_]*\)(.*/\1/p' "$root"/include/tensortrace/*.h | sort >"$work/declared"
nm -D --defined-only "$root/lib/libtensortrace.so.0" | awk '{ print $3 }' | sort >"$work/exported"
[ -s "$work/declared" ] || { echo "no public call found in the headers"; exit 1; }
diff "$work/declared" "$work/exported" || { echo "declared (<) and exported (>) differ"; exit 1; }

# The example of docs/api.md, built as a user would, agrees with the program.
sed -n '/^```c$/,/^```$/{/^```/!p}' "$source/docs/api.md" >"$work/count.c"
flags=$(PKG_CONFIG_PATH="$root/lib/pkgconfig" pkg-config --cflags --libs tensortrace)
trace=$source/tests/golden/good-plain.ttrace
# Unquoted: words for the compiler.
cc -std=c99 -pedantic -Wall -Wextra -Werror "$work/count.c" $flags -o "$work/count"
counted=$(LD_LIBRARY_PATH="$root/lib" "$work/count" "$trace")
[ "$counted" = '510 ops in 5 batches' ] || { echo "the example says: $counted"; exit 1; }
code=0
LD_LIBRARY_PATH="$root/lib" "$work/count" "$source/tests/golden/bad-magic.ttrace" 2>"$work/err" || code=$?
if [ $code != 2 ] || ! grep -q 'not a tensortrace trace' "$work/err"; then
    echo "the example does not refuse what is no trace"
    exit 1
fi

touch "$root/bin/other"
"$source/scripts/uninstall" "$build" /opt/tt "$work" >/dev/null
left=$(cd "$root" && find . -type f -o -type l)
for folder in lib/tensortrace include/tensortrace; do
    [ ! -e "$root/$folder" ] || { echo "$folder is left behind"; exit 1; }
done
[ "$left" = ./bin/other ] || { printf 'left behind:\n%s\n' "$left"; exit 1; }
