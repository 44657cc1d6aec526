import doctest
import unittest
from datetime import timedelta

from @@snake@@ import duration, format_duration, parse_duration


class DurationTest(unittest.TestCase):
    def test_reads(self):
        for text, seconds in {"90s": 90, "1h30m": 5400, " 2d  1s ": 172_801, "0s": 0}.items():
            with self.subTest(text):
                self.assertEqual(parse_duration(text), timedelta(seconds=seconds))

    def test_refuses(self):
        for text in ["", "1", "h", "1x", "1m 1h", "1s 1s", "-1s", "9" * 20 + "d"]:
            with self.subTest(text), self.assertRaises(ValueError):
                parse_duration(text)
        with self.assertRaises(ValueError):
            format_duration(timedelta(seconds=-1))

    def test_writes_what_it_reads(self):
        for seconds in [0, 1, 59, 60, 3600, 86_399, 86_400, 1_000_000]:
            duration = timedelta(seconds=seconds)
            self.assertEqual(parse_duration(format_duration(duration)), duration)


def load_tests(loader, tests, pattern):
    """Adds the examples in the documentation to the tests."""
    tests.addTests(doctest.DocTestSuite(duration))
    return tests


if __name__ == "__main__":
    unittest.main()
