"""Files with random damage: a command reads them, or refuses them in a sentence. No traceback."""

import io
import json
import random
import re
import zipfile

import numpy as np
import pytest
import typer

from tests.support.commands import run, write_table
from tests.sweeps.test_sweep_files import TEXT
from weightnorm.cli.predict import predict
from weightnorm.sweeps import SweepConfig, load_config
from weightnorm.sweeps.load import ConfigError
from weightnorm.sweeps.plan import SweepPlan

DEEP = "[" * 3000 + "]" * 3000
VALUES = (
    *("0", "-1", "1", "1.5", "1e308", "-1e308", "5e-324", "1e400", "-0.0", "true", "false"),
    *('""', '"a"', '"\\u0000"', '"' + "x" * 5000 + '"', "[]", "{}", "[[]]", "[1, 2]", DEEP),
    *("1" + "0" * 400, "-1" + "0" * 400, "9" * 5000, str(2**63), str(2**64), "1" * 30),
)
JSON_VALUES = (*VALUES, "NaN", "Infinity", "-Infinity", "null", '{"a": [1, null]}')
TOML_VALUES = (*VALUES, "nan", "inf", "-inf", "1979-05-27", "07:32:00", "{ a = [1] }", "0x10")
LONG_KEY = ".".join(["a"] * 1500)


def damaged_bytes(content, draw):
    """A few bytes changed, taken out, put in or twice there; or the end cut off."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place, size = draw.randrange(len(content)), draw.randint(1, 12)
        kind = draw.randrange(5)
        if kind == 0:
            content[place] = draw.randrange(256)
        elif kind == 1:
            del content[place : place + size]
        elif kind == 2:
            content[place:place] = draw.randbytes(size)
        elif kind == 3:
            content[place:place] = content[place : place + size]
        else:
            content[place] ^= 1 << draw.randrange(8)
        if not content:
            break
    return bytes(content[: draw.randrange(len(content) + 1)] if draw.random() < 0.1 else content)


def damaged_text(text, values, pattern, draw):
    """One or two of the values of a text exchanged for others."""
    for _ in range(draw.randint(1, 2)):
        start, end = draw.choice([match.span(1) for match in re.finditer(pattern, text)])
        text = text[:start] + draw.choice(values) + text[end:]
    return text


def models(folder):
    """Model files of both kinds, and a table that both can predict."""
    table, texts = write_table(folder), []
    for options in (["--target", "y"], ["--target", "d", "--classify"]):
        if "--classify" in options:
            rows = table.read_text(encoding="utf-8").splitlines()
            labels = [row.rsplit(",", 2)[0] + f",{k % 3},0" for k, row in enumerate(rows[1:])]
            table.write_text("\n".join([rows[0], *labels]), encoding="utf-8")
        assert run("fit", table, *options, "--out", folder / "model.json").exit_code == 0
        texts.append((folder / "model.json").read_text(encoding="utf-8"))
    return table, texts


ENDS = ((0, True, False), (2, False, True))  # the code, and whether there is output and a message


def test_damaged_models(tmp_path, capsys):
    table, texts = models(tmp_path)
    model, draw, ends = tmp_path / "model.json", random.Random(0), []
    capsys.readouterr()
    for turn in range(400):
        text = texts[turn % 2]
        if turn % 3 == 0:
            model.write_bytes(damaged_bytes(text.encode(), draw))
        else:
            pattern = r"(?<=[\[:,])\s*(-?[\d.eE+-]+|\"[^\"]*\"|null|\[)(?=\s*[,\]}\n\"-9])"
            model.write_text(damaged_text(text, JSON_VALUES, pattern, draw), encoding="utf-8")
        with pytest.raises(typer.Exit) as end:
            predict(model, table)
        said = capsys.readouterr()
        assert (end.value.exit_code, bool(said.out), bool(said.err)) in ENDS
        ends.append(end.value.exit_code)
    assert 20 < ends.count(0) < 380  # so that both are tried


def test_a_number_that_no_float_holds(tmp_path):
    table, (text, _) = models(tmp_path)
    for key in ("means", "deviations", "intercepts", "coefficients"):
        for number in (10**400, -(10**400), float("inf"), float("nan")):
            data = json.loads(text)
            (data[key][0] if key == "coefficients" else data[key])[0] = number
            (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
            result = run("predict", tmp_path / "model.json", table)
            assert result.exit_code == 2
            assert "model.json is damaged: its numbers do not fit together" in result.stderr


def reads_or_refuses(path):
    """Whether a sweep file is good; a plan can be made of it then."""
    try:
        config = load_config(path)
    except ConfigError:
        return False
    assert isinstance(config, SweepConfig)
    assert next(iter(SweepPlan(config))).key
    return True


def test_damaged_sweep_files(tmp_path):
    draw, ends = random.Random(0), []
    for turn in range(400):
        path = tmp_path / "sweep.toml"
        if turn % 3 == 0:
            path.write_bytes(damaged_bytes(TEXT.encode(), draw))
        else:
            path.write_text(damaged_text(TEXT, TOML_VALUES, r"= *([^\n]+)", draw), encoding="utf-8")
        ends.append(reads_or_refuses(path))
    assert 10 < sum(ends) < 390


@pytest.mark.parametrize(
    "line",
    [
        f"{LONG_KEY} = 1",
        f"[{LONG_KEY}]",
        f"[[{LONG_KEY}]]",
        f"a = {DEEP}",
        f"a = {'{ b = ' * 2000}1{' }' * 2000}",
        f"[methods.{LONG_KEY}]\nkind = 'gd'",
        f"[methods.gd]\nkind = 'gd'\nstep.{LONG_KEY} = 1",
        f"steps.{LONG_KEY} = 1",
        f"[problems]\nseeds.{LONG_KEY} = 1",
    ],
    ids=range(9),
)
def test_keys_and_values_that_are_deeply_nested(tmp_path, line):
    path = tmp_path / "sweep.toml"
    for text in (f"{line}\n", f"{TEXT}\n{line}\n"):
        path.write_text(text, encoding="utf-8")
        assert not reads_or_refuses(path)
    result = run("sweep", path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert len(result.stderr) < 2000


DATA = """
name = "own"
[problems]
kind = "data"
file = "data.npz"
[starts]
scales = [1.0]
[methods.gd]
kind = "gd"
step = 0.01
"""


def write_data(folder, **arrays):
    np.savez(folder / "data.npz", **arrays)
    (folder / "sweep.toml").write_text(DATA, encoding="utf-8")
    return folder / "sweep.toml"


def test_damaged_arrays(tmp_path):
    rng, draw, ends = np.random.default_rng(0), random.Random(0), []
    path = write_data(tmp_path, A=rng.standard_normal((5, 3)), y=np.ones(5))
    whole = (tmp_path / "data.npz").read_bytes()
    for _ in range(300):
        (tmp_path / "data.npz").write_bytes(damaged_bytes(whole, draw))
        ends.append(reads_or_refuses(path))
    assert 3 < sum(ends) < 297


def claiming(shape):
    """A file of np.save whose header claims a shape, without the numbers."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return header.getvalue()


@pytest.mark.parametrize("shape", [(173_205, 173_205), (10**7, 10**7), (2**62, 4), (3, 10**12)])
def test_a_header_that_claims_more_than_there_is(tmp_path, shape):
    path = write_data(tmp_path, y=np.ones(5))
    with zipfile.ZipFile(tmp_path / "data.npz", "a") as archive:
        archive.writestr("A.npy", claiming(shape))
    result = run("sweep", path, "--out", tmp_path / "out")
    assert result.exit_code == 2, result.exception
    assert "data.npz cannot be read" in result.stderr
    (tmp_path / "A.npy").write_bytes(claiming(shape))
    np.save(tmp_path / "y.npy", np.ones(5))
    path.write_text(DATA.replace('file = "data.npz"', 'A = "A.npy"\ny = "y.npy"'), encoding="utf-8")
    result = run("sweep", path, "--out", tmp_path / "out")
    assert result.exit_code == 2, result.exception
    assert "A.npy cannot be read" in result.stderr
