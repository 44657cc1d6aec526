@@description:quoted@@

from .duration import format_duration, parse_duration

__all__ = ["format_duration", "parse_duration"]
__version__ = "0.1.0"
