"""check_storage.py TENSORTRACE TRACE MODEL LIMIT_KIB: what a trace says of memory, limits and disk is
what the system says, asked here in another way. LIMIT_KIB: the limit of address space that the
program was given, or "unlimited"."""

import fcntl
import json
import os
import struct
import subprocess
import sys

FIEMAP, BATCH = 0xC020660B, 128
LAST, UNTRUSTED = 1, 2 | 4 | 8 | 0x80 | 0x100 | 0x200 | 0x400


def extents(path):
    """(offset, place, size, flags) of each extent; None: the file system does not tell."""
    found, start, size = [], 0, os.stat(path).st_size
    with open(path, "rb") as f:
        while start < size:
            answer = bytearray(struct.pack("=QQLLLL", start, size - start, 0, 0, BATCH, 0) + bytes(56 * BATCH))
            try:
                fcntl.ioctl(f, FIEMAP, answer)
            except OSError:
                return None
            n = struct.unpack_from("=QQLLLL", answer)[3]
            for i in range(n):
                offset, place, length, _, _, flags = struct.unpack_from("=QQQQQL", answer, 32 + 56 * i)
                found.append((offset, place, min(length, size - offset), flags))
            if n == 0 or found[-1][3] & LAST:
                break
            start = found[-1][0] + found[-1][2]
    return found


def pieces(found):
    joined = []
    for offset, place, size, flags in found:
        trusted = not flags & UNTRUSTED
        kept = flags & (0x800 | 0x2000)  # unwritten, shared
        last = joined[-1] if joined else None
        if last and trusted and last[3:] == [True, kept] and last[0] + last[2] == offset and last[1] + last[2] == place:
            last[2] += size
        else:
            joined.append([offset, place, size, trusted, kept])
    return [{"offset_bytes": o, "disk_offset_bytes": p if t else None, "size_bytes": s} for o, p, s, t, _ in joined]


def main(program, trace, model, limit):
    info = json.loads(subprocess.run([program, "info", "--json", trace], check=True, capture_output=True).stdout)
    system, file = info["system"], info["model_files"][0]
    wrong = []

    def same(what, got, want):
        if got != want:
            wrong.append("%s: %r, but the system says %r" % (what, got, want))

    memory = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in open("/proc/meminfo") if " kB" in line}
    same("memory_total_bytes", system["memory_total_bytes"], memory["MemTotal"])
    for key in ("memory_available_bytes", "memory_available_end_bytes"):
        if not 0 < system[key] < memory["MemTotal"]:
            wrong.append("%s: %r" % (key, system[key]))
    same("swappiness", system["swappiness"], int(open("/proc/sys/vm/swappiness").read()))
    want = limit if limit == "unlimited" else int(limit) * 1024
    same("address_space_limit_bytes", system["address_space_limit_bytes"], want)

    real = os.path.realpath(model)
    # The same number stands for ext2 to ext4.
    fs = subprocess.run(["stat", "-f", "-c", "%T", real], check=True, capture_output=True, text=True)
    got = file["disk"]["file_system"]
    same("file_system", {"ext4": "ext2/ext3"}.get(got, got), fs.stdout.strip())
    device = os.stat(real).st_dev
    bdi = "/sys/class/bdi/%d:%d/read_ahead_kb" % (os.major(device), os.minor(device))
    if os.path.exists(bdi):
        same("read_ahead_bytes", file["disk"]["read_ahead_bytes"], int(open(bdi).read()) * 1024)

    found, got = extents(real), file["extents"]
    if found is None:
        same("state", got["state"], "not observed")
    else:
        same("state", got["state"], "whole")
        same("extents", got["extents"], len(found))
        want = pieces(found)
        listed = [{key: x[key] for key in want[0]} for x in got["list"]] if want else got["list"]
        same("fragments", got["fragments"], len(want))
        same("list", listed, want[:8192])
        same("mapped_bytes", got["mapped_bytes"], sum(x["size_bytes"] for x in want))
        same("hole_bytes", got["hole_bytes"], os.stat(real).st_size - got["mapped_bytes"])
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
