"""Recurrent cells; networks of several steps (``F.n_step_lstm``) are made of other functions."""
from onnx_chainer.functions.converter import converts


@converts('LSTM')
def lstm(b):
    c_prev, x = b.inputs
    _, units, *rest = b.arrays[0].shape
    gates = b.split(b.reshape(x, [0, units, 4, *rest]), [1] * 4, 2)
    a, i, f, o = (b.squeeze(gate, [2]) for gate in gates)
    c = b.op('Add', b.op('Mul', b.op('Tanh', a), b.op('Sigmoid', i)),
             b.op('Mul', b.op('Sigmoid', f), c_prev))
    return [c, b.op('Mul', b.op('Sigmoid', o), b.op('Tanh', c))]
