"""Cache policies against libCacheSim's (PyPI libcachesim): misses equal to the last unit, where both
have the policy, on streams of many kinds."""
import os
import random
import subprocess
import sys

try:
    import libcachesim as lib
except ImportError:
    print("skipped: libcachesim has no package for this Python")
    sys.exit(77)

THEIRS = {"lru": lib.LRU, "lfu": lib.LFU, "arc": lib.ARC, "s3-fifo": lib.S3FIFO,
          "clock": lib.Clock, "belady": lib.Belady}
CAPACITIES = (20, 33, 64, 100, 257, 500)


def streams():
    draw = random.Random(5)
    zipf = draw.choices(range(1200), [1 / (i + 1) ** 0.9 for i in range(1200)], k=30000)
    yield "zipf", zipf
    flat = draw.choices(range(300), k=20000)
    yield "uniform", flat
    yield "loop", [i % 130 for i in range(13000)]
    mixed = []
    for start in range(0, 30000, 1000):
        mixed += zipf[start:start + 800] + [2000 + start + i for i in range(200)]
    yield "zipf with scans", mixed
    # A mixture of experts: dense units of each layer, then two of its 16 experts, some liked more.
    moe, likes = [], [[draw.expovariate(1) ** 2 for _ in range(16)] for _ in range(12)]
    for _ in range(400):
        for layer in range(12):
            moe += [layer * 20 + i for i in range(4)]
            chosen = set()
            while len(chosen) < 2:
                chosen.add(draw.choices(range(16), likes[layer])[0])
            moe += [layer * 20 + 4 + expert for expert in sorted(chosen)]
    yield "experts", moe
    yield "two phases", draw.choices(range(150), k=5000) + draw.choices(range(100, 400), k=5000)


def next_uses(stream):
    seen, result = {}, []
    for i in range(len(stream) - 1, -1, -1):
        result.append(seen.get(stream[i], -1))
        seen[stream[i]] = i
    return result[::-1]


def ours(stream, following):
    text = "".join(f"{unit} {after}\n" for unit, after in zip(stream, following))
    run = subprocess.run([os.environ["TT_RUN_POLICIES"], *map(str, CAPACITIES)], input=text, text=True,
                         stdout=subprocess.PIPE, check=True)
    rows = (line.split() for line in run.stdout.splitlines())
    return {(name, int(capacity)): int(misses) for name, capacity, misses in rows}


def theirs(make, capacity, stream, following):
    cache, misses = make(capacity, hashpower=12), 0
    for unit, after in zip(stream, following):
        request = lib.Request(obj_id=unit + 1, obj_size=1, next_access_vtime=after if after >= 0 else 2**63 - 1)
        misses += not cache.get(request)
    return misses


def main():
    wrong = compared = 0
    for kind, stream in streams():
        following = next_uses(stream)
        got = ours(stream, following)
        for name, make in THEIRS.items():
            for capacity in CAPACITIES:
                want = theirs(make, capacity, stream, following)
                compared += 1
                if got[name, capacity] != want:
                    wrong += 1
                    print(f"{kind}, {name}, {capacity} units: {got[name, capacity]} misses, libCacheSim {want}")
    print(f"{compared} compared, {wrong} differ")
    sys.exit(1 if wrong or not compared else 0)


main()
