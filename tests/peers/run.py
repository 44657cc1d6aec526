"""Our server's figures beside other people's and beside the floor, all in one run: run.py [--era legacy|modern] [SERVER…]

    CYCOD=… NODE=… NODE_MODULES=… DRIVER=…     a release build, and the directory with this package's programs
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = Path(os.environ["NODE_MODULES"]).parent / "peers"
PROGRAMS = Path(os.environ["DRIVER"])
COUNTS = (1, 100, 5000)
TOOL = """name: {}
description: Says hello to somebody
tags: [read]
parameters:
  NAME: {{description: Whom to greet, required: true}}
bash: echo hello "{{NAME}}"
"""
SERVERS = {
    # All of the tools, as the others list them.
    "cycod": [os.environ["CYCOD"], "mcp", "serve", "--list-tokens", "100000000"],
    "floor": [str(PROGRAMS / "floor"), "{tools}"],
    "rmcp": [str(PROGRAMS / "with_rmcp"), "{tools}"],
    "python": [sys.executable, str(HERE / "official.py"), "{tools}"],
    "fastmcp": [sys.executable, str(HERE / "fast.py"), "{tools}"],
    "typescript 1": [os.environ["NODE"], str(SCRIPTS / "sdk1.mjs"), "{tools}"],
    "typescript 2": [os.environ["NODE"], str(SCRIPTS / "sdk2.mjs"), "{tools}"],
    "ceiling": [str(PROGRAMS / "floor"), "{tools}", "nothing"],
}
# Name, how it is read from what the driver prints, and whether more is better.
FIGURES = {
    "start ms": (lambda it: it["start_ms"], False),
    "list ms": (lambda it: it["list_ms"], False),
    "B/tool": (lambda it: it["bytes_per_tool"], False),
    "1: p50 ms": (lambda it: it["one"]["p50_ms"], False),
    "p99": (lambda it: it["one"]["p99_ms"], False),
    "16: /s": (lambda it: it["sixteen"]["per_second"], True),
    "16: p99 ms": (lambda it: it["sixteen"]["p99_ms"], False),
    "64: /s": (lambda it: it["sixty_four"]["per_second"], True),
    "64: p99 ms": (lambda it: it["sixty_four"]["p99_ms"], False),
    "MB": (lambda it: it["memory_mb"], False),
}


def home(tools):
    """A home directory with so many tools, one file each."""
    path = Path(tempfile.mkdtemp(prefix="peers-"))
    directory = path / ".cycod" / "tools"
    directory.mkdir(parents=True)
    for number in range(tools):
        name = f"hello_{number}" if number else "hello"
        (directory / f"{name}.yaml").write_text(TOOL.format(name))
    return path


def measure(name, era, tools, calls):
    """What the driver says about one server, or nothing when it does not get through."""
    where = home(tools if name == "cycod" else 0)
    command = [part.format(tools=tools) for part in SERVERS[name]]
    try:
        done = subprocess.run(
            [str(PROGRAMS / "driver"), era, str(tools), str(calls), *command],
            env={"PATH": os.environ["PATH"], "HOME": str(where)},
            cwd=where,
            capture_output=True,
            text=True,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return None, "no end within 300 s"
    finally:
        shutil.rmtree(where)
    return (json.loads(done.stdout), None) if done.returncode == 0 else (None, done.stderr.strip()[:300])


def show(rows, era, tools):
    """The figures, and ours as a multiple of the floor's and of the best peer's."""
    print(f"\n{tools} tools, {era}" if tools > 1 else f"\n1 tool, {era}")
    lines = [["", *FIGURES]]
    for name, (figures, _) in rows.items():
        lines.append([name, *(f"{read(figures):g}" if figures else "-" for read, _ in FIGURES.values())])
    ours, floor = rows.get("cycod", (None,))[0], rows.get("floor", (None,))[0]
    peers = [figures for name, (figures, _) in rows.items() if figures and name not in ("cycod", "floor", "ceiling")]
    if ours and floor:
        lines.append(["cycod / floor", *(f"{read(ours) / read(floor):.2f}" for read, _ in FIGURES.values())])
    if ours and peers:
        best = [(max if more else min)(read(peer) for peer in peers) for read, more in FIGURES.values()]
        lines.append(["cycod / best peer", *(f"{read(ours) / it:.2f}" for (read, _), it in zip(FIGURES.values(), best))])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print(line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:])), sep="  ")
    for name, (_, why) in rows.items():
        if why:
            print(f"  {name}: {why}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="legacy", choices=("legacy", "modern"))
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--tools", type=int, action="append")
    parser.add_argument("servers", nargs="*", default=list(SERVERS))
    chosen = parser.parse_args()
    shutil.rmtree(SCRIPTS, ignore_errors=True)
    shutil.copytree(HERE, SCRIPTS, ignore=lambda _, names: [name for name in names if not name.endswith(".mjs")])
    for tools in chosen.tools or COUNTS:
        show({name: measure(name, chosen.era, tools, chosen.calls) for name in chosen.servers}, chosen.era, tools)


main()
