"""Hostile clients against our server: it refuses what is wrong, stays small, and goes on serving everybody else.

    CYCOD=… run.py [PART…]     pipes, web, state
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from outside import Table  # noqa: E402

import pipes  # noqa: E402
import state  # noqa: E402
import web  # noqa: E402

PARTS = {"pipes": pipes.checks, "web": web.checks, "state": state.checks}


def main(wanted):
    failed = 0
    for name, checks in PARTS.items():
        if not wanted or name in wanted:
            table = Table()
            checks(table)
            failed |= table.show(name)
    return failed


sys.exit(main(sys.argv[1:]))
