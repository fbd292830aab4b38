"""`python -m aotensor`: the command line, as `aotensor` and `python -m aotensor_cli`."""

from __future__ import annotations

from aotensor_cli.main import main

if __name__ == "__main__":
    main()
