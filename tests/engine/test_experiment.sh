# One command from a settings file to what readers open: a sweep, what is up to date, failures in
# each stage, interruption at any moment.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
model tiny
engine=
for release in $(engines); do engine=$TT_ENGINES/$release; done
TENSORTRACE_ENGINE=$engine
export TENSORTRACE_ENGINE
data=out/data

# experiment WANTED ARGS...: its exit code; leaves out.txt and err.txt.
experiment() {
    wanted=$1
    shift
    "$TT_BIN" experiment "$@" >out.txt 2>err.txt
    code=$?
    [ "$code" = "$wanted" ] || {
        fail "experiment $*: exit code $code, not $wanted"
        cat err.txt
    }
}

says() {
    grep -q -- "$2" err.txt || {
        fail "$1: not said: $2"
        cat err.txt
    }
}

folders() {
    ls "$1" | grep -E '^[0-9]{2}-[a-z0-9-]+$'
}

# no_leftovers NAME FOLDER
no_leftovers() {
    left=$(ls -A "$2" | grep -vxE '[0-9]{2}-[a-z0-9-]+|current|experiments?\.json|memory-map\.json|buffer-timeline\.json|graphs|traces')
    [ -z "$left" ] || fail "$1: left behind: $left"
}

# whole FOLDER: each experiment in it passes `verify`, and has what belongs to it.
whole() {
    for id in $(folders "$1"); do
        verified "$1/$id"
        verified "$1/$id/run.ttrace"
        for file in run.json log.txt output.txt messages.txt experiment.json memory-map.json buffer-timeline.json; do
            [ -f "$1/$id/$file" ] || fail "$1/$id has no $file"
        done
        its=$(sed -n 's/.*"experiment_id": "\([0-9a-f]\{32\}\)".*/\1/p' "$1/$id/run.json")
        [ -n "$its" ] || fail "$1/$id: run.json has no id"
        grep -q "\"experiment_id\": \"$its\"" "$1/$id/memory-map.json" || fail "$1/$id: another id in memory-map.json"
    done
}

# --- a sweep of two prompts ---
cat >sweep.json <<END
{ "experiment": { "model_path": "tiny.gguf", "tokens_to_generate": 3, "prompt": ["Hello world", "Once upon"], "threads": 1 },
  "paths": { "webui_data_dir": "$data" },
  "temp_files": { "trace_bin": "/tmp/tensor_trace.bin" } }
END
experiment 0 sweep.json
expect "sweep: experiments" 2 "$(folders $data | wc -l)"
whole $data
no_leftovers sweep $data
for stage in "load settings" "verify prerequisites" clean "run inference" "memory map" traces graphs buffers summary; do
    grep -qE "^\[[0-9]{2}:[0-9]{2}:[0-9]{2}\] (2/2 )?$stage: " err.txt || fail "the stage $stage is not logged"
    grep -qE "^\[[0-9]{2}:[0-9]{2}:[0-9]{2}\] (2/2 )?$stage: " $data/current/log.txt || fail "the stage $stage is not in log.txt"
done
grep -q "1/2 run" $data/current/log.txt && fail "another experiment is in log.txt"
says temp_files "temp_files is ignored"
grep -q "Once upon" $data/experiment.json || fail "the newest is not where readers look"
expect "token files" "token-00000.json token-00001.json token-00002.json " "$(ls $data/traces/ | tr '\n' ' ')"
expect "graphs as traces" "$(ls $data/traces/)" "$(ls $data/graphs/)"
"$TT_BIN" runner -q -m tiny.gguf -p "Once upon" -n 3 -t 1 >plain.txt
same "the generated text" plain.txt $data/current/output.txt
"$TT_BIN" experiment list --json $data >list.json || fail "list --json"
expect "list --json" 2 "$(grep -c '"experiment_id"' list.json)"
"$TT_BIN" experiment list sweep.json >list.txt || fail "list"
expect "list: lines" 3 "$(wc -l <list.txt)"

# --- nothing is done twice ---
before=$(folders $data)
experiment 0 sweep.json
expect "up to date: the same experiments" "$before" "$(folders $data)"
expect "up to date: told of each" 2 "$(grep -c 'up to date: ' err.txt)"
says "up to date" "--force"
grep -q "run inference" err.txt && fail "something was run again"
experiment 0 --dry-run sweep.json
says "dry run" "1/2 dry run: up to date"
touch tiny.gguf
experiment 0 --dry-run sweep.json
says "touched model" "would run"
experiment 0 sweep.json
says "touched model" "something changed: the model"
expect "touched model: made again" 4 "$(folders $data | wc -l)"
experiment 0 --force sweep.json
expect "--force: made again" 6 "$(folders $data | wc -l)"
whole $data

sed 's/"Once upon"\]/"Twice", "Twice"]/' sweep.json >same.json
experiment 0 same.json
says "twice the same" "3/3 up to date: the same as 2/3"
grep -q "2/3 up to date" err.txt && fail "twice the same: the first was not run"

# --- a named program, as earlier pipelines ran it ---
mkdir -p llama/build/bin
cp "$TT_PROGRAMS/completion" llama/build/bin/llama-completion
cp tiny.gguf llama/
# named MORE: settings with these further keys of "experiment".
named() {
    cat >named.json <<END
{ "experiment": { "model_path": "tiny.gguf", "tokens_to_generate": 3, "prompt": "Hello 'world'", "threads": 1 ${1:-} },
  "paths": { "llama_cpp_dir": "llama", "llama_binary": "build/bin/llama-completion", "webui_data_dir": "named" } }
END
}
named
experiment 0 named.json --json
whole named
no_leftovers named named
says "named" "llama-completion -m .*/llama/tiny.gguf -p 'Hello '\\\\''world'\\\\''' -n 3 -no-cnv -t 1$"
grep -q "^Hello 'world'" named/current/output.txt || fail "the program's text is not kept"
grep -q '"state": "done"' out.txt || fail "--json does not say what was done"
expect "named: batches" 3 "$(ls named/traces/ | wc -l)"

# A program that starts two others: the data are of the first, both traces are kept.
cat >llama/build/bin/twice <<'END'
#!/bin/sh
"$(dirname "$0")/llama-completion" "$@" && "$(dirname "$0")/llama-completion" "$@"
END
chmod +x llama/build/bin/twice
sed 's/llama-completion/twice/; s#"named"#"twice"#' named.json >twice.json
experiment 0 twice.json
says twice "2 processes were traced"
whole twice
expect "twice: traces" 2 "$(ls twice/current/*.ttrace | wc -l)"
grep -q '"n_files": 13' twice/current/run.json || fail "twice: n_files is not 13"

# Data that somebody removed are made again.
rm -r twice/current/traces
experiment 0 twice.json
says "data removed" "were removed since"
expect "data removed" 2 "$(folders twice | wc -l)"

# --- failures: the stage, the cause, what to do; and nothing is left ---
kept=$(folders named)
named ', "seed": [1, 2], "program_arguments": ["--exit", "9"]'
experiment 1 named.json
says "program fails" "run inference: FAILED: the program failed with exit code 9"
says "program fails" "run inference:   this is the reason"
says "program fails" "what to do: .*by hand: .*--exit 9"
expect "a failure does not end a sweep" 2 "$(grep -c FAILED err.txt)"
named ', "program_arguments": ["--raise", "11"]'
experiment 1 named.json
says "program dies" "ended by signal 11"
named ', "program_arguments": ["--no-such-option", "1"]'
experiment 1 named.json
says "wrong words" "invalid argument: --no-such-option"
cat >llama/build/bin/nothing <<END
#!/bin/sh
echo "no model is run here"
END
chmod +x llama/build/bin/nothing
named
sed -i 's/llama-completion/nothing/' named.json
experiment 3 named.json
says "nothing traced" "FAILED: nothing was traced: "
says "nothing traced" "what to do: .tensortrace doctor"
rm llama/tiny.gguf llama/build/bin/nothing
experiment 2 named.json
says "missing" "verify prerequisites: FAILED: 2 things are missing or wrong"
says "missing" "the model .*llama/tiny.gguf: No such file"
says "missing" "the program .*nothing: No such file"
cp tiny.gguf llama/
named ', "thread": 2'
experiment 2 named.json
says "settings" 'load settings:   experiment.thread: no such key; did you mean "threads"?'
expect "failures: nothing new" "$kept" "$(folders named)"
no_leftovers failures named

# No room for what the processes tell each other.
named ', "seed": 5'
(ulimit -f 20; "$TT_BIN" experiment named.json >out.txt 2>err.txt)
expect "file size limit: exit code" 2 $?
says "file size limit" "run inference: FAILED: cannot create a session file"
expect "file size limit: nothing new" "$kept" "$(folders named)"
no_leftovers "file size limit" named

# Disks of any size that is too small: one stage or another cannot write, nothing stays, and what
# was there is as it was.
if unshare -m true 2>/dev/null; then
    mkdir -p disk
    export TT_BIN
    for kib in 4 12 100 280; do
        unshare -m sh -c "mount -t tmpfs -o size=${kib}k none disk || exit 99
            \"$TT_BIN\" experiment -o disk/data named.json >out.txt 2>err.txt
            echo \$? >code
            ls -A disk/data >ls.txt"
        expect "disk of $kib KiB: exit code" 2 "$(cat code)"
        grep -qE "FAILED: .*(No space left|could not be finished|are free there)" err.txt || {
            fail "disk of $kib KiB: no reason"
            cat err.txt
        }
        expect "disk of $kib KiB: nothing is left" "" "$(cat ls.txt)"
    done
else
    echo "file systems of our own cannot be had: full disks are left out"
fi

# What is not ours stays, until somebody says so.
mkdir -p theirs/traces
echo theirs >theirs/memory-map.json
experiment 2 -o theirs sweep.json
says "theirs" '"memory-map.json" is there already'
says "theirs" '"traces" is there already'
expect "theirs" theirs "$(cat theirs/memory-map.json)"
experiment 0 -o theirs --force sweep.json
expect "theirs, moved" theirs "$(cat theirs/earlier-*/memory-map.json)"
verified theirs/current

# --- interrupted: nothing is left, and what was there is as it was ---
named ', "program_arguments": ["--hold"]'
# held: starts one that waits in its inference; $held is its process.
held() {
    # A shell gives background jobs SIGINT ignored.
    env --default-signal=INT "$TT_BIN" experiment "$@" named.json >out.txt 2>err.txt &
    held=$!
    for i in $(seq 200); do
        grep -qs holding named/.unfinished-*/messages.txt && return
        sleep 0.05
    done
    fail "it does not come to its inference"
}
for each in INT=130 TERM=143 HUP=129; do
    signal=${each%=*}
    held
    kill -"$signal" $held
    wait $held
    expect "$signal: exit code" "${each#*=}" $?
    says "$signal" "interrupted .*nothing of this experiment is kept"
    expect "$signal: nothing new" "$kept" "$(folders named)"
    no_leftovers "$signal" named
done
held
experiment 2 named.json
says "two at once" "another .tensortrace experiment. is at work"
child=$(ps -o pid= --ppid $held | tr -d ' ')
kill -KILL $held
wait $held
for i in $(seq 100); do
    kill -0 "$child" 2>/dev/null || break
    sleep 0.05
done
kill -0 "$child" 2>/dev/null && fail "the program outlives a command that is killed"
mkdir named/.unfinished
named
experiment 0 named.json
says "after a kill" "removed what 1 experiment that was killed had left"
rmdir named/.unfinished || fail "what is not of ours was removed"
no_leftovers "after a kill" named

# Whoever starts it with a signal ignored (a shell, its background jobs) has it without effect.
cat >llama/build/bin/patient <<'END'
#!/bin/sh
"$(dirname "$0")/llama-completion" "$@"
echo holding >&2
until [ -e go-on ]; do sleep 0.05; done
END
chmod +x llama/build/bin/patient
named ', "seed": 77'
sed -i 's/llama-completion/patient/' named.json
for signal in INT QUIT TERM; do
    rm -f go-on
    env --ignore-signal=$signal "$TT_BIN" experiment --force named.json >out.txt 2>err.txt &
    pid=$!
    until grep -qs holding named/.unfinished-*/messages.txt || ! kill -0 $pid 2>/dev/null; do
        sleep 0.05
    done
    kill -$signal $pid
    sleep 0.1
    touch go-on
    wait $pid
    expect "$signal ignored: exit code" 0 $?
    grep -q interrupted err.txt && fail "$signal ignored: it is not"
done

# Interrupted while it writes: no writer goes on to the end.
named
sed -i 's/"tokens_to_generate": 3/"tokens_to_generate": 240/' named.json
kept=$(folders named)
rm -f err.txt # of the one before
env --default-signal=INT "$TT_BIN" experiment named.json >out.txt 2>err.txt &
pid=$!
for i in $(seq 400); do
    grep -qs "memory map: " err.txt && break
    sleep 0.02
done
kill -INT $pid
wait $pid
expect "while it writes: exit code" 130 $?
says "while it writes" "interrupted .*nothing of this experiment is kept"
expect "while it writes: nothing new" "$kept" "$(folders named)"
no_leftovers "while it writes" named

# Killed or interrupted at any moment.
named ', "repetitions": 2'
for signal in KILL INT; do
    for ms in 010 030 050 070 090 110 130 150 170 200 250 300; do
        env --default-signal=INT "$TT_BIN" experiment --force -o moments named.json >out.txt 2>err.txt &
        pid=$!
        sleep 0.$ms
        kill -$signal $pid 2>/dev/null
        wait $pid
        [ -d moments ] || continue
        [ $signal = KILL ] || no_leftovers "$signal after $ms ms" moments
        [ ! -e moments/current ] || [ -f moments/memory-map.json ] || [ ! -L moments/memory-map.json ] ||
            fail "$signal after $ms ms: current leads nowhere"
    done
    [ $signal = INT ] || experiment 0 --force -o moments named.json
done
whole moments
no_leftovers "at the end" moments

# --- prompts of a file, as earlier pipelines have them ---
cat >prompts.json <<END
{ "experiment_name": "domains", "description": "two domains",
  "prompts": [ { "id": "domain-1-code", "domain": "code", "prompt": "int main", "n_predict": 2 },
               { "id": "quicksort", "domain": "math", "prompt": "1 + 1 =", "n_predict": 3 } ] }
END
cat >unedited.json <<END
{ "experiment": { "model_path": "tiny.gguf", "tokens_to_generate": 1, "prompt": "Hello world", "n_predict": 1 },
  "paths": { "webui_data_dir": "domains" } }
END
experiment 0 --prompts prompts.json unedited.json
expect "prompts: folders" "01-domain-1-code 02-math-quicksort" "$(echo $(folders domains))"
whole domains
says "prompts: what next" "next: tensortrace serve .*/domains "
"$TT_BIN" experiment list --csv --columns folder,label,domain,tokens_to_generate,experiment_name domains >list.csv
expect "prompts: list" "02-math-quicksort,quicksort,math,3,domains" "$(sed -n 3p list.csv)"
experiment 0 --prompts prompts.json unedited.json
says "prompts: again" "up to date: .*/domains/02-math-quicksort"
# A folder of an experiment, or of several, is read as its trace.
expect "folder: one" "$("$TT_BIN" info domains/01-domain-1-code/run.ttrace)" "$("$TT_BIN" info domains/01-domain-1-code)"
expect "folder: the last" "$("$TT_BIN" info domains/02-math-quicksort/run.ttrace)" "$("$TT_BIN" info domains)"
"$TT_BIN" serve --where domain=none domains >out.txt 2>err.txt && fail "serve --where: one that is not there is served"
says "serve --where" "of 2 runs none has domain=none"
finish
