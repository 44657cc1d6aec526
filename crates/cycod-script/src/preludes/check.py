"""Reads the code of a tool from its input and says what is wrong with it. Nothing of it runs."""

import ast
import sys


def say(kind, line, column, message):
    """A finding in a line: its kind, its place counted from 1 in lines and characters, and what it is."""
    print(kind, max(line or 1, 1), max(column or 1, 1), " ".join(message.split()), sep="\t")


def targets(node):
    """The names that an assignment binds."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


class Names:
    """What the names of a module are bound to, as far as that can be seen."""

    def __init__(self):
        self.functions = {}
        # Bound to something that may be a function: a result, an import, an instance of a class.
        self.possible = set()
        # Whether names may be bound that are not written down.
        self.is_open = False

    def look(self, body, is_certain):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if is_certain and not node.decorator_list:
                    self.functions[node.name] = node
                else:
                    self.possible.add(node.name)
            elif isinstance(node, ast.ClassDef):
                # A class is called as a handler only where it is named so.
                if node.name == "handler":
                    self.possible.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
                names = [name for target in getattr(node, "targets", None) or [node.target] for name in targets(target)]
                if isinstance(node.value, ast.Lambda) and is_certain:
                    self.functions.update((name, node) for name in names)
                elif not isinstance(node.value, (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, type(None))):
                    self.possible.update(names)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [alias.asname or alias.name for alias in node.names]
                self.is_open |= "*" in names
                self.possible.update(name for name in names if name == "handler")
            else:
                for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                    inner = getattr(node, field, None)
                    if isinstance(inner, list):
                        self.look(inner, False)
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.id in ("exec", "globals", "locals", "setattr", "vars"):
                    self.is_open = True


def find_function(tree):
    """Says when there is no function that would be called, if that is certain."""
    names = Names()
    names.look(tree.body, True)
    if names.is_open or "handler" in names.functions or "handler" in names.possible:
        return
    own = {name: node for name, node in names.functions.items() if not name.startswith("_")}
    possible = [name for name in names.possible if not name.startswith("_")]
    if not own and not possible:
        say("error", 1, 1, "the code has no function that could be called: write `def handler(...)`")
    elif len(own) > 1:
        second = list(own.values())[1]
        listed = ", ".join(f"`{name}`" for name in own)
        say("error", second.lineno, second.col_offset + 1, f"the code has several functions ({listed}); one must be called `handler`")


def check(text):
    try:
        tree = ast.parse(text, "<tool>")
        compile(text, "<tool>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return say("error", error.lineno, error.offset, f"the code is not Python: {error.msg}")
    except ValueError as error:
        return say("error", 1, 1, f"the code is not Python: {error}")
    except (RecursionError, MemoryError):
        return say("error", 1, 1, "the code is nested too deeply")
    find_function(tree)


sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
check(sys.stdin.buffer.read().decode("utf-8"))
print("done")
