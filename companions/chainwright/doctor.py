"""``python -m chainwright doctor``: is the installation whole, and is it this one?

Nothing of ``chainer`` is imported here: what is examined may be broken.
"""
import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import re
import sys

REPAIR = '''\
To repair it:
    pip uninstall -y chainer chainwright
and install both again; in a clone of Chainwright:
    pip install . ./companions/chainer-distribution
'''
# Optional packages, by import name, and what needs them.
OPTIONAL = {
    'cupy': 'GPUs', 'h5py': 'HDF5 files', 'matplotlib': 'plots', 'PIL': 'images',
    'google.protobuf': 'Caffe models', 'scipy': 'sparse matrices, statistics',
    'mpi4py': 'several processes', 'onnx': 'export to ONNX'}
REQUIRED = ('jinja2', 'networkx', 'graphviz', 'llvmlite')


def _origin(name):
    """Path of the file that importing a package would run, or ``None``."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else pathlib.Path(spec.origin)


def _distribution(name):
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _required_names(distribution):
    for requirement in distribution.requires or ():
        if 'extra ==' not in requirement:
            yield re.match(r'[\w.-]+', requirement)[0].lower().replace('_', '-')


def _stands_for_chainer(distribution):
    """Whether a distribution named chainer is ours: it requires Chainwright."""
    return 'chainwright' in _required_names(distribution)


def _dependants():
    """Names of the installed distributions that require chainer."""
    names = {
        distribution.metadata['Name'] for distribution in importlib.metadata.distributions()
        if 'chainer' in _required_names(distribution)}
    return sorted(names)


def _has_changed(path, recorded):
    """Whether an installed file is no more what was installed."""
    if not path.exists():
        return True
    mode, _, expected = recorded.partition('=')
    if not expected:
        return False
    digest = hashlib.new(mode, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b'=').decode() != expected


def _changed_files(distribution):
    # Not distribution.files: since Python 3.12 files that are missing are missing there, too.
    rows = csv.reader((distribution.read_text('RECORD') or '').splitlines())
    return [
        name for name, recorded, *_ in rows
        if '__pycache__' not in name.split('/')
        and _has_changed(pathlib.Path(distribution.locate_file(name)), recorded)]


def _import_problems():
    origin = _origin('chainer')
    if origin is None:
        yield ('There is no package "chainer" to import, or only a folder without its __init__.py: '
               'something that shared its files with Chainwright was uninstalled.')
    elif "_distribution = 'chainwright'" not in origin.read_text(encoding='utf-8'):
        yield f'"import chainer" finds another package than Chainwright: {origin}'
    elif (origin.parent / '_version.py').exists():
        yield f'{origin.parent} also holds files of the original Chainer.'


def _file_problems():
    distribution = _distribution('chainwright')
    if distribution is None:
        yield 'pip knows of no distribution "chainwright": its own records are missing.'
        return
    changed = _changed_files(distribution)
    if changed:
        shown = ', '.join(changed[:3]) + (', ...' if len(changed) > 3 else '')
        yield f'{len(changed)} installed files of Chainwright were changed or removed: {shown}'


def _requirement_problems():
    distribution = _distribution('chainer')
    if distribution is not None and not _stands_for_chainer(distribution):
        yield (f'The original Chainer {distribution.version} is installed; it writes to the same '
               'folder as Chainwright.')


def problems():
    """Return what is wrong with the installation: a list of sentences, empty if all is well.

    .. doctest::

        >>> from chainwright import doctor
        >>> for problem in doctor.problems():
        ...     print(problem)  # doctest: +SKIP
    """
    return [*_import_problems(), *_file_problems(), *_requirement_problems()]


def advice():
    """Return what could go wrong later: a list of sentences."""
    if _distribution('chainer') is not None:
        return []
    dependants = _dependants()
    who = f'{", ".join(dependants)} (installed here) requires' if dependants else (
        'Packages such as chainercv require')
    return [
        f'{who} a distribution named "chainer", which is not installed: the next pip command could '
        'fetch the original Chainer and write it over this package. In a clone of Chainwright: '
        'pip install ./companions/chainer-distribution']


def _version(name):
    distribution = _distribution(name)
    return 'no records' if distribution is None else distribution.version


def _facts():
    yield f'Python {sys.version.split()[0]}, {sys.executable}'
    yield f'{platform.platform()}, processor {platform.machine()}, {os.cpu_count()} cores'
    yield f'NumPy {_version("numpy")}, BLAS {_blas()}'
    yield f'Chainwright {_version("chainwright")}, {pathlib.Path(__file__).parent}'
    yield f'chainer: {_origin("chainer") or "not found"}'
    for name, purpose in OPTIONAL.items():
        found = 'there' if _origin(name) else 'not installed'
        yield f'{name} ({purpose}): {found}'
    for name in REQUIRED:
        yield f'{name} {_version(name)}' if _origin(name) else f'{name}: MISSING, it is required'
    yield f'native code: {_native()}'


def _blas():
    try:
        import numpy

        blas = numpy.show_config(mode='dicts')['Build Dependencies']['blas']
        return f'{blas["name"]} {blas["version"]}'
    except Exception as error:  # what is examined may be broken
        return f'unknown ({error})'


def _native():
    """Whether programs run as native code, and where compiled code is kept."""
    try:
        from chainwright.runtime.native import disk, native_target

        works = native_target() is not None
        folder = disk.cache_folder()
        files = disk.cached_files()
    except Exception as error:  # what is examined may be broken
        return f'not available ({type(error).__name__}: {error})'
    kept = f'{len(files)} files of compiled code in {folder}' if folder else 'nothing kept on disk'
    wanted = os.environ.get('CHAINWRIGHT_TARGET', 'auto')
    state = 'available' if works else 'not available here; programs of NumPy calls run'
    return f'{state}; CHAINWRIGHT_TARGET is {wanted}; {kept}'


def main():
    """Write the findings to standard output.

    Returns:
        int: 0 if all is well, otherwise 1.
    """
    found = problems()
    lines = [*_facts(), '']
    lines += [f'Problem: {problem}' for problem in found]
    lines += [f'Advice: {sentence}' for sentence in advice()] if not found else [REPAIR.rstrip()]
    lines += [] if found else ['All is well.']
    sys.stdout.write('\n'.join(lines) + '\n')
    return 1 if found else 0
