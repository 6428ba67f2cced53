"""libtensortrace.so and the program beside it, found and declared."""

from __future__ import annotations

import ctypes
import os
import shutil
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import List, Optional, Tuple, Union

HOME_VARIABLE = "TENSORTRACE_HOME"


class TraceError(Exception):
    """What went wrong, with the sentence of the library or the command.

    ``status`` is the ``tt_status`` of ``tensortrace/types.h``, or None for a command's error.
    """

    def __init__(self, message: str, status: Optional[int] = None):
        super().__init__(message)
        self.status = status


class ArrowSchema(Structure):
    """The struct of the Arrow C data interface."""


class ArrowArray(Structure):
    """The struct of the Arrow C data interface."""


class ArrowArrayStream(Structure):
    """The struct of the Arrow C stream interface."""


ReleaseSchema = ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))
ReleaseArray = ctypes.CFUNCTYPE(None, POINTER(ArrowArray))
ReleaseStream = ctypes.CFUNCTYPE(None, POINTER(ArrowArrayStream))

ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", ReleaseSchema),
    ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", ReleaseArray),
    ("private_data", c_void_p),
]
ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(ArrowArrayStream))),
    ("release", ReleaseStream),
    ("private_data", c_void_p),
]


class Error(Structure):
    """tt_error"""

    _fields_ = [("status", c_int), ("offset", c_uint64), ("message", c_char * 320)]

    def raised(self) -> TraceError:
        text = self.message.decode("utf-8", "replace")
        return TraceError(text, self.status)


class Summary(Structure):
    """tt_reader_summary"""

    _fields_ = [
        ("run_id", ctypes.c_uint8 * 16),
        ("created_unix_ns", c_uint64),
        ("pid", c_uint64),
        ("complete", c_int),
        ("has_times", c_int),
        ("batches", c_uint32),
        ("runs", c_uint32),
        ("graphs", c_uint32),
        ("weights", c_uint32),
        ("records", c_uint64),
        ("dropped", c_uint64),
    ]


def _places() -> List[Path]:
    """Folders laid out as an installation is: bin/, lib/."""
    places = []
    if os.environ.get(HOME_VARIABLE):
        return [Path(os.environ[HOME_VARIABLE])]
    places.append(Path(__file__).resolve().parent / "files")
    program = shutil.which("tensortrace")
    if program:
        places.append(Path(os.path.realpath(program)).parent.parent)
    return places


def find(*names: str) -> Path:
    """The first of these files, below a folder that is laid out as an installation."""
    for place in _places():
        for name in names:
            if (place / name).exists():
                return place / name
    looked = ", ".join(str(p) for p in _places())
    raise TraceError(f"no {names[0]} below {looked}; set {HOME_VARIABLE} to the folder with bin/ and lib/")


def program() -> str:
    """The path of the command ``tensortrace``."""
    return str(find("bin/tensortrace"))


_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """libtensortrace.so, loaded once."""
    global _loaded
    if _loaded is not None:
        return _loaded
    lib = ctypes.CDLL(str(find("lib/libtensortrace.so.0", "lib/libtensortrace.so")))
    texts = POINTER(c_char_p)
    declarations: List[Tuple[str, object, list]] = [
        ("tt_reader_open", c_int, [POINTER(c_void_p), c_char_p, POINTER(Error)]),
        ("tt_reader_close", None, [c_void_p]),
        ("tt_reader_get_summary", None, [c_void_p, POINTER(Summary)]),
        ("tt_reader_get_environment", c_char_p, [c_void_p, c_char_p]),
        ("tt_arrow_table_name", c_char_p, [c_uint32]),
        ("tt_arrow_table_about", c_char_p, [c_char_p]),
        ("tt_arrow_analysis_name", c_char_p, [c_uint32]),
        ("tt_arrow_analysis_about", c_char_p, [c_char_p]),
        ("tt_arrow_capsule_destructor", c_void_p, [c_char_p, c_void_p, c_void_p]),
        ("tt_arrow_table", c_int, [c_void_p, c_char_p, texts, POINTER(ArrowArrayStream), POINTER(Error)]),
        ("tt_arrow_analysis", c_int, [c_void_p, c_char_p, texts, POINTER(ArrowArrayStream), POINTER(Error)]),
    ]
    for name, result, arguments in declarations:
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    _loaded = lib
    return lib


def table_names() -> List[str]:
    """The tables of ``tensortrace export``, in the order of docs/tables.md."""
    return _names(library().tt_arrow_table_name)


def analysis_names() -> List[str]:
    """The commands whose rows the library computes."""
    return _names(library().tt_arrow_analysis_name)


def _names(function) -> List[str]:
    names: List[str] = []
    while True:
        name = function(len(names))
        if name is None:
            return names
        names.append(name.decode())


def text(value: Union[str, bytes]) -> bytes:
    """As C has it, which would end it at a NUL."""
    encoded = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise ValueError(f"there is a null character in {value!r}")
    return encoded


def texts(options: List[str]) -> "ctypes.Array[c_char_p]":
    """An array of texts that ends with NULL."""
    return (c_char_p * (len(options) + 1))(*map(text, options), None)


