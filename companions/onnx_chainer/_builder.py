"""Nodes of ONNX for one function, whatever the version of the operators.

Operators changed over time in the way they get their settings (attributes became inputs); a method
here knows all ways of one of them.
"""
import functools

import numpy

from onnx_chainer._opset import require_onnx


class Unsupported(ValueError):
    """A function, or a setting of it, that has no form in ONNX (of this version)."""


class Builder:
    """Collects the nodes of one function.

    Attributes:
        func: The function.
        arrays (tuple): Its input arrays.
        outputs (tuple): Its output arrays.
        inputs (list of str): Names of its inputs.
        opset (int): Version of the operators.
        nodes (list): What was made so far.
    """

    def __init__(self, step, name, context, opset):
        self.func, self.arrays, self.outputs = step
        self.name, self.context, self.opset = name, context, opset
        self.inputs = [context.get_name(x) for x in step.inputs]
        self.nodes = []

    @property
    def dtype(self):
        """That of the first output."""
        return self.outputs[0].dtype

    def need(self, opset, what):
        """Raise unless operators of this version are allowed."""
        if self.opset < opset:
            raise Unsupported(f'{what} needs opset_version={opset} or newer, not {self.opset}')

    def op(self, kind, *inputs, n=None, **attributes):
        """Add a node; return the name of its output, or a list of ``n`` names."""
        self.need(first_version(kind), f'the operator {kind}')
        number = len(self.nodes)
        names = [f'{self.name}/{kind}_{number}' + (f'_{k}' if n else '') for k in range(n or 1)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(require_onnx().helper.make_node(
            kind, list(inputs), names, name=f'{self.name}/{kind}_{number}', **attributes))
        return names if n else names[0]

    def const(self, value, dtype=numpy.int64):
        """A constant; settings are of ``int64``."""
        value = numpy.array(value, dtype)
        if self.opset < 9 and value.dtype.kind != 'f':  # no Constant has it
            return self.context.add_const(value, self.name)
        tensor = require_onnx().numpy_helper.from_array(value)
        return self.op('Constant', value=tensor)

    def scalar(self, value):
        """A constant of the dtype of the output."""
        return self.const(value, self.dtype)

    # -- operators that changed

    def _with_ints(self, kind, since, x, key, values, **attributes):
        if self.opset < since:
            return self.op(kind, x, **{key: values}, **attributes)
        return self.op(kind, x, *([] if values is None else [self.const(values)]), **attributes)

    def squeeze(self, x, axes):
        return self._with_ints('Squeeze', 13, x, 'axes', list(axes)) if axes else x

    def unsqueeze(self, x, axes):
        return self._with_ints('Unsqueeze', 13, x, 'axes', list(axes)) if axes else x

    def reduce(self, kind, x, axes, keepdims):
        """``axes`` is ``None`` for all of them."""
        if axes == ():
            return x
        since = 13 if kind == 'ReduceSum' else 18
        axes = None if axes is None else list(axes)
        return self._with_ints(kind, since, x, 'axes', axes, keepdims=int(keepdims))

    def split(self, x, sizes, axis):
        """The parts of these sizes."""
        if self.opset < 13:
            return self.op('Split', x, n=len(sizes), split=list(sizes), axis=axis)
        return self.op('Split', x, self.const(sizes), n=len(sizes), axis=axis)

    def slice(self, x, starts, ends, axes, steps=None):
        if self.opset < 10:
            if steps is not None and set(steps) != {1}:
                self.need(10, 'slices with steps')
            return self.op('Slice', x, starts=starts, ends=ends, axes=axes)
        settings = [starts, ends, axes] + ([] if steps is None else [steps])
        return self.op('Slice', x, *map(self.const, settings))

    def clip(self, x, low, high):
        """Bounds are numbers or ``None``."""
        if self.opset < 11:
            return self.op('Clip', x, min=low, max=high)
        low = '' if low is None else self.scalar(low)
        return self.op('Clip', x, low, *([] if high is None else [self.scalar(high)]))

    def pad(self, x, widths, mode='constant', value=0.):
        """``widths`` has a pair for each axis."""
        pads = [int(w) for side in (0, 1) for w in (pair[side] for pair in widths)]
        if self.opset < 11:
            return self.op('Pad', x, mode=mode, pads=pads, value=float(value))
        more = [self.scalar(value)] if mode == 'constant' else []
        return self.op('Pad', x, self.const(pads), *more, mode=mode)

    def softmax(self, kind, x, axis, ndim):
        axis %= ndim
        if self.opset >= 13 or axis == ndim - 1:
            return self.op(kind, x, axis=axis)
        perm = [*range(axis), *range(axis + 1, ndim), axis]  # of old, all later axes counted
        y = self.op(kind, self.op('Transpose', x, perm=perm), axis=ndim - 1)
        return self.op('Transpose', y, perm=[perm.index(k) for k in range(ndim)])

    # -- shorthands

    def cast(self, x, dtype):
        return self.op('Cast', x, to=tensor_type(dtype))

    def reshape(self, x, shape):
        return self.op('Reshape', x, self.const(shape))

    def gather(self, x, indices, axis=0):
        return self.op('Gather', x, self.const(indices), axis=axis)


@functools.cache
def first_version(kind):
    """The version in which an operator came; 1 if ONNX does not know it."""
    versions = [
        schema.since_version for schema in require_onnx().defs.get_all_schemas_with_history()
        if schema.name == kind and schema.domain == '']
    return min(versions, default=1)


def tensor_type(dtype):
    """The number that ONNX has for a dtype."""
    return require_onnx().helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
