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
    lib/libtensortrace.so lib/libtensortrace.so.0 lib/pkgconfig/tensortrace.pc \
    lib/libtensortrace-record.so lib/libtensortrace-record.so.0 lib/libtensortrace-record.a \
    lib/pkgconfig/tensortrace-record.pc lib/pkgconfig/tensortrace-attach.pc lib/cmake/tensortrace/tensortraceConfig.cmake \
    share/bash-completion/completions/tensortrace share/zsh/site-functions/_tensortrace \
    share/fish/vendor_completions.d/tensortrace.fish; do
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

# Each library exports what its public header declares, no more and no less.
exports() { # LIBRARY HEADERS NM-OPTIONS
    (cd "$root/include/tensortrace" && cat $2) | grep '^TT_API ' | sed -n 's/^.*[ *]\(tt_[a-z_]*\)[(;].*/\1/p' | sort >"$work/declared"
    nm $3 --defined-only "$root/lib/$1" | awk 'NF == 3 { print $3 }' | sort >"$work/exported"
    [ -s "$work/declared" ] || { echo "no public call found in $2"; exit 1; }
    diff "$work/declared" "$work/exported" || { echo "$1: declared (<) and exported (>) differ"; exit 1; }
}
exports libtensortrace.so.0 'read.h arrow.h' -D
exports libtensortrace-record.so.0 record.h -D
nm -D --defined-only "$root/lib/tensortrace/libtensortrace-hook.so" | awk '$3 ~ /^tt_/ { print $3 }' | sort >"$work/exported"
sed -n 's/^TT_API .*[ *]\(tt_[a-z_]*\)(.*/\1/p' "$root/include/tensortrace/attach.h" | sort >"$work/declared"
[ -s "$work/declared" ] && diff "$work/declared" "$work/exported" || { echo "attach.h: declared (<) and exported (>) differ"; exit 1; }
exports libtensortrace-record.a record.h -g
# The Debian package lists them, with the version that brought each.
sed -n 's/^ \(tt_[a-z_]*\)@Base [0-9].*/\1/p' "$source/debian/libtensortrace0.symbols" | sort >"$work/listed"
for library in libtensortrace libtensortrace-record; do
    nm -D --defined-only "$root/lib/$library.so.0" | awk 'NF == 3 { print $3 }'
done | sort | diff "$work/listed" - || { echo "debian/libtensortrace0.symbols lists (<) other calls than there are (>)"; exit 1; }
version=$("$root/bin/tensortrace" --version | sed 's/.* //')
head -n 1 "$source/debian/changelog" | grep -qF "($version)" || { echo "debian/changelog is not about $version"; exit 1; }

# The examples of docs/api.md, built as a user would.
example() { # the first whole program that includes HEADER
    awk -v header="$1" '/^```c$/ { inside = 1; text = ""; next }
        /^```$/ { if (inside && text ~ header && text ~ /int main/) { printf "%s", text; exit } inside = 0; next }
        inside { text = text $0 "\n" }' "$source/docs/api.md"
}
example tensortrace/read.h >"$work/count.c"
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

example tensortrace/arrow.h >"$work/sum.c"
cc -std=c99 -pedantic -Wall -Wextra -Werror "$work/sum.c" $flags -o "$work/sum"
summed=$(LD_LIBRARY_PATH="$root/lib" "$work/sum" "$trace")
# 510 records of 255 ops; how long they took is in the table that export writes.
"$root/bin/tensortrace" export "$trace" --format csv -o "$work/tables" 2>"$work/err"
expected=$(awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "duration_ns") at = i } NR > 1 { ns += $at; n++ }
    END { printf "%d ops, %d ns\n", n, ns }' "$work/tables/ops.csv")
[ "$summed" = "$expected" ] || { echo "the example of columns says: $summed, but $expected"; exit 1; }

example tensortrace/attach.h >"$work/host.c"
flags=$(PKG_CONFIG_PATH="$root/lib/pkgconfig" pkg-config --cflags --libs tensortrace-attach)
cc -std=c99 -pedantic -Wall -Wextra -Werror "$work/host.c" $flags -ldl -o "$work/host"
echo 'int run(void); int run(void) { return 7; }' >"$work/plugin.c"
cc -shared -fPIC "$work/plugin.c" -o "$work/plugin.so"
code=0
said=$("$work/host" "$work/plugin.so" "$work/host.ttrace") || code=$?
[ "$code $said" = "7 $work/host.ttrace" ] || { echo "the example that attaches: exit $code: $said"; exit 1; }
[ ! -e "$work/host.ttrace" ] && [ ! -e "$work/host.ttrace.part" ] || { echo "nothing was computed, but a file is left"; exit 1; }

example tensortrace/record.h >"$work/layer.c"
recording() { # NAME: $work/NAME records, and what it records is whole
    LD_LIBRARY_PATH="$root/lib" "$work/$1" "$work/$1.ttrace" || { echo "$1 fails"; exit 1; }
    "$root/bin/tensortrace" verify "$work/$1.ttrace" >"$work/out" || { cat "$work/out"; exit 1; }
    counted=$("$root/bin/tensortrace" log --limit 0 "$work/$1.ttrace" | grep -c 'MUL_MAT.*Qcur-0')
    [ "$counted" = 4 ] || { echo "$1: $counted ops instead of 4"; exit 1; }
}
strict="-pedantic -Wall -Wextra -Werror"
flags=$(PKG_CONFIG_PATH="$root/lib/pkgconfig" pkg-config --cflags --libs tensortrace-record)
cc -std=c99 $strict "$work/layer.c" $flags -o "$work/shared"
recording shared
rm "$work/shared.ttrace"
said=$(TENSORTRACE_VERBOSE=1 TENSORTRACE="$work/shared.ttrace" LD_LIBRARY_PATH="$root/lib" "$work/shared" 2>&1)
[ "$said" = "tensortrace: wrote $work/shared.ttrace" ] || { echo "asked, it says: $said"; exit 1; }
said=$(TENSORTRACE_VERBOSE=1 TENSORTRACE="$work/no/folder.ttrace" LD_LIBRARY_PATH="$root/lib" "$work/shared" 2>&1)
case $said in "tensortrace: "*no/folder*) ;; *) echo "asked why not, it says: $said"; exit 1 ;; esac
said=$(TENSORTRACE_VERBOSE=1 TENSORTRACE="$work/x.ttrace" TENSORTRACE_VALUES=everything LD_LIBRARY_PATH="$root/lib" "$work/shared" 2>&1)
case $said in "tensortrace: "*everything*) ;; *) echo "asked for values that there are not, it says: $said"; exit 1 ;; esac
said=$(TENSORTRACE_VERBOSE=1 TENSORTRACE="$work" LD_LIBRARY_PATH="$root/lib" "$work/shared" 2>&1)
[ "$said" = "tensortrace: $work is a folder: name a file" ] || { echo "given a folder, it says: $said"; exit 1; }
said=$(TENSORTRACE="$work/no/folder.ttrace" LD_LIBRARY_PATH="$root/lib" "$work/shared" 2>&1)
[ -z "$said" ] || { echo "unasked, it says: $said"; exit 1; }
"$root/bin/tensortrace" verify "$work/shared.ttrace" >/dev/null || { echo "TENSORTRACE=FILE records nothing"; exit 1; }
flags=$(PKG_CONFIG_PATH="$root/lib/pkgconfig" pkg-config --static --cflags --libs tensortrace-record)
cc -std=c99 $strict "$work/layer.c" $(echo "$flags" | sed 's/-ltensortrace-record/-l:libtensortrace-record.a/') -o "$work/linked"
! ldd "$work/linked" | grep -q tensortrace || { echo "not linked statically"; exit 1; }
recording linked
# Compiled out: nothing of the library is asked for, at no level of optimisation.
for level in -O0 -O2; do
    cc -std=c99 $strict $level -DTT_RECORD_OFF -I"$root/include" "$work/layer.c" -o "$work/off"
    ! nm -u "$work/off" | grep 'tt_' || { echo "TT_RECORD_OFF leaves calls behind"; exit 1; }
done

# find_package, by a project of its own.
mkdir "$work/project"
cp "$work/layer.c" "$work/count.c" "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(tensortrace 0.1 REQUIRED)
add_executable(count count.c)
target_link_libraries(count PRIVATE tensortrace::tensortrace)
foreach(how record record-static)
  add_executable(by-${how} layer.c)
  target_link_libraries(by-${how} PRIVATE tensortrace::${how})
endforeach()
END
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$root" >"$work/out" 2>&1 &&
    cmake --build "$work/project/build" >>"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
for how in record record-static; do
    mv "$work/project/build/by-$how" "$work/by-$how"
    recording "by-$how"
done

touch "$root/bin/other"
"$source/scripts/uninstall" "$build" /opt/tt "$work" >/dev/null
left=$(cd "$root" && find . -type f -o -type l)
for folder in lib/tensortrace include/tensortrace lib/cmake/tensortrace; do
    [ ! -e "$root/$folder" ] || { echo "$folder is left behind"; exit 1; }
done
[ "$left" = ./bin/other ] || { printf 'left behind:\n%s\n' "$left"; exit 1; }
