"""Records the process that Python runs in."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import threading
import weakref
from ctypes import POINTER, byref, c_char_p, c_int
from typing import Any, List, Optional, Sequence, Union

from ._library import Error, TraceError, find, texts
from ._run import option_words
from ._trace import Trace

Path = Union[str, "os.PathLike[str]"]

_loaded: Optional[ctypes.CDLL] = None
_lock = threading.Lock()


def _hook() -> ctypes.CDLL:
    """The hook library, loaded once, and never unloaded: the engine's threads may be in it."""
    global _loaded
    with _lock:
        if _loaded is not None:
            return _loaded
        library = ctypes.CDLL(None)
        # Under `tensortrace run` and `boost` it is there already: a second one would not do.
        if not hasattr(library, "tt_attach"):
            path = find("lib/tensortrace/libtensortrace-hook.so", "src/adapter/ggml/libtensortrace-hook.so")
            try:
                library = ctypes.CDLL(str(path))
            except OSError as error:
                raise TraceError(f"the hook library cannot be loaded: {error}") from None
        library.tt_attach.restype = c_int
        library.tt_attach.argtypes = [c_char_p, POINTER(c_char_p), POINTER(Error)]
        library.tt_detach.restype = c_int
        library.tt_detach.argtypes = [POINTER(Error)]
        library.tt_attach_path.restype = c_char_p
        library.tt_attach_path.argtypes = []
        library.tt_attach_unseen.restype = c_char_p
        library.tt_attach_unseen.argtypes = []
        _loaded = library
        return library


class Recording:
    """What ``tt.record`` returns: a context manager; or call ``start()`` and ``stop()``, for cells of
    a notebook. It records once.

    ``path`` is the trace's. ``unseen``, after the end, names functions of llama.cpp whose calls were
    not seen because Python itself called them, if anybody did, by an address from dlsym.
    """

    def __init__(self, path: Optional[Path], options: List[str]):
        self.path: Optional[str] = None if path is None else os.fspath(path)
        self.unseen: List[str] = []
        self._options = options
        self._folder: Optional[str] = None
        self._state = "new"
        self._trace: Optional[Trace] = None

    def start(self) -> "Recording":
        """Starts to record. TraceError: this process is being recorded already, by another recording
        or by ``tensortrace run``; the trace exists, or cannot be created."""
        if self._state != "new":
            raise TraceError("a recording records once: call tt.record() again")
        hook = _hook()
        error = Error()
        if self.path is None:
            self._folder = tempfile.mkdtemp(prefix="tensortrace-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self.path = os.path.join(self._folder, "record.ttrace")
        if hook.tt_attach(os.fsencode(self.path), texts(self._options), byref(error)):
            raise error.raised()
        self.path = os.fsdecode(hook.tt_attach_path())
        self._state = "on"
        return self

    def stop(self) -> None:
        """Ends it, and finishes the trace. Waits up to two seconds for what other threads compute."""
        if self._state != "on":
            return
        hook = _hook()
        error = Error()
        self._state = "over"
        failed = hook.tt_detach(byref(error))
        self.unseen = hook.tt_attach_unseen().decode().split()
        self.path = os.fsdecode(hook.tt_attach_path())
        if failed:
            raise error.raised()

    def __enter__(self) -> "Recording":
        return self.start()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            self.stop()
        except TraceError:
            if kind is None:
                raise

    @property
    def trace(self) -> Trace:
        """The trace, once it is over. TraceError when nothing was computed."""
        if self._trace is None:
            if self._state != "over" or self.path is None:
                raise TraceError("the recording is not over yet")
            if not os.path.exists(self.path):
                raise TraceError(
                    "nothing was recorded: no shared library of ggml computed a graph meanwhile "
                    "(one that is linked statically, with hidden symbols, cannot be seen)"
                )
            self._trace = Trace(self.path)
            if self._folder is not None:
                # The temporary file goes with the last of the two.
                self._trace._recording = self  # type: ignore[attr-defined]
        return self._trace

    def __repr__(self) -> str:
        state = {"new": "not started", "on": "on", "over": "over"}[self._state]
        unseen = f", {len(self.unseen)} functions unseen" if self.unseen else ""
        return f"<recording of this process to {self.path}: {state}{unseen}>"


def record(
    path: Optional[Path] = None,
    *,
    model: Union[Path, Sequence[Path], None] = None,
    **options: Any,
) -> Recording:
    """Records what llama.cpp, whisper.cpp or ggml itself compute in this process, from now on::

        with tt.record("x.ttrace") as rec:
            llm("Once upon a time")
        rec.trace.stats(by="layer")

    The libraries may be loaded already, or be loaded meanwhile. Threads may be computing.

    path:    the trace; None: a temporary file that goes with what is returned, or its trace
    model:   model files (GGUF) that were loaded before and are not mapped; mapped ones are found
    options: those of ``tensortrace run``: force=True, values="stats", faults="both",
             residency=True, no_text=True, batches="3..9", every=2, limit="1G", ring="64M",
             thread_memory="4M", mode="callback"

    Not recorded is what came before: how the model was loaded, allocations of buffers. Calls that
    Python makes itself, by ctypes, are not seen either: see ``unseen`` of what is returned. Of
    llama_decode called that way, the texts and sequences of tokens are missing.
    """
    words = [word.lstrip("-") for name, value in options.items() for word in option_words(name, value)]
    if model is not None:
        models = [model] if isinstance(model, (str, os.PathLike)) else model
        words += [f"model={os.fspath(m)}" for m in models]
    return Recording(path, words)


__all__ = ["Recording", "record"]
