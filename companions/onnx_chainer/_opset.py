"""Which versions of ONNX's operators can be written, and the package that writes them."""

MINIMUM_OPSET_VERSION = 7
MAXIMUM_OPSET_VERSION = 26
#: What runtimes of several years take; those of 22 and later lack MaxRoiPool.
DEFAULT_OPSET_VERSION = 21


def require_onnx():
    """Return the package ``onnx``.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            'exporting to ONNX needs the package "onnx": pip install chainwright[onnx]') from error
    return onnx


def checked(version):
    """The version of the operators to use: the one given, or that of today.

    Raises:
        ValueError: It is none of those that can be written.
    """
    newest = min(MAXIMUM_OPSET_VERSION, require_onnx().defs.onnx_opset_version())
    if version is None:
        return min(DEFAULT_OPSET_VERSION, newest)
    if not MINIMUM_OPSET_VERSION <= version <= newest:
        raise ValueError(
            f'opset_version must be {MINIMUM_OPSET_VERSION} to {newest} here, not {version}')
    return version
