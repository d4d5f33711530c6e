"""What converts one function to nodes of ONNX: the table, and what users write themselves."""

#: Converters by the name of the function's class; each takes a ``Builder`` and returns the name,
#: or the list of names, of the results.
CONVERTERS = {}


def converts(*names):
    """Put a converter into the table under these names."""
    def register(converter):
        for name in names:
            CONVERTERS[name] = converter
        return converter

    return register


class FunctionConverterParams:
    """What a converter of the user's gets (``external_converters`` of :func:`onnx_chainer.export`).

    Attributes:
        func (FunctionNode): The function.
        opset_version (int): Version of the operators.
        input_names (list of str): Names of its inputs.
        output_names (list of str): Names that the outputs of its nodes must have.
        context (Context): Names of other arrays; takes constants.
    """

    def __init__(
            self, func=None, opset_version=None, input_names=None, output_names=None,
            context=None):
        self.func = func
        self.opset_version = opset_version
        self.input_names = input_names
        self.output_names = output_names
        self.context = context


class FunctionConverter:
    """Makes a converter of a function with five parameters.

    They are those of :class:`FunctionConverterParams`, in their order.
    """

    def __init__(self, converter):
        self.converter = converter

    def __call__(self, params):
        return self.converter(
            params.func, params.opset_version, params.input_names, params.output_names,
            params.context)
