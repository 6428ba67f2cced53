"""Records a program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._library import TraceError, program
from ._trace import Trace


def option_words(name: str, value: Any) -> List[str]:
    if value is None or value is False:
        return []
    dashed = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    if value is True:
        return [dashed]
    return [dashed, str(value)] if len(name) == 1 else [f"{dashed}={value}"]


def run(
    argv: Optional[Sequence[Union[str, "os.PathLike[str]"]]] = None,
    *,
    path: Union[str, "os.PathLike[str]", None] = None,
    env: Optional[Mapping[str, str]] = None,
    cwd: Union[str, "os.PathLike[str]", None] = None,
    check: bool = True,
    **options: Any,
) -> Trace:
    """Runs a program that uses ggml's shared libraries, and records it: ``tensortrace run``.

    argv:    the program and its arguments; None: the built-in runner, with model="m.gguf",
             prompt="Once upon a time", predict=32 as options
    path:    the trace; None: a temporary file that goes with the trace that is returned
    env:     variables besides those of this process
    check:   TraceError when the program fails; else see ``exit_code``
    options: those of ``tensortrace run``: faults="both", residency=True, values="stats",
             no_text=True, limit="1G"

    The trace's ``output`` is what the program printed. An interrupt is the program's: it ends, and
    what was recorded until then is in ``path``.
    """
    if isinstance(argv, (str, bytes)):
        raise TypeError('argv is a list, as ["llama-cli", "-m", "m.gguf"], and not one text')
    folder = None
    if path is None:
        folder = tempfile.mkdtemp(prefix="tensortrace-")
        path = os.path.join(folder, "run.ttrace")
    words = [program(), "run", "-q", "-o", os.fspath(path)]
    for name, value in options.items():
        words += option_words(name, value)
    if argv is not None:
        words += ["--", *(os.fspath(a) for a in argv)]
    try:
        code, output, said = _execute(words, env, cwd)
        if not os.path.exists(path) or (check and code != 0):
            raise TraceError(said.strip() or f"the program ended with {code}, and nothing was traced")
        trace = Trace(path)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        weakref.finalize(trace, shutil.rmtree, folder, ignore_errors=True)
    trace.output = output
    trace.exit_code = code
    return trace


def _execute(words: List[str], env: Optional[Mapping[str, str]], cwd: Any) -> "tuple[int, str, str]":
    variables: Dict[str, str] = {**os.environ, **(env or {})}
    process = subprocess.Popen(
        words, env=variables, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        output, said = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    return process.returncode, output.decode("utf-8", "replace"), said.decode("utf-8", "replace")
