"""What PyTorch's tests need to be left out of `make test`: it is not one of its dependencies."""

from pathlib import Path

TORCH = [Path(__file__).parent / part for part in ("tests/torch", "src/weightnorm/torch")]


def _asked_for(config):
    return any("torch" in str(argument) for argument in config.args)


def pytest_ignore_collect(collection_path, config):
    """Leave them out unless they are named: `pytest tests/torch src/weightnorm/torch`."""
    if collection_path in TORCH and not _asked_for(config):
        return True
    return None


def pytest_terminal_summary(terminalreporter, config):
    """Say so."""
    if not _asked_for(config):
        terminalreporter.write_line("tests of weightnorm.torch are left out: make test-torch")
