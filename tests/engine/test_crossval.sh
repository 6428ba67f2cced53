# Scenarios on two sides, fed the same tokens: threads, engines, types of weights, programs of other
# people, sides that fail, and being interrupted.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
newest= oldest=
for release in $(engines); do
    case $release in *openmp*) continue ;; esac
    newest=$release
    [ -n "$oldest" ] || oldest=$release
done
TENSORTRACE_ENGINE=$TT_ENGINES/$newest
export TENSORTRACE_ENGINE
small="--preset tiny --layers 2 --vocab 512 --ffn 256"
"$TT_BIN" synth $small --type F32 -o f32.gguf 2>/dev/null || fail synth
PYTHONDONTWRITEBYTECODE=1 python3 "$TT_SOURCE_DIR/tests/engine/make_q8_0.py" f32.gguf q8_0.gguf || fail make_q8_0

# crossval WANTED NAME ARGS...: NAME.json, its exit code.
crossval() {
    wanted=$1 name=$2
    shift 2
    "$TT_BIN" crossval "$name.json" "$@" >"$name.out" 2>"$name.err"
    code=$?
    [ "$code" = "$wanted" ] || {
        fail "crossval $name $*: exit code $code, not $wanted"
        cat "$name.err"
    }
}

# of NAME KEY...: a value of NAME/summary.json; a number goes into an array.
of() {
    python3 - "$@" <<'END'
import json, sys
v = json.load(open(sys.argv[1] + "/summary.json"))
for key in sys.argv[2:]:
    v = v[int(key)] if isinstance(v, list) else v[key]
print(json.dumps(v))
END
}

# runs PID: it is there, and not only waits to be asked for its end.
runs() {
    grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

# --- forced ids, by themselves ---
"$TT_BIN" run -q -o forced.ttrace -m f32.gguf -t 1 --values=hash --prompt-ids 1,5,9 --force-ids "7,8,3" --write-ids forced.json >/dev/null || fail "run --force-ids"
"$TT_BIN" runner -q -m f32.gguf -t 1 --prompt-ids 1,5,9 -n 3 --write-ids free.json >/dev/null || fail "runner --write-ids"
echo " 7 8,3 " >three.ids
"$TT_BIN" runner -q -m f32.gguf -t 1 --prompt-ids 1,5,9 --force-ids @three.ids -n 5 --write-ids longer.json >/dev/null || fail "--force-ids @FILE"
python3 - <<'END' || fail "the ids that were written"
import json
forced, free, longer = (json.load(open(f + ".json")) for f in ("forced", "free", "longer"))
assert forced["prompt_ids"] == free["prompt_ids"] == [1, 5, 9]
assert forced["taken_ids"] == [7, 8, 3] and free["taken_ids"] == free["chosen_ids"]
assert forced["chosen_ids"][0] == free["chosen_ids"][0], "the same prompt, the same choice"
assert longer["taken_ids"][:3] == [7, 8, 3] and longer["taken_ids"][3:] == longer["chosen_ids"][3:]
assert longer["chosen_ids"][:3] == forced["chosen_ids"]
END
expect "--force-ids: what was decoded" "1 5 9 7 8" "$("$TT_BIN" export --format csv forced.ttrace -o tables >/dev/null 2>&1; python3 -c '
import csv
print(*[r["text_id"] for r in csv.DictReader(open("tables/tokens.csv"))])')"
"$TT_BIN" runner -q -m f32.gguf --prompt-ids 1,99999 2>no.txt && fail "an id that the vocabulary has not"
grep -q "the model has no token 99999" no.txt || fail "an id that the vocabulary has not: $(cat no.txt)"

# --- one engine, two numbers of threads: the same to the last bit ---
cat >threads.json <<END
{ "scenarios": [ {"name": "hello", "prompt": "Hello world", "tokens": 3},
                 {"name": "ids", "token_ids": [1, 5, 9], "force_ids": [7, 9]} ],
  "model": "f32.gguf", "sides": {"a": {"threads": 2}, "b": {"threads": 1}}, "exact": true, "output": "threads" }
END
crossval 0 threads
expect "threads: matched" 2 "$(of threads n_matched)"
expect "threads: other values than equal" "0 0 0" "$(of threads scenarios 0 values close) $(of threads scenarios 0 values differs) $(of threads scenarios 0 values unmeasured)"
[ "$(of threads scenarios 0 values equal)" -gt 50 ] || fail "threads: few values were compared"
expect "threads: tokens alike" '3 3 2 2' "$(of threads scenarios 0 token_agreement n_same) $(of threads scenarios 0 token_agreement n_compared) $(of threads scenarios 1 token_agreement n_same) $(of threads scenarios 1 token_agreement n_compared)"
same "threads: what both were fed" threads/hello/a.ids.json threads/hello/b.ids.json
expect "threads: forced on both" 2 "$(cat threads/ids/?.ids.json | grep -c '"taken_ids":\[7,9\]')"
for file in a.ttrace b.ttrace; do verified threads/hello/$file; done
for file in log.txt summary.md hello/diff.json hello/diff.txt hello/a.log hello/b.txt; do
    [ -s threads/$file ] || fail "threads: no $file"
done
grep -q "threads\.[0-9].*part" threads/log.txt threads/*/diff.json threads/summary.* && fail "a name that is gone is told of"
crossval 2 threads
grep -q "exists; --force replaces it" threads.err || fail "an output folder that is there: $(cat threads.err)"

# --- two engines: as `diff --values` says ---
if [ "$oldest" != "$newest" ]; then
    cat >engines.json <<END
{ "scenarios": [ {"name": "hello", "prompt": "Hello world", "tokens": 2} ], "model": "f32.gguf",
  "sides": {"a": {"engine": "$TT_ENGINES/$newest"}, "b": {"engine": "$TT_ENGINES/$oldest", "label": "old"}}, "output": "engines" }
END
    "$TT_BIN" crossval engines.json >engines.out 2>engines.err
    code=$?
    "$TT_BIN" diff --values engines/hello/a.ttrace engines/hello/b.ttrace >/dev/null 2>&1
    expect "engines: exit code as that of diff --values" $? $code
    expect "engines: release" "\"$oldest\"" "$(of engines sides b release)"
    [ "$(of engines scenarios 0 values close)" -gt 20 ] || fail "engines: few values were compared"
    grep -q "^\* side b: old$" engines/summary.md || fail "engines: the label"
fi

# --- F32 against Q8_0 of the same weights: close by type, and other bits from the embeddings on ---
cat >types.json <<END
{ "scenarios": [ {"name": "hello", "prompt": "Hello world", "tokens": 2} ],
  "sides": {"a": {"model": "f32.gguf"}, "b": {"model": "q8_0.gguf"}}, "output": "types" }
END
crossval 0 types
expect "types: differ" 0 "$(of types scenarios 0 values differs)"
sed 's/"output": "types"/"output": "bits", "exact": true/' types.json >bits.json
crossval 1 bits
expect "bits: state" '"diverged"' "$(of bits scenarios 0 state)"
expect "bits: where" '"embeddings" "own"' "$(of bits scenarios 0 first_divergence stage) $(of bits scenarios 0 first_divergence blame)"
expect "bits: the stage of most" '"embeddings"' "$(of bits most_frequent_first_stage)"
grep -q "diverged.*position 0, embeddings" bits.out || fail "bits: the first divergence is not told"

# --- traces, folders and programs; sides that fail, and the rest is run all the same ---
known=$PWD/threads/ids/a.ttrace
"$TT_BIN" run -q -o other.ttrace -m f32.gguf -t 1 --values=hash --prompt-ids 1,5,9 --force-ids 8,7 >/dev/null || fail "run --force-ids"
cat >known.sh <<'END'
echo "about to be $1" >&2
case $1 in
crash) kill -SEGV $$ ;;
wrong) exit 3 ;;
slow) [ ! -e stubborn ] || trap '' INT; sleep 600 & echo $! >"$4"; while [ -e stubborn ]; do sleep 1; done; wait ;;
nothing) ;;
garbage) echo text >"$2" ;;
other) cp other.ttrace "$2" ;;
*) cp "$3" "$2" ;;
esac
END
cat >failing.json <<END
{ "scenarios": [ {"name": "crash"}, {"name": "wrong"}, {"name": "slow"}, {"name": "nothing"}, {"name": "garbage"},
                 {"name": "other"}, {"name": "good"} ],
  "sides": {"a": {"trace": "$known"},
            "b": {"command": ["sh", "$PWD/known.sh", "{scenario}", "{out}", "$known", "$PWD/sleeper"]}},
  "timeout_s": 1, "output": "failing" }
END
crossval 1 failing
expect "failing: numbers" "6 1" "$(of failing n_failed) $(of failing n_matched)"
expect "failing: the good one" '"matched"' "$(of failing scenarios 6 state)"
i=0
for why in "ended by signal 11" "exit code 3" "not done after 1 s" "has written no trace" "not a tensortrace" "different tokens"; do
    of failing scenarios $i cause | grep -q "$why" || fail "failing: not $why: $(of failing scenarios $i cause)"
    i=$((i + 1))
done
expect "failing: whose" '"b"' "$(of failing scenarios 0 failed_side)"
grep -q "about to be crash" failing/crash/b.log || fail "failing: what it said is not kept"
grep -q "crash:   about to be crash" failing.err || fail "failing: what it said is not told"
runs "$(cat sleeper)" && fail "failing: what the slow one started is left running"

mkdir broken
cp "$(find -L "$TT_ENGINES/$newest" -name 'libllama*.so*' | grep -v common | head -n 1)" broken/
cat >broken.json <<END
{ "scenarios": [ {"name": "one", "prompt": "Hello"}, {"name": "two", "prompt": "world"} ], "model": "f32.gguf",
  "sides": {"a": {"engine": "broken"}, "b": {}}, "output": "broken-out" }
END
crossval 1 broken
expect "broken: failed" 2 "$(of broken-out n_failed)"
grep -q "cannot load the engine" broken-out/one/a.log || fail "broken: the engine's words: $(cat broken-out/one/a.log)"

# A folder of records, as a program writes it and as it is there; a program that is traced from
# outside; and our own engine.
"$TT_BIN" export --format bitnet "$known" -o records >/dev/null 2>&1 || fail "export --format bitnet"
cat >records.json <<END
{ "scenarios": [ {"name": "hello"} ],
  "sides": {"a": {"trace": "$known"}, "b": {"command": ["sh", "-c", "cp records/* \"\$BITNET_TRACE_DIR\""], "records": "bitnet"}},
  "output": "records-out" }
END
crossval 0 records
[ "$(of records-out scenarios 0 values equal)" -gt 10 ] || fail "records: few values are equal: $(cat records.out)"
cat >preload.json <<END
{ "scenarios": [ {"name": "hello", "prompt": "Hello world", "tokens": 2} ], "model": "f32.gguf",
  "sides": {"a": {}, "b": {"command": ["$TT_PROGRAMS/completion", "-m", "{model}", "-p", "{prompt}", "-n", "{n}", "-no-cnv"],
                           "records": "preload"}}, "output": "preload" }
END
crossval 0 preload
[ "$(of preload scenarios 0 values equal)" -gt 20 ] || fail "preload: few values are equal"
expect "preload: tokens alike are not known" null "$(of preload scenarios 0 token_agreement)"
example=$(dirname "$TT_BIN")/../examples/engine/example-engine
if [ -x "$example" ]; then
    cat >own.json <<END
{ "scenarios": [ {"name": "hello", "prompt": "Hello world", "tokens": 3} ], "model": "f32.gguf",
  "sides": {"a": {}, "b": {"command": ["$example", "-m", "{model}", "--tokens", "{prompt_ids}", "--then", "{force_ids}"],
                           "prints": "ids"}}, "values": "hash", "output": "own" }
END
    crossval 0 own
    expect "own engine: tokens" 3 "$(of own scenarios 0 token_agreement n_compared)"
    [ "$(of own scenarios 0 values close)" -gt 20 ] || fail "own engine: few values were compared"
fi

# --- interrupted: what is done is reported ---
cat >held.json <<END
{ "scenarios": [ {"name": "good"}, {"name": "slow"}, {"name": "last"} ],
  "sides": {"a": {"trace": "$known"},
            "b": {"command": ["sh", "$PWD/known.sh", "{scenario}", "{out}", "$known", "$PWD/sleeper"]}},
  "output": "held" }
END
# interrupt ARGS...: while the second scenario is at work.
interrupt() {
    rm -f sleeper
    env --default-signal=INT "$TT_BIN" crossval held.json "$@" >held.out 2>held.err &
    pid=$!
    for i in $(seq 400); do
        [ -s sleeper ] && break
        sleep 0.05
    done
    kill -INT $pid
    wait $pid
    expect "interrupted: exit code" 130 $?
    runs "$(cat sleeper)" && fail "interrupted: its program is left running"
    ls -d held.*.part 2>/dev/null && fail "interrupted: left behind"
    grep -q "1 matched.*interrupted: 2 not tried" held.out || fail "interrupted: not reported: $(cat held.out)"
}
interrupt
expect "interrupted: what is kept" "good log.txt summary.json summary.md " "$(ls held | tr '\n' ' ')"
expect "interrupted: states" '"matched" "not_tried" "not_tried"' "$(of held scenarios 0 state) $(of held scenarios 1 state) $(of held scenarios 2 state)"
before=$(ls -i held/summary.json)
touch stubborn # killed, then
interrupt --force
expect "interrupted --force: what was there is there" "$before" "$(ls -i held/summary.json)"
finish
