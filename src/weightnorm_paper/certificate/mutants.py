"""Mutants: a theory function with one thing wrong, to see that a check of the certificate notices.

A mutant changes one node of a function's syntax tree: a constant by 10 % (a whole number, and so a
power, by one), a sign, a product into a quotient, a comparison into always or never, the smaller
of two into the larger, a number of steps by one or by half. It is put in place of the function's
code object, so that every caller has it, and taken out again.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from weightnorm import theory
from weightnorm.theory import (
    _drift,
    _integrate,
    _rank_one,
    _root,
    _sign,
    _solution,
    formula,
    refuse,
)

from .. import lemmas
from ..claims import CLAIMS

# A change inside these does not change what is predicted: messages, checks of input.
UNTOUCHED_CALLS = {"integer", "real", "array", "vector", "instance", "choice", "broadcast"}
UNTOUCHED_CALLS |= {"numbers", "squarable", "direction", "errstate", "catch_warnings"}
UNTOUCHED_CALLS |= {"one_of", "momentum_of", "vector_or_rows"}
UNTOUCHED_KEYWORDS = {"paper", "xtol", "rtol", "atol", "minimum", "strict", "maximum", "lambdas"}
SWAPS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
STATEMENTS = {"Bounds", "Comparison", "FiniteStepLimit", "Limit", "TwoCycle", "TwoPhase", "assume"}
STATEMENTS |= {"DecayLimit", "EdgeTime", "LayerLimit", "MarginOffset", "NoiseEquilibrium"}
STATEMENTS |= {"ScaleSign", "Solved", "Stability", "Drift", "_Steps", "_nothing", "all", "bool"}
PAIRS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    function: Callable[..., Any]
    change: str
    code: types.CodeType


@functools.cache
def _modules() -> dict[str, types.ModuleType]:
    """The modules of theory and lemmas with formulas in them, by their last names."""
    public = [
        inspect.unwrap(getattr(room, name)) for room in (theory, lemmas) for name in room.__all__
    ]
    homes = {inspect.getmodule(each) for each in public if inspect.isfunction(each)}
    private = (_root, _sign, _integrate, _drift, _rank_one, _solution, formula, refuse)
    found = {*private, *(home for home in homes if home is not None)}
    return {each.__name__.rpartition(".")[2]: each for each in sorted(found, key=repr)}


@functools.cache
def _theory_functions() -> dict[str, Callable[..., Any]]:
    """Every function of the theory's modules by its qualified name, undecorated."""
    found: dict[str, Callable[..., Any]] = {}
    for name, module in _modules().items():
        for label, value in vars(module).items():
            plain = inspect.unwrap(value) if callable(value) else value
            if inspect.isfunction(plain) and plain.__module__ == module.__name__:
                found[f"{name}.{label}"] = plain
    return found


def claims_by_function() -> dict[str, tuple[str, ...]]:
    """Which claims stand on each function of the theory, directly or through others."""
    functions = _theory_functions()
    by_label: dict[str, str] = {key.split(".")[1]: key for key in functions}
    methods = _names_by_class()
    uses = {}
    for key, function in functions.items():
        names = _names(function.__code__)
        names = names.union(*(found for name, found in methods.items() if name in names))
        uses[key] = {by_label[name] for name in names if name in by_label}
    reached: dict[str, list[str]] = {key: [] for key in functions}
    for claim in CLAIMS:
        todo = [by_label[name] for name in claim.functions if name in by_label]
        seen: set[str] = set()
        while todo:
            key = todo.pop()
            if key not in seen:
                seen.add(key)
                todo += uses[key]
                reached[key].append(claim.id)
    return {key: tuple(ids) for key, ids in reached.items() if ids}


def _names_by_class() -> dict[str, set[str]]:
    """What the methods and properties of the theory's classes use, by the name of the class; what
    they have of a class that one of them makes is theirs as well.
    """
    found: dict[str, set[str]] = {}
    for module in _modules().values():
        for label, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                parts = [
                    getattr(each, "func", getattr(each, "fget", each))
                    for each in vars(value).values()
                ]
                codes = [each.__code__ for each in parts if inspect.isfunction(each)]
                found[label] = set().union(*(_names(code) for code in codes))
    return found


def _names(code: types.CodeType) -> set[str]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*(_names(each) for each in inner))


def _parsed(key: str) -> tuple[ast.Module, ast.FunctionDef]:
    name, label = key.split(".")
    tree = ast.parse(inspect.getsource(_modules()[name]))
    return tree, next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == label)


@functools.cache
def count(key: str) -> int:
    """How many mutants a function has, named as in `claims_by_function`."""
    return sum(1 for _ in _changes(_parsed(key)[1]))


def mutant(key: str, number: int) -> Mutant:
    """One of the mutants of a function."""
    tree, definition = _parsed(key)
    change, apply = list(_changes(definition))[number]
    apply()
    ast.fix_missing_locations(tree)
    code = _find(compile(tree, f"<mutant of {key}>", "exec"), key.split(".")[1])
    return Mutant(_theory_functions()[key], change, code)


def _find(code: types.CodeType, label: str) -> types.CodeType:
    return next(
        const
        for const in code.co_consts
        if isinstance(const, types.CodeType) and const.co_name == label
    )


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The function with the mutant's code in place."""
    function: Any = mutant.function
    original = function.__code__
    function.__code__ = mutant.code
    try:
        yield
    finally:
        function.__code__ = original


Change = tuple[str, Callable[[], None]]


def _changes(definition: ast.FunctionDef) -> Iterator[Change]:
    """What can be changed in a function: a text, and the change itself."""
    for place, statement in enumerate(definition.body):
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield from _in(statement, definition, "body", place)


def _in(node: Any, parent: Any, field: str, index: int | None) -> Iterator[Change]:
    """The changes of a node and of all that is in it."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and all(isinstance(n, ast.Raise) for n in node.body):
        return
    if isinstance(node, ast.Call) and _called(node) in UNTOUCHED_CALLS:
        return
    if isinstance(node, ast.keyword) and node.arg in UNTOUCHED_KEYWORDS:
        return
    if isinstance(node, ast.Subscript):
        yield from _in(node.value, node, "value", None)
        return
    yield from _here(node, parent, field, index)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and isinstance(
            node, ast.FunctionDef | ast.AnnAssign
        ):
            continue
        if isinstance(value, ast.AST):
            yield from _in(value, node, name, None)
        elif isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _in(item, node, name, place)


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _here(node: Any, parent: Any, field: str, index: int | None) -> Iterator[Change]:  # noqa: C901
    """The changes of one node itself."""

    def put(new: ast.AST) -> Callable[[], None]:
        def apply() -> None:
            if index is None:
                setattr(parent, field, new)
            else:
                getattr(parent, field)[index] = new

        return apply

    def text(new: ast.AST) -> str:
        return f"{node.lineno}: {ast.unparse(node)} -> {ast.unparse(new)}"

    options: list[ast.AST] = []
    if isinstance(node, ast.Constant) and type(node.value) is float:
        options.append(ast.Constant(1.1 * node.value if node.value else 0.1))
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        options.append(ast.Constant(node.value + 1))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        options.append(ast.Constant(not node.value))
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        options.append(ast.BinOp(node.left, SWAPS[type(node.op)](), node.right))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        options.append(node.operand)
    elif isinstance(node, ast.Compare):
        options += [ast.Constant(True), ast.Constant(False)]
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        options.append(ast.BoolOp(other, node.values))
    elif isinstance(node, ast.Call):
        options += _calls(node)
    elif isinstance(node, ast.Return) and (scaled := _falsified(node.value)) is not None:
        options.append(ast.Return(scaled))
    for new in options:
        yield text(new), put(new)


def _falsified(value: Any) -> ast.expr | None:
    """What is returned, 10 % too large: a plain value, or the first one of a statement."""
    if isinstance(value, ast.Call) and _called(value) in ("Value", "MaxMargin"):
        first = _falsified(value.args[0]) if value.args else None
        return first and ast.Call(value.func, [first, *value.args[1:]], value.keywords)
    if isinstance(value, ast.Call | ast.Subscript) and _called_name(value) not in STATEMENTS:
        return ast.BinOp(ast.Constant(1.1), ast.Mult(), value)
    return None


def _called_name(value: ast.expr) -> str:
    return _called(value) if isinstance(value, ast.Call) else ""


def _calls(node: ast.Call) -> list[ast.AST]:
    name = _called(node)
    if name in PAIRS:
        func = copy.deepcopy(node.func)
        setattr(func, "id" if isinstance(func, ast.Name) else "attr", PAIRS[name])
        return [ast.Call(func, node.args, node.keywords)]
    if name == "whole":  # a number of steps
        one, two = ast.Constant(1), ast.Constant(2)
        return [
            ast.BinOp(node, ast.Sub(), one),
            ast.BinOp(node, ast.Add(), one),
            ast.BinOp(node, ast.FloorDiv(), two),
        ]
    if name == "TwoPhase":  # γ⁽¹⁾ doubled
        doubled = ast.BinOp(ast.Constant(2), ast.Mult(), node.args[2])
        return [ast.Call(node.func, [*node.args[:2], doubled, *node.args[3:]], node.keywords)]
    if name in ("abs", "sqrt", "log", "log1p", "exp", "sign"):
        return [node.args[0]]
    return []
