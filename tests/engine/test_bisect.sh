# The same tokens through several builds: each is traced or refused with a reason, and what changes is found.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
first=$(engines | grep -v openmp | head -n 1)
last=$(engines | grep -v openmp | tail -n 1)
mkdir builds broken
for name in $(engines | grep -v openmp); do cp -rL "$TT_ENGINES/$name" "builds/$name"; done
n=$(ls builds | wc -l)

# A build that is none, and one that does not load, among them.
mkdir builds/empty builds/z-damaged
cp builds/"$last"/*.so builds/z-damaged/
for file in builds/z-damaged/libllama*.so; do head -c 1000 "$file" >cut; mv cut "$file"; done

"$TT_BIN" bisect -m tiny.gguf --engines builds -n 8 --runs 3 -t 1 -o all --csv >all.csv 2>err.txt
code=$?
[ $code = 0 ] || [ $code = 1 ] || fail "exit code $code: $(cat err.txt)"
grep -q "$n of $((n + 1)) builds traced" err.txt || fail "not all were traced: $(cat err.txt)"
expect "rows" $((n + 1)) "$(tail -n +2 all.csv | wc -l)"
grep -q '^z-damaged,.*,refused,' all.csv || fail "the damaged build is not refused"
grep '^z-damaged,' all.csv | grep -q ',refused,"*[A-Za-z/].*' || fail "the damaged build has no reason"
for file in bisect.json bisect.html prompt.ids tokens.ids; do [ -s "all/$file" ] || fail "no $file"; done
jq -e '[.builds[] | select(.state == "traced") | .ops | length] | min > 3' all/bisect.json >/dev/null || fail "ops are missing"

# All computed the tokens of the first, and the traces are whole.
for trace in all/*/run-1.ttrace all/*/values.ttrace; do
    verified "$trace"
    "$TT_BIN" info --json "$trace" | jq -c '[.batches[].tokens]' >tokens.json
    [ -f wanted.json ] || cp tokens.json wanted.json
    same "tokens of $trace" wanted.json tokens.json
done

# Median times are those of the traces: here of a batch, by what info says of them.
for folder in all/*-"$first" all/*-"$last"; do
    for trace in "$folder"/run-*.ttrace; do
        "$TT_BIN" info --json "$trace" | jq '[.batches[] | select(.phase == "generate")][1:] | map(.end_ns - .start_ns) | sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2'
    done | sort -g | sed -n 2p >median
    name=$(basename "$folder" | sed 's/^[0-9]*-//')
    jq --arg name "$name" '.builds[] | select(.build == $name).batch_ns' all/bisect.json >got
    awk -v a="$(cat median)" -v b="$(cat got)" 'BEGIN { exit !(a > 0 && a - b < 2 && b - a < 2) }' || fail "$name: batch_ns is $(cat got), not $(cat median)"
done

# The same build twice computes equal values; other weights do not, and are found.
cp -r "builds/$last" same
"$TT_BIN" bisect -m tiny.gguf --engines "builds/$last" same -n 4 --runs 2 -t 1 -o twice --json >twice.json 2>err.txt
expect "twice: values" equal "$(jq -r '.builds[1].values' twice.json)"
expect "twice: the builds" "$last same" "$(jq -r '[.builds[].build] | join(" ")' twice.json)"

# What is wrong with the call.
wrong() {
    name=$1
    shift
    "$TT_BIN" bisect "$@" >out.txt 2>err.txt
    expect "$name: exit code" 2 $?
    [ -s err.txt ] || fail "$name: no word"
}
wrong "no model" --engines builds
wrong "no builds" -m tiny.gguf
wrong "no engine in it" -m tiny.gguf --engines builds/empty
wrong "no such folder" -m tiny.gguf --engines nothing
wrong "a folder that is there" -m tiny.gguf --engines builds -o all
wrong "one engine" -m tiny.gguf --engine "builds/$last" --engines builds
wrong "no such model" -m nothing.gguf --engines builds
ls -d ./*tensortrace* >/dev/null 2>&1 && fail "something is left behind"

# Nothing that works: 3.
"$TT_BIN" bisect -m tiny.gguf --engines builds/z-damaged -o none >out.txt 2>err.txt
expect "none works: exit code" 3 $?
finish
