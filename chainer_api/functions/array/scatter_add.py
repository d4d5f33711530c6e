"""Adding at indices."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
