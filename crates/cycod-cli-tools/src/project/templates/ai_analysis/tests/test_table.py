import unittest

from @@snake@@ import measure_table


class TableTest(unittest.TestCase):
    def test_numbers_and_texts(self):
        measures = measure_table(["city,price\n", "Rome,1.5\n", "Oslo,\n", '"Rome",2.5\n'])
        self.assertEqual(measures["rows"], 3)
        self.assertEqual(measures["columns"]["city"]["frequent"], [("Rome", 2), ("Oslo", 1)])
        price = measures["columns"]["price"]
        self.assertEqual((price["kind"], price["missing"], price["mean"], price["largest"]), ("number", 1, 2.0, 2.5))

    def test_infinity_is_no_number(self):
        column = measure_table(["x\n", "1\n", "inf\n"])["columns"]["x"]
        self.assertEqual(column["kind"], "text")

    def test_what_is_wrong_is_said_with_its_line(self):
        with self.assertRaisesRegex(ValueError, "line 3 has 1 values, and there are 2 columns"):
            measure_table(["a,b\n", "1,2\n", "3\n"])
        with self.assertRaisesRegex(ValueError, "empty"):
            measure_table([])
        with self.assertRaisesRegex(ValueError, "several columns called 'a'"):
            measure_table(["a,a\n"])


if __name__ == "__main__":
    unittest.main()
