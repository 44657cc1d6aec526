def handler(text, label="text"):
    words = text.split()
    if not words:
        raise ValueError("there is nothing to measure: `text` is empty")
    lines = text.splitlines()
    return "\n".join([
        label,
        f"characters: {len(text)}",
        f"words: {len(words)}",
        f"lines: {len(lines)}",
    ])
