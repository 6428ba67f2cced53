"""Streams of the Arrow C interface in plain Python: as capsules for others, and read here."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_void_p, py_object
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ._library import ArrowArray, ArrowArrayStream, ArrowSchema, TraceError, library

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_api.PyMem_RawCalloc.restype = c_void_p
_api.PyMem_RawCalloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]

_STREAM = b"arrow_array_stream"
_SCHEMA = b"arrow_schema"


def _address(function: Any) -> Optional[int]:
    return ctypes.cast(function, c_void_p).value


def _capsule(struct: Any, name: bytes) -> Any:
    """Moves the struct into a capsule."""
    # Of the library: Python's code must not run while an exception is raised, which is when a
    # reader that refuses a capsule drops it.
    destroy = library().tt_arrow_capsule_destructor(
        name, _address(_api.PyCapsule_GetPointer), _address(_api.PyMem_RawFree)
    )
    size = ctypes.sizeof(struct)
    address = _api.PyMem_RawCalloc(1, size)
    if not address:
        raise MemoryError
    ctypes.memmove(address, byref(struct), size)
    ctypes.memset(byref(struct), 0, size)
    return _api.PyCapsule_New(address, name, destroy)


def stream_capsule(stream: ArrowArrayStream) -> Any:
    """A PyCapsule of the stream, which is the capsule's from then on."""
    return _capsule(stream, _STREAM)


def schema_capsule(schema: ArrowSchema) -> Any:
    """A PyCapsule of the schema, which is the capsule's from then on."""
    return _capsule(schema, _SCHEMA)


def last_error(stream: ArrowArrayStream) -> TraceError:
    text = stream.get_last_error(byref(stream))
    return TraceError(text.decode("utf-8", "replace") if text else "the stream failed")


def get_schema(stream: ArrowArrayStream) -> ArrowSchema:
    schema = ArrowSchema()
    if stream.get_schema(byref(stream), byref(schema)):
        raise last_error(stream)
    return schema


class Column:
    """A column: its name, whose end is the unit, its type, and what it is.

    ``type`` is as in docs/tables.md: text, bool, u8 to u64, i32, i64, f32, f64, time (ns since
    1970, UTC). ``nullable``: not every row has it.
    """

    __slots__ = ("name", "type", "nullable", "about")

    def __init__(self, name: str, type: str, nullable: bool, about: str):
        self.name = name
        self.type = type
        self.nullable = nullable
        self.about = about

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type}{', null' if self.nullable else ''}: {self.about}>"


_types: Dict[str, Tuple[str, Any]] = {
    "b": ("bool", None),
    "C": ("u8", ctypes.c_uint8),
    "S": ("u16", ctypes.c_uint16),
    "I": ("u32", ctypes.c_uint32),
    "L": ("u64", ctypes.c_uint64),
    "i": ("i32", ctypes.c_int32),
    "l": ("i64", ctypes.c_int64),
    "f": ("f32", ctypes.c_float),
    "g": ("f64", ctypes.c_double),
    "tsn:UTC": ("time", ctypes.c_int64),
}


def _metadata(address: Optional[int]) -> Dict[str, str]:
    """The pairs of a field: a number of them, and each text behind its length."""
    pairs: Dict[str, str] = {}
    if not address:
        return pairs
    at = address

    def number() -> int:
        nonlocal at
        value = ctypes.c_int32.from_address(at).value
        at += 4
        return value

    def text() -> str:
        nonlocal at
        length = number()
        value = ctypes.string_at(at, length).decode("utf-8", "replace")
        at += length
        return value

    for _ in range(number()):
        key = text()
        pairs[key] = text()
    return pairs


def columns_of(schema: ArrowSchema) -> List[Column]:
    columns = []
    for i in range(schema.n_children):
        field = schema.children[i].contents
        kind = "text" if field.dictionary else _types[field.format.decode()][0]
        about = _metadata(field.metadata).get("tensortrace.about", "")
        columns.append(Column(field.name.decode(), kind, bool(field.flags & 2), about))
    return columns


def _bits(address: int, n: int) -> List[bool]:
    data = ctypes.string_at(address, (n + 7) // 8)
    return [bool(data[i >> 3] >> (i & 7) & 1) for i in range(n)]


def _texts(array: ArrowArray) -> List[str]:
    n = array.length
    ends = (ctypes.c_int32 * (n + 1)).from_address(array.buffers[1])
    data = ctypes.string_at(array.buffers[2], ends[n]) if ends[n] else b""
    return [data[ends[i] : ends[i + 1]].decode("utf-8") for i in range(n)]


def _values(array: ArrowArray, format: str, n: int) -> List[Any]:
    """The first n."""
    if format == "b":
        values: List[Any] = _bits(array.buffers[1], n)
    else:
        values = list((_types[format][1] * n).from_address(array.buffers[1]))
    if array.dictionary:
        texts = _texts(array.dictionary.contents)
        values = [texts[code] for code in values]
    if array.null_count:
        known = _bits(array.buffers[0], n)
        values = [v if k else None for v, k in zip(values, known)]
    return values


def batches(
    stream: ArrowArrayStream, most: Optional[int] = None
) -> Iterator[Tuple[int, Dict[str, List[Any]]]]:
    """The number of rows of each batch, at most so many of them, and its columns as lists; releases
    the stream at its end."""
    try:
        schema = get_schema(stream)
        fields = [schema.children[i].contents for i in range(schema.n_children)]
        names = [(f.name.decode(), f.format.decode()) for f in fields]
        schema.release(byref(schema))
        while True:
            array = ArrowArray()
            if stream.get_next(byref(stream), byref(array)):
                raise last_error(stream)
            if not array.release:
                return
            try:
                n = array.length if most is None else min(array.length, most)
                columns = {
                    name: _values(array.children[i].contents, format, n)
                    for i, (name, format) in enumerate(names)
                }
            finally:
                array.release(byref(array))
            yield n, columns
    finally:
        if stream.release:
            stream.release(byref(stream))


def count(stream: ArrowArrayStream) -> int:
    """Rows in all; releases the stream."""
    rows = 0
    try:
        while True:
            array = ArrowArray()
            if stream.get_next(byref(stream), byref(array)):
                raise last_error(stream)
            if not array.release:
                return rows
            rows += array.length
            array.release(byref(array))
    finally:
        stream.release(byref(stream))


__all__ = ["Column", "batches", "columns_of", "count", "get_schema", "schema_capsule", "stream_capsule"]
