"""mpi4py, imported when it is needed: importing it starts MPI."""


def load():
    """Return the module ``mpi4py.MPI``.

    Raises:
        ImportError: mpi4py, or an MPI library for it, is not installed.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            f'{error}: ChainerMN requires mpi4py and an MPI library for distributed training. '
            "Install both, for example by `pip install 'chainwright[mn]'` (which is `pip install "
            'mpi4py mpich`), and start the processes by `mpiexec -n 4 python script.py`'
        ) from error
    return MPI
