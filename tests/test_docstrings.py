"""Every public name has a docstring that a stranger can use: a summary, parameters, an example."""

import importlib
import inspect
import re

import pytest

from tests.support.pages import reference

OBJECTS = {
    f"{page.module}.{name}": getattr(importlib.import_module(page.module), name)
    for page in reference()
    if page.module != "weightnorm.torch"  # tests/torch has it
    for name in page.names
}
CALLABLES = {name: thing for name, thing in OBJECTS.items() if callable(thing)}
FUNCTIONS = {name: thing for name, thing in CALLABLES.items() if not inspect.isclass(thing)}
CLASSES = {name: thing for name, thing in CALLABLES.items() if inspect.isclass(thing)}


def every(things):
    return pytest.mark.parametrize("thing", [pytest.param(v, id=k) for k, v in things.items()])


def doc(thing):
    return inspect.cleandoc(thing.__doc__ or "")


def section(thing, title):
    """The lines under a heading, up to the next one."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", doc(thing), re.M | re.S)
    return found.group(1) if found else ""


def documented(thing):
    """The names in the Parameters section, grouped ones too: "num_samples, num_features : int"."""
    heads = [line for line in section(thing, "Parameters").splitlines() if line[:1].strip()]
    return {name.strip() for head in heads for name in head.split(" :")[0].split(",")}


@every(OBJECTS)
def test_the_summary_is_one_line(thing):
    summary, *rest = doc(thing).splitlines() or [""]
    assert 0 < len(summary) <= 100
    assert not rest or rest[0] == ""


@every(CALLABLES)
def test_there_is_an_example(thing):
    assert ">>>" in doc(thing)


@every(CLASSES)
def test_what_a_class_holds_is_explained(thing):
    """What it is made of or what it has; a protocol has the members that it names."""
    held = section(thing, "Parameters") or section(thing, "Attributes")
    assert held.strip() or getattr(thing, "_is_protocol", False)


@every(FUNCTIONS)
def test_every_parameter_is_explained(thing):
    variadic = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = inspect.signature(thing).parameters.values()
    named = {p.name for p in parameters if p.kind not in variadic and p.name != "self"}
    assert named <= documented(thing), f"without: {', '.join(sorted(named - documented(thing)))}"


@every(FUNCTIONS)
def test_what_is_returned_is_explained(thing):
    returned = inspect.signature(thing).return_annotation
    assert returned in (None, "None") or section(thing, "Returns").strip()
