"""The page of commands, from the command itself: docs/reference/generated/commands.md."""

from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from weightnorm.cli.main import app as program

HEAD = """# The command

`weightnorm COMMAND --help` prints what is on this page, `weightnorm --version` the version.

Exit code 0 means that a command did what was asked; 1 that it did not, or that a claim failed; 2
that the call, or a file it names, cannot be used; 130 that it was interrupted.
"""


def write_page(app: Sphinx) -> None:
    """Write the page anew."""
    path = Path(app.srcdir) / "reference" / "generated" / "commands.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def page() -> str:
    """Every command with its help, arguments and options."""
    command = typer.main.get_command(program)
    context = command.context_class(command, info_name="weightnorm")
    parts = [HEAD]
    for name, each in command.commands.items():  # type: ignore[attr-defined]
        parts += section(each, each.context_class(each, info_name=name, parent=context))
    return "\n".join(parts)


def section(command: Any, context: Any) -> list[str]:
    """One command: usage, help, a table."""
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## weightnorm {command.name}", ""]
    lines += ["```text", f"weightnorm {command.name} {usage}", "```", ""]
    lines += [command.help.replace("\b", "").strip(), ""]
    lines += ["| | meaning | default |", "|---|---|---|"]
    lines += [row(parameter) for parameter in command.get_params(context)]
    return [*lines, ""]


def row(parameter: Any) -> str:
    """An argument or option: its names, its meaning, its default."""
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name}`"
    meaning = " ".join((parameter.help or "").split()).replace("|", r"\|")
    default = parameter.default
    if isinstance(default, bool):
        choices = [*parameter.opts, *parameter.secondary_opts]
        default = choices[not default] if len(choices) > 1 else None
    plain = isinstance(default, str | int | float | Path)
    return f"| {names} | {meaning} | {f'`{default}`' if plain else ''} |"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page before any is read."""
    app.connect("builder-inited", write_page, priority=100)
    return {"parallel_read_safe": True}
