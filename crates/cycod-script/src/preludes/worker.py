"""Serves calls: reads lines of JSON from descriptor 4 and answers each on descriptor 3. All that is printed goes to the log."""

import asyncio
import atexit
import base64
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import io
import itertools
import json
import linecache
import math
import os
import re
import sys
import traceback
import types
import uuid
from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView, ItemsView

LONGEST = 64 << 20
DEEPEST = 100
# Whole numbers beyond are texts: those who read JSON with doubles or 64 bits would change them.
SMALLEST, LARGEST = -(1 << 63), (1 << 64) - 1

INPUT = OUTPUT = ME = None
HOME = os.getcwd()


def open_channel():
    """Puts the channel where no handler finds it by accident, and no program that one starts inherits it."""
    global INPUT, OUTPUT, ME
    INPUT, OUTPUT = os.fdopen(moved(4), "rb"), moved(3)
    ME = os.getpid()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=close_in_copy)


def moved(descriptor):
    """Returns another descriptor in its place, which no program inherits."""
    try:
        from fcntl import F_DUPFD_CLOEXEC, fcntl
    except ImportError:
        # On Windows.
        other = os.dup2(descriptor, 100 + descriptor, inheritable=False)
    else:
        other = fcntl(descriptor, F_DUPFD_CLOEXEC, 100)
    os.close(descriptor)
    return other


def close_in_copy():
    """A copy of this process must neither hear nor answer."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, INPUT.fileno())
    os.dup2(null, OUTPUT)
    os.close(null)


class NoData(Exception):
    """Why a result cannot be written as JSON."""


def send(message):
    """Writes a message, which is plain data, as a line."""
    line = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    write(line)


def write(line):
    rest = memoryview(line + b"\n")
    while rest:
        rest = rest[os.write(OUTPUT, rest):]


# --- results ---


def encode(value):
    """Returns a result as JSON."""
    try:
        # What is plain already, by far the most, is written as it is.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=refuse)
        if text.count("[") + text.count("{") > DEEPEST or re.search(r"\d{19}", text):
            raise ValueError
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError, NoData):
        return json.dumps(convert(value, "result", 0), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def encode_file(value, media_type):
    """Returns the bytes of the one file that a tool produces, in Base64 as JSON."""
    # Who says that the call failed says it as data.
    if isinstance(value, Mapping) and value.get("success") is False:
        return encode(value)
    return b'"' + base64.b64encode(file_bytes(value, media_type)) + b'"'


def file_bytes(value, media_type):
    """Returns the bytes of a picture or another file that a handler returned, or drew and did not return."""
    form = media_type.split(";")[0].split("/")[-1].split("+")[0].strip().lower()
    if value is None:
        # A plot that was drawn is the picture that is meant.
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not pyplot.get_fignums():
            raise NoData(f"the handler returned nothing and drew nothing, and the tool produces {media_type}")
        value = pyplot.gcf()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return text(value, "result").encode("utf-8")
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            return file.read()
    if isinstance(value, io.BytesIO):
        return value.getvalue()
    buffer = io.BytesIO()
    # A subplot, or several of them, mean their figure.
    first = value.flat[0] if callable(getattr(value, "flatten", None)) and getattr(value, "size", 0) else value
    figure = first if callable(getattr(first, "savefig", None)) else getattr(first, "figure", None)
    if callable(getattr(figure, "savefig", None)):
        figure.savefig(buffer, format=form)
        return buffer.getvalue()
    if callable(getattr(value, "to_image", None)):
        return value.to_image(format=form)
    if callable(getattr(value, "save", None)):
        # JPEG has no transparency.
        if form in ("jpeg", "jpg") and getattr(value, "mode", "RGB") not in ("RGB", "L", "CMYK"):
            value = value.convert("RGB")
        value.save(buffer, format=form)
        return buffer.getvalue()
    kind = type(value)
    raise NoData(
        f"the result is of type `{kind.__qualname__}`, and the tool produces {media_type}; return bytes, a figure of "
        "matplotlib, a picture of PIL, or the path of a file"
    )


def close_figures():
    """Closes what a handler drew, so that the next call begins with nothing."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def refuse(value):
    raise NoData


def convert(value, place, depth):
    """Returns what stands for a value in JSON."""
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if isinstance(value, enum.Enum):
        return convert(value.value, place, depth)
    if isinstance(value, str):
        return text(value, place)
    if isinstance(value, int):
        whole = int(value)
        return whole if SMALLEST <= whole <= LARGEST else str(whole)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return float(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if depth == DEEPEST:
        raise NoData(f"the result is nested more than {DEEPEST} levels deep, or holds itself")
    if isinstance(value, Mapping):
        return entries(value.items(), place, depth)
    if isinstance(value, (list, tuple)):
        return items(value, place, depth)
    if isinstance(value, (bytes, bytearray, memoryview)):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            raise NoData(
                f"`{place}` holds bytes that are no text in UTF-8; decode them, or use `base64.b64encode(...).decode()`"
            ) from None
    if kind.__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return convert(value.total_seconds(), place, depth)
    if isinstance(value, (decimal.Decimal, fractions.Fraction, uuid.UUID, complex)):
        return str(value)
    if isinstance(value, os.PathLike):
        return convert(os.fspath(value), place, depth)
    if isinstance(value, (Set, frozenset)):
        try:
            ordered = sorted(value)
        except TypeError:
            ordered = list(value)
        return items(ordered, place, depth)
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        raise no_data(value, place)
    if dataclasses.is_dataclass(value):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return entries(fields, place, depth)
    # Other libraries' values, known by what they can do: data frames, arrays, models.
    for method in ("to_dicts", "model_dump"):
        if callable(getattr(value, method, None)):
            return convert(getattr(value, method)(), place, depth + 1)
    if callable(getattr(value, "to_dict", None)):
        return convert(frame(value), place, depth + 1)
    if callable(getattr(value, "tolist", None)):
        return convert(value.tolist(), place, depth + 1)
    if callable(getattr(value, "item", None)):
        return convert(value.item(), place, depth + 1)
    if isinstance(value, (Sequence, Iterator, ValuesView, ItemsView)):
        return items(value, place, depth)
    if dataclass_like(value):
        return entries(((name, getattr(value, name, None)) for name in attribute_names(value)), place, depth)
    # Types of columns, periods, intervals.
    if kind.__module__.split(".")[0] in ("numpy", "pandas"):
        return str(value)
    raise no_data(value, place)


def text(value, place):
    value = str(value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise NoData(f"`{place}` holds half of a surrogate pair, which is no text in UTF-8") from None
    return value


def no_data(value, place):
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    return NoData(f"`{place}` is of type `{name}`, which is no data; return text, numbers, lists or dictionaries")


def frame(value):
    """A data frame as rows, and a series as a list or, where its labels say more, as a dictionary."""
    index = getattr(value, "index", None)
    numbered = type(index).__name__ == "RangeIndex" and (
        (getattr(index, "start", 0), getattr(index, "step", 1), getattr(index, "name", None)) == (0, 1, None)
    )
    if hasattr(value, "columns"):
        return (value if numbered else value.reset_index()).to_dict(orient="records")
    if index is not None and numbered and callable(getattr(value, "tolist", None)):
        return value.tolist()
    return value.to_dict()


def dataclass_like(value):
    # Classes of `attrs`, and `types.SimpleNamespace`.
    return hasattr(value, "__attrs_attrs__") or isinstance(value, types.SimpleNamespace)


def attribute_names(value):
    known = getattr(value, "__attrs_attrs__", None)
    return [attribute.name for attribute in known] if known is not None else list(vars(value))


def items(values, place, depth):
    return [convert(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(values)]


def entries(pairs, place, depth):
    return {key_text(key, place): convert(value, f"{place}[{key!r}]", depth + 1) for key, value in pairs}


def key_text(key, place):
    if isinstance(key, str) and not isinstance(key, enum.Enum):
        return text(key, place)
    if isinstance(key, tuple):
        return ", ".join(key_text(part, place) for part in key)
    plain = convert(key, place, DEEPEST - 1)
    return plain if isinstance(plain, str) else json.dumps(plain)


# --- tools ---

# Tools by name: the key of the code, its function and its file. One dictionary is shared by all of them.
TOOLS = {}
SESSION = {}


def load(call):
    """Returns the handler of a tool and the name under which its lines are known."""
    known = TOOLS.get(call["tool"])
    if known and known[0] == call["key"]:
        return known[1], known[2]
    name = call.get("file") or f"<{call['tool']}>"
    # Empty lines before the code, so that every line has the number that it has in the file.
    source = "\n" * (call["line"] - 1) + call["code"] + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = types.ModuleType("tool_" + re.sub(r"\W", "_", call["tool"]))
    module.__file__ = name
    module.session = SESSION
    # Where `dataclasses` and `pickle` look for a class.
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    handler = find_handler(module, name)
    TOOLS[call["tool"]] = (call["key"], handler, name)
    return handler, name


def find_handler(module, file):
    handler = module.__dict__.get("handler")
    if callable(handler):
        return handler
    own = [
        name
        for name, value in module.__dict__.items()
        if not name.startswith("_") and isinstance(inspect.unwrap(value) if callable(value) else value, types.FunctionType)
        and inspect.unwrap(value).__code__.co_filename == file
    ]
    if len(own) == 1:
        return module.__dict__[own[0]]
    what = "no function" if not own else "several functions (" + ", ".join(f"`{name}`" for name in own) + ")"
    raise NoData(f"the code has {what}; one must be called `handler`")


def failure(error, file):
    """What is said about an exception: message, trace and line in the tool's file."""
    if isinstance(error, SystemExit):
        message = f"`sys.exit({error.code!r})` is not for a handler: return a value, or raise an exception"
    elif isinstance(error, KeyboardInterrupt):
        message = "the call was interrupted"
    elif isinstance(error, NoData):
        message = str(error)
    else:
        described = "".join(traceback.format_exception_only(type(error), error)[-1:]).strip()
        message = f"the code is not Python: {error.msg}" if isinstance(error, SyntaxError) and error.filename == file else described
    told = {"message": message}
    frames = traceback.extract_tb(error.__traceback__)
    # Our own frames came first.
    while frames and frames[0].filename == __file__:
        frames.pop(0)
    if isinstance(error, SyntaxError) and error.filename == file:
        told["line"] = error.lineno
    else:
        ours = [entry.lineno for entry in frames if entry.filename == file]
        if ours:
            told["line"] = ours[-1]
    if frames and not isinstance(error, (SystemExit, NoData)):
        # Innermost first, and without the marks below a line that differ between versions.
        lines = [f'File "{entry.filename}", line {entry.lineno}, in {entry.name}\n    {entry.line}' for entry in frames[::-1]]
        shown = []
        for line, same in itertools.groupby(lines):
            count = len(list(same))
            shown.append(line if count == 1 else f"{line}\n    ({count} times)")
        if len(shown) > 30:
            shown[15:-15] = [f"... {len(shown) - 30} more"]
        told["trace"] = "\n".join(shown)
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None:
            told["trace"] += "\ncaused by " + "".join(traceback.format_exception_only(type(cause), cause)).strip()
    return told


@contextlib.contextmanager
def surroundings(context, file):
    """The directory and environment of a call, and the tool's own directory among those of modules."""
    environment = context.get("environment") or {}
    before = {name: os.environ.get(name) for name in environment}
    beside = os.path.dirname(file) if file else None
    # Last, so that no file beside a tool stands in for a module of Python.
    added = beside and beside not in sys.path
    os.chdir(context["directory"])
    os.environ.update(environment)
    if added:
        sys.path.append(beside)
    try:
        yield
    finally:
        if added:
            with contextlib.suppress(ValueError):
                sys.path.remove(beside)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        with contextlib.suppress(OSError):
            os.chdir(HOME)


async def awaited(value):
    return await value


async def collected(values):
    return [value async for value in values]


def carry_out(call):
    """Carries a call out, and returns the part of the answer that says how it went, as JSON."""
    file = call.get("file")
    name = file or f"<{call['tool']}>"
    if call.get("produces"):
        # Nobody sits at a window of ours.
        os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        with surroundings(call["context"], file):
            handler, name = load(call)
            value = handler(**call["args"])
            if inspect.isawaitable(value):
                value = asyncio.run(awaited(value))
            elif inspect.isasyncgen(value):
                value = asyncio.run(collected(value))
            media_type = call.get("produces")
            result = encode(value) if media_type is None else encode_file(value, media_type)
            if len(result) + 100 > LONGEST:
                raise NoData(f"the result takes {len(result) / (1 << 20):.1f} MiB; a worker can answer with 64")
            return b'"result":' + result
    # A handler may raise anything, and goes no further than its call.
    except BaseException as error:
        told = failure(error, name)
        # It holds the handler's variables.
        error.__traceback__ = None
        return b'"error":' + json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
    finally:
        if call.get("produces"):
            with contextlib.suppress(Exception):
                close_figures()


def serve():
    """Answers calls until there are no more."""
    send({"ready": {"version": "Python " + ".".join(map(str, sys.version_info[:3]))}})
    streams = sys.stdin, sys.stdout, sys.stderr
    for line in INPUT:
        message = json.loads(line)
        if "call" not in message:
            continue
        answer = carry_out(message["call"])
        if os.getpid() != ME:
            # A handler made a copy of this process, which came back as well.
            os._exit(0)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # What a handler redirected is not redirected for the next.
        sys.stdin, sys.stdout, sys.stderr = streams
        write(b'{"id":%d,%s}' % (message["id"], answer))
    # Threads that handlers left behind would be waited for.
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    os._exit(0)


# `multiprocessing` may read this file in processes of its own, which serve nobody.
if __name__ == "__main__":
    open_channel()
    # The directory of this file is not for handlers.
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    serve()
