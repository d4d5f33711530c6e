"""Runs programs on CUDA devices, through CuPy; nothing here is imported without it."""

from .schedule import DeviceError, DeviceSchedule
from .sweep import DeviceSweep, overlap

__all__ = ["DeviceError", "DeviceSchedule", "DeviceSweep", "overlap"]
