"""What bench/memory and bench/boost share: memory limits, cold starts, the kernel's readahead."""
import ctypes
import mmap
import os
import pathlib
import subprocess
import sys
import threading
import time

MIB = 1 << 20


class Group:
    """A memory control group (version 1 or 2); runs programs within a limit, without swap."""

    def __init__(self, name):
        self.v2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
        self.path = pathlib.Path("/sys/fs/cgroup" if self.v2 else "/sys/fs/cgroup/memory") / f"tensortrace-{name}"
        self.limit = self.path / ("memory.max" if self.v2 else "memory.limit_in_bytes")
        self.usage = self.path / ("memory.current" if self.v2 else "memory.usage_in_bytes")
        try:
            self.path.mkdir(exist_ok=True)
            if self.v2:
                (self.path / "memory.swap.max").write_text("0")
        except OSError as error:
            sys.exit(f"bench: no memory control group can be made here, run it as root: {error}")
        swaps = pathlib.Path("/proc/swaps").read_text().splitlines()[1:]
        if swaps and not self.v2:
            sys.exit("bench: swap is on, which this version of control groups cannot keep out: swapoff -a")

    def end(self):
        try:
            self.path.rmdir()
        except OSError:
            pass  # its last process is not gone yet

    def peak(self, reset=False):
        """The most that the group has had; None: the kernel does not tell."""
        file = self.path / ("memory.peak" if self.v2 else "memory.max_usage_in_bytes")
        try:
            if reset:
                file.write_text("0")
            return int(file.read_text())
        except OSError:
            return None

    def held(self, model):
        """The bytes that it holds besides that file's pages. Its memory.stat is left alone: reading it has the
        kernel add its counts up, and evict by those."""
        return int(self.usage.read_text()) - resident_pages(model) * mmap.PAGESIZE

    def anonymous(self):
        """The bytes of its processes that are no file's."""
        total = 0
        for pid in (self.path / "cgroup.procs").read_text().split():
            try:
                status = pathlib.Path("/proc", pid, "status").read_text()
            except OSError:
                continue  # it has ended
            total += sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon:"))
        return total

    def run(self, limit_bytes, *args, stdout=subprocess.DEVNULL, stderr=None, measure=None, every=1):
        """Runs a program; what measure() returned meanwhile (every so many seconds), its exit code, its seconds."""
        self.limit.write_text(str(limit_bytes))
        enter = lambda: (self.path / "cgroup.procs").write_text("0")
        measured, begin = [], time.monotonic()
        program = subprocess.Popen([*map(str, args)], stdout=stdout, stderr=stderr, preexec_fn=enter)
        while measure and program.poll() is None:
            measured.append(measure())
            time.sleep(every)
        program.wait()
        return measured, program.returncode, time.monotonic() - begin


def readahead_file(path):
    """Holds the readahead of the file's device, in KiB."""
    device = os.stat(path).st_dev
    return pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")


def resident_pages(path):
    """Pages of the file in the page cache, by mincore."""
    size = os.path.getsize(path)
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    file = os.open(path, os.O_RDONLY)
    at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    os.close(file)
    seen = (ctypes.c_ubyte * pages)()
    if libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), seen) != 0:
        sys.exit(f"bench: mincore: {os.strerror(ctypes.get_errno())}")
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return sum(page & 1 for page in seen)


def forget(path):
    """Drops the file's pages from the page cache, and proves it."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    for _ in range(20):  # reads ahead may be in progress
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_pages(path)
        if not left:
            break
        time.sleep(0.05)
    os.close(file)
    if left:
        sys.exit(f"bench: {left} pages of {path} stay in the page cache: another process has it open")


def direct_rate(path, seconds=0.5, depth=8):
    """Bytes a second that direct reads of 2 MiB, `depth` at a time and in the file's order, reach now; into
    huge pages, as boost and `doctor --disk` read, and into 128 MiB of them, more than a processor's cache."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    block, parts, populate = 2 * MIB, 8, 23  # MADV_POPULATE_WRITE
    rooms = [mmap.mmap(-1, (parts + 1) * block, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(depth)]
    for room in rooms:
        room.madvise(mmap.MADV_HUGEPAGE)
        room.madvise(populate)
    blocks, begin, done = os.path.getsize(path) // block, time.monotonic(), [0] * depth

    def read(number):
        room = rooms[number]
        begins = -ctypes.addressof(ctypes.c_char.from_buffer(room)) % block
        while time.monotonic() - begin < seconds:
            at = begins + done[number] % parts * block
            os.preadv(file, [memoryview(room)[at:at + block]], (number + done[number] * depth) % blocks * block)
            done[number] += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(depth)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = sum(done) * block / (time.monotonic() - begin)
    os.close(file)
    return rate
