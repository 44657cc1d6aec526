"""Durations as people write them."""

import re
from datetime import timedelta

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
PART = re.compile(r"(\d+)([dhms])")


def parse_duration(text: str) -> timedelta:
    """Reads a duration: days, hours, minutes and seconds, in this order, each at most once.

    >>> parse_duration("1h 30m")
    datetime.timedelta(seconds=5400)
    """
    compact = "".join(text.split())
    parts = PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"{text!r} is not a duration such as '1h 30m'")
    order = [list(UNITS).index(unit) for _, unit in parts]
    if order != sorted(set(order)):
        raise ValueError(f"{text!r} has its units twice or out of order: days, hours, minutes, seconds")
    try:
        return timedelta(seconds=sum(int(number) * UNITS[unit] for number, unit in parts))
    except OverflowError:
        raise ValueError(f"{text!r} is longer than a duration can be") from None


def format_duration(duration: timedelta) -> str:
    """Writes a duration as `parse_duration` reads it; fractions of a second are dropped.

    >>> format_duration(timedelta(seconds=3661))
    '1h 1m 1s'
    """
    if duration < timedelta(0):
        raise ValueError("a duration is not negative")
    left = duration // timedelta(seconds=1)
    parts = []
    for unit, seconds in UNITS.items():
        count, left = divmod(left, seconds)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
