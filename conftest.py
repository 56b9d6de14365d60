"""What `make test` leaves out: tests of PyTorch, which it lacks, and of the built site."""

from pathlib import Path

ROOT = Path(__file__).parent
LEFT_OUT = {  # by the name of their folder
    "torch": "tests of weightnorm.torch are left out: make test-torch",
    "site": "tests of the built site are left out: make docs",
    "browser": "tests in a browser are left out: make test-browser",
}


def pytest_addoption(parser):
    """`--all`: the folders that are left out otherwise, too."""
    parser.addoption("--all", action="store_true", dest="everything", help="leave no folder out")


def _asked_for(config, name):
    named = any(name in Path(str(argument)).parts for argument in config.args)
    return named or config.option.everything


def pytest_ignore_collect(collection_path, config):
    """Leave them out unless they are named: `pytest tests/torch src/weightnorm/torch`."""
    for name in LEFT_OUT:
        folders = (ROOT / "tests" / name, ROOT / "src" / "weightnorm" / name)
        if collection_path in folders and not _asked_for(config, name):
            return True
    return None


def pytest_terminal_summary(terminalreporter, config):
    """Say so."""
    if not any(_asked_for(config, name) for name in LEFT_OUT):
        for sentence in LEFT_OUT.values():
            terminalreporter.write_line(sentence)
