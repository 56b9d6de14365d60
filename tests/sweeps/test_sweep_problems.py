"""Problems of sweep files: own data, other losses, sensing, noise; and mistakes in them."""

import numpy as np
import pytest
import xarray

import weightnorm as wn
from tests.support.commands import run as command
from tests.support.engine_cases import ROOT
from weightnorm._support.files import UnwritableError
from weightnorm.sweeps import load_config, rerun, run_sweep
from weightnorm.sweeps.load import ConfigError
from weightnorm.sweeps.plan import SweepPlan
from weightnorm.sweeps.schema import keys_page

TEXT = """
name = "test"
tolerance = 1e-4
max_steps = 2000

[problems]
{problems}

[starts]
scales = [0.5, 1.5]
num_directions = 2

[methods.rpgd]
kind = "rpgd"
direction_step = 0.02
scale_step = 0.02
"""


def write(folder, problems, text=TEXT):
    path = folder / "sweep.toml"
    path.write_text(text.replace("{problems}", problems), encoding="utf-8")
    return path


def compute(folder, problems, text=TEXT):
    outcome = run_sweep(load_config(write(folder, problems, text)), folder / "out", overwrite=True)
    return xarray.load_dataset(outcome.path, engine="h5netcdf")


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 10)), rng.standard_normal(6)


def save(folder, A, y):
    """The same data as npz, as two npy files and as a table."""
    np.savez(folder / "data.npz", A=A, y=y)
    np.save(folder / "A.npy", A)
    np.save(folder / "y.npy", y)
    names = [f"f{i}" for i in range(A.shape[1])]
    rows = [",".join([*names, "price", "note"])]
    rows += [
        ",".join(map(repr, [*map(float, a), float(b), 1.0])) for a, b in zip(A, y, strict=True)
    ]
    (folder / "data.csv").write_text("\n".join(rows), encoding="utf-8")


FORMS = {
    "npz": 'file = "data.npz"',
    "npy": 'A = "A.npy"\ny = "y.npy"',
    "csv": 'file = "data.csv"\ntarget = "price"\ndrop = ["note"]',
}


@pytest.mark.parametrize("form", FORMS)
def test_own_data_in_any_form(tmp_path, numbers, form):
    A, y = numbers
    save(tmp_path, A, y)
    data = compute(tmp_path, f'kind = "data"\n{FORMS[form]}\nseeds = [3]')
    problem, w0 = wn.LeastSquares(A, y), wn.datasets.random_direction(10, 3 * 1_000_003 + 1)
    result = wn.run(wn.RPGD(0.02, 0.02), problem, 1.5, w0, tolerance=1e-4, max_steps=2000)
    cell = data.sel(algorithm="rpgd", seed=3, start=1, scale=1.5)
    assert float(cell.norm) == pytest.approx(result.norm, rel=1e-12)
    assert float(data.minimum_norm[0]) == pytest.approx(np.linalg.norm(problem.min_norm_solution()))
    assert rerun(cell, tmp_path).num_steps == int(cell.num_steps) == result.num_steps
    save(tmp_path, A + 1.0, y)
    with pytest.raises(ValueError, match="is not what the sweep was made with"):
        rerun(cell, tmp_path)


def test_data_that_changed_makes_other_shards(tmp_path, numbers):
    A, y = numbers
    save(tmp_path, A, y)
    path = write(tmp_path, 'kind = "data"\nfile = "data.npz"')
    first = run_sweep(load_config(path), tmp_path / "out")
    assert run_sweep(load_config(path), tmp_path / "out").computed == 0
    y[0] += 1e-9
    save(tmp_path, A, y)
    with pytest.raises(UnwritableError, match=r"this name: the numbers in the data files have"):
        run_sweep(load_config(path), tmp_path / "out")
    assert run_sweep(load_config(path), tmp_path / "out", overwrite=True).computed == first.computed


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber"])
def test_other_losses(tmp_path, loss):
    problems = f'num_samples = 6\nnum_features = 10\nnoise = [0.0, 0.3]\nloss = "{loss}"'
    data = compute(tmp_path, problems)
    assert data.norm.dims == ("noise", "seed", "algorithm", "start", "scale")
    assert "minimum_norm" not in data.coords
    model = wn.datasets.make_generalized_linear(6, 10, loss=loss, noise=0.3, seed=0)
    w0 = wn.datasets.random_direction(10, 0)
    result = wn.run(wn.RPGD(0.02, 0.02), model, 0.5, w0, tolerance=1e-4, max_steps=2000)
    cell = data.sel(noise=0.3, seed=0, algorithm="rpgd", start=0, scale=0.5)
    assert float(cell.norm) == pytest.approx(result.norm, rel=1e-10)
    assert rerun(cell).norm == pytest.approx(result.norm, rel=1e-12)


def test_a_gradient_tolerance(tmp_path):
    text = TEXT.replace("max_steps = 2000", "max_steps = 20_000\ngradient_tolerance = 1e-4")
    problems = 'num_samples = 9\nnum_features = 3\nnoise = 1.0\nloss = "huber"'
    data = compute(tmp_path, problems, text)
    assert (data.status == wn.Status.CONVERGED.code).all()
    cell = data.sel(seed=0, algorithm="rpgd", start=0, scale=0.5)
    assert rerun(cell).num_steps == int(cell.num_steps)
    plain = load_config(write(tmp_path, problems))
    other = load_config(write(tmp_path, problems, text.replace("20_000", "2000")))
    assert next(iter(SweepPlan(plain))).key != next(iter(SweepPlan(other))).key


def test_matrix_sensing(tmp_path):
    text = TEXT + '\n[methods.diag]\nkind = "rpgd"\ndirection_step = 1e-3\nscale_step = 1e-3\n'
    text += 'blocks = "columns"\n'
    text = text.replace("direction_step = 0.02\nscale_step = 0.02", "direction_step = 1e-3\n"
                        "scale_step = 1e-3")  # fmt: skip
    problems = 'kind = "sensing"\nsize = 5\nrank = 1\nnum_measurements = [8, 10]\nseeds = 2'
    data = compute(tmp_path, problems, text)
    assert "recovery_error" in data
    assert "distance" not in data
    problem = wn.datasets.make_sensing(5, 1, 10, seed=1)
    W = wn.datasets.sensing_start(5, seed=1_000_003)["direction"]
    method = wn.RPGD(1e-3, 1e-3, blocks="columns")
    result = wn.run(method, problem, 1.5, W, tolerance=1e-4, max_steps=2000)
    cell = data.sel(num_measurements=10, seed=1, algorithm="diag", start=0, scale=1.5)
    assert float(cell.norm) == pytest.approx(result.norm, rel=1e-10)
    assert float(cell.recovery_error) == pytest.approx(problem.recovery_error(result.weights))
    assert rerun(cell).norm == pytest.approx(result.norm, rel=1e-10)


def test_kinds_losses_and_noise_have_shards_of_their_own(tmp_path):
    keys = set()
    for problems in (
        "num_samples = 6\nnum_features = 10",
        "num_samples = 6\nnum_features = 10\nnoise = 0.1",
        'num_samples = 6\nnum_features = 10\nloss = "huber"',
        'num_samples = 6\nnum_features = 10\nloss = "logistic"',
        'kind = "sensing"\nsize = 6\nrank = 1\nnum_measurements = 10',
    ):
        keys.add(next(iter(SweepPlan(load_config(write(tmp_path, problems))))).key)
    assert len(keys) == 5


def test_a_step_that_no_method_shares_is_computed_once(tmp_path):
    text = TEXT.replace("max_steps = 2000", "max_steps = 2000\nsteps = [0.01, 0.02, 0.03]")
    text += '\n[methods.gd]\nkind = "gd"\nstep = "step"\n'
    config = load_config(write(tmp_path, "num_samples = 6\nnum_features = 10", text))
    outcome = run_sweep(config, tmp_path / "out", threads=1)
    assert (outcome.computed, outcome.reused) == (4, 2)  # rPGD is the same for every step
    data = xarray.load_dataset(outcome.path, engine="h5netcdf")
    same = data.norm.sel(algorithm="rpgd")
    np.testing.assert_array_equal(same.sel(step=0.01), same.sel(step=0.03))
    assert (data.num_steps.sel(algorithm="gd").diff("step") < 0).all()


def test_a_step_may_stand_inside_a_schedule(tmp_path):
    text = TEXT.replace("max_steps = 2000", "max_steps = 2000\nsteps = [0.01, 0.05]")
    text = text.replace(
        "scale_step = 0.02",
        'scale_step = { schedule = "piecewise", values = [0.0, "step"], switches = [5] }',
    )
    data = compute(tmp_path, "num_samples = 6\nnum_features = 10", text)
    problem, w0 = wn.datasets.make_regression(6, 10, seed=0), wn.datasets.random_direction(10, 0)
    for step in (0.01, 0.05):
        method = wn.RPGD(0.02, wn.schedules.two_phase(0.0, step, 5))
        result = wn.run(method, problem, 1.5, w0, tolerance=1e-4, max_steps=2000)
        cell = data.sel(step=step, seed=0, start=0, scale=1.5, algorithm="rpgd")
        assert int(cell.num_steps) == result.num_steps
        assert rerun(cell).num_steps == result.num_steps


def test_a_copy_with_other_steps_has_other_methods(tmp_path):
    import pickle

    text = TEXT.replace("max_steps = 2000", "max_steps = 2000\nsteps = [0.01, 0.02]")
    text = text.replace("direction_step = 0.02", 'direction_step = "step"')
    config = load_config(write(tmp_path, "num_samples = 6\nnum_features = 10", text))
    other = config.model_copy(update={"steps": [0.03, 0.04]})
    assert [table["rpgd"].direction_step for table in other.tables()] == [0.03, 0.04]
    type(config).model_validate(config)
    assert len(SweepPlan(config)) == 2
    again = pickle.loads(pickle.dumps(config))
    assert again.written() == config.written()
    assert [s.key for s in SweepPlan(again)] == [s.key for s in SweepPlan(config)]


@pytest.mark.parametrize("momentum", ["", "momentum = 0.0\n"])
def test_a_default_written_out_is_the_same_sweep(tmp_path, momentum):
    text = TEXT.replace("max_steps = 2000", "max_steps = 2000\nsteps = [0.01]")
    text = text.replace("direction_step = 0.02", f'{momentum}direction_step = "step"')
    config = load_config(write(tmp_path, "num_samples = 6", text))
    assert "momentum" not in config.written()["methods"]["rpgd"]
    assert config.written()["methods"]["rpgd"]["direction_step"] == "step"


@pytest.mark.parametrize(
    ("problems", "message"),
    [
        ('kind = "data"', "problems: data is missing: give file"),
        ('kind = "data"\nfile = "no.npz"', "problems: no.npz does not exist in "),
        ('kind = "data"\nfile = "A.npy"', "target is missing"),
        ('kind = "data"\nfile = "data.csv"', "target is missing: which column of data.csv is y?"),
        ('kind = "data"\nfile = "data.csv"\ntarget = "cost"', "there is no column 'cost'"),
        ('kind = "data"\nfile = "odd.npz"', "odd.npz must hold arrays A and y, and holds B"),
        ('kind = "data"\nfile = "pickled.npz"', "pickled.npz"),
        ('kind = "data"\nfile = "text.npz"', "text.npz cannot be read"),
        ('kind = "data"\nA = "A.npy"\ny = "A.npy"', r"A must have shape (m, d) and y (m,)"),
        ('kind = "data"\nA = "A.npy"', "data is missing"),
        ('kind = "data"\nfile = "data.npz"\nA = "A.npy"', "either file, or A and y"),
        ('kind = "data"\nfile = "nan.npz"', "A and y must be finite"),
        ('kind = "data"\nfile = "complex.npz"', "must be arrays of real numbers, got complex128"),
        ('kind = "data"\nfile = "words.npz"', "must be arrays of real numbers, got <U1"),
        ('kind = "data"\nfile = "data.npz"\nloss = "logistic"', "labels 0 and 1"),
        ('kind = "sensing"\nsize = 3\nrank = 4', "rank must be at most size, got 4"),
        ('kind = "Regression"', 'problems: kind should be "regression", "sensing" or "data"'),
        ('loss = "hinge"', "problems.loss: should be 'squared', 'logistic'"),
        ('kind = "data"\nfile = "data.npz"\ntarget = "price"', "target is for tables"),
        ("seeds = [1, 2, 1]", "problems.seeds: should have each value once, got 1 twice"),
        ("num_sample = 20", "problems.num_sample: unknown key (did you mean num_samples?)"),
        ("num_samples = 20.5", "problems.num_samples: should be a whole number, got 20.5"),
        ("noise = -1.0", "problems.noise: should be greater than or equal to 0"),
        ("condition_number = []", "problems.condition_number: is empty"),
        ('condition_number = "high"', "problems.condition_number: should be a number, not text"),
    ],
)
def test_a_mistake_is_named_by_its_key(tmp_path, numbers, problems, message):
    save(tmp_path, *numbers)
    np.savez(tmp_path / "odd.npz", B=np.ones(3))
    np.savez(tmp_path / "nan.npz", A=np.full((2, 3), np.nan), y=np.ones(2))
    np.savez(tmp_path / "pickled.npz", A=np.array([[object()]]), y=np.ones(1))
    np.savez(tmp_path / "complex.npz", A=np.ones((2, 3)) * 1j, y=np.ones(2))
    np.savez(tmp_path / "words.npz", A=np.full((2, 3), "1"), y=np.ones(2))
    (tmp_path / "text.npz").write_text("no numbers", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, problems))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "rpgd"', 'kind = "weight_norm"', '"weight_norm" is called "wn" since 0.2'),
        ('kind = "rpgd"', "", 'kind is missing, and should be one of "gd", "rpgd", "wn"'),
        ('kind = "rpgd"', 'kind = "sgd"', "kind is 'sgd', and should be one of"),
        ("scale_step = 0.02", "", "methods.rpgd.scale_step: is missing"),
        (
            "scale_step = 0.02",
            'scale_step = 0.02\nmomentum = "step"',
            "methods.rpgd.momentum: \"step\" stands for each",
        ),
        ("direction_step = 0.02", 'direction_step = "step"', "stands for each of steps = […]"),
        ("max_steps = 2000", "max_steps = 2000\nsteps = [0.1]", "no method uses it"),
        ("max_steps = 2000", "max_steps = 2000\nsteps = []", "steps: is empty"),
        (
            'max_steps = 2000\n\n[problems]\n{problems}\n\n[starts]',
            'max_steps = 2000\nsteps = [-1.0]\n\n[problems]\n\n[starts]',
            "no method uses it",
        ),
    ],
)  # fmt: skip
def test_mistakes_with_steps_and_kinds(tmp_path, old, new, message):
    assert old in TEXT
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, "num_samples = 6", TEXT.replace(old, new)))
    assert message in str(caught.value)


def test_a_bad_step_is_named(tmp_path):
    text = TEXT.replace("max_steps = 2000", "max_steps = 2000\nsteps = [0.1, -1.0]")
    text = text.replace("direction_step = 0.02", 'direction_step = "step"')
    with pytest.raises(ConfigError, match=r"steps\.1: should be greater than or equal to 0"):
        load_config(write(tmp_path, "num_samples = 6", text))


def test_a_finished_file_is_not_overwritten_silently(tmp_path):
    path = write(tmp_path, "num_samples = 6\nnum_features = 10\ncondition_number = [1.0, 2.0]")
    arguments = ("sweep", path, "--out", tmp_path / "out")
    assert "all 8 runs converged" in command(*arguments).stdout
    finished = (tmp_path / "out" / "test.nc").read_bytes()
    write(tmp_path, "num_samples = 6\nnum_features = 10\ncondition_number = [1.0, 4.0]")
    refused = command(*arguments)
    assert refused.exit_code == 2
    assert "condition_number was [1.0, 2.0] there and is [1.0, 4.0] now" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert (tmp_path / "out" / "test.nc").read_bytes() == finished
    assert command(*arguments, "--overwrite").exit_code == 0
    (tmp_path / "out" / "test.nc").write_text("my notes", encoding="utf-8")
    foreign = command(*arguments)
    assert foreign.exit_code == 2
    assert "is there, and is damaged or no sweep" in foreign.stderr


def test_runs_that_did_not_converge_are_counted(tmp_path):
    text = TEXT.replace("max_steps = 2000", "max_steps = 3")
    text += '\n[methods.wild]\nkind = "gd"\nstep = 1e6\n'
    result = command("sweep", write(tmp_path, "seeds = 2", text), "--out", tmp_path / "out")
    assert "8 of 16 runs hit max_steps, 8 diverged" in result.stdout


def test_the_keys_are_written_down():
    page = (ROOT / "docs" / "reference" / "sweep-files.md").read_text(encoding="utf-8")
    assert page.rstrip("\n") == keys_page().rstrip("\n"), "make pages writes it anew"
    assert command("sweep", "--keys").stdout.rstrip("\n") == page.rstrip("\n")
    for key in ("condition_number", "noise", "target", "initial_norm", "steps", "blocks", "switch"):
        assert key in page
    assert command("sweep").exit_code == 2
