"""Chainer's public face."""
# ruff: noqa: E402, I001  Imports stand in the order of dependency.
_distribution = 'chainwright'  # asked for by _version, which other __init__ files import, too

from chainer._version import __version__ as __version__
import chainerx as chainerx
from chainer import _allocation

_allocation.keep_freed_memory()
from chainer.configuration import config as config
from chainer.configuration import global_config as global_config
from chainer.configuration import using_config as using_config
from chainer._environment import DebugMode as DebugMode
from chainer._environment import get_compute_mode as get_compute_mode
from chainer._environment import get_dtype as get_dtype
from chainer._environment import is_debug as is_debug
from chainer._environment import mixed16 as mixed16
from chainer._environment import set_debug as set_debug

disable_experimental_feature_warning = False
"""Whether :func:`chainer.utils.experimental` is silent."""

from chainer import backends as backends
from chainer.backends import cuda as cuda
from chainer.backends._chainerx import Fallback as Fallback
from chainer.backends.cuda import should_use_cudnn as should_use_cudnn
from chainer.backends.cuda import should_use_cudnn_tensor_core as should_use_cudnn_tensor_core
from chainer import backend as backend
from chainer.backend import get_array_types as get_array_types
from chainer.backend import get_cpu_array_types as get_cpu_array_types
from chainer.backend import get_device as get_device
from chainer.backend import is_arrays_compatible as is_arrays_compatible
from chainer.backend import using_device as using_device
from chainer import utils as utils
from chainer import variable as variable
from chainer import warnings as warnings
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
from chainer import memory_layouts as memory_layouts
from chainer.functions.math import basic_math as basic_math
from chainer.functions.array import get_item as _get_item

basic_math.install_variable_arithmetics()
_get_item.install_variable_get_item()

from chainer import initializer as initializer
from chainer.initializer import Initializer as Initializer
from chainer import initializers as initializers
from chainer import types as types
from chainer import device_resident as device_resident
from chainer.device_resident import DeviceResident as DeviceResident
from chainer import link_hook as link_hook
from chainer.link_hook import LinkHook as LinkHook
from chainer.link_hook import _get_link_hooks as _get_link_hooks
from chainer import link as link
from chainer.link import Chain as Chain
from chainer.link import ChainList as ChainList
from chainer.link import Link as Link
from chainer import link_hooks as link_hooks
from chainer import sequential as sequential
from chainer.sequential import Sequential as Sequential
from chainer import serializer as serializer
from chainer.serializer import AbstractSerializer as AbstractSerializer
from chainer.serializer import Deserializer as Deserializer
from chainer.serializer import Serializer as Serializer
from chainer import serializers as serializers
from chainer import optimizer_hooks as optimizer_hooks
from chainer import optimizer as optimizer
from chainer.optimizer import GradientMethod as GradientMethod
from chainer.optimizer import Optimizer as Optimizer
from chainer.optimizer import UpdateRule as UpdateRule
from chainer import optimizers as optimizers
from chainer import links as links
from chainer import distribution as distribution
from chainer.distribution import Distribution as Distribution
from chainer.distribution import cross_entropy as cross_entropy
from chainer.distribution import kl_divergence as kl_divergence
from chainer.distribution import register_kl as register_kl
from chainer import distributions as distributions

from chainer.graph_optimizations.static_graph import static_graph as static_graph
from chainer.graph_optimizations.static_graph_utilities import static_code as static_code

from chainer import computational_graph as computational_graph
from chainer import function_hooks as function_hooks
from chainer import reporter as reporter
from chainer.reporter import DictSummary as DictSummary
from chainer.reporter import Reporter as Reporter
from chainer.reporter import Summary as Summary
from chainer.reporter import get_current_reporter as get_current_reporter
from chainer.reporter import report as report
from chainer.reporter import report_scope as report_scope

from chainer import dataset as dataset
from chainer import datasets as datasets
from chainer import iterators as iterators
from chainer import training as training
from chainer._runtime_info import print_runtime_info as print_runtime_info
