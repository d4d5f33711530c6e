"""Differentiable functions on variables."""
from chainer.functions.array.broadcast import broadcast as broadcast
from chainer.functions.array.broadcast import broadcast_to as broadcast_to
from chainer.functions.array.cast import cast as cast
from chainer.functions.array.expand_dims import expand_dims as expand_dims
from chainer.functions.array.get_item import get_item as get_item
from chainer.functions.array.reshape import reshape as reshape
from chainer.functions.array.squeeze import squeeze as squeeze
from chainer.functions.array.transpose import transpose as transpose
from chainer.functions.math.basic_math import absolute as absolute
from chainer.functions.math.basic_math import add as add
from chainer.functions.math.identity import identity as identity
from chainer.functions.math.matmul import batch_matmul as batch_matmul
from chainer.functions.math.matmul import matmul as matmul
from chainer.functions.math.sum import sum as sum
from chainer.functions.math.sum import sum_to as sum_to
