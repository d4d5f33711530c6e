"""Runs programs on CUDA devices, through CuPy; nothing here is imported without it."""

from .schedule import DeviceError, DeviceSchedule

__all__ = ["DeviceError", "DeviceSchedule"]
