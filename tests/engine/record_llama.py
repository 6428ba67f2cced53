"""A Python process that decodes with a llama.cpp loaded by ctypes, and records itself: what
test_record.sh runs. record_llama.py ENGINE MODEL WHAT [TRACE...]; prints token ids.

plain             24 tokens, without any recording
late A B          recording 6 of them, from the fifth on, to A, and 4, from the fifteenth on, to B
whole A           everything, the loading of the engine included
values A B        like late, with values to A, and by the callback to B
threads N DIR     threads decode, each in a context of its own, while N recordings begin and end
child A           forks while it records: the child goes on
left A            ends while it records
killed A          ends by _exit while it records
refused A         recordings that are refused
"""

import ctypes
import glob
import os
import sys
import threading
import time

import tensortrace as tt

TOKENS = 24


class Blob(ctypes.Structure):
    """A struct of the engine's, by value, larger than it is: on x86-64 and AArch64 that fits."""

    _fields_ = [("words", ctypes.c_uint64 * 128)]


class Llama:
    def __init__(self, engine, model):
        names = sorted(glob.glob(f"{engine}/libllama.*so"))
        self.lib = ctypes.CDLL(names[0])
        base = ctypes.CDLL(sorted(glob.glob(f"{engine}/libggml.*so"))[0])
        quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self.silence = quiet(lambda *_: None)
        self.lib.llama_log_set(self.silence, None)
        base.ggml_backend_load_all_from_path(engine.encode())
        self.lib.llama_backend_init()
        self.load = self.function("llama_model_load_from_file", ctypes.c_void_p, [ctypes.c_char_p, Blob])
        self.new = self.function("llama_init_from_model", ctypes.c_void_p, [ctypes.c_void_p, Blob])
        self.free = self.function("llama_free", None, [ctypes.c_void_p])
        self.threads = self.function("llama_set_n_threads", None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32])
        self.batch = self.function("llama_batch_get_one", Blob, [ctypes.c_void_p, ctypes.c_int32])
        self.decode = self.function("llama_decode", ctypes.c_int, [ctypes.c_void_p, Blob])
        self.logits = self.function("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p, ctypes.c_int32])
        vocab = self.function("llama_model_get_vocab", ctypes.c_void_p, [ctypes.c_void_p])
        size = self.function("llama_vocab_n_tokens", ctypes.c_int32, [ctypes.c_void_p])
        self.model = self.load(model.encode(), self.function("llama_model_default_params", Blob, [])())
        self.n_vocab = size(vocab(self.model))

    def function(self, name, result, arguments):
        function = getattr(self.lib, name)
        function.restype = result
        function.argtypes = arguments
        return function

    def context(self, threads):
        parameters = self.function("llama_context_default_params", Blob, [])()
        parameters.words[0] = 256 | 256 << 32  # n_ctx, n_batch
        context = self.new(self.model, parameters)
        self.threads(context, threads, threads)
        return context


class Text:
    """Tokens that follow from a prompt, the likeliest each time. More threads than processors spin for each
    other: what computes beside others has one."""

    def __init__(self, llama, first=300, threads=2):
        self.llama = llama
        self.context = llama.context(threads)
        self.next = [1, first, first + 1, first + 2]
        self.tokens = []

    def go_on(self, n):
        llama = self.llama
        for _ in range(n):
            ids = (ctypes.c_int32 * len(self.next))(*self.next)
            if llama.decode(self.context, llama.batch(ids, len(ids))) != 0:
                sys.exit("llama_decode failed")
            logits = llama.logits(self.context, -1)[: llama.n_vocab]
            self.next = [max(range(llama.n_vocab), key=logits.__getitem__)]
            self.tokens += self.next
        return self


def late(text, a, b, first=None, second=None):
    text.go_on(4)
    with tt.record(a, **(first or {})) as rec:
        text.go_on(6)
    # Readable at once, in this very process.
    assert rec.trace.summary["complete"], rec
    print(rec.trace.summary["batches"], rec.path, *rec.unseen, file=sys.stderr)
    text.go_on(4)
    with tt.record(b, **(second or {})):
        text.go_on(4)
    text.go_on(TOKENS - 18)


def threads(llama, n, folder):
    texts = [Text(llama, 300 + 10 * i, 1 if i else 2) for i in range(3)]
    done = threading.Event()

    # They compute while a recording begins and while it lasts, but a slow machine records before all is computed.
    most = [0]

    def go_on():
        most[0] = max(len(text.tokens) for text in texts) + 12

    def work(text):
        while not done.is_set():
            if len(text.tokens) < most[0]:
                text.go_on(1)
            else:
                time.sleep(0.001)

    workers = [threading.Thread(target=work, args=(text,)) for text in texts]
    go_on()
    for worker in workers:
        worker.start()
    for i in range(int(n)):
        go_on()
        with tt.record(f"{folder}/{i}.ttrace") as rec:
            go_on()
            at = [len(text.tokens) for text in texts]
            # A graph that was being computed, and one more.
            while any(len(text.tokens) < before + 2 for text, before in zip(texts, at)):
                time.sleep(0.001)
        assert rec.trace.summary["batches"] >= len(texts), rec.trace
    # As many as are compared.
    most[0] = max(most[0], TOKENS)
    while len(texts[0].tokens) < TOKENS:
        time.sleep(0.001)
    done.set()
    for worker in workers:
        worker.join()
    print(len(texts[0].tokens), file=sys.stderr)
    print(*texts[0].tokens[:TOKENS])
    sys.exit(0)


def refused(text, path):
    def expect(part, call):
        try:
            call()
        except tt.TraceError as error:
            assert part in str(error), error
            return
        sys.exit(f"not refused: {part}")

    expect("no option nonsense", tt.record(path, nonsense=True).start)
    expect("mode", tt.record(path, mode="other").start)
    expect("/nonsense", tt.record("/nonsense/x.ttrace").start)
    expect("nonsense.gguf", tt.record(path, model="nonsense.gguf").start)
    with tt.record() as nothing:
        pass
    expect("nothing was recorded", lambda: nothing.trace)
    with tt.record(path) as rec:
        expect("recorded already", tt.record(path + "2").start)
        expect("not over", lambda: rec.trace)
        text.go_on(4)
    expect("exists", tt.record(path).start)
    expect("once", rec.start)
    with tt.record(path, force=True) as again:
        text.go_on(5)
    assert again.trace.summary["batches"] == 5
    opened = []
    for _ in range(8):
        with tt.record() as temporary:
            text.go_on(1)
        assert len(temporary.trace.tokens) == 1
        temporary.trace.close()
        opened.append(len(os.listdir("/proc/self/fd")))
    assert opened[-1] == opened[2], f"descriptors stay open: {opened}"
    text.go_on(TOKENS - 17)
    try:
        with tt.record(path + "3") as failed:
            text.go_on(0)
            raise ValueError("the program's own")
    except ValueError:
        expect("nothing was recorded", lambda: failed.trace)
    assert not [name for name in os.listdir(".") if name.endswith(".part")], "parts are left"


def main():
    engine, model, what, *rest = sys.argv[1:]
    if what == "whole":
        with tt.record(rest[0]) as rec:
            text = Text(Llama(engine, model)).go_on(TOKENS)
        print(*rec.unseen, file=sys.stderr)
        print(*text.tokens)
        return
    llama = Llama(engine, model)
    if what == "threads":
        threads(llama, *rest)
    text = Text(llama, threads=1 if what == "child" else 2)
    if what == "late":
        late(text, *rest)
    elif what == "values":
        late(text, *rest, {"values": "hash"}, {"mode": "callback", "values": "stats"})
    elif what == "child":
        recording = tt.record(rest[0]).start()
        text.go_on(4)
        child = os.fork()
        text.go_on(TOKENS - 4)
        if child == 0:
            recording.stop()
            os._exit(0 if len(text.tokens) == TOKENS else 1)
        recording.stop()
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("the child failed")
    elif what == "left":
        tt.record(rest[0]).start()
        text.go_on(TOKENS)
    elif what == "killed":
        tt.record(rest[0]).start()
        print(*text.go_on(TOKENS).tokens, flush=True)
        os._exit(0)
    elif what == "refused":
        refused(text, rest[0])
    else:
        text.go_on(TOKENS)
    print(*text.tokens)


main()
