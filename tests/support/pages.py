"""Run a page of the documentation as a reader would: its blocks of code, from top to bottom.

Python is executed, shell is given to bash, and a block with a file name as its caption becomes that
file, all in one folder. What would install something or ask a cluster's scheduler is replaced by a
stand-in that looks at its arguments (`STANDINS`).
"""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S)
# blocks that are not code: output to look at, and what Sphinx does itself
SHOWN = ("text", "{toctree}", "{image}", "{raw}")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
STANDINS = {
    # every extra that is asked for exists
    "pip": f"""#!{sys.executable}
import re, sys
kind, what = sys.argv[1:]
extras = re.fullmatch(r"\\.(?:\\[(.*)\\])?", what)[1]
unknown = set((extras or "all").split(",")) - {set(EXTRAS)!r}
sys.exit(f"no such extra: {{unknown}}" if unknown or kind != "install" else 0)
""",
    # a virtual environment of its own would hide what is installed
    "python": f"""#!/bin/sh
test "$1 $2 $3" = "-m venv .venv" && mkdir -p .venv/bin && touch .venv/bin/activate && exit 0
exec {sys.executable} "$@"
""",
    "git": '#!/bin/sh\ntest "$1 $2" = "clone REPOSITORY" && mkdir -p "$3"\n',
    "sbatch": '#!/bin/sh\ngrep -q "^#SBATCH --array=0-9" "$1" && SLURM_ARRAY_TASK_ID=3 sh "$1"\n',
    "srun": '#!/bin/sh\nexec "$@"\n',
}
SLURM = """
import distributed


class SLURMCluster(distributed.LocalCluster):
    def __init__(self, cores, processes, memory, walltime):
        super().__init__(n_workers=0, host="127.0.0.1", dashboard_address=None)

    def scale(self, jobs):
        super().scale(min(jobs, 1))
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: the word after the fence, the rest of that line, options, and the text."""

    kind: str
    rest: str
    options: dict[str, str]
    text: str


def blocks(path: Path) -> list[Block]:
    """The blocks of a page that are code."""
    found = []
    for match in FENCE.finditer(path.read_text(encoding="utf-8")):
        kind, _, rest = match["info"].partition(" ")
        options, text = {}, match["body"]
        if kind in ("{code-block}", "{literalinclude}"):
            head, _, text = text.partition("\n\n")
            options = dict(re.findall(r"^:([\w-]+): (.*)$", head, re.M))
        if kind not in SHOWN:
            found.append(Block(kind, rest, options, text))
    return found


def run_page(
    path: Path, folder: Path, *, replace: dict[str, str] | None = None
) -> dict[str, object]:
    """Run all blocks of a page in a folder; what its Python has defined at the end."""
    tools = folder / "stand-ins"
    tools.mkdir()
    for name, text in STANDINS.items():
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    (folder / "dask_jobqueue.py").write_text(SLURM, encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(path)):
        text = block.text
        for old, new in (replace or {}).items():
            text = text.replace(old, new)
        if block.kind == "python" and not block.rest:
            exec(compile(text, f"{path.name}, block {number}", "exec"), names)
        elif block.kind == "python" and block.rest == "torch":
            continue  # tests/torch runs these
        elif block.kind == "sh":
            run_shell(text, folder, tools)
        elif block.kind == "{literalinclude}":  # what is shown of a file, alone
            whole = (path.parent / block.rest).read_text(encoding="utf-8")
            exec(whole[whole.index(block.options["start-at"]) :], {"__name__": "__main__"})
        elif block.kind == "{code-block}":
            (folder / block.options["caption"]).write_text(text, encoding="utf-8")
        else:
            raise AssertionError(f"{path.name}: block {number} is {block.kind!r}: nothing runs it")
    return names


def run_shell(text: str, folder: Path, tools: Path) -> None:
    """Give a block to bash, with this interpreter's commands and the stand-ins first."""
    paths = [str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(paths), "MPLBACKEND": "Agg"}
    environment["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def reference() -> list[Any]:
    """The table of the reference: every page with its module and its names."""
    return load(DOCS / "_ext" / "reference_table.py").PAGES


def load(path: Path) -> Any:
    """A file of Python that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
