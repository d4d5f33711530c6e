"""``onnx_chainer.export``: a model as a graph of ONNX."""
import collections
import warnings
from typing import NamedTuple

import chainer
from chainer.functions._small import made_of_small_functions
from onnx_chainer import _opset
from onnx_chainer._builder import Builder, Unsupported, tensor_type
from onnx_chainer._record import Recorder, as_input, flat, mapped
from onnx_chainer.context import Context
from onnx_chainer.functions import CONVERTERS, FunctionConverterParams
from onnx_chainer.replace_func import WrappedFunctionNode


class Exported(NamedTuple):
    """What became of a model.

    Attributes:
        model: The ``onnx.ModelProto``.
        inputs (OrderedDict): Variables given to the model, by their names in the graph.
        outputs (OrderedDict): Variables that it returned, likewise.
        context (Context): Names of parameters and constants.
    """

    model: object
    inputs: dict
    outputs: dict
    context: Context


def export(model, args, filename=None, export_params=True, graph_name='Graph', save_text=False,
           opset_version=None, input_names=None, output_names=None, train=False,
           return_named_inout=False, external_converters=None, external_opset_imports=None,
           input_shapes=None, no_testcase=False):
    """Export a model as a graph of ONNX.

    The model runs once, define-by-run (compiled methods as well). Each function becomes one or
    more nodes of ONNX. Arrays that no function has made, and that are neither arguments nor
    parameters, become constants.

    Args:
        model (Chain): The model.
        args (array, Variable, or list, tuple or dict of them): What it is called with; the members
            of a dict are keyword arguments. Their shapes become those of the graph's inputs.
        filename (str, path or file): Where the graph is written to, if anywhere.
        export_params (bool): Whether the graph holds the parameters; otherwise they are inputs.
        graph_name (str): Name of the graph.
        save_text (bool): Whether the graph is also written as text, to ``filename + '.txt'``.
        opset_version (int): Version of ONNX's operators, ``MINIMUM_OPSET_VERSION`` (7) to
            ``MAXIMUM_OPSET_VERSION`` (26); 21 by default.
        input_names (str, list or dict): Names of the inputs, instead of ``Input_0``, ...; a
            dict takes the place of names of keyword arguments.
        output_names (str, list or dict): Names of the outputs, likewise.
        train (bool): Value of ``chainer.config.train`` while the model runs. Dropout is noise
            that ONNX's runtimes leave out, in any case.
        return_named_inout (bool): Whether the inputs and outputs are returned, too.
        external_converters (dict): Converters by the name of a function's class, for functions
            that are not known, or in the place of known ones. A converter takes
            :class:`~onnx_chainer.functions.FunctionConverterParams`, and returns a node of ONNX
            or several.
        external_opset_imports (dict): Versions by the name of the domain of such nodes.
        input_shapes (list, tuple or dict): Shapes in the place of those of the arguments, in
            the structure of ``args``; a string stands for a length that may vary.
        no_testcase (bool): Part of the interface; it does nothing.

    Returns:
        onnx.ModelProto: The graph; or, if ``return_named_inout``, a tuple of it and of two ordered
        dictionaries with the inputs and outputs by name.

    Raises:
        ImportError: The package ``onnx`` is not installed.
        ValueError: A function has no form in ONNX, or names or shapes do not fit.
        RuntimeError: The model returns something else than Variables.

    .. admonition:: Example

        >>> import onnx_chainer
        >>> model = chainer.Sequential(L.Linear(4, 3), F.relu)
        >>> x = np.zeros((1, 4), np.float32)
        >>> graph = onnx_chainer.export(model, x, 'model.onnx').graph
        >>> [node.op_type for node in graph.node]
        ['Gemm', 'Relu']
    """
    exported = export_whole(
        model, args, export_params, graph_name, opset_version, input_names, output_names, train,
        external_converters, external_opset_imports, input_shapes)
    if filename is not None:
        _write(exported.model, filename, save_text)
    if return_named_inout:
        return exported.model, exported.inputs, exported.outputs
    return exported.model


def export_whole(
        model, args, export_params=True, graph_name='Graph', opset_version=None, input_names=None,
        output_names=None, train=False, external_converters=None, external_opset_imports=None,
        input_shapes=None):
    """Export a model (see :func:`export`); give everything that is known about it."""
    onnx = _opset.require_onnx()
    opset = _opset.checked(opset_version)
    if not isinstance(args, (list, tuple, dict, chainer.Variable)) and (
            not hasattr(args, 'dtype')):
        raise ValueError(
            "The 'args' argument should be a list, tuple, dict, numpy array, or Chainer Variable. "
            f'But a {type(args)} object was given.')
    args = mapped(args, as_input)
    steps, results = _run(model, args, train)
    outputs = _outputs(results)

    context = Context(model)
    inputs = collections.OrderedDict(zip(
        _names(args, input_names, lambda k: f'Input_{k}'), flat(args), strict=True))
    shapes = _shapes(args, input_shapes)
    for name, x in inputs.items():
        context.set_name(x, name)
    given = _names(results, output_names, lambda k: None)
    wanted, made_by = _needed(steps, inputs.values(), outputs)
    for x, name in zip(outputs, given, strict=True):
        if name is not None and id(x.array) in made_by and not context.knows(x):
            context.set_name(x, name)
    nodes = _nodes(wanted, made_by, context, opset, external_converters or {})

    named = collections.OrderedDict()
    for x, name in zip(outputs, given, strict=True):
        own = context.get_name(x)
        if name is None and id(x.array) in made_by and own not in named:
            name = own
        if name != own:  # an argument, a constant, or something returned twice
            name = name or context.unique('Identity')
            nodes.append(onnx.helper.make_node('Identity', [own], [name], name=name))
        named[name] = x

    value = onnx.helper.make_tensor_value_info
    # Tensors that the graph holds had to be listed among the inputs, too, before version 9.
    listed = [] if export_params and opset >= 9 else [context.parameters]
    listed += [context.constants] if opset < 9 else []
    infos = [value(name, tensor_type(x.dtype), x.shape)
             for arrays in listed for name, x in arrays.items()]
    infos += [value(name, tensor_type(x.dtype), shape)
              for (name, x), shape in zip(inputs.items(), shapes, strict=True)]
    graph = onnx.helper.make_graph(
        nodes, graph_name, infos,
        [value(name, tensor_type(x.dtype), x.shape if input_shapes is None else [None] * x.ndim)
         for name, x in named.items()],
        initializer=context.initializers(export_params))
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in {
        '': opset, **(external_opset_imports or {})}.items()]
    proto = onnx.helper.make_model(
        graph, producer_name='Chainer', producer_version=chainer.__version__, opset_imports=opsets,
        ir_version=onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True))
    _check(onnx, proto, external_converters)
    return Exported(proto, inputs, named, context)


def _run(model, args, train):
    """The functions that the model applies, and what it returns."""
    recorder = Recorder()
    with chainer.using_config('train', train), chainer.using_config('enable_backprop', True):
        with recorder, made_of_small_functions():
            if isinstance(args, dict):
                results = model(**args)
            elif isinstance(args, (list, tuple)):
                results = model(*args)
            else:
                results = model(args)
    return recorder.steps, results


def _outputs(results):
    if not isinstance(results, (chainer.Variable, list, tuple, dict)):
        raise RuntimeError(f'Unexpected output type from the model: {type(results)}')
    outputs = flat(results)
    if not all(isinstance(y, chainer.Variable) for y in outputs):
        raise ValueError("The all 'outputs' must be Chainer Variable")
    return outputs


def _names(values, names, default):
    """A name for each of the flat values."""
    n = len(flat(values))
    if names is None:
        return [default(k) for k in range(n)]
    if isinstance(names, dict):
        if not isinstance(values, dict) or set(names) - set(values) or len(values) != n:
            raise ValueError(
                'Replacing name dict is not match with input (or output) variables')
        return [names.get(key, default(k)) for k, key in enumerate(values)]
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != n:
        raise ValueError(
            'Replacing name must be single' if n == 1 else
            f'Replacing name list is not match with input (or output) variables: {len(names)} '
            f'names for {n}')
    return names


def _shapes(args, shapes):
    """The shape of each of the flat arguments."""
    own = [x.shape for x in flat(args)]
    if shapes is None:
        return own
    if isinstance(args, dict):
        fits = isinstance(shapes, dict) and set(shapes) <= set(args) and len(args) == len(own)
        found = [shapes.get(key, x.shape) for key, x in args.items()] if fits else []
    elif isinstance(args, (list, tuple)):
        found = list(shapes)
    else:
        found = list(shapes) if isinstance(shapes, list) else [shapes]
    if len(found) != len(own) or not all(
            isinstance(shape, (list, tuple)) and len(shape) == len(was)
            for shape, was in zip(found, own, strict=True)):
        raise ValueError('Customized shapes cannot fit for input list')
    return [tuple(shape) for shape in found]


def _needed(steps, inputs, outputs):
    """The steps that the outputs depend on, and the step that made each array."""
    made_by, known = {}, {id(x.array) for x in inputs}
    for step in steps:
        for y in step.outputs:
            if id(y) not in known:  # some functions give an input back
                known.add(id(y))
                made_by[id(y)] = step
    wanted, waiting = set(), [y.array for y in outputs]
    while waiting:
        step = made_by.get(id(waiting.pop()))
        if step is not None and id(step) not in wanted:
            wanted.add(id(step))
            waiting += [*step.inputs, *_hidden(step)]
    return [step for step in steps if id(step) in wanted], made_by


def _hidden(step):
    """Arrays that a function knows besides its inputs: conditions, indices, constants."""
    func = step.func
    held = [getattr(func, name, None) for name in ('condition', 'value')]
    return [*held, *(getattr(func, 'slices', None) or ())]


def _nodes(steps, made_by, context, opset, external):
    nodes = []
    for step in steps:
        base = context.unique(_title(step.func).lstrip('_'))
        for x in step.inputs:
            context.get_name(x)
        depends = any(context.depends(x) for x in step.inputs)
        names = [base] if len(step.outputs) == 1 else [
            f'{base}_{k}' for k in range(len(step.outputs))]
        for y, name in zip(step.outputs, names, strict=True):
            if made_by.get(id(y)) is step and not context.knows(y):
                context.set_name(y, name, depends)
        names = [context.get_name(y) if made_by.get(id(y)) is step else name
                 for y, name in zip(step.outputs, names, strict=True)]
        nodes += _converted(step, base, names, context, opset, external)
    return nodes


def _title(func):
    """The name of a function, by which its converter is found."""
    if isinstance(func, WrappedFunctionNode):
        return func.custom_function_node_name
    return type(func).__name__


def _converted(step, base, names, context, opset, external):
    func, kind = step.func, _title(step.func)
    if kind in external:
        inputs = [context.get_name(x) for x in step.inputs]
        made = external[kind](FunctionConverterParams(func, opset, inputs, names, context))
        return list(made) if isinstance(made, (list, tuple)) else [made]
    # A function of the user's may have the name of one of ours.
    convert = CONVERTERS.get(kind) if type(func).__module__.startswith('chainer.') else None
    if convert is None:
        raise Unsupported(
            f'{kind} is not supported: give external_converters={{{kind!r}: ...}}, or write it '
            'with functions that are')
    builder = Builder(step, base, context, opset)
    try:
        results = convert(builder)
    except Unsupported as error:
        raise Unsupported(f'{kind}: {error}') from None
    return _renamed(builder, [results] if isinstance(results, str) else results, names)


def _renamed(builder, results, names):
    """The nodes of a function, their results under the names that they are to have."""
    made = {name for node in builder.nodes for name in node.output}
    new = {}
    for result, name in zip(results, names, strict=True):
        if result in made and result not in new:
            new[result] = name
        else:
            builder.op('Identity', result)
            new[builder.nodes[-1].output[0]] = name
    for node in builder.nodes:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
    return builder.nodes


def _check(onnx, proto, external):
    try:
        onnx.checker.check_model(proto)
    except onnx.checker.ValidationError as error:
        if not external:
            raise
        warnings.warn(f'the checker of ONNX does not accept the graph, perhaps because of '
                      f'external converters: {error}', stacklevel=4)


def _write(proto, file, text):
    data = proto.SerializeToString()
    if hasattr(file, 'write'):
        file.write(data)
        return
    with open(file, 'wb') as f:
        f.write(data)
    if text:
        with open(f'{file}.txt', 'w', encoding='utf-8') as f:
            f.write(str(proto))
