"""Runs programs on CUDA devices, through CuPy; nothing here is imported without it."""

from .schedule import DeviceError, DeviceSchedule
from .sweep import DeviceSweep, SweepText, overlap, sweep_text

__all__ = ["DeviceError", "DeviceSchedule", "DeviceSweep", "SweepText", "overlap", "sweep_text"]
