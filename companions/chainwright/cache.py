"""``python -m chainwright cache``: the compiled code that is kept on disk."""
import sys
import time

from chainwright.runtime.native import disk


def main(clear=False):
    """Write what is in the cache to standard output; empty it if ``clear`` is true.

    Returns:
        int: 0.
    """
    folder, out = disk.cache_folder(), sys.stdout
    if folder is None:
        out.write('There is no home folder, so that no compiled code is kept.\n')
        return 0
    files = disk.cached_files()
    total = sum(size for _, size, _ in files)
    out.write(f'{folder}: {len(files)} files, {total / 2 ** 20:.1f} MiB of at most '
              f'{disk.LIMIT >> 20} MiB\n')
    if files:
        first, last = (
            time.strftime('%Y-%m-%d %H:%M', time.localtime(files[k][0])) for k in (0, -1))
        out.write(f'made between {first} and {last}; the oldest go first when there are too many\n')
    if clear:
        for _, _, path in files:
            path.unlink(missing_ok=True)
        out.write(f'{len(files)} files removed; they are compiled anew when they are needed\n')
    return 0
