"""Rows of a trace: what polars, pandas, duckdb and pyarrow take."""

from __future__ import annotations

import html
import itertools
from ctypes import byref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _arrow
from ._library import ArrowArrayStream, TraceError

if TYPE_CHECKING:
    from ._trace import Trace

#: A batch, or several: ``3``, ``range(0, 10)``, ``(0, 9)`` (both included), ``"0..9"``.
Batches = Union[int, range, Tuple[int, int], List[int], str]
#: A layer's number, or "none": outside of any.
Layer = Union[int, str]

SHOWN_ROWS = 20


def batch_text(batch: Batches) -> str:
    """The option of a command for these batches."""
    if isinstance(batch, range):
        if batch.step != 1 or len(batch) == 0:
            raise TraceError("batch: a range of one batch after the other, at least one")
        return f"{batch[0]}..{batch[-1]}"
    if isinstance(batch, (tuple, list)):
        if len(batch) != 2:
            raise TraceError("batch: a pair of the first and the last one")
        return f"{batch[0]}..{batch[1]}"
    return str(batch)


def option_list(options: Dict[str, Any]) -> List[str]:
    """Keyword arguments as the library's options: what is None or False is not said."""
    texts = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if value is True:
            texts.append(name)
        elif name == "batch":
            texts.append(f"batch={batch_text(value)}")
        elif isinstance(value, (list, tuple)):
            texts.append(f"{name}={','.join(str(v) for v in value)}")
        else:
            texts.append(f"{name}={value}")
    return texts


class Rows:
    """Rows of a table, or of an analysis, of a trace.

    Hand it to whatever reads Arrow: ``polars.DataFrame(rows)``, ``pyarrow.table(rows)``,
    ``duckdb.sql("FROM rows")``, ``pandas.DataFrame.from_arrow(rows)``. No copy is made of numbers.
    Or go through it: ``for row in rows`` gives dictionaries. Rows are made anew each time they are
    asked for.
    """

    def __init__(self, trace: "Trace", table: bool, name: str, options: Dict[str, Any]):
        self._trace = trace
        self._table = table
        self._options = options
        self.name = name
        # Of an analysis, the work of finding out that it is possible is all of the work.
        self._pending: List[ArrowArrayStream] = [self._make()]

    def _make(self) -> ArrowArrayStream:
        return self._trace._stream(self._table, self.name, option_list(self._options))

    def _stream(self) -> ArrowArrayStream:
        # One step, for threads: each stream is one's.
        try:
            return self._pending.pop()
        except IndexError:
            return self._make()

    def __del__(self) -> None:
        for stream in getattr(self, "_pending", ()):
            stream.release(byref(stream))

    def __reduce__(self) -> Any:
        # A copy has its own stream.
        return Rows, (self._trace, self._table, self.name, self._options)

    # --- for others ---

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A PyCapsule with an ArrowArrayStream (the Arrow PyCapsule interface)."""
        return _arrow.stream_capsule(self._stream())

    def __arrow_c_schema__(self) -> Any:
        """A PyCapsule with the ArrowSchema of the rows."""
        stream = self._stream()
        try:
            return _arrow.schema_capsule(_arrow.get_schema(stream))
        finally:
            self._pending.append(stream)

    def to_polars(self) -> Any:
        """A polars.DataFrame; texts are categorical."""
        import polars

        return polars.DataFrame(self)

    def to_pyarrow(self) -> Any:
        """A pyarrow.Table; texts are dictionaries, one of each batch."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self).read_all()

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, by way of pyarrow; texts are categorical."""
        return self.to_pyarrow().unify_dictionaries().to_pandas()

    # --- what they are ---

    @property
    def columns(self) -> List[_arrow.Column]:
        """The columns: name, type, whether it may be null, and what it is."""
        stream = self._stream()
        try:
            schema = _arrow.get_schema(stream)
            columns = _arrow.columns_of(schema)
            schema.release(byref(schema))
            return columns
        finally:
            self._pending.append(stream)

    def select(self, *columns: Union[str, Sequence[str]]) -> "Rows":
        """The same rows with only these columns, in this order; the others are not made."""
        names = [name for c in columns for name in ([c] if isinstance(c, str) else c)]
        if not names:
            raise TraceError("select: no column is named")
        return Rows(self._trace, self._table, self.name, {**self._options, "columns": names})

    def where(
        self,
        *,
        batch: Optional[Batches] = None,
        phase: Optional[str] = None,
        layer: Optional[Layer] = None,
        op: Optional[str] = None,
        tensor: Optional[str] = None,
        model: Optional[str] = None,
        context: Optional[int] = None,
    ) -> "Rows":
        """Only some of the rows; the others are not made.

        batch:  ``3``, ``range(0, 10)``, ``(0, 9)``: as ``batch_id``, from 0
        phase:  prompt, generate, mixed or warmup
        layer:  its number, "enc 3" for that of a stack, or "none" (tables ops, lanes and sources; analyses)
        op:     a kind of op, as MUL_MAT (likewise)
        tensor: a pattern for the name of the node or a source, as "blk.0.*" (likewise)
        model:  the name of a model's file, or a pattern for it
        context: the number of a context of the engine: ``context_id``
        """
        asked = {
            "batch": batch,
            "phase": phase,
            "layer": layer,
            "op": op,
            "tensor": tensor,
            "model": model,
            "context": context,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return Rows(self._trace, self._table, self.name, {**self._options, **given})

    # --- read here ---

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Each row as a dictionary; times are ns since 1970."""
        return self._rows(None)

    def _rows(self, most: Optional[int]) -> Iterator[Dict[str, Any]]:
        """At most so many of each batch."""
        for _, columns in _arrow.batches(self._stream(), most):
            names = list(columns)
            for values in zip(*columns.values()) if names else ():
                yield dict(zip(names, values))

    def to_dict(self) -> Dict[str, List[Any]]:
        """Each column as a list."""
        all_columns: Dict[str, List[Any]] = {c.name: [] for c in self.columns}
        for _, columns in _arrow.batches(self._stream()):
            for name, values in columns.items():
                all_columns[name] += values
        return all_columns

    def __len__(self) -> int:
        """How many rows there are: makes all of them, of a table with a single column."""
        rows = self.select(self.columns[0].name) if self._table else self
        return _arrow.count(rows._stream())

    def __repr__(self) -> str:
        said = "".join(f", {text}" for text in option_list(self._options))
        kind = "table" if self._table else "analysis"
        return f"<{kind} {self.name}{said} of {self._trace.path}>"

    def _head(self) -> Tuple[List[Dict[str, Any]], bool]:
        rows = list(itertools.islice(self._rows(SHOWN_ROWS + 1), SHOWN_ROWS + 1))
        return rows[:SHOWN_ROWS], len(rows) > SHOWN_ROWS

    def _repr_html_(self) -> str:
        columns = self.columns
        rows, more = self._head()
        head = "".join(f'<th title="{html.escape(c.about)}">{html.escape(c.name)}</th>' for c in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[c.name])}</td>" for c in columns) + "</tr>" for row in rows
        )
        note = f"<p>{html.escape(repr(self))}{': its first rows' if more else ''}</p>"
        return f"{note}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return html.escape(str(value))


def names_of(columns: Optional[Union[str, Sequence[str]]]) -> Optional[str]:
    """Columns as a command's option has them."""
    if columns is None or isinstance(columns, str):
        return columns
    return ",".join(columns)
