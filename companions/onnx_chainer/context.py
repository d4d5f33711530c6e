"""The names of values in an ONNX graph."""
import collections
import re
import warnings

import numpy

import chainer
from onnx_chainer._opset import require_onnx


class Context:
    """Gives names to arrays: inputs, parameters, outputs of functions; all others are constants.

    Arrays are known by identity. Converters get it as ``params.context``.

    Attributes:
        parameters (dict): Arrays of parameters and persistent values that were used, by name.
        constants (dict): Other arrays that were used, by name.
    """

    def __init__(self, model):
        self.parameters = collections.OrderedDict()
        self.constants = collections.OrderedDict()
        self._names = {}  # by identity of the array
        self._held = []  # arrays that are known: their identities must not be given again
        self._made = {}  # those that depend on the inputs, by identity
        self._counts = collections.Counter()
        self._model_arrays = {}
        self._links = {}
        for path, link in model.namedlinks():
            own = [*link._params, *link._persistent]
            for name in own:
                value = getattr(link, name)
                array = value.array if isinstance(value, chainer.Variable) else value
                if isinstance(array, numpy.ndarray):
                    self._model_arrays[id(array)] = _cleansed(f'param{path}/{name}'), array
                    self._links[id(array)] = link

    def unique(self, base):
        """A name that was not given yet: ``base`` with a number."""
        k = self._counts[base]
        self._counts[base] += 1
        return f'{base}_{k}'

    def set_name(self, x, name, from_inputs=True):
        """Call a Variable or array ``name``."""
        array = _array(x)
        self._names[id(array)] = name
        self._held.append(array)
        if from_inputs:
            self._made[id(array)] = array

    def knows(self, x):
        """Whether an array has a name yet."""
        return id(_array(x)) in self._names

    def depends(self, x):
        """Whether an array was made of inputs."""
        return id(_array(x)) in self._made

    def get_name(self, x):
        """The name of a Variable or array; what is unknown becomes a parameter or constant."""
        array = _array(x)
        if id(array) not in self._names:
            if id(array) in self._model_arrays:
                name, _ = self._model_arrays[id(array)]
                self.parameters[name] = array
            else:
                self._warn_of_slices(array)
                name = self.unique('Constant')
                self.constants[name] = array
            self.set_name(array, name, from_inputs=False)
        return self._names[id(array)]

    def _warn_of_slices(self, array):
        if array.size and any(numpy.may_share_memory(array, made) for made in self._made.values()):
            warnings.warn(
                'an array that shares memory with a value of the model, but is none (x.array[...], '
                'for example), became a constant of the exported graph: use functions of Variables '
                'instead', stacklevel=2)

    def get_link(self, param):
        """The link that has a parameter, or ``None``."""
        return self._links.get(id(_array(param)))

    def add_const(self, array, name):
        """Add a constant under a name that has ``name`` in it; return the whole name."""
        array = numpy.asarray(array)
        whole = self.unique(f'const_{name}')
        self.constants[whole] = array
        self.set_name(array, whole, from_inputs=False)
        return whole

    def add_param(self, array, name, use_original_name=False):
        """Add a parameter that the model does not have; return its name."""
        whole = name if use_original_name else self.unique(f'param_{name}')
        array = numpy.asarray(array)
        self.parameters[whole] = array
        self.set_name(array, whole, from_inputs=False)
        return whole

    def initializers(self, parameters):
        """The tensors of constants, and of parameters if ``parameters`` is true."""
        to_tensor = require_onnx().numpy_helper.from_array
        kept = {**(self.parameters if parameters else {}), **self.constants}
        return [to_tensor(numpy.ascontiguousarray(array).reshape(array.shape), name)
                for name, array in kept.items()]


def _array(x):
    return x.array if isinstance(x, chainer.Variable) else x


def _cleansed(path):
    return re.sub(r'[^\w.]', '_', path)
