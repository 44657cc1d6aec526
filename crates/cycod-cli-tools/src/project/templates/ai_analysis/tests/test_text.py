import unittest

from @@snake@@ import measure_text


class TextTest(unittest.TestCase):
    def test_counts(self):
        measures = measure_text("The cat saw a cat. Did it? It didn't!\n")
        self.assertEqual(measures["words"], 9)
        self.assertEqual(measures["different_words"], 7)
        self.assertEqual(measures["sentences"], 3)
        self.assertEqual(measures["words_per_sentence"], 3.0)
        self.assertEqual(measures["frequent_words"][0], ("cat", 2))

    def test_nothing(self):
        measures = measure_text("")
        self.assertEqual((measures["words"], measures["sentences"], measures["letters_per_word"]), (0, 0, 0.0))

    def test_every_alphabet_has_words(self):
        self.assertEqual(measure_text("Grüße, мир! 世界").get("words"), 3)

    def test_equal_words_come_in_order(self):
        words = [word for word, _ in measure_text("pear fig fig apple pear kiwi")["frequent_words"]]
        self.assertEqual(words, ["fig", "pear", "apple", "kiwi"])


if __name__ == "__main__":
    unittest.main()
