"""``onnx_chainer.export_testcase``: a graph of ONNX with inputs and outputs to compare with."""
import pathlib

import numpy

import chainer
from onnx_chainer import _opset
from onnx_chainer.export import _write, export_whole


def export_testcase(model, args, out_dir, output_grad=False, **kwargs):
    """Export a model, its inputs and its outputs, in the layout of ONNX's own tests.

    Writes ``model.onnx``, and in ``test_data_set_0`` files ``input_0.pb``, ``output_0.pb``, ....

    Args:
        model (Chain): The model.
        args: What it is called with (see :func:`onnx_chainer.export`).
        out_dir (str or path): Folder to write to; it is made if it is not there.
        output_grad (bool): Whether gradients of the parameters are written, too
            (``gradient_0.pb``, ...), where those of the outputs are ones.
        **kwargs: Further arguments of :func:`onnx_chainer.export`.

    Returns:
        onnx.ModelProto: The graph.
    """
    folder = pathlib.Path(out_dir)
    data = folder / 'test_data_set_0'
    data.mkdir(parents=True, exist_ok=True)
    for stale in data.glob('*.pb'):
        stale.unlink()
    text = kwargs.pop('save_text', False)
    kwargs.pop('no_testcase', None)
    exported = export_whole(model, args, **kwargs)
    _write(exported.model, str(folder / 'model.onnx'), text)

    inputs = dict(exported.inputs)
    if not kwargs.get('export_params', True):
        inputs = {**exported.context.parameters, **inputs}
    _write_tensors(data, 'input', inputs)
    _write_tensors(data, 'output', exported.outputs)
    if output_grad:
        _write_tensors(data, 'gradient', _gradients(model, exported))
    return exported.model


def _gradients(model, exported):
    model.cleargrads()
    outputs = list(exported.outputs.values())
    for y in outputs:
        y.grad = numpy.ones_like(y.array)
    chainer.backward(outputs)
    return {exported.context.get_name(param): param.grad for _, param in sorted(model.namedparams())
            if param.grad is not None}


def _write_tensors(folder, kind, arrays):
    to_tensor = _opset.require_onnx().numpy_helper.from_array
    for k, (name, x) in enumerate(arrays.items()):
        array = x.array if isinstance(x, chainer.Variable) else x
        tensor = to_tensor(numpy.ascontiguousarray(array).reshape(array.shape), name)
        (folder / f'{kind}_{k}.pb').write_bytes(tensor.SerializeToString())
