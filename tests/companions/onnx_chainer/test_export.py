"""What a graph is like: names, shapes, files; and what is refused."""
import io
import sys
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L

onnx = pytest.importorskip('onnx')
pytest.importorskip('onnxruntime')
from onnx_running import assert_same, kinds  # noqa: E402

import onnx_chainer  # noqa: E402
from onnx_chainer import export  # noqa: E402
from onnx_chainer.replace_func import as_funcnode, fake_as_funcnode  # noqa: E402

X = np.arange(8, dtype=np.float32).reshape(2, 4)


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 3)
            self.bn = L.BatchNormalization(3)
            self.c = L.Linear(3, 2, nobias=True)

    def forward(self, x):
        h = F.relu(self.bn(self.l1(x)))
        return self.c(h) + 1, F.dropout(h)


class Two(chainer.Chain):
    def forward(self, x, y):
        return {'u': x + y, 'v': x * 2}


def _names(values):
    return [value.name for value in values]


def _shape(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_names_are_those_of_chainer_7():  # as Chainer 7.8.1 wrote them
    graph = assert_same(Model(), X).graph
    assert _names(graph.input) == ['Input_0']
    assert sorted(_names(graph.initializer)) == [
        'param_bn_avg_mean', 'param_bn_avg_var', 'param_bn_beta', 'param_bn_gamma', 'param_c_W',
        'param_l1_W', 'param_l1_b']
    assert _names(graph.output) == ['AddConstant_0', 'ReLU_0']
    assert [n.output[0] for n in graph.node if n.op_type != 'Constant'] == [
        'LinearFunction_0', 'FixedBatchNormalization_0', 'ReLU_0', 'LinearFunction_1',
        'AddConstant_0']


def test_training_mode():
    proto = export(Model(), X, train=True)
    assert 'Dropout' in kinds(proto) and 'BatchNormalization' not in kinds(proto)


def test_parameters_that_are_inputs():
    graph = export(Model(), X, export_params=False).graph
    assert not graph.initializer
    assert _names(graph.input)[-1] == 'Input_0' and 'param_l1_W' in _names(graph.input)


@pytest.mark.parametrize('args, options, inputs, outputs', [
    ((X, X), {}, ['Input_0', 'Input_1'], ['Add_0', 'MulConstant_0']),
    ({'x': X, 'y': X}, {'input_names': {'y': 'b'}}, ['Input_0', 'b'], ['Add_0', 'MulConstant_0']),
    ([X, X], {'input_names': ['a', 'b'], 'output_names': ['c', 'd']}, ['a', 'b'], ['c', 'd']),
    ((X, X), {'output_names': {'u': 'sum'}}, ['Input_0', 'Input_1'], ['sum', 'MulConstant_0']),
])
def test_names_that_are_given(args, options, inputs, outputs):
    graph = assert_same(Two(), args, **options).graph
    assert (_names(graph.input), _names(graph.output)) == (inputs, outputs)


def test_one_argument_and_result():
    model = chainer.Sequential(F.relu)
    graph = assert_same(model, chainer.Variable(X), input_names='x', output_names='y').graph
    assert (_names(graph.input), _names(graph.output)) == (['x'], ['y'])


def test_results_that_no_function_made_or_that_come_twice():
    def model(x):
        y = F.relu(x)
        return x, y, y

    graph = assert_same(chainer.Sequential(model), X, output_names=['a', 'b', 'c']).graph
    assert [n.op_type for n in graph.node].count('Identity') == 2
    assert_same(chainer.Sequential(model), X)


def test_lengths_that_vary():
    import onnxruntime

    model = chainer.Sequential(lambda x: F.reshape(x, (-1, 2, 2)), lambda x: F.softmax(x, axis=1))
    for shapes in (('n', 4), [('n', 4)]):
        proto = export(model, X, input_shapes=shapes)
        assert _shape(proto.graph.input[0]) == ['n', 4]
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    more = np.random.RandomState(0).randn(5, 4).astype(np.float32)
    np.testing.assert_allclose(
        session.run(None, {'Input_0': more})[0], model(more).array, rtol=1e-6)


def test_files(tmp_path):
    path = tmp_path / 'model.onnx'
    proto = export(chainer.Sequential(F.relu), X, str(path), save_text=True, graph_name='Small')
    assert onnx.load(path) == proto and proto.graph.name == 'Small'
    assert 'op_type: "Relu"' in (tmp_path / 'model.onnx.txt').read_text()
    file = io.BytesIO()
    export(chainer.Sequential(F.relu), X, file)
    assert onnx.load_from_string(file.getvalue()).graph.node[0].op_type == 'Relu'


def _tensors(folder, kind):
    found = {}
    for path in sorted(folder.glob(f'{kind}_*.pb')):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        found[tensor.name] = onnx.numpy_helper.to_array(tensor)
    return found


def test_testcases(tmp_path):
    model = chainer.Sequential(L.Linear(4, 3))
    stale = tmp_path / 'test_data_set_0' / 'output_7.pb'
    stale.parent.mkdir()
    stale.write_bytes(b'')
    onnx_chainer.export_testcase(model, X, tmp_path, output_grad=True)
    assert onnx.load(tmp_path / 'model.onnx').graph.node[0].op_type == 'Gemm'
    data = tmp_path / 'test_data_set_0'
    np.testing.assert_array_equal(_tensors(data, 'input')['Input_0'], X)
    np.testing.assert_array_equal(
        _tensors(data, 'output')['LinearFunction_0'], model(X).array)
    gradients = _tensors(data, 'gradient')
    assert list(gradients) == ['param_0_W', 'param_0_b']
    np.testing.assert_array_equal(gradients['param_0_W'], np.tile(X.sum(axis=0), (3, 1)))
    assert not stale.exists()


# -- functions of the user's


class Tripled(chainer.FunctionNode):
    def forward(self, xs):
        return xs[0] * 3,


def test_converters_of_the_users():
    def convert(params):
        const = params.context.add_const(np.float32(3), 'three')
        return onnx.helper.make_node('Mul', [*params.input_names, const], params.output_names),

    model = chainer.Sequential(lambda x: Tripled().apply((x,))[0])
    assert_same(model, X, external_converters={'Tripled': convert})
    five = onnx_chainer.functions.FunctionConverter(
        lambda func, opset, inputs, outputs, context: onnx.helper.make_node(
            'Foo', inputs, outputs, domain='mine'))
    proto = export(model, X, external_converters={'Tripled': five},
                   external_opset_imports={'mine': 1})
    assert [(n.domain, n.op_type) for n in proto.graph.node] == [('mine', 'Foo')]
    assert {o.domain: o.version for o in proto.opset_import}['mine'] == 1


def test_a_function_of_the_users_with_a_name_of_ours_is_not_taken_for_it():
    ReLU = type('ReLU', (Tripled,), {})
    with pytest.raises(ValueError, match='ReLU is not supported: give external_converters'):
        export(chainer.Sequential(lambda x: ReLU().apply((x,))[0]), X)


def test_old_style_functions():
    class Old(chainer.Function):
        def forward(self, xs):
            return xs[0] * 3,

    model = chainer.Sequential(lambda x: Old()(x))
    with pytest.raises(ValueError, match='Old is not supported'):
        export(model, X)
    assert_same(model, X, external_converters={'Old': lambda p: [
        onnx.helper.make_node('Sum', list(p.input_names) * 3, p.output_names)]})


def test_methods_as_one_node():
    class Adder(chainer.Chain):
        def add(self, x, value=0):
            return x.array + value

        def forward(self, x):
            return self.add(x, value=10)

    def convert(params):
        bias = params.context.add_param(np.float32(params.func.bias), 'bias')
        return onnx.helper.make_node('Add', [*params.input_names, bias], params.output_names)

    model = Adder()
    model.add = fake_as_funcnode(model.add, 'MyAdd', rename_attributes=[('value', 'bias')])
    proto = assert_same(model, X, external_converters={'MyAdd': convert})
    assert _names(proto.graph.output) == ['MyAdd_0']
    with pytest.raises(ValueError, match='must include at least one chainer.Variable'):
        model.add(X)


def test_functions_as_one_node_keep_their_gradients_and_structure():
    @as_funcnode('Foo')
    def foo(x, ys, axis=0):
        return [x * 2, {'q': F.sum(ys[0], axis=axis) * 3}]

    x, y = chainer.Variable(X), chainer.Variable(X + 1)
    a, rest = foo(x, [y, y])
    node = a.creator
    assert (node.custom_function_node_name, node.axis, len(node.inputs)) == ('Foo', 0, 3)
    (F.sum(a) + F.sum(rest['q'])).backward()
    np.testing.assert_array_equal(x.grad, np.full_like(X, 2))
    np.testing.assert_array_equal(y.grad, np.full_like(X, 3))
    with pytest.raises(ValueError, match='returns Variables or arrays, not 3'):
        as_funcnode('Three')(lambda x: 3)(x)


# -- what is refused, and what is told


@pytest.mark.parametrize('error, message, args, options', [
    (ValueError, "'args' argument should be", 3, {}),
    (ValueError, 'opset_version must be 7 to', X, {'opset_version': 6}),
    (ValueError, 'Replacing name must be single', X, {'input_names': ['a', 'b']}),
    (ValueError, 'is not match', X, {'input_names': {'a': 'b'}}),
    (ValueError, 'Customized shapes cannot fit', X, {'input_shapes': ('n',)}),
    (ValueError, 'Customized shapes cannot fit', [X], {'input_shapes': ('n', 4)}),
    (TypeError, 'arrays or Variables here, not 2', [X, 2], {}),
])
def test_arguments_that_do_not_fit(error, message, args, options):
    with pytest.raises(error, match=message):
        export(chainer.Sequential(F.relu), args, **options)


def test_results_that_are_no_variables():
    with pytest.raises(RuntimeError, match='Unexpected output type'):
        export(chainer.Sequential(lambda x: x.array), X)
    with pytest.raises(ValueError, match='must be Chainer Variable'):
        export(chainer.Sequential(lambda x: [x, 3]), X)


def test_values_taken_past_the_functions_are_told():
    with pytest.warns(UserWarning, match='became a constant of the exported graph'):
        export(chainer.Sequential(lambda x: F.relu(x) + F.relu(x.array[:1])), X)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        export(chainer.Sequential(lambda x: F.relu(x) + F.relu(x.array)), X)


def test_settings_without_a_form():
    with pytest.raises(ValueError, match='MaxPooling2D: a window that lies in the padding'):
        export(chainer.Sequential(lambda x: F.max_pooling_2d(x, 2, 3, 2)),
               np.zeros((1, 1, 5, 5), np.float32))
    with pytest.raises(ValueError, match="Pad: pad with mode='linear_ramp'"):
        export(chainer.Sequential(lambda x: F.pad(x, 1, 'linear_ramp')), X)


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, 'onnx', None)
    with pytest.raises(ImportError, match=r'pip install chainwright\[onnx\]'):
        export(chainer.Sequential(F.relu), X)


def test_nothing_of_the_run_stays():
    model = chainer.Sequential(F.relu)
    y = F.relu(chainer.Variable(X))
    export(model, X)
    assert not chainer.get_function_hooks()
    assert 'forward' not in vars(y.creator)
