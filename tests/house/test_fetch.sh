#!/bin/sh
# test_fetch.sh SOURCES: scripts/fetch-npm fills node_modules with exactly what the lock file pins, or
# leaves it as it was. The registry is a folder, named by npm's own setting.
set -eu
fetch=$1/scripts/fetch-npm
for command in node curl; do
    command -v $command >/dev/null || { echo "skipped: $command is not there"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" npm_config_registry="file://$work/registry"
dir=$work/project
mkdir -p "$dir"

fail() { echo "$*"; [ ! -f "$work/said" ] || sed 's/^/  it said: /' "$work/said"; exit 1; }

# publish NAME VERSION TEXT: into the registry; prints its integrity.
publish() {
    mkdir -p "$work/pack/package" "$work/registry/$1/-"
    printf '{"name": "%s", "version": "%s"}\n' "$1" "$2" >"$work/pack/package/package.json"
    echo "$3" >"$work/pack/package/text"
    tarball=$work/registry/$1/-/$(basename "$1")-$2.tgz
    tar -czf "$tarball" -C "$work/pack" package
    echo "sha512-$(node -p 'require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64")' "$tarball")"
}

# lock OF-BOTH OF-NESTED [MORE]: package.json and package-lock.json; "again" is a second name for @some/one.
lock() {
    echo '{"dependencies": {"@some/one": "1.0.0"}}' >"$dir/package.json"
    cat >"$dir/package-lock.json" <<END
{"lockfileVersion": 3, "packages": {
  "": {"dependencies": {"@some/one": "1.0.0"}},
  "node_modules/@some/one": {"version": "1.0.0", "integrity": "$1"},
  "node_modules/again": {"name": "@some/one", "version": "1.0.0", "integrity": "$1"},
  "node_modules/@some/one/node_modules/two": {"version": "2.1.0", "integrity": "$2"},
  "node_modules/elsewhere": {"version": "1.0.0", "integrity": "$1", "os": ["plan9"], "optional": true}${3:-}
}}
END
}

# refused WHAT PATTERN: the fetch fails with such words and leaves what was there.
refused() {
    if "$fetch" "$dir" >"$work/said" 2>&1; then fail "$1 was taken"; fi
    grep -q -- "$2" "$work/said" || fail "$1: not said \"$2\""
    [ "$(cat "$dir/node_modules/again/text")" = one ] || fail "$1: what was there is gone"
    [ ! -e "$dir/node_modules/three" ] || fail "$1: a part of the new was kept"
}

one=$(publish @some/one 1.0.0 one)
two=$(publish two 2.1.0 two)
three=$(publish three 3.0.0 three)

lock "$one" "$two"
"$fetch" "$dir" 2>"$work/said" || fail "what is right is refused"
for each in @some/one=one again=one @some/one/node_modules/two=two; do
    [ "$(cat "$dir/node_modules/${each%=*}/text")" = "${each#*=}" ] || fail "no ${each%=*}"
done
[ ! -e "$dir/node_modules/elsewhere" ] || fail "a package for another system was fetched"

# Nothing is asked for when everything is there.
npm_config_registry=file:///nowhere "$fetch" "$dir" 2>"$work/said" || fail "it fetches again"
[ ! -s "$work/said" ] || fail "it fetches again"

more=", \"node_modules/three\": {\"version\": \"3.0.0\", \"integrity\": \"$three\"}"
lock "$one" "$one" "$more"
refused "a package with another hash" 'two.*2\.1\.0.*SHA-512'
lock "$one" "$two" "$more, \"node_modules/four\": {\"version\": \"4.0.0\", \"integrity\": \"$two\"}"
refused "a package that is not there" 'could be fetched'
lock "$one" "$two" "$more, \"node_modules/four\": {\"version\": \"4.0.0\"}"
refused "a package without a hash" 'no SHA-512'
lock "$one" "$two" "$more, \"node_modules/../../out\": {\"version\": \"3.0.0\", \"integrity\": \"$three\"}"
refused "a folder outside" 'is no place'
lock "$one" "$two" "$more, \"node_modules/four\": {\"version\": \"3.0.0\", \"integrity\": \"$three\", \"cpu\": [\"z80\"]}"
refused "a package for another processor" 'another machine'
lock "$one" "$two" "$more"
echo '{"dependencies": {"@some/one": "1.0.1"}}' >"$dir/package.json"
refused "a lock file of other dependencies" 'differ'

# An .npmrc names the registry as well, and what replaces a set is whole.
lock "$one" "$two" "$more"
echo "registry = \"file://$work/registry\"" >"$work/.npmrc"
env -u npm_config_registry "$fetch" "$dir" 2>"$work/said" || fail "~/.npmrc is not heeded"
[ "$(cat "$dir/node_modules/three/text")" = three ] || fail "no three"
echo "fetched, and refused 6 times"
