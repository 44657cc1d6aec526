"""The command."""

import argparse
import json
import sys
from pathlib import Path

from . import __version__
from .model import Model, ModelError, interpret
from .table import measure_table
from .text import measure_text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="@@kebab@@", description="Measures a text, or a table in a CSV file.")
    parser.add_argument("file", type=Path, help="a text, or a table whose name ends in .csv")
    parser.add_argument("--json", action="store_true", help="print the measures as JSON")
    parser.add_argument("--interpret", metavar="QUESTION", help="let a model answer a question about the measures")
    parser.add_argument("--version", action="version", version=__version__)
    options = parser.parse_args(arguments)
    try:
        measures = measure(options.file)
        if options.interpret:
            print(interpret(measures, options.interpret, Model.from_environment().ask))
        elif options.json:
            print(json.dumps(measures, ensure_ascii=False, indent=2))
        else:
            print("\n".join(lines(measures)))
    except (OSError, ValueError, ModelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def measure(path: Path) -> dict:
    """Measures a file as what its name says it is."""
    text = path.read_text(encoding="utf-8-sig")
    return measure_table(text.splitlines(keepends=True)) if path.suffix.lower() == ".csv" else measure_text(text)


def lines(measures: dict, indent: str = "") -> list[str]:
    """Measures as people read them, a line each."""
    told = []
    for name, value in measures.items():
        if isinstance(value, dict):
            told += [f"{indent}{name}:", *lines(value, indent + "  ")]
        elif isinstance(value, list):
            told.append(f"{indent}{name}: " + ", ".join(f"{entry} ({count})" for entry, count in value))
        else:
            told.append(f"{indent}{name}: {round(value, 3) if isinstance(value, float) else value}")
    return told


if __name__ == "__main__":
    sys.exit(main())
