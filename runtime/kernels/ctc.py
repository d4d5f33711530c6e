"""Connectionist temporal classification: sums over all alignments, in logarithms."""

from __future__ import annotations

from typing import Any

from . import library_op
from .windows import array_module

# The logarithm of an impossible path. Finite: it is added to, and infinities would make NaNs.
IMPOSSIBLE = -1e10


def _paths(labels: Any, blank: int) -> tuple[Any, Any]:
    """Labels with blanks around them (b, 2 m + 1), and where a path may leave a blank out."""
    xp = array_module(labels)
    paths = xp.full((labels.shape[0], 2 * labels.shape[1] + 1), blank, labels.dtype)
    paths[:, 1::2] = labels
    skips = xp.zeros(paths.shape, bool)
    skips[:, 2:] = (paths[:, 2:] != blank) & (paths[:, 2:] != paths[:, :-2])
    return paths, skips


def _shifted(a: Any, by: int) -> Any:
    """``a`` (b, p) moved along its second axis, with impossible paths coming in."""
    xp = array_module(a)
    y = xp.full_like(a, IMPOSSIBLE)
    if by > 0:
        y[:, by:] = a[:, :-by]
    else:
        y[:, :by] = a[:, -by:]
    return y


@library_op("ctc_forward")
def ctc_forward(
    log_y: Any, labels: Any, input_length: Any, label_length: Any, *, blank: int
) -> tuple[Any, Any]:
    """Sum over the beginnings of all alignments.

    ``log_y`` (t, b, v): logarithms of the probabilities; ``labels`` (b, m). Returns the loss (b,)
    and the logarithms of the sums (t, b, 2 m + 1) over alignments that reach a place of the path.
    """
    xp = array_module(log_y)
    paths, skips = _paths(labels, blank)
    alpha = xp.full((len(log_y), *paths.shape), IMPOSSIBLE, log_y.dtype)
    start = slice(0, 2)
    alpha[0, :, start] = xp.take_along_axis(log_y[0], paths, axis=1)[:, start]
    for t in range(1, len(log_y)):
        a = alpha[t - 1]
        reached = xp.logaddexp(a, _shifted(a, 1))
        reached = xp.where(skips, xp.logaddexp(reached, _shifted(a, 2)), reached)
        alpha[t] = reached + xp.take_along_axis(log_y[t], paths, axis=1)
    each = xp.arange(len(labels))
    last = alpha[input_length - 1, each]
    ends = last[each, 2 * label_length]
    before = xp.where(label_length > 0, last[each, 2 * label_length - 1], IMPOSSIBLE)
    return -xp.logaddexp(ends, before), alpha


@library_op("ctc_backward")
def ctc_backward(
    log_y: Any,
    labels: Any,
    input_length: Any,
    label_length: Any,
    loss: Any,
    alpha: Any,
    *,
    blank: int,
) -> Any:
    """Compute the gradient (t, b, v) of the loss with respect to the scores before the softmax."""
    xp = array_module(log_y)
    paths, skips = _paths(labels, blank)
    each = xp.arange(len(labels))
    end = xp.full(paths.shape, IMPOSSIBLE, log_y.dtype)
    end[each, 2 * label_length] = 0
    end[each, xp.maximum(2 * label_length - 1, 0)] = 0
    skips_from = xp.zeros_like(skips)
    skips_from[:, :-2] = skips[:, 2:]
    grad = xp.exp(log_y)
    beta = end
    for t in range(len(log_y) - 1, -1, -1):
        if t < len(log_y) - 1:
            b = beta + xp.take_along_axis(log_y[t + 1], paths, axis=1)
            beta = xp.logaddexp(b, _shifted(b, -1))
            beta = xp.where(skips_from, xp.logaddexp(beta, _shifted(b, -2)), beta)
            beta = xp.where((input_length == t + 1)[:, None], end, beta)
        passed = xp.exp(xp.minimum(alpha[t] + beta + loss[:, None], 0))
        for s in range(paths.shape[1]):
            grad[t, each, paths[:, s]] -= passed[:, s]
        grad[t] *= (t < input_length)[:, None]
    return grad
