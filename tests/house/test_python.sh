#!/bin/sh
# test_python.sh SOURCES BUILD [WHEEL]: the wheel (else one of what was built here) in a fresh venv of the
# oldest and the newest Python there is, without any other package, in a folder with a blank-free path.
set -eu
source=$1 build=$2 wheel=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$wheel" ] || wheel=$("$source/scripts/make-wheel" --build "$work/build" --out "$work" --tree "$build")
engine=$source/engines/node_modules/engine-v0.5.0/bins/linux-x64
[ -d "$engine" ] || engine=-
# Interpreters that only pretend to be there (pyenv's) do not count.
oldest= newest= tested=0
for minor in 9 10 11 12 13 14 15; do
    for python in "python3.$minor" "$HOME"/.pyenv/versions/3.$minor.*/bin/python; do
        "$python" -c 'import ensurepip' 2>/dev/null || continue
        [ -n "$oldest" ] || oldest=$python
        newest=$python
        break
    done
done
[ -n "$oldest" ] || { echo "no Python 3.9 or newer with ensurepip"; exit 77; }
[ "$oldest" != "$newest" ] || newest=
for python in $oldest $newest; do
    "$python" -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
    (cd "$work" && env -u TENSORTRACE_HOME PATH=/usr/bin:/bin "$work/venv/bin/python" -W error \
        "$source/tests/house/check_package.py" "$source" "$work" "$engine") || { echo "$python fails"; exit 1; }
    [ "$("$work/venv/bin/tensortrace" --version)" = "$(PATH=/usr/bin:/bin "$work/venv/bin/python" -m tensortrace --version)" ]
    rm -rf "$work/venv"
    tested=$((tested + 1))
done
echo "$tested Pythons: $oldest $newest"
