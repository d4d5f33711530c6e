"""Einstein summation."""
import string

from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class EinSum(function_node.FunctionNode):
    """Einstein summation (see :func:`einsum`).

    Args:
        in_subs (list of str): the axes of each input, one letter each.
        out_sub (str): the axes of the output.
        ellipses (dict of slices): the axes that an ellipsis stands for, by the index of an input.
    """

    def __init__(self, in_subs, out_sub, ellipses=None):
        self.in_subs = in_subs
        self.out_sub = out_sub
        self.ellipses = ellipses or {}

    def check_type_forward(self, in_types):
        type_check.argname(in_types, tuple(f'x{i}' for i in range(len(in_types))))
        spans = [in_types[i].shape[axes] for i, axes in self.ellipses.items()]
        for span in spans[1:]:
            type_check.expect(spans[0] == span)
        first = {}
        for in_type, sub in zip(in_types, self.in_subs, strict=True):
            type_check.expect(in_type.dtype.kind == 'f')
            for axis, letter in enumerate(sub):
                if letter in first:
                    other, other_axis = first[letter]
                    type_check.expect(other.shape[other_axis] == in_type.shape[axis])
                else:
                    first[letter] = in_type, axis

    def forward(self, inputs):
        self.retain_inputs(range(len(inputs)))
        xp = backend.get_array_module(*inputs)
        return xp.asarray(xp.einsum(f'{",".join(self.in_subs)}->{self.out_sub}', *inputs)),

    def backward(self, indexes, grad_outputs):
        inputs = self.get_retained_inputs()
        return tuple(self._gradient(i, inputs, grad_outputs[0]) for i in indexes)

    def _gradient(self, target, inputs, gy):
        """Sum over all axes but those of the target, which becomes the output."""
        sub = self.in_subs[target]
        x = inputs[target]
        xp = backend.get_array_module(x)
        operands = [gy] + [y for i, y in enumerate(inputs) if i != target]
        subs = [self.out_sub] + [s for i, s in enumerate(self.in_subs) if i != target]
        free = [c for c in string.ascii_letters if c not in ''.join([*subs, *self.in_subs])]
        result = ''
        for axis, letter in enumerate(sub):
            if letter in result:
                # A diagonal was taken: the gradient stands there.
                other = free.pop()
                operands.append(xp.eye(x.shape[axis], dtype=x.dtype))
                subs.append(letter + other)
                letter = other
            elif not any(letter in s for s in subs):
                # It was summed over.
                operands.append(xp.ones(x.shape[axis], x.dtype))
                subs.append(letter)
            result += letter
        return F.cast(EinSum(subs, result).apply(operands)[0], x.dtype)


def _parse(operands):
    """``(subscripts of the inputs, of the output or None, input arrays)``."""
    if not operands:
        raise ValueError('No input operands')
    if isinstance(operands[0], str):
        text = operands[0].replace(' ', '')
        inputs, arrow, output = text.partition('->')
        for c in text.replace('...', '').replace('->', '').replace(',', ''):
            if c not in string.ascii_letters:
                raise ValueError(f'Character {c} is not a valid symbol.')
        return inputs.split(','), output if arrow else None, operands[1:]
    subs = [_sub_of_list(sub) for sub in operands[1::2]]
    if len(operands) % 2:
        return subs, _sub_of_list(operands[-1]), operands[:-1:2]
    return subs, None, operands[::2]


def _sub_of_list(axes):
    return ''.join('...' if a is Ellipsis else string.ascii_letters[a] for a in axes)


def _ellipses(subs):
    """Slices of the axes that ellipses stand for, by the index of the operand."""
    parts = {i: sub.split('...') for i, sub in enumerate(subs) if '...' in sub}
    return {i: slice(len(before), -len(after) or None) for i, (before, after) in parts.items()}


def _expand_ellipses(subs, output, ndims):
    """Give letters to the axes that an ellipsis stands for."""
    used = ''.join(subs) + (output or '')
    free = [c for c in string.ascii_letters if c not in used]
    expanded = []
    longest = ''
    for sub, ndim in zip(subs, ndims, strict=True):
        n = ndim - len(sub.replace('...', ''))
        if n < 0:
            raise ValueError(
                f'einstein sum subscripts string {sub} contains too many subscripts for an '
                f'operand of {ndim} dimensions')
        if n > 0 and '...' not in sub:
            raise ValueError(
                'operand has more dimensions than subscripts given in einstein sum, but no '
                "'...' ellipsis provided to broadcast the extra dimensions.")
        letters = ''.join(free[:n][::-1])
        longest = max(longest, letters, key=len)
        expanded.append(sub.replace('...', letters))
    if output is None:
        once = sorted(c for c in set(''.join(subs)) - {'.'} if ''.join(subs).count(c) == 1)
        output = longest + ''.join(once)
    elif '...' in output:
        if not any('...' in sub for sub in subs):
            raise ValueError('Output character ... did not appear in the input')
        output = output.replace('...', longest)
    elif longest:
        raise ValueError(
            'einsum does not sum over an ellipsis: name the axes, or put ... into the output')
    for c in output:
        if output.count(c) > 1:
            raise ValueError(
                f"einstein sum subscripts string includes output subscript '{c}' multiple times")
        if not any(c in sub for sub in expanded):
            raise ValueError(f'Output character {c} did not appear in the input')
    return expanded, output


def einsum(*operands) -> Variable:
    """Einstein summation: products of arrays, summed over some of their axes.

    It takes what :func:`numpy.einsum` takes, with these limits: axes of the same name have the
    same length (none is broadcast), and axes that an ellipsis stands for are not summed over.

    Args:
        operands: a text such as ``'ij,jk->ik'`` and then the Variables or arrays; or each of them
            followed by the list of its axes as integers, and last that of the result.

    Returns:
        Variable: the result.

    Raises:
        ValueError: if the subscripts are not understood or do not fit.
        InvalidType: if an operand is no floating-point array, or lengths of axes differ.

    >>> x = np.array([[1., 2.], [3., 4.]])
    >>> F.einsum('ij,j->i', x, np.array([1., 10.])).array
    array([21., 43.])
    >>> F.einsum('ii', x).array
    array(5.)
    """
    subs, output, arrays = _parse(operands)
    if len(subs) != len(arrays):
        raise ValueError('Number of einsum subscripts must be equal to the number of operands.')
    _errors.check_lists('einsum', operands=arrays)
    ellipses = _ellipses(subs)
    subs, output = _expand_ellipses(subs, output, [x.ndim for x in arrays])
    return EinSum(subs, output, ellipses).apply(arrays)[0]
