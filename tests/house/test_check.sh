#!/bin/sh
# test_check.sh SOURCES: the last lines of scripts/check count everything and name what was tried twice.
# What builds and tests is made up.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/scripts"
cp "$1/scripts/check" "$work/tree/scripts"
make() { { echo '#!/bin/sh'; cat; } >"$1"; chmod +x "$1"; }
make "$work/tree/scripts/install-deps" <<'END'
exit 0
END
make "$work/tree/scripts/check-fresh" <<'END'
echo "ok      fresh trixie: made up"
echo "${FRESH:-1 passed, 0 failed, 1 skipped}"
END
make "$work/bin/cmake" <<'END'
case " $* " in *" -DTT_TESTS=ON "*) case " $* " in *" -DTT_WERROR=ON "*) ;; *) echo "error: warnings are let pass"; exit 1 ;; esac ;; esac
END
make "$work/bin/ctest" <<'END'
[ -n "${REPORT:-}" ] && echo "$REPORT" >build-check/report.xml
[ -z "${RETRIES:-}" ] || printf '%b' "$RETRIES" >build-check/retries
exit "${ENDED:-0}"
END

# expect CODE WORDS TREE...: how the check of these trees ends; WORDS are its last lines, joined by "; ".
expect() {
    code=$1 words=$2
    shift 2
    got=0
    PATH=$work/bin:$PATH "$work/tree/scripts/check" "$@" >"$work/said" 2>&1 || got=$?
    if [ $got != "$code" ] || [ "$(sed '1,/^$/d' "$work/said" | paste -sd ';' | sed 's/; */; /g')" != "$words" ]; then
        echo "wanted $code and \"$words\"; got $got and:"
        cat "$work/said"
        exit 1
    fi
}

make "$work/tree/scripts/check-packages" <<'END'
echo "ok      packages deb: made up"
echo "${PACKAGES:-2 passed, 0 failed, 1 skipped}"
END

export REPORT='<testsuite name="x" tests="7" failures="0" disabled="0" skipped="2" time="1">'
expect 0 '5 passed, 0 failed, 2 skipped' check
expect 0 '6 passed, 0 failed, 3 skipped' check fresh
export RETRIES='ui.log "a row": no row\nui.graph "a node": no node\n'
expect 0 '2 retried:; ui.log "a row": no row; ui.graph "a node": no node; 6 passed, 0 failed, 3 skipped' check fresh
unset RETRIES # those of the run before are not named again
expect 0 '5 passed, 0 failed, 2 skipped' check
FRESH='1 passed, 2 failed, 0 skipped' expect 1 '6 passed, 2 failed, 2 skipped' check fresh
FRESH='killed' expect 1 '5 passed, 1 failed, 2 skipped' check fresh
expect 0 '7 passed, 0 failed, 3 skipped' check packages
PACKAGES='1 passed, 1 failed, 0 skipped' expect 1 '1 passed, 1 failed, 0 skipped' packages
PACKAGES='killed' expect 1 '0 passed, 1 failed, 0 skipped' packages
ENDED=8 expect 1 '5 passed, 1 failed, 2 skipped' check
ENDED=8 REPORT='<testsuite name="x" tests="7" failures="3" disabled="0" skipped="0" time="1">' expect 1 '4 passed, 3 failed, 0 skipped' check
REPORT='' expect 1 '0 passed, 1 failed, 0 skipped' check
echo "12 ends"
