"""check_why.py BIN PROGRAMS ENGINE ROUNDS [OPTION...]: what `why` says of tokens that were made slow on purpose,
and of all others. ROUNDS runs of each cause, four tokens each, with these options of
`run` (default: --faults=both); prints a table of what was done
(rows) and what was said, and fails if less than nine of ten are right, or more than 2 % of the
other tokens are blamed although the kernel says that nothing kept their threads from running."""
import json
import os
import random
import subprocess
import sys

BIN, PROGRAMS, ENGINE, ROUNDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
OPTIONS = sys.argv[5:] or ["--faults=both"]
TOKENS = 48
EACH = 4
# What `why` must say of it, and the amounts (programs/causes.c).
CAUSES = {
    "sleep": ("between_batches", lambda r: r.randint(20, 200)),
    "sleep_op": ("between_ops", lambda r: r.randint(20, 200)),
    "stop": ("stopped", lambda r: r.randint(40, 250)),
    "hog": ("processor", lambda r: r.randint(1, 3)),
    "prompt": ("long_prompt", lambda r: r.randint(24, 160)),
    "squeeze": ("disk", lambda r: r.randint(90, 170)),
    "drop": ("cold_expert", None),
}
COLD_BATCHES = 8
ROOMY = 4 << 30
group = {}


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def data(*words):
    return json.loads(run(BIN, *words))


def make_group():
    """A memory group whose limit can be changed, and a share of the processors that nobody else has."""
    for at, knob in ((f"/sys/fs/cgroup/memory/tt-why-{os.getpid()}", "memory.limit_in_bytes"),
                     (f"/sys/fs/cgroup/tt-why-{os.getpid()}", "memory.max")):
        try:
            os.mkdir(at)
        except OSError:
            continue
        if not os.path.exists(f"{at}/{knob}"):
            os.rmdir(at)
            continue
        with open(f"{at}/{knob}", "w") as f:
            f.write(str(ROOMY))
        group.update(memory=at, knob=knob)
        break
    at = f"/sys/fs/cgroup/cpu/tt-why-{os.getpid()}"
    try:
        os.mkdir(at)
        with open(f"{at}/cpu.shares", "w") as f:
            f.write("262144")
        group["cpu"] = at
    except OSError:
        pass


def remove_group():
    for what in ("memory", "cpu"):
        if what in group:
            os.rmdir(group[what])


def trace(name, model, causes):
    """Runs the program under trace; returns each batch's wait for a processor (ms), reads (bytes), and cause."""
    env = dict(os.environ, TT_SEED=str(random.randint(1, 1 << 30)))
    enter = ""
    if "memory" in group:
        env.update(TT_GROUP=group["memory"], TT_GROUP_KNOB=group["knob"], TT_GROUP_ROOMY=str(ROOMY))
    for what in ("memory", "cpu"):
        if what in group:
            enter += f"echo $$ >{group[what]}/cgroup.procs; "
    words = [BIN, "run", "-q", "--force", *OPTIONS, "-o", name, "--", f"{PROGRAMS}/causes", ENGINE, model,
             str(TOKENS), *(f"{token}:{cause}:{amount}" for token, cause, amount in causes)]
    done = subprocess.run(["sh", "-c", enter + 'exec "$@"', "sh", *words], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr[-500:]}")
    found = {}
    for line in done.stderr.splitlines():
        part = line.split()
        if len(part) == 5 and part[0] == "batch":
            found[int(part[1])] = (float(part[2]), int(part[3]), part[4])
    return found


def places(r):
    return [10 + 9 * i + r.randint(0, 3) for i in range(EACH)]


def cold_causes(model, r):
    """Experts that a token chooses and that were not chosen lately: their bytes go out of the page cache."""
    trace("dry.ttrace", model, [])
    tensors = {t["name"]: t for t in data("gguf", "--json", model)["tensors"]}
    last, causes, wanted = {}, [], places(r)
    for batch in range(TOKENS + 1):
        ranges = []
        for row in data("heat", "--by", "expert", "--batch", str(batch), "--limit", "0", "--json", "dry.ttrace")["rows"]:
            if row["expert_id"] is None or not row["accesses"]:
                continue
            key = (row["tensor"], row["expert_id"])
            if batch - last.get(key, -99) > COLD_BATCHES:
                slice_ = tensors["%s[%d]" % key]
                ranges.append((slice_["offset_start"], slice_["size_bytes"]))
            last[key] = batch
        if batch - 1 in wanted and ranges:
            name = f"ranges-{batch}.txt"
            with open(name, "w") as f:
                f.writelines(f"{a} {b}\n" for a, b in ranges)
            causes.append((batch - 1, "drop", name))
    return causes


def answer(name, batch):
    return data("why", "--json", "--batch", str(batch), name)


def check(name, found, table, others):
    for batch, (waited, read, cause) in sorted(found.items()):
        a = answer(name, batch)
        usual = a["usual"]
        excess = 0
        if usual:
            excess = a["time_ns"] + (a["before_ns"] or 0) - usual["median_ns"]
        parts = sum(p["time_ns"] or 0 for p in a["parts"])
        if abs(parts - a["time_ns"]) > 1:
            sys.exit(f"{name}, batch {batch}: the parts are {parts}, the time {a['time_ns']}")
        contended = waited * 1e6 > 0.5 * max(excess, 1)
        said = a["cause"] or ("unknown" if a["slow"] else "usual")
        if cause != "none":
            if cause != "hog" and contended:
                others["spoiled"] += 1
                continue
            table.setdefault(cause, {}).setdefault(said, []).append((name, batch, a["text"]))
        elif batch > 1 and found.get(batch - 1, (0, 0, "none"))[2] == "none":
            others["tokens"] += 1
            if a["slow"] and a["cause"]:
                # What was put out of the page cache for another token is read by this one.
                did_read = read > 1 << 20 and a["cause"] in ("disk", "cold_expert")
                others["contended" if contended else "read" if did_read else "blamed"] += 1
                if not contended and not did_read:
                    others["list"].append((name, batch, waited, a["cause"], a["text"][:2]))


def main():
    table, others = {}, {"tokens": 0, "contended": 0, "read": 0, "blamed": 0, "spoiled": 0, "list": []}
    r = random.Random(int(os.environ.get("TT_SEED", "1")))
    run(BIN, "synth", "--preset", "tinyllama", "--layers", "6", "--force", "-o", "dense.gguf")
    run(BIN, "synth", "--preset", "moe", "--layers", "8", "--embd", "1024", "--ffn", "1024", "--experts", "32",
        "--experts-used", "2", "--force", "-o", "moe.gguf")
    make_group()
    try:
        for cause, (_, amount) in CAUSES.items():
            if cause == "squeeze" and "memory" not in group:
                print("no memory group: no token with too little memory")
                continue
            for i in range(ROUNDS):
                if cause == "squeeze":
                    run(f"{PROGRAMS}/drop_cache", "dense.gguf")
                model = "moe.gguf" if cause == "drop" else "dense.gguf"
                causes = (cold_causes(model, r) if cause == "drop"
                          else [(t, cause, amount(r)) for t in places(r)])
                name = f"{cause}-{i}.ttrace"
                check(name, trace(name, model, causes), table, others)
    finally:
        remove_group()
    report(table, others)


def report(table, others):
    right = cases = 0
    for cause, (wanted, _) in CAUSES.items():
        row = table.get(cause, {})
        n = sum(len(x) for x in row.values())
        cases += n
        right += len(row.get(wanted, []))
        print(f"{cause:9} {n:3} cases: " + ", ".join(f"{k} {len(v)}" for k, v in sorted(row.items())))
        for said, list_ in row.items():
            if said != wanted:
                for x in list_:
                    print("   ", said, *x)
    print(f"{right} of {cases} right; {others['spoiled']} left out, because other programs took more")
    print(f"{others['tokens']} other tokens: {others['blamed']} blamed; {others['contended']} more were, whose threads "
          f"were ready but did not run, and {others['read']} that read from disk, by the kernel's counts")
    for x in others["list"]:
        print("   ", *x)
    if cases < 10:
        print("skipped: other programs keep the processors busy")
        sys.exit(77)
    if right < 0.9 * cases or others["blamed"] > 0.02 * others["tokens"] + 1:
        sys.exit(1)


main()
