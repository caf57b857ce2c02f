"""Single edits of a module, by its syntax tree: each gives a program that is a little wrong.

Comparisons, arithmetic, numbers, conditions, returned values, calls left out. Words are left alone (messages, names,
documentation, annotations), because no test should depend on them to the letter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# Calls that change how a value is held and not what it is: without them the program is the same, or mypy's affair.
HOLDERS = frozenset({"bool", "float", "int", "str", "list", "tuple", "asarray", "freeze", "ascontiguousarray", "iter"})
SILENT = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert, ast.AnnAssign)  # words and declarations
WORDS_OF_FUNCTIONS = frozenset({"annotation", "returns", "decorator_list", "bases"})
DECLARATIONS = frozenset({"Reference", "Entry", "Step", "setting", "meaning", "field"})


@dataclass(frozen=True)
class Mutant:
    module: str  # dotted, without the package's own name
    line: int
    kind: str
    before: str
    after: str
    source: str  # of the whole module

    @property
    def change(self) -> str:
        """What identifies it, whatever line it comes to stand in."""
        return f"{self.before} -> {self.after}"


def n_mutants(source: str) -> int:
    return sum(1 for _ in _edits(ast.parse(source)))


def mutant(module: str, source: str, number: int) -> Mutant:
    """One of them, in the order of the file."""
    tree = ast.parse(source)
    edit = next(islice(_edits(tree), number, None))
    before = ast.unparse(edit.shown)
    after = ast.unparse(edit.apply())
    return Mutant(module, edit.shown.lineno, edit.kind, before, after, ast.unparse(tree))


@dataclass(frozen=True)
class _Edit:
    """``field`` of ``owner`` (a place in it, where it is a list) gets a new value; ``shown`` is what a reader sees."""

    kind: str
    shown: ast.expr | ast.stmt
    owner: ast.AST
    field: str
    new: object
    place: int | None = None

    def apply(self) -> ast.AST:
        """What a reader sees afterwards: the same node, or the new one where it was exchanged as a whole."""
        value = getattr(self.owner, self.field)
        old = value if self.place is None else value[self.place]
        if self.place is None:
            setattr(self.owner, self.field, self.new)
        else:
            value[self.place] = self.new
        ast.fix_missing_locations(self.owner)
        return self.new if old is self.shown and isinstance(self.new, ast.AST) else self.shown


def _edits(node: ast.AST, shown: ast.expr | ast.stmt | None = None) -> Iterator[_Edit]:
    """Of the node and all below it. ``shown`` is the statement around it, or the head of one with a block."""
    if isinstance(node, ast.AnnAssign) and node.value is not None and not _declares(node.value):
        yield from _edits(node.value, node)
    if isinstance(node, SILENT) or _declares(node):
        return
    here = _head(node) or shown
    if here is not None:
        yield from _of_node(node, here)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in WORDS_OF_FUNCTIONS:
                yield from _edits(child, here)


def _head(node: ast.AST) -> ast.expr | ast.stmt | None:
    if isinstance(node, ast.If | ast.While):
        return node.test
    if isinstance(node, ast.For):
        return node.iter
    blocks = ast.FunctionDef | ast.ClassDef | ast.With | ast.Try
    return node if isinstance(node, ast.stmt) and not isinstance(node, blocks) else None


def _declares(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True  # of zip: it guards against mistakes that are not there
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # documentation
    called = node.func if isinstance(node, ast.Call) else None
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    return name in DECLARATIONS or name.endswith("Error")


def _of_node(node: ast.AST, shown: ast.expr | ast.stmt) -> Iterator[_Edit]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield _Edit("comparison", shown, node, "ops", other(), place)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield _Edit("arithmetic", shown, node, "op", ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _Edit("condition", shown, node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node, shown)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_words(node.value):
        yield _Edit("returned value", shown, node, "value", _other_answer(node.value))
    yield from _of_fields(node, shown)


def _is_words(value: ast.expr) -> bool:
    """Or None already."""
    return isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str | None))


def _of_constant(node: ast.Constant, shown: ast.expr | ast.stmt) -> Iterator[_Edit]:
    if isinstance(node.value, bool):
        yield _Edit("constant", shown, node, "value", not node.value)
    elif isinstance(node.value, int):
        yield _Edit("constant", shown, node, "value", node.value + 1)
    elif isinstance(node.value, float):
        yield _Edit("constant", shown, node, "value", 2 * node.value or 1.0)


def _of_fields(node: ast.AST, shown: ast.expr | ast.stmt) -> Iterator[_Edit]:
    """Conditions turned round, and calls left out: f(x) becomes x, and a call that stands alone becomes nothing."""
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not _is_compared(node.test):
        yield _Edit("condition", shown if isinstance(node, ast.IfExp) else node.test, node, "test", _negated(node.test))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield _Edit("removed call", node, node, "value", ast.Constant(None))
    for name, value in ast.iter_fields(node):
        for place, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if _wraps(child):
                yield _Edit("removed call", shown, node, name, child.args[0], place)


def _is_compared(test: ast.expr) -> bool:
    """Its operators are edited, which turns it round as well."""
    return isinstance(test, ast.Compare) and len(test.ops) == 1


def _wraps(node: object) -> bool:
    """A call of one thing, such as ``key.rerandomise(masked)``, that could be forgotten."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name not in HOLDERS and not name[:1].isupper() and name != "len" and not _declares(node)


def _negated(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _other_answer(value: ast.expr) -> ast.expr:
    """The opposite of a truth value; nothing, of anything else."""
    boolean = isinstance(value, ast.Compare | ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )
    return _negated(value) if boolean else ast.Constant(None)
