"""A trace: its tables, its analyses, its report and its viewer."""

from __future__ import annotations

import ctypes
import html
import json
import operator
import os
import subprocess
import tempfile
import threading
import weakref
import webbrowser
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from ._library import ArrowArrayStream, Error, Summary, TraceError, library, program, table_names, text, texts
from ._rows import Batches, Layer, Rows, names_of

Columns = Optional[Union[str, Sequence[str]]]
#: Bytes, or a text as "8G".
Size = Union[int, float, str]
Path = Union[str, "os.PathLike[str]"]


def open(path: Path) -> "Trace":  # noqa: A001 - tt.open() is what people expect
    """Opens a trace. One that was cut off opens: what is before the cut is there."""
    return Trace(path)


def command(*arguments: str) -> str:
    """What ``tensortrace ARGUMENTS`` prints; TraceError with what it says when it fails."""
    done = subprocess.run([program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        said = done.stderr.decode("utf-8", "replace").strip()
        raise TraceError(said or f"tensortrace {arguments[0]} ended with {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


class Tables(Mapping[str, Rows]):
    """All tables of ``tensortrace export`` by name: ``t.tables["faults"]``, ``t.tables.faults``."""

    def __init__(self, trace: "Trace"):
        self._trace = trace

    def __getitem__(self, name: str) -> Rows:
        if name not in table_names():
            raise KeyError(name)
        return Rows(self._trace, True, name, {})

    def __getattr__(self, name: str) -> Rows:
        if name.startswith("_") or name not in table_names():
            raise AttributeError(f"there is no table {name}: {', '.join(table_names())}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(table_names())

    def __len__(self) -> int:
        return len(table_names())

    def __dir__(self) -> List[str]:
        return table_names()

    def __repr__(self) -> str:
        return f"<tables of {self._trace.path}: {', '.join(table_names())}>"


class View:
    """A viewer that runs until ``close()``, or until this object is gone. ``url`` holds a secret:
    whoever on this machine has it can see the trace."""

    def __init__(self, paths: Sequence[str], show: bool):
        # Not a pipe, which nobody would read: it would fill, and stop the viewer.
        with tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                [program(), "serve", "--no-open", *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
            )
            assert self._process.stdout is not None
            self.url = self._process.stdout.readline().decode().strip()
            if not self.url:
                self._process.communicate()
                complaints.seek(0)
                said = complaints.read().decode("utf-8", "replace").strip()
                raise TraceError(said or "the viewer did not start")
        self._end = weakref.finalize(self, _end_process, self._process)
        if show:
            webbrowser.open(self.url)

    def close(self) -> None:
        """Ends the viewer."""
        self._end()

    def __repr__(self) -> str:
        return f"<viewer at {self.url}>"

    def _repr_html_(self) -> str:
        url = html.escape(self.url)
        return f'<a href="{url}" target="_blank" rel="noopener">{url}</a>'


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.communicate()


class Trace:
    """One run, recorded.

    Tables are attributes (``ops``, ``tokens``, ``lanes``, ``sources``, ``tensors``, ``nodes``,
    ``edges``, ``buffer_events``, ``page_faults``); all of them, also those whose names are
    analyses', are in ``tables``. Analyses are methods with the names and options of the commands,
    and return the rows that those print. May be used from several threads.

    ``output`` is what a program printed that ``tt.run`` ran, ``exit_code`` how it ended; else None.
    """

    def __init__(self, path: Path):
        # Commands are given it: it is no option of theirs, and holds when the folder is changed.
        self.path = os.path.abspath(os.fsdecode(path))
        self.output: Optional[str] = None
        self.exit_code: Optional[int] = None
        self._lock = threading.Lock()
        reader = c_void_p()
        error = Error()
        if library().tt_reader_open(byref(reader), text(os.fsencode(self.path)), byref(error)):
            raise error.raised()
        self._reader: Optional[c_void_p] = reader
        self._end = weakref.finalize(self, library().tt_reader_close, reader)
        self._report: Optional[str] = None

    def close(self) -> None:
        """Closes the file. Rows that were handed out stay."""
        with self._lock:
            self._reader = None
            self._end()

    def __reduce__(self) -> Any:
        # Copied, or sent to another process: opened there by its path.
        return Trace, (self.path,), {"output": self.output, "exit_code": self.exit_code}

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open_reader(self) -> c_void_p:
        if self._reader is None:
            raise TraceError(f"{self.path} is closed")
        return self._reader

    def _stream(self, table: bool, name: str, options: List[str]) -> ArrowArrayStream:
        call: Callable[..., int] = library().tt_arrow_table if table else library().tt_arrow_analysis
        stream = ArrowArrayStream()
        error = Error()
        with self._lock:
            reader = self._open_reader()
            if call(reader, name.encode(), texts(options), byref(stream), byref(error)):
                raise error.raised()
        return stream

    def _rows(self, analysis: str, /, **options: Any) -> Rows:
        options["columns"] = names_of(options.get("columns"))
        return Rows(self, False, analysis, options)

    # --- what it holds ---

    @property
    def summary(self) -> Dict[str, Any]:
        """Numbers of what is in the trace: ``batches``, ``runs`` (graph computations), ``graphs``,
        ``weights``, ``records`` (executed ops x threads), ``dropped`` (records that were lost),
        ``complete``, ``has_times``, ``pid``, ``run_id``, ``created_unix_ns``."""
        summary = Summary()
        with self._lock:
            library().tt_reader_get_summary(self._open_reader(), byref(summary))
        values = {name: getattr(summary, name) for name, *_ in Summary._fields_}
        values["run_id"] = bytes(summary.run_id).hex()
        values["complete"] = bool(summary.complete)
        values["has_times"] = bool(summary.has_times)
        return values

    def environment(self, key: str) -> Optional[str]:
        """A fact of the recording, as "command", "mode", "engine_version", "host"; None: unknown."""
        with self._lock:
            value = library().tt_reader_get_environment(self._open_reader(), text(key))
        return None if value is None else ctypes.string_at(value).decode("utf-8", "replace")

    def info(self) -> Dict[str, Any]:
        """``tensortrace info --json`` as a dictionary: engine, model, phases, threads, memory."""
        return json.loads(command("info", "--json", self.path))

    @property
    def tables(self) -> Tables:
        """All tables of ``tensortrace export`` by name (docs/tables.md)."""
        return Tables(self)

    @property
    def ops(self) -> Rows:
        """A row for each executed op, its threads put together: ``duration_ns`` from the first
        start to the last arrival, ``busy_ns`` and ``wait_ns`` summed over the threads."""
        return self.tables["ops"]

    @property
    def tokens(self) -> Rows:
        """A row for each token of each batch; times (ns) are the batch's."""
        return self.tables["tokens"]

    @property
    def lanes(self) -> Rows:
        """A row for each executed op on each thread, times in ns."""
        return self.tables["lanes"]

    @property
    def sources(self) -> Rows:
        """A row for each source of each executed op: where it lies, and ``read_bytes``."""
        return self.tables["sources"]

    @property
    def tensors(self) -> Rows:
        """A row for each tensor of the model files: place and size in bytes."""
        return self.tables["tensors"]

    @property
    def nodes(self) -> Rows:
        """A row for each tensor of each graph."""
        return self.tables["nodes"]

    @property
    def edges(self) -> Rows:
        """A row for each source of each node of each graph."""
        return self.tables["edges"]

    @property
    def buffer_events(self) -> Rows:
        """A row for each allocation and free of a buffer, with the bytes after it."""
        return self.tables["buffer_events"]

    @property
    def page_faults(self) -> Rows:
        """A row for each page fault (needs ``--faults=both`` or ``events``)."""
        return self.tables["page_faults"]

    # --- analyses ---

    def heat(
        self,
        by: Optional[str] = None,
        *,
        cold: bool = False,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        layer: Optional[Layer] = None,
        op: Optional[str] = None,
        tensor: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """How often each weight is read, hottest first: ``tensortrace heat``.

        by:   tensor, expert, layer, component, model or context; expert where choices of experts were observed
        cold: only what was never read

        ``read_bytes`` are over all reads, ``reuse_median_bytes`` the median of distinct bytes of
        weights from one use to the next: a cache of that size would still hold it.
        """
        return self._rows(
            "heat", by=by, cold=cold, batch=batch, phase=phase, layer=layer, op=op, tensor=tensor,
            model=model, context=context,
            columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    def stats(
        self,
        by: Optional[str] = None,
        *,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        layer: Optional[Layer] = None,
        op: Optional[str] = None,
        tensor: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """Time (ns) and bytes of the ops, summed up: ``tensortrace stats``.

        by: op (default), layer, component, category, tensor, thread, batch, phase, model or context
        """
        return self._rows(
            "stats", by=by, batch=batch, phase=phase, layer=layer, op=op, tensor=tensor,
            model=model, context=context,
            columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    def faults(
        self,
        by: Optional[str] = None,
        *,
        pages: bool = False,
        mappings: bool = False,
        loading: bool = False,
        pool: bool = False,
        pool_reads: bool = False,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        layer: Optional[Layer] = None,
        op: Optional[str] = None,
        tensor: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """What had to come from disk, for which weights: ``tensortrace faults``.

        by:         tensor (default), batch, layer, op, thread, model or context
        pages:      each page that faulted; mappings: by mapped file (``run --faults=both``)
        loading:    how the model came into RAM (``run --residency``)
        pool:       what ``boost`` read and kept, by batch; pool_reads: each of its reads

        TraceError when that was not recorded.
        """
        return self._rows(
            "faults", by=by, pages=pages, mappings=mappings, loading=loading, pool=pool,
            pool_reads=pool_reads, batch=batch, phase=phase, layer=layer, op=op, tensor=tensor,
            model=model, context=context,
            columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    def whatif(
        self,
        ram: Union[Size, Sequence[Size], None] = None,
        *,
        curve: bool = False,
        policy: Union[str, Sequence[str], None] = None,
        unit: Optional[str] = None,
        page_size: Optional[Size] = None,
        order: Optional[str] = None,
        readahead: Optional[Size] = None,
        warm: bool = False,
        reserve: Optional[Size] = None,
        disk: Optional[str] = None,
        reader: Optional[str] = None,
        ahead: Optional[Size] = None,
        depth: Optional[int] = None,
        guess: Union[float, str, None] = None,
        boost: bool = False,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """What a cache for the weights would have to read from disk: ``tensortrace whatif``.

        ram:    one or several sizes, as "8G", or in bytes; or curve=True: ten sizes
        policy: lru (default), lfu, arc, s3-fifo, clock, belady, ..., or "all"
        unit:   page (default), tensor or expert: what is read and evicted as one
        order:  file (default), use or layer: of the tensors in the model files, with pages
        disk:   RATE[,LATENCY[,REQUEST[,BEGIN[,GROUP[,MOVE]]]]], as "2G,50us": then with tokens per second

        Sizes are in bytes, or texts with K, M, G (powers of 1024).
        """
        if isinstance(ram, Iterable) and not isinstance(ram, str):
            ram = ",".join(_size(r) or "" for r in ram)
        return self._rows(
            "whatif", ram=_size(ram), curve=curve, policy=policy, unit=unit, page_size=page_size,
            order=order, readahead=readahead, warm=warm, reserve=_size(reserve), disk=disk, reader=reader,
            ahead=ahead, depth=depth, guess=guess, boost=boost, model=model, context=context,
            columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    def routing(
        self,
        *,
        layer: Optional[Layer] = None,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
        transitions: bool = False,
        over_time: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """Which experts were chosen: ``tensortrace routing``. A row a layer; of one ``layer``, a
        row an expert.

        transitions: with layer: which experts the next token chooses
        over_time:   with layer: use of its experts in so many intervals of the batches
        """
        return self._rows(
            "routing", layer=layer, batch=batch, phase=phase, model=model, context=context,
            transitions=transitions, over_time=over_time, columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    def buffers(
        self,
        *,
        timeline: bool = False,
        kv: bool = False,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """What memory (bytes) the engine asked for, and for what: ``tensortrace buffers``.

        timeline: allocations and frees in order, with the totals after each
        kv:       how the KV cache fills, batch by batch
        """
        return self._rows(
            "buffers", timeline=timeline, kv=kv, model=model, context=context,
            columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    def log(
        self,
        *,
        lanes: bool = False,
        thread: Optional[int] = None,
        origin: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        text: Optional[str] = None,
        min_duration: Optional[str] = None,
        max_duration: Optional[str] = None,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        layer: Optional[Layer] = None,
        op: Optional[str] = None,
        tensor: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """The ops in the order in which they began, with their sources: ``tensortrace log``.

        lanes:     a row for each thread; thread: only this one
        origin:    only ops with a source in a mapped "file", or in a "buffer"
        from_, to: of the op's begin, since the first batch, as "12ms"

        For many ops the table ``ops`` is faster.
        """
        options = {"from": from_, "to": to}
        return self._rows(
            "log", lanes=lanes, thread=thread, origin=origin, text=text, min_duration=min_duration,
            max_duration=max_duration, batch=batch, phase=phase, layer=layer, op=op, tensor=tensor,
            model=model, context=context,
            columns=columns, limit=limit, **options,
        )  # fmt: skip

    def values(
        self,
        by: Optional[str] = None,
        *,
        outliers: bool = False,
        growth: bool = False,
        base_name: Optional[str] = None,
        only: Optional[str] = None,
        samples: bool = False,
        name: Optional[str] = None,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        layer: Optional[Layer] = None,
        op: Optional[str] = None,
        tensor: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
        columns: Columns = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Rows:
        """Outputs of the ops: ``tensortrace values`` (needs ``run --values``).

        by:       tensor, base_name, op, layer or batch: summed up; else a row an output
        outliers: outputs that differ from others of the same name; growth: RMS over the layers
        only:     bad (NaN, infinities), mask, constant or zero

        TraceError when no values were recorded.
        """
        return self._rows(
            "values", by=by, outliers=outliers, growth=growth, base_name=base_name, only=only,
            samples=samples, name=name, batch=batch, phase=phase, layer=layer, op=op, tensor=tensor,
            model=model, context=context,
            columns=columns, sort=sort, limit=limit,
        )  # fmt: skip

    # --- for people ---

    def report(self) -> str:
        """``tensortrace report`` as a page of HTML that needs no other file."""
        if self._report is None:
            self._report = command("report", "--no-measure", "-o", "-", self.path)
        return self._report

    def view(self, *others: "Trace", show: bool = True) -> View:
        """Opens the viewer in a browser, also with other traces beside this one; show=False: only
        starts it. Ends with the object that is returned."""
        return View([self.path] + [other.path for other in others], show)

    def __repr__(self) -> str:
        try:
            s = self.summary
        except TraceError:
            return f"<trace {self.path}, closed>"
        cut = "" if s["complete"] else ", cut off"
        return f"<trace {self.path}: {s['batches']} batches, {s['records']} records of ops{cut}>"

    def _repr_html_(self) -> str:
        page = html.escape(self.report())
        return (
            f'<iframe srcdoc="{page}" sandbox title="{html.escape(self.path)}" '
            'style="width:100%;height:40rem;border:1px solid #8884;border-radius:6px"></iframe>'
        )


def _size(size: Optional[Size]) -> Optional[str]:
    """A plain number is bytes: the commands take small ones for slips."""
    if size is None or isinstance(size, str):
        return size
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    return f"{operator.index(size)}B"
