#!/bin/sh
# test_fresh.sh SOURCES: scripts/check-fresh says why it cannot, counts, and lets no failure pass. The
# commands that make a system are made up.
set -eu
cd "$1"
git ls-files --error-unmatch scripts/check-fresh >/dev/null 2>&1 || { echo "skipped: this is no git checkout"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/systems"
make() { { echo '#!/bin/sh'; cat; } >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
cases=0

# expect CODE LAST-LINE PATTERN SUITE...: how check-fresh ends.
expect() {
    code=$1 last=$2 pattern=$3
    shift 3
    got=0
    PATH=$work/bin:$PATH TT_FRESH_DIR=$work/systems TT_DEBIAN_MIRROR=http://mirror.invalid scripts/check-fresh "$@" >"$work/said" 2>&1 || got=$?
    if [ $got != "$code" ] || [ "$(tail -n 1 "$work/said")" != "$last" ] || ! grep -q "$pattern" "$work/said"; then
        echo "wanted $code, \"$last\" and \"$pattern\"; got $got and:"
        cat "$work/said"
        exit 1
    fi
    [ -z "$(find "$work/systems" -mindepth 1 -type d)" ] || { echo "it leaves folders"; exit 1; }
    cases=$((cases + 1))
}

make id <<'END'
echo 1000
END
expect 0 '0 passed, 0 failed, 2 skipped' '^skipped fresh sid: it takes root$'
make id <<'END'
echo 0
END
make unshare <<'END'
exit 1
END
make debootstrap <<'END'
exit 0
END
expect 0 '0 passed, 0 failed, 1 skipped' '^skipped fresh trixie: no mount namespace' trixie

# A system that is made, by an unshare that only does what $MADE says in the folder.
make unshare <<'END'
while [ $# -gt 0 ] && [ "$1" != scripts/check-fresh ]; do shift; done
[ $# = 0 ] && exit 0
cd "$2"
eval "$MADE"
END
make curl <<'END'
exit 22
END
export MADE='exit 0'
expect 0 '0 passed, 0 failed, 1 skipped' 'skipped fresh sid: http://mirror.invalid/dists/sid cannot be reached' sid
make curl <<'END'
exit 0
END
expect 1 '0 passed, 2 failed, 0 skipped' 'FAILED  fresh trixie: make demo left no trace' trixie sid
export MADE='echo no space left; exit 7'
expect 1 '0 passed, 1 failed, 0 skipped' '^no space left$' trixie
export MADE='exit 124'
expect 1 '0 passed, 1 failed, 0 skipped' 'FAILED  fresh trixie: make demo took longer than 1500 s' trixie
tree=root/root/tensortrace
all="mkdir -p root/var/lib/dpkg $tree/demo $tree/build; echo 'Status: install ok installed' >root/var/lib/dpkg/status
    for each in demo/tinyllama.ttrace demo/tinyllama.html build/build.log; do echo x >$tree/\$each; done"
export MADE="$all"
expect 0 '1 passed, 0 failed, 0 skipped' '^ok      fresh trixie: make demo, 1 packages' trixie
export MADE="$all; echo 'a.c:1: warning: odd' >>$tree/build/build.log"
expect 1 '0 passed, 1 failed, 0 skipped' 'the compiler warns 1 times' trixie
expect 0 '1 passed, 0 failed, 0 skipped' 'a.c:1: warning: odd' sid
echo "$cases cases"
