"""Runs what was exported, and compares it with the model."""
import numpy as np

import onnx_chainer


def assert_same(model, args, rtol=1e-5, atol=1e-6, **options):
    """Export ``model`` and check that onnxruntime gives what the model has given."""
    import onnx
    import onnxruntime

    proto, inputs, outputs = onnx_chainer.export(
        model, args, return_named_inout=True, **options)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=['CPUExecutionProvider'])
    used = {i.name for i in session.get_inputs()}
    results = session.run(
        list(outputs), {name: x.array for name, x in inputs.items() if name in used})
    assert len(results) == len(outputs) > 0
    for y, result in zip(outputs.values(), results, strict=True):
        assert result.dtype == y.dtype
        assert result.shape == y.shape
        np.testing.assert_allclose(result, y.array, rtol=rtol, atol=atol)
    return proto


def kinds(proto):
    """Operators of a graph, in their order."""
    return [node.op_type for node in proto.graph.node]
