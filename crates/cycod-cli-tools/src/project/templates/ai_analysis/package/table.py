"""Measures the columns of tables."""

import csv
import math
import statistics
from collections import Counter
from collections.abc import Iterable


def measure_table(lines: Iterable[str], most: int = 5) -> dict:
    """Says of each column of a CSV file with a header what it holds.

    A column in which every value is a number is measured as numbers, any other by its most frequent values.
    """
    reader = csv.reader(lines)
    header = next(reader, None)
    if header is None:
        raise ValueError("the table is empty: its first line must name the columns")
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise ValueError(f"the table has several columns called {repeated[0]!r}")
    columns: dict[str, list[str]] = {name: [] for name in header}
    rows = 0
    for row in reader:
        if not row:
            continue
        if len(row) != len(header):
            raise ValueError(f"line {reader.line_num} has {len(row)} values, and there are {len(header)} columns")
        rows += 1
        for name, value in zip(header, row):
            columns[name].append(value.strip())
    return {"rows": rows, "columns": {name: _measure(values, most) for name, values in columns.items()}}


def _measure(values: list[str], most: int) -> dict:
    present = [value for value in values if value]
    missing = len(values) - len(present)
    numbers = [_number(value) for value in present]
    if not numbers or None in numbers:
        frequent = sorted(Counter(present).items(), key=lambda entry: (-entry[1], entry[0]))[:most]
        return {"kind": "text", "missing": missing, "different": len(set(present)), "frequent": frequent}
    return {
        "kind": "number",
        "missing": missing,
        "smallest": min(numbers),
        "largest": max(numbers),
        "mean": statistics.fmean(numbers),
        "median": statistics.median(numbers),
        "deviation": statistics.stdev(numbers) if len(numbers) > 1 else 0.0,
    }


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
