# What a settings file asks of the system: a memory limit, a cold start, readahead. Whether it was so is
# asked of the program (its trace), of mincore and of /sys, not of the command.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
engine=
for release in $(engines); do engine=$TT_ENGINES/$release; done
TENSORTRACE_ENGINE=$engine
export TENSORTRACE_ENGINE
"$TT_BIN" synth --preset moe --embd 512 --ffn 1024 --experts 16 --experts-used 2 --layers 8 -o m.gguf 2>/dev/null
size=$(stat -c %s m.gguf)

experiment() {
    wanted=$1
    shift
    "$TT_BIN" experiment "$@" >out.txt 2>err.txt
    code=$?
    [ "$code" = "$wanted" ] || { fail "experiment $*: exit code $code, not $wanted"; cat err.txt; }
}

# column NAME WHERE FOLDER: that column of the runs with `WHERE`, one a line.
column() {
    python3 - "$@" <<'PY'
import csv, subprocess, sys, os
name, where, folder = sys.argv[1:]
key, value = where.split("=", 1)
text = subprocess.run([os.environ["TT_BIN"], "experiment", "list", "--csv", "--columns", f"folder,{key},{name}", folder],
                      capture_output=True, text=True, check=True).stdout
for row in csv.DictReader(text.splitlines()):
    if row[key] == value:
        print(row[name])
PY
}

# settings CONDITIONS [MORE]
settings() {
    cat >s.json <<END
{ "experiment": { "model_path": "m.gguf", "tokens_to_generate": 3, "prompt": "Hello world", "threads": 1 ${2:-} },
  "conditions": { $1 }, "paths": { "webui_data_dir": "out" } }
END
}
export TT_BIN

# --- the order ---
settings '"order_seed": 11' ', "seed": [1, 2, 3, 4, 5, 6]'
experiment 0 s.json
grep -q "in random order, by the seed 11" err.txt || fail "order: the seed is not said"
order() { sed -n 's/.*"seed": \([0-9]*\),*$/\1/p' out/0*/run.json | tr -d '\n'; }
drawn=$(order)
[ "$drawn" != 123456 ] || fail "order: it is as given"
rm -rf out
experiment 0 s.json
expect "order: the same seed" "$drawn" "$(order)"
expect "order: in run.json" "1 2 3 4 5 6 " "$(column run_order state=done out | tr '\n' ' ')"
rm -rf out
settings '"order": "given"' ', "seed": [1, 2, 3]'
experiment 0 s.json
expect "order: given" 123 "$(order)"
rm -rf out

# --- cold and warm ---
settings '"cold_start": [true, false], "order": "given"' ', "mmap": true'
cat m.gguf >/dev/null
experiment 0 s.json
expect "cold" 0 "$(column resident_bytes start=cold out)"
pages=$(((size + 4095) / 4096 * 4096))
expect "warm" $pages "$(column resident_bytes start=warm out)"
rm -rf out
# A file that somebody has locked in memory does not go: the run is marked.
python3 - m.gguf <<'PY' &
import ctypes, mmap, sys, time, os
file = open(sys.argv[1], "r+b")
at = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_SHARED)
libc = ctypes.CDLL(None)
if libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(at))), ctypes.c_size_t(1 << 20)) == 0:
    open("locked", "w").close()
time.sleep(600)
PY
locker=$!
trap 'kill $locker' EXIT
for i in $(seq 100); do [ -e locked ] || sleep 0.1; done
if [ -e locked ]; then
    settings '"cold_start": true'
    experiment 0 s.json
    grep -q "not as asked for: cold_start: 1.0 MiB of the model stay" err.txt || { fail "locked: not said"; cat err.txt; }
    column unmet start=cold out | grep -q "cold_start: 1.0 MiB" || fail "locked: the run is not marked"
fi
kill $locker
trap - EXIT
rm -rf out

# --- readahead: in force while it runs, and as before afterwards ---
bdi=$(python3 -c 'import os; d = os.stat("m.gguf").st_dev; print(f"/sys/class/bdi/{os.major(d)}:{os.minor(d)}/read_ahead_kb")')
before=$(cat "$bdi" 2>/dev/null)
settings '"readahead": "64K"'
experiment 0 s.json
if [ -w "$bdi" ]; then
    "$TT_BIN" info --json out/01-*/run.ttrace | grep -q '"read_ahead_bytes": 65536' || fail "readahead: not in force"
    expect "readahead: put back" "$before" "$(cat "$bdi")"
else
    column unmet state=done out | grep -q "readahead: cannot be set" || fail "readahead: the run is not marked"
fi
rm -rf out

# --- mlock: by the runner; or a mark ---
settings '"mlock": true' ', "repack": false'
experiment 0 s.json
rm -rf out
(
    ulimit -l 64
    settings '"mlock": true' ', "repack": false, "seed": 2'
    setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$TT_BIN" experiment s.json >out.txt 2>err.txt
)
column unmet state=done out | grep -q "mlock had no effect" || fail "mlock: the run is not marked"
rm -rf out

# --- the user's systemd, stood in for by a script: which words it is given ---
mkdir -p fake run/systemd
: >run/systemd/private
cat >fake/systemd-run <<'END'
#!/bin/sh
echo "$*" >"$FAKE_WORDS"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
END
chmod +x fake/systemd-run
settings '"memory_limit": "50%"'
# Without a place for groups: /sys/fs/cgroup is hidden from it.
if unshare -m true 2>/dev/null; then
    FAKE_WORDS=$PWD/words.txt XDG_RUNTIME_DIR=$PWD/run PATH=$PWD/fake:$PATH \
        unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh "$TT_BIN" experiment s.json >out.txt 2>err.txt ||
        { fail "systemd: exit code"; cat err.txt; }
    grep -q -- "--user --scope --quiet --collect -p MemoryMax=$((size / 2)) -p MemorySwapMax=0 -- " words.txt ||
        fail "systemd: other words: $(cat words.txt)"
    rm -rf out
    unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh env -u XDG_RUNTIME_DIR "$TT_BIN" experiment s.json >out.txt 2>err.txt
    expect "no group: exit code" 2 $?
    grep -q "conditions.memory_limit: no memory limit can be set" err.txt || { fail "no group: not said"; cat err.txt; }
    [ ! -e out ] || fail "no group: something was made"
fi

# --- a memory limit ---
if ! memory_group "tensortrace-test-$$" 100M; then
    echo "memory limits are left out: $no_group"
    finish
fi
settings '"memory_limit": [null, "60%"]' ', "repack": false'
experiment 0 s.json
limited_run=$(column folder memory_limit_bytes=$((size * 6 / 10 / 4096 * 4096)) out)
[ -n "$limited_run" ] || fail "limit: no run has it"
"$TT_BIN" info --json "out/$limited_run/run.ttrace" | grep -q "\"cgroup_memory_max_bytes\": $((size * 6 / 10 / 4096 * 4096))" ||
    fail "limit: the program did not see it"
expect "limit: cold" cold "$(column start folder="$limited_run" out)"
expect "limit: nothing unmet" "" "$(column unmet folder="$limited_run" out)"
peak=$(column group_peak_bytes folder="$limited_run" out)
[ "$peak" -le $((size * 6 / 10)) ] || fail "limit: the peak is $peak"
same "the generated text" out/01-*/output.txt out/02-*/output.txt
ls -d /sys/fs/cgroup/memory/*/tensortrace-[0-9]* /sys/fs/cgroup/tensortrace-[0-9]* 2>/dev/null && fail "limit: its group is left behind"

# --- a run that the kernel kills is a result ---
settings '"memory_limit": "24M"' ', "mmap": false'
experiment 0 s.json --json
expect "killed: state" killed "$(column state memory_limit_bytes=25165824 out)"
expect "killed: ending" "killed at the memory limit of 24.0 MiB" "$(column ending state=killed out)"
grep -q '"n_killed": 1' out.txt || fail "killed: not counted"
killed=$(column folder state=killed out)
for file in run.json log.txt output.txt messages.txt; do [ -f "out/$killed/$file" ] || fail "killed: no $file"; done
[ "$(readlink out/current)" != "$killed" ] || fail "killed: readers are led to it"
experiment 0 s.json
grep -q "up to date: .*/out/$killed" err.txt || fail "killed: it is run again"
rm -rf out

# --- whoever kills tensortrace: its group goes, and the system's settings are as before ---
settings '"memory_limit": "60%", "readahead": "64K"' ', "repack": false, "ignore_eos": true'
sed -i 's/"tokens_to_generate": 3/"tokens_to_generate": 600/' s.json
groups() { ls -d /sys/fs/cgroup/memory/tensortrace-[0-9]* /sys/fs/cgroup/memory/*/tensortrace-[0-9]* /sys/fs/cgroup/memory/*/*/tensortrace-[0-9]* /sys/fs/cgroup/tensortrace-[0-9]* /sys/fs/cgroup/*/tensortrace-[0-9]* 2>/dev/null; }
for signal in KILL TERM; do
    rm -f err.txt # of the one before
    "$TT_BIN" experiment s.json >out.txt 2>err.txt &
    pid=$!
    for i in $(seq 200); do grep -qs "memory limit:" err.txt && break; sleep 0.1; done
    group_of=$(groups | grep -- "-$pid\$")
    [ -n "$group_of" ] || { fail "$signal: there is no group"; cat err.txt; }
    [ ! -w "$bdi" ] || expect "$signal: readahead meanwhile" 64 "$(cat "$bdi")"
    sleep 0.5
    kill -$signal $pid
    wait $pid 2>/dev/null
    for i in $(seq 200); do [ -e "$group_of" ] || break; sleep 0.1; done
    [ ! -e "$group_of" ] || fail "$signal: the group is left behind: $(cat "$group_of/cgroup.procs")"
    [ ! -w "$bdi" ] || expect "$signal: readahead put back" "$before" "$(cat "$bdi")"
done
finish
