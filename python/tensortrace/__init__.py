"""tensortrace: what a language model's inference does to memory, as columns.

    import tensortrace as tt

    t = tt.run(["llama-cli", "-m", "m.gguf", "-p", "Once upon a time"])
    t = tt.open("my.ttrace")
    with tt.record("my.ttrace") as rec:   # what llama.cpp computes in this very process
        ...

    t.ops                                 # a table: polars.from_arrow(t.ops), pandas, duckdb, pyarrow
    t.ops.where(layer=3).select("name", "duration_ns").to_polars()
    t.heat(by="expert")                   # the rows of `tensortrace heat --by expert`
    t.stats(by="layer"), t.faults(), t.whatif(ram="8G")
    t                                     # in a notebook: the report, with its plots
    t.view()                              # the viewer in the browser

Names, columns and units are those of the commands and of `tensortrace export`: the end of a column's
name is its unit (``_bytes``, ``_ns``, ``_per_s``). What was not observed is null. Nothing but Python
itself is needed: polars, pandas, duckdb and pyarrow take the rows if they are installed.
"""

from ._arrow import Column
from ._library import TraceError, analysis_names, table_names
from ._record import Recording, record
from ._rows import Rows
from ._run import run
from ._trace import Tables, Trace, View, open

__version__ = "0.1.0"
__all__ = [
    "Column",
    "Recording",
    "Rows",
    "Tables",
    "Trace",
    "TraceError",
    "View",
    "analysis_names",
    "open",
    "record",
    "run",
    "table_names",
]
