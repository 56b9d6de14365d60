"""Commands print any text on any terminal: brackets, encodings, colours, narrow lines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import ONE_CLAIM, WRITING, commands, plain, run, without_colours
from weightnorm.cli import terminal as _terminal
from weightnorm.cli.main import main


@pytest.mark.parametrize("command", WRITING)
def test_brackets_in_a_path_are_no_markup(table, tmp_path, command):
    folder = tmp_path / "a[/b] :smile: [red]"
    folder.mkdir(parents=True)
    table.rename(folder / "data.csv")
    *arguments, option, path = commands(folder, "[b]")[command]
    result = run(*arguments, option, path)
    assert result.exit_code == 0, result.output
    assert path.exists()
    if command != "verify":
        assert str(path) in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("x[/b]",),
        ("fit", "[/b].csv", "--target", "[/b]"),
        ("sweep", "a[/b]c"),
        ("sweep", "a[/b]c", "--threads", "[/b]"),
        ("reproduce", "a[/b]c"),
        ("verify", "--only", "a[/b]c"),
        ("verify", "--markdown", "no[/b]/such.md"),
        ("explore", "--[/b]"),
    ],
)
def test_brackets_in_a_mistake_are_no_markup(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "[/b]" in result.stderr or "--threads" in result.stderr


ENCODINGS = [
    {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.long
@pytest.mark.parametrize(
    "env", [pytest.param(ENCODINGS[0], marks=pytest.mark.slow), ENCODINGS[1]], ids=["latin-1", "C"]
)
def test_a_terminal_that_is_not_utf_8(table, tmp_path, env):
    def command(*arguments):
        whole = [sys.executable, "-m", "weightnorm.cli.main", *map(str, arguments)]
        surroundings = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONIOENCODING", "PYTHONUTF8")
        }
        return subprocess.run(whole, capture_output=True, env={**surroundings, **env}, check=False)

    for arguments in (
        ("--help",),
        ("fit", table, "--target", "y"),
        ("reproduce", "figure-2", "--quick", "--out", tmp_path / "out"),
    ):
        done = command(*arguments)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        assert b"Traceback" not in done.stderr
        assert done.stdout.decode("latin-1" if "PYTHONIOENCODING" in env else "ascii")
    answer = command("fit", table, "--target", "y", "--json").stdout
    assert answer.isascii()
    assert json.loads(answer)["score_name"] == "R²"  # escaped, not replaced


@pytest.mark.parametrize(
    "env",
    [
        {"FORCE_COLOR": "1", "NO_COLOR": None},
        pytest.param({"TERM": "dumb", "COLUMNS": "40"}, marks=pytest.mark.slow),
        pytest.param({}, marks=pytest.mark.slow),
    ],
)
def test_json_is_json_on_every_terminal(table, tmp_path, env):
    for name in ("fit", "sweep"):
        result = run(*commands(tmp_path)[name], "--json", env=env)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout
        assert json.loads(result.stdout)
    lines = json.loads(run(*ONE_CLAIM, "--json", env=env).stdout)
    assert [line["id"] for line in lines] == ["gd-limit"]
    message = run("fit", tmp_path / "none.csv", "--target", "y", env=env).stderr
    assert f"{tmp_path / 'none.csv'} does not exist, or is not a file" in plain(message)


def test_what_json_does_not_have_is_null_or_escaped(capsys):
    _terminal.print_json(
        {"a": [float("nan"), 1.5], "b": (np.float64("inf"),), "c": Path("ö\udce9")}
    )
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": [None], "c": "ö\udce9"}


@pytest.mark.long
def test_the_machines_text_survives_a_path_in_another_encoding(table, tmp_path):
    """A file name that is not UTF-8 reaches Python as surrogates, which no terminal can print."""
    command = [
        os.fsencode(sys.executable),
        b"-m",
        b"weightnorm.cli.main",
        b"fit",
        b"--target",
        b"y",
    ]
    done = subprocess.run(
        [*command, b"caf\xe9.csv"], capture_output=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert b"caf?.csv does not exist" in done.stderr
    table.rename(tmp_path / os.fsdecode(b"caf\xe9.csv"))
    command += [b"caf\xe9.csv", b"--coefficients", b"\xe9.csv"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"coefficients: ?.csv" in done.stdout


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "command", ["fit", "fit --json", "predict", "sweep", "explore", "verify", "--version", "--help"]
)
def test_output_that_has_no_room_is_one_sentence(
    table, tmp_path, monkeypatch, capsys, command, buffered
):
    """What goes to files is there all the same, and nothing follows when Python ends."""
    without_colours(monkeypatch)
    model = tmp_path / "model.json"
    assert run("fit", table, "--target", "y", "--out", model).exit_code == 0
    texts = {
        "predict": ("predict", model, table),
        "fit --json": (*commands(tmp_path)["fit"], "--json"),
        "--version": ("--version",),
        "--help": ("--help",),
    } | commands(tmp_path)
    arguments = [str(argument) for argument in texts.get(command, (command,))]
    with FULL.open("w", encoding="utf-8") as full:
        full.reconfigure(write_through=not buffered)
        monkeypatch.setattr(sys, "stdout", full)
        monkeypatch.setattr(sys, "argv", ["weightnorm", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        full.flush()  # as Python does at its end
    assert end.value.code == 1
    said = capsys.readouterr().err.strip()
    assert said == "the output could not be written: No space left on device"
    if command in WRITING:
        written = Path(arguments[-1])
        assert (written / "test.nc" if command == "sweep" else written).is_file()


def test_another_error_of_the_system_is_not_blamed_on_the_output(monkeypatch):
    def broken():
        raise PermissionError("elsewhere")

    monkeypatch.setattr("weightnorm.cli.main.app", broken)
    with pytest.raises(PermissionError, match="elsewhere"):
        main()
