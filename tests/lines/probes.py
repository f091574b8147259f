"""Count the lines of the package that run, at next to no cost and whatever happens.

A trace function is called in every function of every library, and JAX, which traces our
functions, has many: before Python 3.12 that cost 16 to 38 % of three test files. So our
own modules are compiled with a probe before each statement, a store of one byte, and
nothing else pays. The bytes are a file that all processes of a run map into memory.
What a process has run is in it at once, also when that process is killed.

`tests.lines.coverage` copies this file to where Python imports it when it starts, as
`sitecustomize`. So it imports little, and nothing of this project.
"""

import builtins
import contextlib
import marshal
import mmap
import os
from importlib.machinery import SourceFileLoader

SEEN = "__seen__"
STARTS = "starts.marshal"
HITS = "hits"


def install(folder):
    """Compile with probes all modules that are named in a folder."""
    with open(os.path.join(folder, STARTS), "rb") as file:
        starts = marshal.load(file)
    with open(os.path.join(folder, HITS), "r+b") as file:
        setattr(builtins, SEEN, mmap.mmap(file.fileno(), 0))
    usual = SourceFileLoader.get_code

    def get_code(self, fullname):
        if (start := starts.get(self.path)) is None:
            return usual(self, fullname)
        # Compiled once for all processes; with shape checks it is another program.
        kept = os.path.join(folder, f"{start}.{type(self).__name__}")
        with contextlib.suppress(OSError), open(kept, "rb") as file:
            return marshal.load(file)
        code = _compiled(self, start)
        unfinished = f"{kept}.{os.getpid()}"
        with open(unfinished, "wb") as file:
            marshal.dump(code, file)
        os.replace(unfinished, kept)
        return code

    SourceFileLoader.get_code = get_code


def _compiled(loader, start):
    """A module as its loader compiles it, with probes in the tree that it is given."""
    import ast  # only the first process needs it

    usual = builtins.compile

    def compile_with_probes(source, path, mode, flags=0, **options):
        if path != loader.path or isinstance(source, ast.AST):
            return usual(source, path, mode, flags, **options)
        tree = usual(source, path, mode, flags | ast.PyCF_ONLY_AST, **options)
        add_probes(tree, start)
        if flags & ast.PyCF_ONLY_AST:
            return tree
        return usual(tree, path, mode, flags, **options)

    builtins.compile = compile_with_probes
    try:
        return loader.source_to_code(loader.get_data(loader.path), loader.path)
    finally:
        builtins.compile = usual


def add_probes(tree, start):
    """Note the line of every statement before it runs, in place."""
    import ast

    def probe(line):
        place = {"lineno": line, "col_offset": 0}
        place |= {"end_lineno": line, "end_col_offset": 0}
        seen = ast.Subscript(
            ast.Name(SEEN, ast.Load(), **place),
            ast.Constant(start + line, **place),
            ast.Store(),
            **place,
        )
        return ast.Assign([seen], ast.Constant(1, **place), **place)

    def probed(statements):
        for number, statement in enumerate(statements):
            if not _precedes_all(number, statement):
                above = getattr(statement, "decorator_list", ())
                lines = [*(one.lineno for one in above), statement.lineno]
                yield from map(probe, lines)
            yield statement

    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, list(probed(statements)))
        if isinstance(node, ast.ExceptHandler):
            node.body.insert(0, probe(node.lineno))
        elif isinstance(node, ast.match_case):
            node.body.insert(0, probe(node.pattern.lineno))


def _precedes_all(number, statement):
    """Whether a probe before it would make it something else, or an error."""
    import ast

    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    text = statement.value if isinstance(statement, ast.Expr) else None
    is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
    return number == 0 and is_text


if __name__ == "sitecustomize":
    install(os.path.dirname(os.path.abspath(__file__)))
