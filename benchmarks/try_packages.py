"""Packages that require Chainer, on this project: an environment with them, their models, figures.

    python benchmarks/try_packages.py FOLDER [--figures]

makes a virtual environment in FOLDER (with a connection to the package index), installs this
project, the empty distribution ``chainer`` and the packages, and runs
``tests/companions/test_packages.py`` there: models forward and backward, plain and compiled, bit
for bit. ``--figures`` prints the table of ``bench_models.py`` for them, too.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
NEEDED = (
    "numpy scipy pandas scikit-learn joblib tqdm cloudpickle prettytable texttable future "
    "cached-property matplotlib pillow cython pytest wheel setuptools>=77"
)
OLDER = ["setuptools<80"]  # has pkg_resources, which gym and chainerrl import
# einops dropped its layers for Chainer in 0.7.
PACKAGES = ["chainerrl", "chainer-chemistry", "einops<0.7", "chainer_computational_cost"]
GYM = "gym==0.17.3"


def pip(python, *arguments):
    subprocess.run([python, "-m", "pip", "-q", *map(str, arguments)], check=True)


def make(folder):
    """Make the environment; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    pip(python, "install", *NEEDED.split(), *OLDER)
    pip(python, "install", ROOT, ROOT / "companions/chainer-distribution")
    pip(python, "install", "--no-deps", "--no-build-isolation", *PACKAGES, GYM)
    copy_chainercv(python, folder)
    return python


def copy_chainercv(python, folder):
    """Install its Python files: what Cython made of the one other file (for GPUs) is of 2018 and
    compiles neither with Python 3.11 nor with NumPy 2, and its source is not in the archive."""
    pip(python, "download", "-d", folder, "--no-deps", "--no-binary", ":all:",
        "--no-build-isolation", "chainercv")  # fmt: skip
    archive, = folder.glob("chainercv-*.tar.gz")
    site, = folder.glob("lib/python*/site-packages")
    with tarfile.open(archive) as file:
        for member in file.getmembers():
            member.name = member.name.partition("/")[2]
            if member.name.startswith(("chainercv/", "chainercv.egg-info/")):
                file.extract(member, site, filter="data")


def run(python, *arguments):
    """Run something of this project in the environment; return its exit status."""
    settings = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    return subprocess.run([python, *arguments], env=os.environ | settings, cwd=ROOT).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="the environment; made if missing")
    parser.add_argument("--figures", action="store_true", help="run the benchmark, too")
    given = parser.parse_args()
    folder = given.folder.resolve()
    python = folder / "bin/python"
    if not python.exists():
        python = make(folder)
    status = run(python, "-m", "pytest", "-p", "no:cacheprovider",
                 "tests/companions/test_packages.py")  # fmt: skip
    if given.figures:
        words = ["chainercv", "chainerrl", "chemistry", "einops", "cost"]
        status = run(python, "benchmarks/bench_models.py", "--quick", *words) or status
    return status


if __name__ == "__main__":
    sys.exit(main())
