"""Measures texts."""

import re
from collections import Counter

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)")

# Words that say nothing about what a text is about.
COMMON = frozenset(
    "a an and are as at be been but by for from had has have he her his i in is it its of on or our she that the their"
    " them they this to was we were which who will with you your".split()
)


def measure_text(text: str, most: int = 10) -> dict:
    """Counts what a text is made of, and names the words that it is about."""
    words = [word.lower() for word in WORD.findall(text)]
    sentences = max(1, len(SENTENCE_END.findall(text))) if words else 0
    telling = Counter(word for word in words if len(word) > 2 and word not in COMMON)
    return {
        "characters": len(text),
        "lines": len(text.splitlines()),
        "words": len(words),
        "different_words": len(set(words)),
        "sentences": sentences,
        "words_per_sentence": round(len(words) / sentences, 1) if sentences else 0.0,
        "letters_per_word": round(sum(map(len, words)) / len(words), 1) if words else 0.0,
        # Of equally frequent words the first by the alphabet, so that the same text gives the same answer.
        "frequent_words": sorted(telling.items(), key=lambda entry: (-entry[1], entry[0]))[:most],
    }
