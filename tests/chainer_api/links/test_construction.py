"""How links are made: signatures, initial values, printed forms, and what is refused."""
import sys
import types

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import links as L
from chainer.links.connection import deformable_convolution_2d, n_step_rnn

x32 = np.ones((2, 3), np.float32)


class Recorder(chainer.Initializer):
    """Takes down the shapes it is called with."""

    def __init__(self, calls, name):
        super().__init__()
        self.calls = calls
        self.name = name

    def __call__(self, array):
        self.calls.append((self.name, array.shape))
        array[...] = len(self.calls)


@pytest.fixture
def calls():
    return []


@pytest.fixture
def recorder(calls):
    return lambda name: Recorder(calls, name)


@pytest.mark.parametrize(('link', 'text'), [
    (lambda: L.Linear(3, 2), 'Linear(in_size=3, out_size=2, nobias=False)'),
    (lambda: L.Linear(2, nobias=True), 'Linear(in_size=None, out_size=2, nobias=True)'),
    (lambda: L.Convolution2D(None, 2, (3, 2), pad=1, dilate=2, nobias=True),
     'Convolution2D(in_channels=None, out_channels=2, ksize=(3, 2), stride=(1, 1), pad=(1, 1), '
     'nobias=True, dilate=(2, 2), groups=1)'),
    (lambda: L.BatchNormalization(3),
     'BatchNormalization(size=3, decay=0.9, eps=2e-05, dtype=float32, use_gamma=True, '
     'use_beta=True)'),
    (lambda: L.BatchNormalization(axis=0, use_gamma=False),
     'BatchNormalization(size=None, decay=0.9, eps=2e-05, dtype=float32, use_gamma=False, '
     'use_beta=True)'),
    (lambda: L.LSTM(2, 3),
     'LSTM(\n  (lateral): Linear(in_size=3, out_size=12, nobias=True),\n'
     '  (upward): Linear(in_size=2, out_size=12, nobias=False),\n)'),
])
def test_printed_form(link, text):
    assert str(link()) == text


class TestInitializers:
    """An initializer, a scalar and an array are taken; numbers are drawn in a fixed order."""

    @pytest.mark.parametrize('make', [
        lambda W, b: L.Linear(3, 2, initialW=W, initial_bias=b),
        lambda W, b: L.Convolution2D(3, 2, 1, initialW=W, initial_bias=b),
        lambda W, b: L.ConvolutionND(2, 3, 2, 1, initialW=W, initial_bias=b),
        lambda W, b: L.Deconvolution2D(2, 3, 1, initialW=W, initial_bias=b),
        lambda W, b: L.DeconvolutionND(2, 2, 3, 1, initialW=W, initial_bias=b),
        lambda W, b: L.DilatedConvolution2D(3, 2, 1, initialW=W, initial_bias=b),
        lambda W, b: L.DepthwiseConvolution2D(3, 2, 1, initialW=W, initial_bias=b),
        lambda W, b: L.LocalConvolution2D(3, 2, 1, 1, initialW=W, initial_bias=b),
        lambda W, b: L.SimplifiedDropconnect(3, 2, initialW=W, initial_bias=b),
        lambda W, b: deformable_convolution_2d.DeformableConvolution2DSampler(
            3, 2, 1, initialW=W, initial_bias=b),
    ])
    def test_forms(self, make, calls, recorder):
        link = make(recorder('W'), recorder('b'))
        assert [name for name, _ in calls] == ['W', 'b']
        assert (link.W.array == 1).all() and (link.b.array == 2).all()
        link = make(.5, -1)
        assert (link.W.array == .5).all() and (link.b.array == -1).all()
        W = np.arange(link.W.size).reshape(link.W.shape) / 8.
        b = np.arange(link.b.size).reshape(link.b.shape) / 8.
        link = make(W, b)
        assert link.W.dtype == link.b.dtype == np.float32
        np.testing.assert_array_equal(link.W.array, W)
        np.testing.assert_array_equal(link.b.array, b)
        assert link.W.array is not W
        link = make(None, None)
        assert (link.b.array == 0).all()

    def test_lists_are_no_initializers(self):
        with pytest.raises(TypeError, match='invalid type of initializer'):
            L.Linear(3, 2, initialW=[1, 2])

    def test_shapes_must_fit(self):
        with pytest.raises(ValueError, match='broadcast'):
            L.Linear(3, 2, initialW=np.ones((3, 3)))

    def test_order_of_recurrent_layers(self, calls, recorder):
        L.LSTM(3, 1, recorder('lateral'), recorder('upward'), recorder('bias'), recorder('forget'))
        assert calls == 4 * [('lateral', (1, 1)), ('upward', (1, 3))] + [
            (name, (1, 1, 1)) for name in ('bias', 'bias', 'forget', 'bias')]

    def test_order_is_the_same_where_the_first_call_decides(self, calls, recorder):
        link = L.LSTM(
            None, 1, recorder('lateral'), recorder('upward'), recorder('bias'), recorder('forget'))
        assert not calls
        link(x32)
        assert calls[:2] == [('lateral', (1, 1)), ('upward', (1, 3))]
        assert len(calls) == 12

    def test_order_of_n_step_networks(self, calls, recorder):
        L.NStepRNNTanh(2, 3, 4, 0., initialW=recorder('w'), initial_bias=recorder('b'))
        assert calls == [
            ('w', (4, 3)), ('b', (4,)), ('w', (4, 4)), ('b', (4,)),
            ('w', (4, 4)), ('b', (4,)), ('w', (4, 4)), ('b', (4,))]

    def test_order_of_batch_normalization(self, calls, recorder):
        L.BatchNormalization(
            3, initial_gamma=recorder('gamma'), initial_beta=recorder('beta'),
            initial_avg_mean=recorder('mean'), initial_avg_var=recorder('var'))
        assert [name for name, _ in calls] == ['mean', 'var', 'gamma', 'beta']

    @pytest.mark.parametrize('in_size', [3, None])
    def test_functions_see_the_axes_of_maxout(self, calls, in_size):
        # As 5.4 and 7.8.1 do it: an Initializer sees the axes as one, any other function does not.
        def fill(array):
            calls.append(array.shape)
            array[...] = np.arange(array.size).reshape(array.shape)

        link = L.Maxout(in_size, 2, 4, initialW=fill, initial_bias=fill)
        link(x32)
        assert sorted(calls) == [(2, 4), (2, 4, 3)]
        np.testing.assert_array_equal(link.linear.W.array, np.arange(24).reshape(8, 3))
        np.testing.assert_array_equal(link.linear.b.array, np.arange(8))

    def test_initializers_see_maxout_as_one_layer(self, calls, recorder):
        L.Maxout(3, 2, 4, initialW=recorder('W'), initial_bias=recorder('b'))
        assert calls == [('W', (8, 3)), ('b', (8,))]

    def test_maxout_checks_the_axes(self):
        with pytest.raises(ValueError, match='initialW.ndim should be 3'):
            L.Maxout(3, 2, 4, initialW=np.ones((8, 3)))
        with pytest.raises(ValueError, match='initial_bias.ndim should be 2'):
            L.Maxout(3, 2, 4, initial_bias=np.ones(8))

    def test_bilinear_checks_its_biases(self):
        with pytest.raises(ValueError, match='must be tuple or None'):
            L.Bilinear(3, 2, 4, initial_bias=0)
        with pytest.raises(ValueError, match=r'initial_bias\[0\] must have the shape \(3, 4\)'):
            L.Bilinear(3, 2, 4, initial_bias=(np.ones(3), 0, 0))
        with pytest.raises(ValueError, match=r'initialW must have the shape \(3, 2, 4\)'):
            L.Bilinear(3, 2, 4, initialW=np.ones((3, 2)))

    @pytest.mark.parametrize('make', [
        lambda: L.Linear(3, 2), lambda: L.Convolution2D(3, 2, 1), lambda: L.EmbedID(3, 2),
        lambda: L.BatchNormalization(3), lambda: L.LSTM(3, 2), lambda: L.PReLU(),
        lambda: L.Bias(1, (3,)), lambda: L.CRF1d(3), lambda: L.GroupNormalization(1, 2),
        lambda: L.NStepGRU(1, 3, 2, 0.), lambda: L.NegativeSampling(3, [1, 2], 1)])
    def test_dtype_is_the_configured_one(self, make):
        with chainer.using_config('dtype', np.float16):
            assert {p.dtype for p in make().params()} == {np.dtype(np.float16)}

    def test_dtype_of_batch_normalization(self):
        with chainer.using_config('dtype', chainer.mixed16):
            assert L.BatchNormalization(3).gamma.dtype == np.float32
            assert L.Linear(3, 2).W.dtype == np.float16
            assert L.LayerNormalization(3).gamma.dtype == np.float16
            assert L.InceptionBN(3, 4, 2, 3, 2, 3, 'max', 2).conv3n.gamma.dtype == np.float16
            for initial in (None, .5, chainer.initializers.Constant(1, dtype=np.float64)):
                group = L.GroupNormalization(2, 4, initial_gamma=initial, initial_beta=initial)
                assert group.gamma.dtype == group.beta.dtype == np.float32
        bn = L.BatchNormalization(3, dtype=np.float16, use_beta=False)
        assert bn.avg_mean.dtype == bn.gamma.dtype == np.float16

    def test_dtype_of_losses(self):
        tree = ((0, 1), 2)
        link = L.BinaryHierarchicalSoftmax(3, tree, dtype=np.float64)
        assert link.W.dtype == np.float64
        assert link(x32.astype(np.float64), np.array([0, 2], np.int32)).dtype == np.float64
        assert L.NegativeSampling(3, [1, 2], 1, dtype=np.float64).W.dtype == np.float64


class TestFromParams:

    @pytest.mark.parametrize(('cls', 'W', 'options'), [
        (L.Linear, np.ones((2, 3), np.float32), {}),
        (L.Convolution2D, np.ones((4, 2, 3, 1), np.float32), {'groups': 2, 'stride': 2}),
        (L.ConvolutionND, np.ones((4, 2, 3, 1), np.float32), {'dilate': 2})])
    def test_weights_are_copied(self, cls, W, options):
        b = np.full(len(W), .5, np.float32)
        link = cls.from_params(chainer.Variable(W), b, **options)
        assert type(link) is cls
        np.testing.assert_array_equal(link.W.array, W)
        np.testing.assert_array_equal(link.b.array, b)
        assert not np.may_share_memory(link.W.array, W)
        for name, value in options.items():
            assert getattr(link, name) in (value, (value, value))
        assert cls.from_params(W).b is None
        with pytest.raises(ValueError, match='`nobias` must not be True'):
            cls.from_params(W, b, nobias=True)

    def test_embed_id(self):
        link = L.EmbedID.from_params(np.ones((4, 2), np.float32), ignore_label=1)
        assert (link.W.shape, link.ignore_label) == ((4, 2), 1)


class TestSizes:

    @pytest.mark.parametrize(('make', 'message'), [
        (lambda: L.Convolution2D(3, 4, 1, groups=2), 'input channels must be divisible'),
        (lambda: L.Convolution2D(4, 3, 1, groups=2), 'output channels must be divisible'),
        (lambda: L.ConvolutionND(2, 3, 4, 1, groups=2), 'input channels must be divisible'),
        (lambda: L.Deconvolution2D(4, 3, 1, groups=2), 'output channels must be divisible'),
        (lambda: L.DeconvolutionND(2, 3, 4, 1, groups=2), 'input channels must be divisible')])
    def test_groups_must_divide_the_channels(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    @pytest.mark.parametrize('make', [
        lambda **k: L.Convolution2D(3, 2, 3, **k), lambda **k: L.Deconvolution2D(3, 2, 3, **k)])
    def test_old_arguments_of_convolutions(self, make):
        with pytest.raises(ValueError, match="using_config.'cudnn_deterministic', value"):
            make(deterministic=True)
        with pytest.raises(TypeError, match="unexpected keyword argument.*'foo'"):
            make(foo=1)

    def test_mlp_convolution_needs_channels(self):
        with pytest.raises(ValueError, match='out_channels'):
            L.MLPConvolution2D(3, (), 3)
        with pytest.raises(ValueError, match='wscale is not supported anymore'):
            L.MLPConvolution2D(3, (4,), 3, wscale=1)

    def test_ignored_arguments_of_local_convolution(self):
        with pytest.warns(UserWarning, match="ignores the arguments .'pad'."):
            L.LocalConvolution2D(3, 2, 5, 3, pad=1)

    def test_strides_of_local_convolution_where_the_first_call_decides(self):
        link = L.LocalConvolution2D(None, 2, None, ksize=(3, 2), stride=2)
        assert link(np.ones((1, 3, 7, 6), np.float32)).shape == (1, 2, 3, 3)

    def test_inception_bn_checks_its_paths(self):
        with pytest.raises(NotImplementedError, match="'max' or 'avg', not 'min'"):
            L.InceptionBN(3, 0, 1, 1, 1, 1, 'min')
        with pytest.raises(AssertionError, match='needs stride=1 and a projection'):
            L.InceptionBN(3, 1, 1, 1, 1, 1, 'max')

    def test_batch_normalization_needs_size_or_axis(self):
        with pytest.raises(RuntimeError, match='size or axis is required'):
            L.BatchNormalization()

    def test_scale_needs_the_shape_of_its_bias(self):
        with pytest.raises(ValueError, match='bias_shape should be given'):
            L.Scale(1, bias_term=True)

    def test_number_of_arguments_of_bias_and_scale(self):
        for learned, given in ((L.Bias(1, (3,)), L.Bias(0)), (L.Scale(1, (3,)), L.Scale(0))):
            assert learned(x32).shape == given(x32, np.ones(2, np.float32)).shape == (2, 3)
            with pytest.raises(ValueError, match='too many'):
                learned(x32, x32)
            with pytest.raises(ValueError, match='not enough'):
                given(x32)

    def test_tree_lstm_needs_children(self):
        h = chainer.Variable(np.zeros((2, 2), np.float32))
        with pytest.raises(ValueError, match='n_ary must be positive'):
            L.NaryTreeLSTM(3, 2, 0)
        with pytest.raises(ValueError, match='5 arguments are needed for 2 children'):
            L.NaryTreeLSTM(3, 2)(h, h, x32)
        with pytest.raises(ValueError, match='cell states of all children'):
            L.ChildSumTreeLSTM(3, 2)(h, x32)
        with pytest.raises(ValueError, match='All inputs .* are None'):
            L.ChildSumTreeLSTM(3, 2)(None, None, None)

    @pytest.mark.parametrize(('in_size', 'c', 'h'), [  # the numbers of 5.4 and 7.8.1
        (3, [[.546681, .894115], [-.032502, .273831]], [[.395392, .589795], [-.015948, .147884]]),
        (None, [[.801138, -.242832], [.063112, -.234105]],
         [[.628327, -.003391], [.037019, -.178827]])])
    def test_child_sum_of_a_leaf(self, in_size, c, h):
        np.random.seed(0)
        unit = L.ChildSumTreeLSTM(in_size, 2)
        states = unit(np.array([[1, 2, 3], [.5, 0, -1]], np.float32))
        np.testing.assert_allclose(states[0].array, c, 0, 1e-6)
        np.testing.assert_allclose(states[1].array, h, 0, 1e-6)

    def test_huffman_tree(self):
        make = L.BinaryHierarchicalSoftmax.create_huffman_tree
        assert make({0: 8, 1: 5, 2: 6, 3: 4}) == ((3, 1), (2, 0))
        assert make({0: 4, 1: 2, 2: 2, 3: 1, 4: 1, 5: 1, 6: 9}) == (6, ((2, (3, 4)), ((5, 1), 0)))
        assert make({5: 1, 3: 1, 4: 1}) == (4, (5, 3))
        assert make({3: 1}) == 3
        with pytest.raises(ValueError, match='Empty vocabulary'):
            make({})
        with pytest.raises(ValueError, match='two child nodes'):
            L.BinaryHierarchicalSoftmax(3, (0, 1, 2))

    def test_deep_trees_need_no_recursion(self):
        tree = 0
        for i in range(1, 3000):
            tree = (tree, i)
        assert L.BinaryHierarchicalSoftmax(1, tree).W.shape == (2999, 1)


class TestNStep:

    @pytest.mark.parametrize(('options', 'error', 'message'), [
        ({'use_cudnn': True}, ValueError, 'use_cudnn argument is not supported'),
        ({'use_bi_direction': True}, ValueError, 'use_bi_direction is not supported'),
        ({'foo': 1}, TypeError, "unexpected keyword argument.*'foo'")])
    def test_arguments(self, options, error, message):
        with pytest.raises(error, match=message):
            L.NStepLSTM(1, 3, 2, 0., **options)

    def test_size_must_be_known(self):
        with pytest.raises(TypeError, match='NStepGRU needs in_size'):
            L.NStepGRU(1, None, 2, 0.)

    def test_sequences_must_be_a_list(self):
        with pytest.raises(AssertionError, match='xs must be a list of sequences'):
            L.NStepLSTM(1, 3, 2, 0.)(None, None, chainer.Variable(x32))
        with pytest.raises(ValueError, match='train argument is not supported'):
            L.NStepLSTM(1, 3, 2, 0.)(None, None, [x32], train=True)

    @pytest.mark.parametrize(('link', 'n_cells', 'n_weights', 'direction'), [
        (L.NStepLSTM, 2, 8, 1), (L.NStepBiLSTM, 2, 8, 2), (L.NStepGRU, 1, 6, 1),
        (L.NStepBiGRU, 1, 6, 2), (L.NStepRNNTanh, 1, 2, 1), (L.NStepBiRNNReLU, 1, 2, 2)])
    def test_attributes(self, link, n_cells, n_weights, direction):
        link = link(3, 3, 2, 0.)
        assert (link.n_cells, link.n_weights, link.direction) == (n_cells, n_weights, direction)
        assert link.use_bi_direction == (direction == 2)
        assert len(link.ws) == len(link.bs) == len(link) == 3 * direction
        assert link.ws[1][1] is link[1].w1 and link.bs[0][1] is link[0].b1
        assert link.init_hx([x32, x32]).shape == (3 * direction, 2, 2)

    def test_order_of_lists(self):
        lists = [[0], [1, 1, 1], [2, 2]]
        order = n_step_rnn.argsort_list_descent(lists)
        assert order.tolist() == [1, 2, 0] and order.dtype == np.int32
        moved = n_step_rnn.permutate_list(lists, order, inv=False)
        assert moved == [[1, 1, 1], [2, 2], [0]]
        assert n_step_rnn.permutate_list(moved, order, inv=True) == lists


class TestStates:

    @pytest.mark.parametrize('make', [
        lambda: L.LSTM(3, 2), lambda: L.StatefulGRU(3, 2), lambda: L.StatefulMGU(3, 2),
        lambda: L.StatefulZoneoutLSTM(3, 2), lambda: L.StatefulPeepholeLSTM(3, 2)])
    def test_reset(self, make):
        link = make()
        assert link.h is None
        with chainer.using_config('train', False):
            first = link(x32)
            assert link.h is first
            second = link(x32)
            assert abs(first.array - second.array).max() > 0
            link.reset_state()
            np.testing.assert_array_equal(link(x32).array, first.array)

    @pytest.mark.parametrize('make', [lambda: L.LSTM(3, 2), lambda: L.StatefulZoneoutLSTM(3, 2)])
    def test_set_two_states(self, make):
        link = make()
        c, h = (chainer.Variable(np.full((2, 2), i, np.float32)) for i in (1, 2))
        link.set_state(c, h)
        assert link.c is c and link.h is h
        with pytest.raises(AssertionError, match='a state must be a Variable'):
            link.set_state(c.array, h)

    @pytest.mark.parametrize('make', [lambda: L.StatefulGRU(3, 2), lambda: L.StatefulMGU(3, 2)])
    def test_set_one_state(self, make):
        link = make()
        h = chainer.Variable(np.zeros((2, 2), np.float32))
        link.set_state(h)
        assert link.h is h
        with pytest.raises(AssertionError, match='a state must be a Variable'):
            link.set_state(h.array)

    def test_states_go_to_other_devices(self):
        link = L.LSTM(3, 2)
        link(x32)
        visited = []

        class Visitor(chainer.device_resident.DeviceResidentsVisitor):
            def visit_device_resident(self, resident):
                pass

            def visit_variable(self, variable):
                visited.append(variable)

        link.device_resident_accept(Visitor())
        assert any(v is link.c for v in visited) and any(v is link.h for v in visited)

    def test_batches_may_not_grow(self):
        link = L.LSTM(3, 2)
        link(x32[:1])
        with pytest.raises(TypeError, match='x has 2 samples and h has 1.*reset_state'):
            link(x32)

    def test_ended_sequences_keep_their_states(self):
        link = L.LSTM(3, 2)
        first = link(x32)
        assert link(x32[:1]).shape == (1, 2)
        np.testing.assert_array_equal(link.h.array[1], first.array[1])
        assert link.c.shape == (2, 2)

    def test_gru_was_stateless_once(self):
        with pytest.raises(ValueError, match='Use chainer.links.StatelessGRU instead'):
            L.GRU(3, 2)(x32, x32)


class TestClassifier:

    def test_reports(self):
        model = L.Classifier(L.Linear(3, 2))
        reporter = chainer.Reporter()
        reporter.add_observer('main', model)
        with reporter:
            loss = model(x32, np.array([0, 1], np.int32))
        assert loss is model.loss
        assert reporter.observation['main/loss'].array == loss.array
        assert reporter.observation['main/accuracy'].array == model.accuracy.array

    def test_accuracy_may_be_left_out(self):
        model = L.Classifier(L.Linear(3, 2))
        model.compute_accuracy = False
        reporter = chainer.Reporter()
        reporter.add_observer('main', model)
        with reporter:
            model(x32, np.array([0, 1], np.int32))
        assert model.accuracy is None and list(reporter.observation) == ['main/loss']

    @pytest.mark.parametrize(('key', 'args', 'kwargs'), [
        (-1, ('x', 't'), {}), (1, ('x', 't'), {}), (0, ('t', 'x'), {}), (-2, ('t', 'x'), {}),
        ('t', ('x',), {'t': 't'})])
    def test_label_key(self, key, args, kwargs):
        values = {'x': x32, 't': np.array([0, 1], np.int32)}
        seen = []

        class Predictor(chainer.Link):
            def forward(self, *args, **kwargs):
                seen.extend(args)
                assert not kwargs
                return chainer.Variable(np.ones((2, 2), np.float32))

        L.Classifier(Predictor(), label_key=key)(
            *[values[a] for a in args], **{k: values[v] for k, v in kwargs.items()})
        assert len(seen) == 1 and seen[0] is x32

    @pytest.mark.parametrize(('key', 'message'), [
        (5, 'Label key 5 is out of bounds'), (-3, 'Label key -3 is out of bounds'),
        ('t', 'Label key "t" is not found')])
    def test_missing_labels(self, key, message):
        with pytest.raises(ValueError, match=message):
            L.Classifier(L.Linear(3, 2), label_key=key)(x32, x32)

    def test_label_key_is_an_index_or_a_name(self):
        with pytest.raises(TypeError, match='label_key must be int or str'):
            L.Classifier(L.Linear(3, 2), label_key=2.5)

    def test_other_functions(self):
        model = L.Classifier(
            L.Linear(3, 1), lossfun=F.mean_squared_error, accfun=F.mean_absolute_error)
        assert model(x32, np.ones((2, 1), np.float32)).shape == ()


class TestBatchNormalization:

    def test_fine_tuning_averages_batches(self):
        bn = L.BatchNormalization(3)
        rng = np.random.RandomState(0)
        batches = [rng.randn(5, 3).astype(np.float32) for _ in range(3)]
        bn.start_finetuning()
        for x in batches:
            bn(x, finetune=True)
        assert bn.N == 3
        np.testing.assert_allclose(
            bn.avg_mean, np.mean([x.mean(axis=0) for x in batches], axis=0), rtol=1e-5)
        bn.start_finetuning()
        assert bn.N == 0

    def test_old_arguments(self):
        with pytest.raises(ValueError, match='Use chainer.using_config'):
            L.BatchNormalization(3)(x32, test=True)
        with pytest.raises(TypeError, match='unexpected'):
            L.BatchNormalization(3)(x32, foo=True)

    @pytest.mark.parametrize('make', [
        lambda: L.BatchNormalization(4), lambda: L.BatchRenormalization(4),
        lambda: L.DecorrelatedBatchNormalization(4, 2)])
    def test_recomputing_does_not_count_twice(self, make):
        bn = make()
        x = np.random.RandomState(0).randn(8, 4).astype(np.float32)
        y = bn(x)
        mean = bn.avg_mean.copy()
        assert mean.any()
        with chainer.using_config('in_recomputing', True):
            again = bn(x)
        np.testing.assert_array_equal(bn.avg_mean, mean)
        np.testing.assert_allclose(again.array, y.array, rtol=1e-5)

    def test_decorrelated_links_load_what_older_ones_saved(self):
        link = L.DecorrelatedBatchNormalization(4, 2)
        old = {'avg_mean': np.arange(2.), 'avg_projection': 2 * np.eye(2), 'N': np.array(3)}
        with pytest.warns(UserWarning, match='old DecorrelatedBatchNormalization'):
            link.serialize(chainer.serializers.NpzDeserializer(old))
        assert link.avg_mean.tolist() == [[0, 1], [0, 1]]
        assert link.avg_projection.tolist() == 2 * [[[2, 0], [0, 2]]]
        assert link.N == 3


class TestLosses:

    def test_samples_of_black_out_may_be_given(self):
        link = L.BlackOut(3, [4, 3, 2, 5], 2)
        link.W.array[...] = np.arange(12).reshape(4, 3) / 12
        t = np.array([0, 2], np.int32)
        link.sample_data = np.array([[1, 3], [0, 1]], np.int32)
        assert link(x32, t).array == F.black_out(x32, t, link.W, link.sample_data).array

    def test_samples_of_negative_sampling_are_shown(self):
        loss, samples = L.NegativeSampling(3, [4, 3, 2, 5], 2)(
            x32, np.array([0, 2], np.int32), return_samples=True)
        assert samples.shape == (2, 3) and samples[:, 0].tolist() == [0, 2]
        assert loss.shape == ()

    def test_gradients_of_bilinear_are_cleared(self):
        link = L.Bilinear(3, 3, 2)
        F.sum(link(x32, x32)).backward()
        link.zero_grads()
        assert all((p.grad == 0).all() for p in link.params())


def test_theano_is_needed():
    with pytest.raises(RuntimeError, match='theano is not installed'):
        L.TheanoFunction([], [])


def test_theano_functions_are_called(monkeypatch):
    """With a stand-in for Theano, which is not made any more."""
    class TensorVariable:
        def type(self):
            return TensorVariable()

    class Theano(types.ModuleType):
        def function(self, inputs, outputs, on_unused_input=None):
            if outputs == 'gradients':
                assert on_unused_input == 'ignore'
                return lambda a, b, g: [2 * g, 3 * g]
            return lambda a, b: [2 * a + 3 * b]

    def grad(cost, wrt, known_grads, disconnected_inputs):
        assert cost is None and list(wrt) == inputs and list(known_grads) == outputs
        return 'gradients'

    theano, tensor = Theano('theano'), types.ModuleType('theano.tensor')
    theano.tensor, tensor.TensorVariable, tensor.grad = tensor, TensorVariable, grad
    monkeypatch.setitem(sys.modules, 'theano', theano)
    monkeypatch.setitem(sys.modules, 'theano.tensor', tensor)
    inputs, outputs = [TensorVariable(), TensorVariable()], [TensorVariable()]
    a, b = chainer.Variable(np.ones(2, np.float32)), chainer.Variable(np.ones(2, np.float32))
    y = L.TheanoFunction(inputs, outputs)(a, b)
    F.sum(y).backward()
    assert (y.array.tolist(), a.grad.tolist(), b.grad.tolist()) == ([5, 5], [2, 2], [3, 3])
    with pytest.raises(TypeError, match='outputs must be Theano variables'):
        L.TheanoFunction(inputs, [1])


def test_modules_have_both_paths():
    import chainer.links.connection.lstm
    import chainer.links.rnn.gru
    import chainer.links.rnn.lstm
    import chainer.links.rnn.mgu
    import chainer.links.rnn.n_step_gru
    import chainer.links.rnn.n_step_lstm
    import chainer.links.rnn.n_step_rnn
    import chainer.links.rnn.peephole
    import chainer.links.rnn.tree_lstm
    import chainer.links.rnn.zoneoutlstm
    assert chainer.links.rnn.lstm.LSTM is chainer.links.connection.lstm.LSTM is L.LSTM
    assert chainer.links.rnn.n_step_lstm.NStepBiLSTM is L.NStepBiLSTM
