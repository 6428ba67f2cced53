"""``python -m tensortrace`` is the command ``tensortrace``."""

from __future__ import annotations

import os
import sys

from ._library import TraceError, program


def main() -> None:
    try:
        path = program()
        os.execv(path, [path] + sys.argv[1:])
    except (TraceError, OSError) as error:
        sys.exit(f"tensortrace: {error}")


if __name__ == "__main__":
    main()
