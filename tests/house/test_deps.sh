#!/bin/sh
# test_deps.sh SOURCES: scripts/install-deps asks apt for the right packages, and elsewhere says in one
# line what to install. The package manager is made up: dpkg-query knows the names in `installed`,
# apt-cache those in `archive`, and apt-get writes down what it is told.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/scripts"
cp "$1/scripts/install-deps" "$work/tree/scripts"
cat >"$work/tree/packages.txt" <<'END'
# section package [command]
fresh   new-name|old-name
fresh   first|second|third
fresh   there|elsewhere
fresh   needless   sh
fresh   plain
build   not-asked-for
END
for tool in sh env grep tr sort dirname mktemp cat rm uname awk sed; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
make() { { echo '#!/bin/sh'; cat; } >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
make id <<'END'
echo 0
END
export TOLD="$work/told"
fail() { echo "$*"; sed 's/^/  it said: /' "$work/said"; exit 1; }
run() { (cd "$work/tree" && PATH=$work/bin scripts/install-deps "$@") >"$work/said" 2>&1; }

# Without a package manager.
if run build; then fail "nothing is missing on a machine that has nothing"; fi
grep -q 'not a Debian system: install what holds .*ninja.*curl node' "$work/said" || fail "it does not say what to install"
[ "$(wc -l <"$work/said")" = 1 ] || fail "it takes more than a line"

make dpkg-query <<'END'
for name; do :; done
case " elsewhere " in *" $name "*) echo installed ;; *) exit 1 ;; esac
END
make apt-cache <<'END'
echo "$2:"
echo "  Installed: (none)"
case " old-name second third plain " in *" $2 "*) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac
END
make apt-get <<'END'
case $1 in
update) exit 0 ;;
install) shift; for each; do case $each in -* | Dpkg*) ;; *) echo "$each" ;; esac; done | sort >"$TOLD" ;;
esac
END
run fresh || fail "it fails"
[ "$(tr '\n' ' ' <"$TOLD")" = "old-name plain second " ] || fail "apt was told: $(cat "$TOLD")"

# --check names what is missing, and not what another name is there for.
if run --check fresh; then fail "--check misses nothing"; fi
grep -qx 'missing: first|second|third new-name|old-name plain' "$work/said" || fail "--check names other packages"
echo "the first that the archive has"
