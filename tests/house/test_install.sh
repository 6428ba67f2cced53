#!/bin/sh
# test_install.sh SOURCES BUILD: what is installed is complete, works from there,
# and goes away again.
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR="$work" cmake --install "$build" --prefix /opt/tt >/dev/null
root=$work/opt/tt
for file in bin/tensortrace lib/tensortrace/libtensortrace-hook.so share/man/man1/tensortrace.1; do
    [ -f "$root/$file" ] || { echo "$file is not installed"; exit 1; }
done
for page in "$source"/man/*.1; do
    [ -f "$root/share/man/man1/$(basename "$page")" ] || { echo "$page is not installed"; exit 1; }
done
"$root/bin/tensortrace" --version | grep -q '^tensortrace [0-9]' || exit 1
if ldd "$root/bin/tensortrace" | grep -F "$build"; then
    echo "the installed program needs the build folder"
    exit 1
fi
touch "$root/bin/other"
"$source/scripts/uninstall" "$build" /opt/tt "$work" >/dev/null
left=$(cd "$root" && find . -type f)
[ ! -e "$root/lib/tensortrace" ] || { echo "lib/tensortrace is left behind"; exit 1; }
[ "$left" = ./bin/other ] || { printf 'left behind:\n%s\n' "$left"; exit 1; }
