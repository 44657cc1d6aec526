@@description:quoted@@

from .table import measure_table
from .text import measure_text

__all__ = ["measure_table", "measure_text"]
__version__ = "0.1.0"
