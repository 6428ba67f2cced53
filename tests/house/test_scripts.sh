#!/bin/sh
# test_scripts.sh SOURCES: shell scripts parse, are executable where they are
# called, and refuse what they cannot do; packages.txt is in its form.
set -eu
cd "$1"
bad=0 parsed=0
for script in scripts/* .ci/run tests/cli/run-case $(find tests bench -name '*.sh' -not -path '*/node_modules/*') \
    $(find bench -type f -perm -u+x -not -path 'bench/work/*'); do
    case $(head -n 1 "$script") in
    '#!/bin/sh'*) sh -n "$script" || bad=1; parsed=$((parsed + 1)) ;;
    '#!'*) ;;
    *) continue ;;
    esac
    if [ ! -x "$script" ]; then
        case $script in
        scripts/* | .ci/* | tests/house/* | tests/cli/*) echo "$script is not executable"; bad=1 ;;
        esac
    fi
done
echo "$parsed scripts"
[ "$parsed" -gt 40 ] || { echo "fewer scripts than there are"; bad=1; }
awk '/^#/ || /^$/ { next }
     $1 !~ /^(build|fetch|engine|check|arm64|fresh|deb|develop|bench)(,(build|engine|check|arm64|fresh|deb|develop|bench))*$/ || NF < 2 || NF > 3 { print "packages.txt:" NR ": " $0; bad = 1 }
     seen[$2]++ { print "packages.txt:" NR ": " $2 " is there twice"; bad = 1 }
     END { exit bad }' packages.txt || bad=1
# What cannot be meant is refused before anything is built; without it, --help ran every target.
for words in '' --help five '3 no_such_target'; do
    code=0
    scripts/fuzz $words >/dev/null 2>&1 || code=$?
    [ $code = 2 ] || { echo "scripts/fuzz $words: exit code $code, not 2"; bad=1; }
done
# Sources that nobody ran `make deps` in are refused before anything is fetched or compiled.
work=$(mktemp -d)
mkdir "$work/scripts"
cp scripts/make-wheel "$work/scripts"
code=0
"$work/scripts/make-wheel" --build "$work/build" --out "$work/out" >"$work/said" 2>&1 || code=$?
if [ $code = 0 ] || ! grep -q "sources of BLAKE3.*make deps" "$work/said" || [ -n "$(ls "$work/build")" ]; then
    echo "make-wheel without make deps: exit code $code: $(cat "$work/said")"
    bad=1
fi
rm -rf "$work"
# Lock files name packages and their checksums, not hosts they once came from.
for lock in engines/package-lock.json tests/engine/package-lock.json tests/ui/package-lock.json ui/package-lock.json; do
    if grep -q '"resolved"' "$lock"; then
        echo "$lock holds addresses; see engines/.npmrc"
        bad=1
    fi
done
exit $bad
