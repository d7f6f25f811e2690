"""The wheel: what is in it, and that it works where nothing else is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from service import Service

PROJECT = Path(__file__).parents[1]
PROGRAM = """
import sys
import vouchbox
assert vouchbox.__file__.startswith(sys.prefix), vouchbox.__file__
with vouchbox.Client(sys.argv[1], sys.argv[2]) as client:
    ran = client.run("print(6 * 7)")
    client.verify(ran.job_id)
    print(ran.stdout, end="")
"""


def run(*words: str | Path) -> str:
    ended = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", directory, PROJECT)
    (built,) = directory.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_its_types_and_its_licence_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.startswith("vouchbox/")}
        held = {name for name in archive.namelist() if name.startswith("vouchbox/")}
        metadata = Parser().parsestr(archive.read(next(name for name in names if name.endswith("/METADATA"))).decode())
    sources = {f"vouchbox/{path.name}" for path in (PROJECT / "src/vouchbox").iterdir() if path.is_file()}
    assert held == sources
    assert "vouchbox/py.typed" in held
    assert all(".dist-info/" in name for name in names)
    assert any(name.endswith("LICENSE") for name in names)
    assert metadata["Name"] == "vouchbox"
    assert metadata["Requires-Python"] == ">=3.11"
    assert [requirement.split("<")[0].split(">")[0] for requirement in metadata.get_all("Requires-Dist", [])] == ["httpx"]


def test_the_wheel_runs_a_program_from_an_empty_environment(wheel: Path, service: Service, api_key: str, tmp_path: Path) -> None:
    python = environment(tmp_path / "environment", wheel)
    assert run(python, "-I", "-c", PROGRAM, service.url, api_key) == "42\n"


def environment(directory: Path, wheel: Path) -> Path:
    """An environment with the wheel. Its dependencies come from a package index or, if none can be reached, from this Python."""
    python = directory / "bin/python"
    run(sys.executable, "-m", "venv", directory)
    fetched = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "0", wheel], capture_output=True
    )
    if fetched.returncode != 0:
        run(sys.executable, "-m", "venv", "--clear", "--system-site-packages", directory)
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-index", wheel)
    return python
