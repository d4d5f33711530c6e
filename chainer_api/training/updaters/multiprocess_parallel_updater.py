"""Several GPUs, each with a process of its own."""
import contextlib
import functools
import multiprocessing
import traceback
import warnings

import numpy

import chainer
from chainer import backend, reporter
from chainer.backends import cuda
from chainer.dataset import convert
from chainer.training.updaters import standard_updater


@functools.cache
def _nccl():
    """CuPy's module for NCCL, or None; it has one, and warns, also where there is no library."""
    if not cuda.available:
        return None
    with warnings.catch_warnings(), contextlib.suppress(ImportError):
        warnings.simplefilter('ignore')
        from cupy.cuda import nccl

        if hasattr(nccl, 'NcclCommunicator'):
            return nccl
    return None


class MultiprocessParallelUpdater(standard_updater.StandardUpdater):
    """Updater that computes the gradients of a batch on several GPUs, with a process for each.

    The processes add up their gradients and share the parameters through NVIDIA's NCCL, which
    CuPy must have been built with (see :meth:`available`). This process works with the first device
    and does the updates; values that the others report are lost. Errors of the others are raised
    here. Where processes are made by fork (``multiprocessing.get_start_method()``), nothing may use
    a GPU before the first update.

    Args:
        iterators: One iterator for each device.
        optimizer: Optimizer of the model.
        converter: Makes arrays of a batch; called with the batch and the device.
        devices: Numbers of the GPUs, a list (the first one is the main one) or a dictionary with a
            'main'.
        auto_new_epoch (bool): Whether the optimizer is told of new epochs.

    Raises:
        RuntimeError: There is no NCCL.
        ValueError: There are not as many iterators as devices.
    """

    def __init__(self, iterators, optimizer, converter=convert.concat_examples, devices=None,
                 auto_new_epoch=True):
        if not self.available():
            raise RuntimeError(
                'NCCL is not enabled. MultiprocessParallelUpdater needs NVIDIA GPUs and a CuPy '
                'that finds NCCL (pip install nvidia-nccl-cu13, or -cu12 for CUDA 12; python -c '
                '"import cupy.cuda.nccl" tells). Use StandardUpdater for one device, or '
                'ParallelUpdater for several in one process.')
        if isinstance(devices, dict):
            devices = [devices['main'], *(d for name, d in devices.items() if name != 'main')]
        if len(iterators) != len(devices or ()):
            raise ValueError(
                f'there are {len(iterators)} iterators for the devices {devices}; give one each')
        super().__init__(
            iterators[0], optimizer, converter, auto_new_epoch=auto_new_epoch,
            input_device=devices[0])
        self._devices = devices
        self._other_iterators = iterators[1:]
        self._master = optimizer.target
        self._workers = []
        self._pipes = []
        self._comm = None

    @staticmethod
    def available():
        """Whether there is NCCL."""
        return _nccl() is not None

    def setup_workers(self):
        """Starts the processes and sends the model to the main device; done at the first update."""
        if self._comm is not None:
            return
        self._master.cleargrads()
        size = len(self._devices)
        for rank in range(1, size):
            pipe, theirs = multiprocessing.Pipe()
            worker = multiprocessing.Process(
                target=_work, daemon=True,
                args=(theirs, rank, size, self._devices[rank], self._master,
                      self._other_iterators[rank - 1], self.converter))
            worker.start()
            theirs.close()
            self._workers.append(worker)
            self._pipes.append(pipe)
        with cuda.Device(self._devices[0]):
            self._master.to_device(f'@cupy:{self._devices[0]}')
            self._wait()
            identifier = _nccl().get_unique_id()
            self._send(('begin', identifier))
            self._comm = _nccl().NcclCommunicator(size, identifier, 0)

    def _send(self, message):
        for pipe in self._pipes:
            pipe.send(message)

    def _wait(self):
        """Hears of each process that it is ready for NCCL, where one that is not is waited for.

        Raises:
            RuntimeError: A process has failed.
        """
        for device, pipe in zip(self._devices[1:], self._pipes, strict=True):
            try:
                failure = pipe.recv()
            except EOFError:
                failure = 'it has ended'
            if failure:
                raise RuntimeError(f'the process for GPU {device} failed: {failure}')

    def update_core(self):
        """Takes a batch, computes gradients in all processes, and makes one step."""
        self.setup_workers()
        self._send(('update', None))
        iterator = self._iterators['main']
        optimizer = self._optimizers['main']
        with cuda.Device(self._devices[0]):
            self._master.cleargrads()
            args, kwargs = self._convert(iterator.next(), self._devices[0])
            loss = self._master(*args, **kwargs)
            self._master.cleargrads()
            loss.backward()
            del loss
            grads = gather_grads(self._master)
            self._wait()
            _all(self._comm.reduce, grads, grads, root=0)
            scatter_grads(self._master, grads)
            optimizer.update()
            params = gather_params(self._master)
            _all(self._comm.bcast, params, root=0)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def finalize(self):
        """Ends the processes, and finalizes the iterators."""
        super().finalize()
        for pipe in self._pipes:
            with contextlib.suppress(OSError):  # that worker is dead already
                pipe.send(('end', None))
        for worker in self._workers:
            worker.join(10.)
            if worker.is_alive():
                worker.kill()
                worker.join()
        self._workers = []
        self._pipes = []


def _work(pipe, rank, *args):
    try:
        _steps(pipe, rank, *args)
    except Exception:
        with contextlib.suppress(OSError):  # nobody listens any more
            pipe.send(traceback.format_exc())
        raise SystemExit(1) from None


def _steps(pipe, rank, size, device, model, iterator, converter):
    try:
        cuda.Device(device).use()
        model.to_device(f'@cupy:{device}')
    except Exception as error:
        if multiprocessing.get_start_method() == 'fork':
            error.add_note(
                'A process that is made by fork cannot use a GPU if its parent has used one: make '
                "the first update before, or call multiprocessing.set_start_method('forkserver') "
                'at the beginning of the program.')
        raise
    # What the model reports needs an observer, and goes nowhere.
    values = reporter.Reporter()
    values.add_observer('main', model)
    values.add_observers('main', model.namedlinks(skipself=True))
    pipe.send(None)
    comm = None
    while True:
        message, identifier = pipe.recv()
        if message == 'end':
            iterator.finalize()
            return
        if message == 'begin':
            comm = _nccl().NcclCommunicator(size, identifier, rank)
            continue
        arrays = convert._call_converter(converter, iterator.next(), device)
        with values.scope({}):
            if isinstance(arrays, dict):
                loss = model(**arrays)
            else:
                loss = model(*arrays) if isinstance(arrays, (tuple, list)) else model(arrays)
        model.cleargrads()
        loss.backward()
        del loss
        grads = gather_grads(model)
        pipe.send(None)
        _all(comm.reduce, grads, grads, root=0)
        params = gather_params(model)
        _all(comm.bcast, params, root=0)
        scatter_params(model, params)


def _all(operation, *arrays, root):
    """Calls a reduction or broadcast of NCCL on whole arrays, in the current stream."""
    array = arrays[0]
    nccl = _nccl()
    kinds = {'e': nccl.NCCL_FLOAT16, 'f': nccl.NCCL_FLOAT32, 'd': nccl.NCCL_FLOAT64}
    args = [a.data.ptr for a in arrays] + [array.size, kinds[array.dtype.char]]
    if len(arrays) == 2:
        args.append(nccl.NCCL_SUM)
    operation(*args, root, cuda.cupy.cuda.get_current_stream().ptr)


def size_num_grads(link):
    """The number of elements of a link's parameters, and the number of parameters.

    Parameters that are not initialized do not count.
    """
    sizes = [param.size for _, param in sorted(link.namedparams()) if param.array is not None]
    return sum(sizes), len(sizes)


def gather_grads(link):
    """The gradients of a link's parameters as one vector, in the order of their names.

    A missing gradient counts as zeros.

    Raises:
        RuntimeError: The link is not on a GPU.
    """
    _check_gpu(link, 'gather_grads')
    return _gather(link, _grad_or_zeros)


def gather_params(link):
    """The parameters of a link as one vector, in the order of their names.

    Raises:
        RuntimeError: The link is not on a GPU.
    """
    _check_gpu(link, 'gather_params')
    return _gather(link, _array)


def _check_gpu(link, name):
    if not isinstance(link.device, backend.GpuDevice):
        raise RuntimeError(f'{name} works on a GPU only, and the link is on {link.device}')


def _grad_or_zeros(param):
    return param.xp.zeros_like(param.array) if param.grad is None else param.grad


def _array(param):
    return param.array


def scatter_grads(link, array):
    """Sets the gradients of a link's parameters from a vector of :func:`gather_grads`."""
    for param, part in _parts(link, array):
        param.grad = part


def scatter_params(link, array):
    """Sets the parameters of a link from a vector of :func:`gather_params`."""
    for param, part in _parts(link, array):
        param.array = part


def _gather(link, get):
    arrays = [get(param).ravel() for _, param in sorted(link.namedparams())
              if param.array is not None]
    if not arrays:
        return numpy.zeros(0, chainer.get_dtype())
    return backend.get_array_module(arrays[0]).concatenate(arrays)


def _parts(link, array):
    start = 0
    for _, param in sorted(link.namedparams()):
        if param.array is not None:
            end = start + param.size
            part = array[start:end].reshape(param.shape)
            yield param, part.astype(param.dtype, copy=False)
            start = end
