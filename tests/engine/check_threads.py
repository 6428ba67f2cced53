"""check_threads.py BIN PROGRAMS ENGINE: where `why` says that a thread's time went, against the kernel's counts for that
thread, which the program itself reads around each decode (programs/threads.c), the group's cpu.stat, and the time for which
this test stopped it. No figure depends on how busy the machine is: the kernel's are measured in the same run."""
import json
import os
import signal
import subprocess
import sys
import time

BIN, PROGRAMS, ENGINE = sys.argv[1:4]
TOKENS = 60
MODEL = "threads.gguf"
PARTS = ("work", "kernel", "processor", "throttled", "stopped", "off_cpu", "disk", "between_ops", "wait", "between_batches", "idle")
failures = []


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def data(*words):
    return json.loads(run(BIN, *words))


def near(what, got, right, slack, outside=0.0):
    """Within 5 % of the kernel's figure, and what may lie between two readings of it; less by what may have been in the
    part of the decodes that is in no batch."""
    most = 0.05 * right + slack
    ok = right - outside - most <= got <= right + most
    print(f"{'' if ok else 'WRONG: '}{what}: {got:.1f} ms, by the kernel {right:.1f} ms")
    if not ok:
        failures.append(what)


def check_that(what, ok, text=""):
    if not ok:
        print(f"WRONG: {what} {text}")
        failures.append(what)


def make_group(controller, files):
    """A control group of version 1 or 2 with the first set of files that it has; its folder, or None."""
    for base, values in ((f"/sys/fs/cgroup/{controller}", files[0]), ("/sys/fs/cgroup", files[1]),
                         ("/sys/fs/cgroup/unified", files[1])):
        at = f"{base}/tt-threads-{os.getpid()}"
        try:
            os.mkdir(at)
        except OSError:
            continue
        try:
            for name, value in values:
                with open(f"{at}/{name}", "w") as f:
                    f.write(value)
            return at
        except OSError:
            os.rmdir(at)
    return None


def record(name, group=None, options=(), during=None, tokens=TOKENS, more=()):
    """Runs the program under trace; returns the sums of the kernel's counts over its decodes, in ms."""
    env = dict(os.environ)
    if group and os.path.exists(f"{group}/cpu.stat"):
        env["TT_GROUP_STAT"] = f"{group}/cpu.stat"
    enter = f"echo $$ >{group}/cgroup.procs; " if group else ""
    words = [BIN, "run", "-q", "--force", *options, "-o", name, "--", f"{PROGRAMS}/threads", ENGINE, MODEL, str(tokens), *more]
    child = subprocess.Popen(["sh", "-c", enter + 'exec "$@"', "sh", *words], stdout=subprocess.PIPE, text=True, env=env)
    sums, pid = {key: 0.0 for key in ("wall", "user", "system", "delay", "throttled")}, 0
    withheld = 0.0
    for line in child.stdout:
        part = line.split()
        if part[0] == "pid":
            pid = int(part[1])
        if part[0] == "between":
            sums["asleep"] = float(part[1]) / 1e3
        if part[0] != "batch":
            continue
        for key, us in zip(sums, part[2:]):
            sums[key] = sums[key] + float(us) / 1e3 if float(us) >= 0 else -1
        # The group's other threads are throttled too: of this thread's waiting it is at most all.
        delay, throttled = (float(us) / 1e3 for us in part[5:7])
        withheld += min(delay, throttled)
        if during and int(part[1]) == TOKENS // 2:
            sums["by_test"] = during(pid)
    if child.wait() != 0:
        sys.exit(f"{words} ended with {child.returncode}")
    sums["withheld"] = withheld
    return sums


def answer(name):
    a = data("why", "--json", name)
    found = {p["part"]: (p["time_ns"] or 0) / 1e6 for p in a["time"]["parts"]}
    return {part: found.get(part, 0) for part in PARTS}, a


def slack_of(sums):
    """Between the kernel's counts by the program and those by the recorder: the readings are of other moments, up to 4 ms
    apart in each decode, of which this is the share."""
    return 5 + 0.03 * sums["wall"]


def outside_of(sums, parts):
    """The time of the decodes that is in no batch: before the graph is computed, and after."""
    return max(sums["wall"] - sum(parts[part] for part in PARTS if part not in ("between_batches", "idle")), 0)


def compare(what, name, sums):
    parts, a = answer(name)
    slack, outside = slack_of(sums), outside_of(sums, parts)
    if sums["delay"] < 0:
        check_that(f"{what}: nothing is said of a processor", parts["processor"] == 0 and parts["throttled"] == 0)
        return parts, a
    near(f"{what}, in the kernel", parts["kernel"], sums["system"], slack, outside)
    # What the engine computes between ops is in no op.
    least, most = parts["work"], parts["work"] + parts["between_ops"]
    near(f"{what}, in user mode", min(max(sums["user"], least), most), sums["user"], slack)
    near(f"{what}, waiting for a processor", parts["processor"] + parts["throttled"], sums["delay"], slack, outside)
    return parts, a


def stop(pid):
    """Stops the program for 0.6 s; returns for how long it really was, in ms."""
    os.kill(pid, signal.SIGSTOP)
    while open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
        time.sleep(0.001)
    begin = time.monotonic()
    time.sleep(0.6)
    spent = time.monotonic() - begin
    os.kill(pid, signal.SIGCONT)
    return spent * 1e3


def texts(a):
    return " ".join(f["text"] for f in a["findings"])


def alone():
    parts, a = compare("alone", "alone.ttrace", record("alone.ttrace"))
    check_that("alone, stopped", parts["stopped"] == 0, parts)
    check_that("alone, throttled", parts["throttled"] == 0, parts)


def hogs():
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        parts, a = compare("beside busy loops", "hogs.ttrace", record("hogs.ttrace"))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    check_that("beside busy loops, others", "waited for a processor" in texts(a), texts(a))
    check_that("beside busy loops, stopped", parts["stopped"] < 0.05 * sum(parts.values()), parts)


def spinning():
    """Two threads that wait for each other inside ops, beside busy loops, compute what one thread alone does: by the kernel's
    count of that one, and at most twice as slowly, because processors share caches and units."""
    alone_ms = record("one.ttrace", tokens=16)["user"]
    os.environ["TT_THREADS"] = "2"
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        sums = record("two.ttrace", tokens=16)
    finally:
        del os.environ["TT_THREADS"]
        for loop in loops:
            loop.kill()
            loop.wait()
    work = sum(row["work_ns"] for row in data("stats", "--by", "op", "--json", "two.ttrace")["rows"]) / 1e6
    busy = sum(row["busy_ns"] for row in data("stats", "--by", "op", "--json", "two.ttrace")["rows"]) / 1e6
    print(f"two threads: own work {work:.1f} of {busy:.1f} ms in ops, one thread {alone_ms:.1f} ms by the kernel, {sums['wall']:.1f} ms in all")
    check_that("two threads' own work is what one computes", work <= 2 * alone_ms + 0.02 * sums["wall"], (work, alone_ms))


def quota():
    at = make_group("cpu", ((("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")), (("cpu.max", "20000 100000"),)))
    if not at:
        print("no quota of processor time can be set here: not checked")
        return
    try:
        sums = record("quota.ttrace", at)
    finally:
        os.rmdir(at)
    parts, a = compare("below a quota", "quota.ttrace", sums)
    near("below a quota, throttled", parts["throttled"], sums["withheld"], slack_of(sums), outside_of(sums, parts))
    if parts["throttled"] > 0.06 * sum(parts.values()):
        check_that("below a quota, the finding", "quota of processor time" in texts(a), texts(a))
    limits = data("info", "--json", "quota.ttrace")["system"]
    check_that("the quota is told", limits["cgroup_cpu_ns_per_s"] == 200000000, limits)


def stopped():
    sums = record("stopped.ttrace", during=stop)
    parts, a = compare("stopped", "stopped.ttrace", sums)
    # It may have been stopped between two ops, where the recorder does not look.
    least = parts["stopped"]
    most = least + parts["between_ops"] + parts["between_batches"] + parts["idle"] + parts["off_cpu"]
    near("stopped", min(max(sums["by_test"], least), most), sums["by_test"], 20)
    if parts["stopped"] > 0.5 * sums["by_test"]:
        check_that("stopped, the finding", "was stopped" in texts(a) and "others" not in texts(a), texts(a))


def between():
    """A program that waits between two decodes is idle, one that computes there is not."""
    for how in ("sleep", "spin"):
        sums = record(f"{how}.ttrace", tokens=16, more=(how, "600"))
        parts, a = answer(f"{how}.ttrace")
        if sums["delay"] < 0:
            continue
        # What precedes and follows other decodes is some of it, too.
        near(f"between batches, {how}", parts["idle"], sums["asleep"], 30)
        check_that(f"{how}: parts", parts["idle"] + parts["between_batches"] >= 590, parts)
        if how == "sleep" and parts["idle"] > 0.25 * sum(parts.values()):
            check_that("sleep: the finding", "idle" in texts(a), texts(a))


def memory():
    at = make_group("memory", ((("memory.limit_in_bytes", str(60 << 20)),), (("memory.max", str(60 << 20)),)))
    if not at:
        print("no memory group can be made here: not checked")
        return
    try:
        for way in ("both", "off"):
            run(f"{PROGRAMS}/drop_cache", MODEL)
            options = ["--faults=both"] if way == "both" else []
            sums = record(f"memory-{way}.ttrace", at, options, tokens=8)
            parts, _ = compare(f"below a memory limit, faults {way}", f"memory-{way}.ttrace", sums)
            check_that("own work is computing", parts["work"] < sums["user"] + 0.1 * sums["wall"], parts)
    finally:
        os.rmdir(at)


def more_threads():
    cpu = min(os.sched_getaffinity(0))
    run(BIN, "run", "-q", "--force", "-o", "more.ttrace", "-m", MODEL, "-p", "Once", "-n", "8", "-t", "3",
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    usable = data("info", "--json", "more.ttrace")["system"]["usable_processors"]
    check_that("one processor is usable", usable == 1, usable)
    parts, a = answer("more.ttrace")
    total = sum(parts.values())
    if parts["processor"] > 0.05 * total:
        check_that("more threads than processors", "3 threads computed on 1 usable processor" in texts(a), texts(a))


def main():
    run(BIN, "synth", "--embd", "1024", "--ffn", "4096", "--heads", "16", "--kv-heads", "4", "--layers", "8", "--type", "Q8_0",
        "--force", "-o", MODEL)
    alone()
    hogs()
    spinning()
    quota()
    stopped()
    between()
    memory()
    more_threads()
    if failures:
        sys.exit(f"{len(failures)} wrong: " + "; ".join(failures))


main()
