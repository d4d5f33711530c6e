"""Objects that live on a device, and the visitors that carry them to another one."""
import abc
import warnings
from typing import Any, Self

import chainer
from chainer.backends import _chainerx, _cpu, cuda, intel64


def _warn_of_old_method(name, device):
    warnings.warn(
        f'{name} is deprecated. Please use to_device({device!r}) instead.', DeprecationWarning,
        stacklevel=3)


class DeviceResident(metaclass=abc.ABCMeta):
    """Base class of objects that hold arrays on one device, such as :class:`chainer.Link`.

    A child class implements :meth:`device_resident_accept`.
    """

    _device = _cpu.CpuDevice()

    @abc.abstractmethod
    def device_resident_accept(self, visitor):
        """Shows everything that lives on the device to a visitor.

        An override calls this method of its base class, then ``visitor.visit_array`` for each
        array (and keeps the array that comes back), ``visitor.visit_variable`` for each
        parameter, and ``device_resident_accept(visitor)`` of each child.

        Args:
            visitor (DeviceResidentsVisitor): The visitor.
        """
        visitor.visit_device_resident(self)

    @property
    def device(self):
        """Device on which the object lives (:class:`chainer.backend.Device`)."""
        return self._device

    @property
    def xp(self) -> Any:
        """Array module of the object's device: ``numpy`` or ``cupy``."""
        return self._device.xp

    def to_cpu(self) -> Self:
        """Brings parameters and persistent values to the CPU.

        Other attributes stay where they are; a class with such attributes overrides this method.

        Returns:
            self
        """
        _warn_of_old_method('to_cpu', '@numpy')
        self.device_resident_accept(
            _ToDeviceVisitor(_cpu.CpuDevice(), legacy_method='to_cpu', start=self))
        return self

    def to_gpu(self, device=None) -> Self:
        """Brings parameters and persistent values to a GPU.

        What is on a GPU already stays on that GPU. Other attributes stay where they are; a class
        with such attributes overrides this method.

        Args:
            device (int or cupy.cuda.Device): Target. The default is the current device.

        Returns:
            self

        Raises:
            RuntimeError: CuPy or a GPU is not available.
        """
        cuda.check_cuda_available()
        target = chainer.get_device(cuda._get_device_or_current(device))
        _warn_of_old_method('to_gpu', target.name)
        self.device_resident_accept(
            _ToDeviceVisitor(target, legacy_method='to_gpu', start=self, kept_by='to_gpu'))
        return self

    def to_intel64(self):
        """Brings parameters and persistent values into the arrays of iDeep.

        Returns:
            self

        Raises:
            RuntimeError: iDeep is not available, which is always the case today.
        """
        intel64.check_ideep_available()
        self.device_resident_accept(
            _ToDeviceVisitor(intel64.Intel64Device(), legacy_method='to_intel64', start=self))
        return self

    def to_chx(self):
        """Would bring the arrays to ChainerX.

        Raises:
            RuntimeError: Always, for ChainerX is not available.
        """
        _chainerx.not_available()

    def from_chx(self):
        """Brings arrays of ChainerX to NumPy or CuPy; there are none, so it does nothing.

        Returns:
            self
        """
        return self

    def to_device(self, device) -> Self:
        """Brings parameters and persistent values to a device.

        Other attributes stay where they are.

        Args:
            device: Device specifier, see :func:`chainer.get_device`.

        Returns:
            self

        Example:
            >>> import chainer
            >>> link = chainer.Link(W=(2, 3)).to_device('@numpy')
            >>> link.device
            <CpuDevice (numpy)>
        """
        self.device_resident_accept(_ToDeviceVisitor(chainer.get_device(device)))
        return self


class DeviceResidentsVisitor:
    """Base class of visitors that see everything that lives on the device of an object."""

    def visit_device_resident(self, device_resident):
        """Visits a :class:`DeviceResident`."""
        raise NotImplementedError(f'{type(self).__name__} does not visit device residents')

    def visit_array(self, arr):
        """Visits an array, and returns the one to be kept in its place."""
        raise NotImplementedError(f'{type(self).__name__} does not visit arrays')

    def visit_variable(self, param):
        """Visits a :class:`chainer.Parameter`, and changes it in place."""
        raise NotImplementedError(f'{type(self).__name__} does not visit variables')


class _ToDeviceVisitor(DeviceResidentsVisitor):
    """Carries arrays to one device.

    Classes written for old releases override ``to_cpu`` and its sisters in order to carry further
    attributes; such an override of the method that leads to the target is called for each
    resident but ``start``, whose method is running.

    What is on a GPU stays on that GPU where ``kept_by`` says who leaves it there.
    """

    def __init__(self, device, legacy_method=None, start=None, kept_by=None):
        self._device = device
        self._legacy_method = legacy_method or _legacy_method(device)
        self._start = start
        self._kept_by = kept_by

    def visit_device_resident(self, device_resident):
        if not self._stays(device_resident.device):
            device_resident._device = self._device
        if device_resident is self._start or self._legacy_method is None:
            return
        name = self._legacy_method
        if getattr(type(device_resident), name) is not getattr(DeviceResident, name):
            args = (self._device.device.id,) if name == 'to_gpu' else ()
            getattr(device_resident, name)(*args)

    def visit_array(self, arr):
        device = chainer.backend.get_device_from_array(arr)
        return arr if self._stays(device) else self._device.send(arr)

    def visit_variable(self, param):
        if not self._stays(param.device):
            param.to_device(self._device)

    def _stays(self, device):
        if device == self._device:
            return True
        if self._kept_by is None or not isinstance(device, chainer.backend.GpuDevice):
            return False
        warnings.warn(
            f'{self._kept_by} leaves what is on a GPU ({device}) where it is; '
            f'use to_device({str(self._device)!r}) to carry it to another GPU.', stacklevel=2)
        return True


def to_device_from_host(resident, device, kept_by):
    """Carries what is on the host to a device: parts on a GPU stay, which it says in a warning."""
    resident.device_resident_accept(_ToDeviceVisitor(device, kept_by=kept_by))


def _legacy_method(device):
    if isinstance(device, chainer.backend.GpuDevice):
        return 'to_gpu'
    if isinstance(device, intel64.Intel64Device):
        return 'to_intel64'
    if isinstance(device, _cpu.CpuDevice):
        return 'to_cpu'
    return None
