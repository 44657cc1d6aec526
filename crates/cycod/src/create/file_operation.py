from pathlib import Path


def handler(filepath, line, show=3):
    path = Path(filepath)
    if path.is_dir():
        raise ValueError(f"`{filepath}` is a directory, not a file")
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    # Written as a whole, so that the last line ends even if it did not before.
    path.write_text("\n".join([*before, line]) + "\n", encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    count = f"{len(lines)} line" + ("" if len(lines) == 1 else "s")
    return "\n".join([f"{filepath}: {count}", *lines[-show:]])
