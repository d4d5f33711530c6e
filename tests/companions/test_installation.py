"""Installations as users make them: in a clone, beside the original, over and under it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

from chainwright import __main__ as command
from chainwright import doctor

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPANION = 'companions/chainer-distribution'
LEFT_OUT = shutil.ignore_patterns(
    '.venv', '.git', 'build', '*.egg-info', '__pycache__', 'tests', '.*_cache')


def run(*args, cwd, path=None):
    """Run a command line; return its exit status and all of its output."""
    env = {**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'}
    if path is not None:
        env['PYTHONPATH'] = str(path)
    done = subprocess.run(
        [sys.executable, *args], cwd=cwd, env=env, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def pip_install(sources, target, cwd):
    status, output = run(
        '-m', 'pip', 'install', '--no-deps', '--no-build-isolation', '--no-index', '--quiet',
        '--disable-pip-version-check', '--target', str(target), *sources, cwd=cwd)
    assert status == 0, output


@pytest.fixture(scope='module')
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp('clone') / 'chainwright'
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    return folder


@pytest.fixture(scope='module')
def installed(clone, tmp_path_factory):
    """A folder with Chainwright and the distribution named chainer, made by pip."""
    site = tmp_path_factory.mktemp('installed') / 'site'
    pip_install(['.', f'./{COMPANION}'], site, clone)
    return site


@pytest.fixture
def site(installed, tmp_path):
    """A copy of that folder, to be spoiled."""
    return shutil.copytree(installed, tmp_path / 'site')


def test_python_in_the_clone_imports_what_was_installed(clone, installed):
    """git clone; pip install .; python -c "import chainer" in the clone."""
    code = ('import chainer, chainerx, chainwright, chainwright.runtime\n'
            'for package in (chainer, chainerx, chainwright): print(package.__file__)')
    status, output = run('-c', code, cwd=clone, path=installed)
    assert status == 0, output
    for line in output.splitlines():
        assert pathlib.Path(line).is_relative_to(installed)


def test_doctor_is_content(clone, installed):
    status, output = run('-m', 'chainwright', 'doctor', cwd=clone, path=installed)
    assert status == 0, output
    assert output.endswith('\nAll is well.\n')
    assert 'Advice' not in output


def test_distribution_named_chainer(installed):
    """It holds no code, and pip finds it newer than any release of the original."""
    info, = installed.glob('chainer-*.dist-info')
    assert info.name == 'chainer-7.8.1.post1.dist-info'
    files = (info / 'RECORD').read_text().splitlines()
    assert all(line.startswith(info.name) for line in files)
    settings = tomllib.loads((ROOT / COMPANION / 'pyproject.toml').read_text())
    assert settings['project']['dependencies'] == ['chainwright', 'six', 'filelock']


def wheel_of_original(folder):
    """A wheel of the same name and top files as the original's, with nothing in it."""
    path = folder / 'chainer-7.8.1-py3-none-any.whl'
    info = 'chainer-7.8.1.dist-info'
    files = {
        'chainer/__init__.py': 'from chainer import _version\n__version__ = _version.__version__\n',
        'chainer/_version.py': "__version__ = '7.8.1'\n",
        'chainer/link.py': '',
        f'{info}/METADATA': 'Metadata-Version: 2.1\nName: chainer\nVersion: 7.8.1\n',
        f'{info}/WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    files[f'{info}/RECORD'] = ''.join(f'{name},,\n' for name in (*files, f'{info}/RECORD'))
    with zipfile.ZipFile(path, 'w') as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def unpack_original(site, tmp_path):
    with zipfile.ZipFile(wheel_of_original(tmp_path)) as wheel:
        wheel.extractall(site)


def test_original_over_ours(site, tmp_path):
    shutil.rmtree(site / 'chainer-7.8.1.post1.dist-info')
    unpack_original(site, tmp_path)
    status, output = run('-c', 'import chainer', cwd=tmp_path, path=site)
    assert status == 1
    assert f'ImportError: The original Chainer was installed over Chainwright, into {site}' in (
        output)
    assert 'pip uninstall -y chainer chainwright' in output
    status, output = run('-m', 'chainwright', 'doctor', cwd=tmp_path, path=site)
    assert status == 1
    assert '"import chainer" finds another package' in output
    assert '2 installed files of Chainwright were changed or removed: chainer/' in output
    assert 'The original Chainer 7.8.1 is installed' in output


def test_original_over_ours_and_uninstalled(site, tmp_path):
    """What both have is gone; what is left of the folder imports as an empty package."""
    (site / 'chainer/__init__.py').unlink()
    (site / 'chainer/link.py').unlink()
    status, output = run('-m', 'chainwright', 'doctor', cwd=tmp_path, path=site)
    assert status == 1
    assert 'There is no package "chainer" to import' in output
    assert '2 installed files of Chainwright were changed or removed' in output
    assert 'pip install . ./companions/chainer-distribution' in output


def test_ours_over_original(installed, tmp_path):
    site = tmp_path / 'site'
    site.mkdir()
    unpack_original(site, tmp_path)
    shutil.copytree(
        installed, site, dirs_exist_ok=True, ignore=shutil.ignore_patterns('chainer-*.dist-info'))
    status, output = run('-c', 'import chainer; print(chainer.Variable)', cwd=tmp_path, path=site)
    assert status == 0, output
    assert f'UserWarning: {site / "chainer"} holds files of the original Chainer' in output
    assert '<string>:1: UserWarning' in output  # the line that imports chainer
    assert "<class 'chainer.variable.Variable'>" in output
    status, output = run('-m', 'chainwright', 'doctor', cwd=tmp_path, path=site)
    assert status == 1
    assert 'also holds files of the original Chainer' in output


def test_whole_installation_imports_without_a_word(installed, tmp_path):
    assert run('-W', 'error', '-c', 'import chainer', cwd=tmp_path, path=installed) == (0, '')


def add_distribution(site, name, requirement):
    info = site / f'{name}-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(
        f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requirement}\n')


@pytest.mark.parametrize(
    'requirement', ['chainer', 'chainer >=6.0', 'Chainer<8; python_version>"3"'])
def test_advice_before_it_happens(site, tmp_path, requirement):
    shutil.rmtree(site / 'chainer-7.8.1.post1.dist-info')
    add_distribution(site, 'clientlib', requirement)
    status, output = run('-m', 'chainwright', 'doctor', cwd=tmp_path, path=site)
    assert status == 0, output
    assert 'Advice: clientlib (installed here) requires a distribution named "chainer"' in output


def test_pip_is_satisfied(site, tmp_path):
    """With the distribution there, a package that requires chainer fetches nothing."""
    for name in ('six', 'filelock'):
        add_distribution(site, name, 'pip')
    (tmp_path / 'client').mkdir()
    (tmp_path / 'client/pyproject.toml').write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "client"\nversion = "1"\ndependencies = ["chainer>=7.8.1"]\n')
    status, output = run(
        '-m', 'pip', 'install', '--dry-run', '--no-build-isolation', '--no-index',
        '--disable-pip-version-check', './client', cwd=tmp_path, path=site)
    assert status == 0, output
    assert 'Requirement already satisfied: chainer>=7.8.1' in output
    assert 'Would install client-1\n' in output


def test_commands(capsys):
    assert command.main(['doctor']) == len(doctor.problems()[:1])
    assert 'chainer: ' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main([])
    assert 'required: COMMAND' in capsys.readouterr().err
