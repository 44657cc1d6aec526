import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from @@snake@@.__main__ import main


class CommandTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_on(self, name, content, *options):
        path = self.directory / name
        path.write_text(content, encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(path), *options])
        return code, out.getvalue(), err.getvalue()

    def test_text_and_table(self):
        code, out, _ = self.run_on("note.txt", "One two.")
        self.assertEqual(code, 0)
        self.assertIn("words: 2\n", out)
        code, out, _ = self.run_on("table.csv", "\ufeffa\n1\n2\n", "--json")
        self.assertEqual(json.loads(out)["columns"]["a"]["mean"], 1.5)

    def test_what_is_wrong_goes_to_the_errors(self):
        code, out, err = self.run_on("table.csv", "")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("error: the table is empty", err)


if __name__ == "__main__":
    unittest.main()
