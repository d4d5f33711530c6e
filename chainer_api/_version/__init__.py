"""The version of Chainer whose behaviour this is, and a watch over the installed folder.

The original Chainer installs into the same folder: its ``__init__.py`` takes the place of ours, and
the first thing that it imports is ``chainer._version``. Python finds a folder before a file of the
same name, so this module runs all the same, beside the original's ``_version.py``, and can say
what happened before code of two packages runs mixed.
"""
import pathlib
import sys
import warnings

__version__ = '7.8.1'

REPAIR = (
    'To repair it, run\n'
    '    pip uninstall -y chainer chainwright\n'
    'and install Chainwright again together with its distribution "chainer", which keeps pip from '
    "fetching the original. In a clone of Chainwright:\n"
    '    pip install . ./companions/chainer-distribution\n'
    '"python -m chainwright doctor" tells whether all is well.')


def check_folder(folder, init_is_ours):
    """Notice that files of the original Chainer stand in this package's folder.

    Args:
        folder (pathlib.Path): Folder of the package ``chainer``.
        init_is_ours (bool): Whether its ``__init__.py`` is this package's.

    Raises:
        ImportError: If the original was installed over this package.
    """
    if not (folder / '_version.py').exists():
        return
    if not init_is_ours:
        raise ImportError(
            f'The original Chainer was installed over Chainwright, into {folder}: pip did so '
            'because some package requires "chainer". This mixture of two packages cannot run. '
            f'{REPAIR}')
    warnings.warn(
        f'{folder} holds files of the original Chainer beside those of Chainwright, which was '
        f'installed over it. {REPAIR}', stacklevel=4)


check_folder(
    pathlib.Path(__file__).resolve().parents[1],
    vars(sys.modules['chainer']).get('_distribution') == 'chainwright')
