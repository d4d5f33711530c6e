"""Chainer's public face."""
# ruff: noqa: E402, I001  Imports stand in the order of dependency.
__version__ = '7.8.1'

from chainer.configuration import config as config
from chainer.configuration import global_config as global_config
from chainer.configuration import using_config as using_config
from chainer._environment import DebugMode as DebugMode
from chainer._environment import get_dtype as get_dtype
from chainer._environment import is_debug as is_debug
from chainer._environment import mixed16 as mixed16
from chainer._environment import set_debug as set_debug
from chainer import _environment

_environment.set_defaults()

from chainer import backends as backends
from chainer.backends import cuda as cuda
from chainer.backends.cuda import should_use_cudnn as should_use_cudnn
from chainer.backends.cuda import should_use_cudnn_tensor_core as should_use_cudnn_tensor_core
from chainer import backend as backend
from chainer.backend import get_device as get_device
from chainer.backend import using_device as using_device
from chainer import utils as utils
from chainer import variable as variable
from chainer.variable import Parameter as Parameter
from chainer.variable import Variable as Variable
from chainer.variable import as_array as as_array
from chainer.variable import as_variable as as_variable
from chainer import function_hook as function_hook
from chainer.function_hook import FunctionHook as FunctionHook
from chainer.function_hook import get_function_hooks as get_function_hooks
from chainer import function_node as function_node
from chainer.function_node import FunctionNode as FunctionNode
from chainer import function as function
from chainer.function import Function as Function
from chainer.function import FunctionAdapter as FunctionAdapter
from chainer.function import force_backprop_mode as force_backprop_mode
from chainer.function import no_backprop_mode as no_backprop_mode
from chainer._backprop import backward as backward
from chainer._backprop import grad as grad
from chainer import functions as functions
from chainer.functions.math import basic_math as basic_math
from chainer.functions.array import get_item as _get_item

basic_math.install_variable_arithmetics()
_get_item.install_variable_get_item()

from chainer.graph_optimizations.static_graph import static_graph as static_graph
from chainer.graph_optimizations.static_graph_utilities import static_code as static_code
