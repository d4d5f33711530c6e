"""The links that are compared with the original, family by family."""
import numpy as np
from link_case import case, constant, integers, normal


def steps(link, *xs):
    """Calls a link with a state several times, the last ones with smaller batches."""
    return [link(x) for x in xs]


def sequences(link, *xs):
    """Calls a network for lists of sequences."""
    return link(None, list(xs))


def lstm_sequences(link, *xs):
    return link(None, None, list(xs))


def ramp(*shape):
    return (np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype(np.float32) * np.float32(.125)


IMAGES = normal(2, 3, 7, 6)
VECTORS = normal(4, 3)
BATCHES = (normal(4, 3), normal(4, 3), normal(4, 3))
SHRINKING = (normal(4, 3), normal(3, 3), normal(1, 3))
SEQUENCES = (normal(2, 3), normal(4, 3), normal(1, 3))

CONNECTION = [
    case('linear', lambda L: L.Linear(3, 2), VECTORS, dtypes='efd'),
    case('linear_lazy', lambda L: L.Linear(2), normal(4, 3, 2)),
    case('linear_nobias', lambda L: L.Linear(3, 2, nobias=True), VECTORS),
    case('linear_init', lambda L: L.Linear(3, 2, initialW=ramp(2, 3), initial_bias=.5), VECTORS),
    case('linear_batch_axes', lambda L: L.Linear(None, 2), normal(4, 3, 2),
         lambda link, x: link(x, n_batch_axes=2), since=7, why='Chainer 5 takes another size'),
    case('convolution_2d', lambda L: L.Convolution2D(3, 2, 3), IMAGES, dtypes='efd'),
    case('convolution_2d_lazy', lambda L: L.Convolution2D(4, (3, 2), stride=(2, 1), pad=(1, 2)),
         IMAGES),
    case('convolution_2d_groups',
         lambda L: L.Convolution2D(4, 6, 3, dilate=2, pad=2, groups=2, nobias=True),
         normal(2, 4, 6, 6)),
    case('convolution_2d_init',
         lambda L: L.Convolution2D(3, 2, 2, initialW=ramp(2, 3, 2, 2), initial_bias=ramp(2)),
         IMAGES),
    case('convolution_1d', lambda L: L.Convolution1D(3, 2, 3, stride=2), normal(2, 3, 8)),
    case('convolution_3d', lambda L: L.Convolution3D(None, 2, 2, pad=1), normal(2, 3, 3, 4, 3)),
    case('convolution_nd', lambda L: L.ConvolutionND(2, 4, 6, 3, groups=2, dilate=2, pad=2),
         normal(2, 4, 5, 5)),
    case('convolution_nd_cover_all',
         lambda L: L.ConvolutionND(1, 3, 2, 3, stride=2, nobias=True, cover_all=True),
         normal(2, 3, 8)),
    case('deconvolution_2d', lambda L: L.Deconvolution2D(3, 2, 3), IMAGES, dtypes='fd'),
    case('deconvolution_2d_lazy',
         lambda L: L.Deconvolution2D(4, 4, stride=2, pad=1),
         normal(2, 3, 4, 3)),
    case('deconvolution_2d_groups',
         lambda L: L.Deconvolution2D(4, 2, 3, 2, 1, outsize=(8, 6), groups=2, nobias=True),
         normal(2, 4, 4, 3)),
    case('deconvolution_1d', lambda L: L.Deconvolution1D(3, 2, 3, stride=2), normal(2, 3, 4)),
    case('deconvolution_3d', lambda L: L.Deconvolution3D(None, 2, 2), normal(1, 3, 3, 2, 3)),
    case('deconvolution_nd', lambda L: L.DeconvolutionND(2, 4, 6, 3, groups=2, dilate=2),
         normal(2, 4, 3, 3)),
    case('deformable_convolution_2d',
         lambda L: L.DeformableConvolution2D(3, 2, 3, pad=1, offset_initialW=.05), IMAGES,
         tolerance=(2e-4, 2e-5), why='sampling points on the border of a pixel'),
    case('deformable_convolution_2d_lazy',
         lambda L: L.DeformableConvolution2D(None, 2, (2, 3), stride=2, deform_nobias=True,
                                             offset_nobias=True),
         IMAGES, tolerance=(2e-4, 2e-5), why='sampling points on the border of a pixel'),
    case('depthwise_convolution_2d', lambda L: L.DepthwiseConvolution2D(3, 2, 3, pad=1), IMAGES),
    case('depthwise_convolution_2d_lazy',
         lambda L: L.DepthwiseConvolution2D(None, 2, 2, stride=2), IMAGES),
    case('depthwise_convolution_2d_nobias',
         lambda L: L.DepthwiseConvolution2D(3, 1, 2, nobias=True), IMAGES),
    case('dilated_convolution_2d', lambda L: L.DilatedConvolution2D(3, 2, 3, dilate=2, pad=1),
         IMAGES),
    case('dilated_convolution_2d_lazy', lambda L: L.DilatedConvolution2D(2, 2), IMAGES),
    case('local_convolution_2d', lambda L: L.LocalConvolution2D(3, 2, (7, 6), 3), IMAGES),
    case('local_convolution_2d_lazy',
         lambda L: L.LocalConvolution2D(None, 2, ksize=(3, 2), nobias=True), IMAGES),
    case('embed_id', lambda L: L.EmbedID(5, 3), integers(0, 5, 2, 4), dtypes='efd'),
    case('embed_id_ignore', lambda L: L.EmbedID(5, 3, ramp(5, 3), ignore_label=-1),
         integers(-1, 5, 7)),
    case('bias', lambda L: L.Bias(1, (3,)), IMAGES),
    case('bias_given', lambda L: L.Bias(2), (IMAGES, normal(7))),
    case('scale', lambda L: L.Scale(1, (3, 7), bias_term=True), IMAGES),
    case('scale_given', lambda L: L.Scale(2, bias_term=True, bias_shape=(7,)), (IMAGES, normal(7))),
    case('bilinear', lambda L: L.Bilinear(3, 2, 4), (VECTORS, normal(4, 2))),
    case('bilinear_nobias', lambda L: L.Bilinear(3, 2, 4, nobias=True), (VECTORS, normal(4, 2))),
    case('bilinear_init', lambda L: L.Bilinear(
        3, 2, 4, initialW=ramp(3, 2, 4), initial_bias=(ramp(3, 4), .25, ramp(4))),
        (VECTORS, normal(4, 2))),
    case('highway', lambda L: L.Highway(3), VECTORS),
    case('highway_nobias', lambda L: L.Highway(3, nobias=True, init_Wh=ramp(3, 3)), VECTORS),
    case('inception', lambda L: L.Inception(None, 2, 2, 3, 2, 3, 4), IMAGES),
    case('inceptionbn_max', lambda L: L.InceptionBN(3, 2, 2, 3, 2, 3, 'max', 4), IMAGES,
         tolerance=(3e-4, 3e-5), why='five batch normalizations in a row'),
    case('inceptionbn_avg', lambda L: L.InceptionBN(3, 2, 2, 3, 2, 3, 'avg', 4), IMAGES,
         tolerance=(3e-4, 3e-5), why='five batch normalizations in a row'),
    case('inceptionbn_stride', lambda L: L.InceptionBN(None, 0, 2, 3, 2, 3, 'max', stride=2),
         IMAGES, tolerance=(3e-4, 3e-5), why='five batch normalizations in a row'),
    case('mlp_convolution_2d', lambda L: L.MLPConvolution2D(3, (4, 3, 2), 3, pad=1), IMAGES),
    case('mlp_convolution_2d_lazy', lambda L: L.MLPConvolution2D((4, 2), 3, bias_init=.5), IMAGES),
    case('parameter', lambda L: L.Parameter(ramp(3)), normal(3), lambda link, x: link() * x),
]

RNN = [
    case('lstm', lambda L: L.LSTM(3, 2), BATCHES, steps, dtypes='efd'),
    case('lstm_lazy', lambda L: L.LSTM(2), BATCHES, steps),
    case('lstm_shrinking', lambda L: L.LSTM(None, 2), SHRINKING, steps),
    case('lstm_init', lambda L: L.LSTM(
        3, 2, lateral_init=ramp(2, 2), upward_init=.25, bias_init=.5, forget_bias_init=2),
        BATCHES, steps),
    case('stateless_lstm', lambda L: L.StatelessLSTM(3, 2), (normal(4, 2), normal(4, 2), VECTORS)),
    case('stateless_lstm_start', lambda L: L.StatelessLSTM(2), VECTORS,
         lambda link, x: link(None, None, x)),
    case('gru', lambda L: L.GRU(3, 2), BATCHES, steps, dtypes='fd'),
    case('gru_start', lambda L: L.GRU(3, 2), VECTORS),
    case('gru_lazy', lambda L: L.StatefulGRU(None, 2), BATCHES, steps),
    case('gru_init', lambda L: L.GRU(3, 2, init=ramp(2, 3), inner_init=.25, bias_init=.5),
         BATCHES, steps),
    case('stateless_gru', lambda L: L.StatelessGRU(3, 2), (normal(4, 2), VECTORS)),
    case('stateful_mgu', lambda L: L.StatefulMGU(3, 2), BATCHES, steps),
    case('stateless_mgu', lambda L: L.StatelessMGU(3, 2), (normal(4, 2), VECTORS)),
    case('peephole', lambda L: L.StatefulPeepholeLSTM(3, 2), BATCHES, steps),
    case('peephole_lazy', lambda L: L.StatefulPeepholeLSTM(None, 2), BATCHES, steps),
    case('zoneout', lambda L: L.StatefulZoneoutLSTM(3, 2, c_ratio=.25), BATCHES, steps),
    case('zoneout_lazy', lambda L: L.StatefulZoneoutLSTM(None, 2), BATCHES, steps),
    case('child_sum_tree_lstm', lambda L: L.ChildSumTreeLSTM(3, 2), (
        normal(4, 2), normal(4, 2), normal(4, 2), normal(4, 2), VECTORS)),
    case('child_sum_tree_lstm_none', lambda L: L.ChildSumTreeLSTM(3, 2), (
        normal(4, 2), normal(4, 2)), lambda link, c, h: link(c, None, h, None, None)),
    case('nary_tree_lstm', lambda L: L.NaryTreeLSTM(3, 2), (
        normal(4, 2), normal(4, 2), normal(4, 2), normal(4, 2), VECTORS)),
    case('nary_tree_lstm_3', lambda L: L.NaryTreeLSTM(None, 2, n_ary=3), (
        normal(4, 2), normal(4, 2), normal(4, 2), normal(4, 2), VECTORS),
        lambda link, c, d, h, i, x: link(c, None, d, h, None, i, x)),
    case('n_step_lstm', lambda L: L.NStepLSTM(2, 3, 2, 0.), SEQUENCES, lstm_sequences,
         dtypes='fd'),
    case('n_step_lstm_dropout', lambda L: L.NStepLSTM(3, 3, 2, .5), SEQUENCES, lstm_sequences),
    case('n_step_lstm_states', lambda L: L.NStepLSTM(1, 3, 2, 0.),
         (normal(1, 3, 2), normal(1, 3, 2), *SEQUENCES),
         lambda link, h, c, *xs: link(h, c, list(xs))),
    case('n_step_bilstm', lambda L: L.NStepBiLSTM(2, 3, 2, .5), SEQUENCES, lstm_sequences),
    case('n_step_gru', lambda L: L.NStepGRU(2, 3, 2, .5), SEQUENCES, sequences),
    case('n_step_bigru', lambda L: L.NStepBiGRU(2, 3, 2, .5), SEQUENCES, sequences),
    case('n_step_rnn_tanh', lambda L: L.NStepRNNTanh(2, 3, 2, .5), SEQUENCES, sequences),
    case('n_step_birnn_tanh', lambda L: L.NStepBiRNNTanh(1, 3, 2, .5), SEQUENCES, sequences),
    case('n_step_rnn_relu', lambda L: L.NStepRNNReLU(2, 3, 2, .5), SEQUENCES, sequences),
    case('n_step_birnn_relu', lambda L: L.NStepBiRNNReLU(1, 3, 2, .5), SEQUENCES, sequences),
]

LOST_AVERAGES = 'Chainer 5 does not load the averages into a link whose size is not known'

NORMALIZATION = [
    case('batch_normalization', lambda L: L.BatchNormalization(3), VECTORS, dtypes='efd'),
    case('batch_normalization_images', lambda L: L.BatchNormalization(3, decay=.5), IMAGES),
    case('batch_normalization_two_axes', lambda L: L.BatchNormalization((3, 7)), IMAGES),
    case('batch_normalization_lazy', lambda L: L.BatchNormalization(axis=(0, 2, 3)), IMAGES,
         since=7, saved_since=5, why=LOST_AVERAGES),
    case('batch_normalization_axis', lambda L: L.BatchNormalization(axis=1), VECTORS,
         since=7, saved_since=5, why=LOST_AVERAGES),
    case('batch_normalization_plain',
         lambda L: L.BatchNormalization(3, use_gamma=False, use_beta=False, eps=1e-3), VECTORS),
    case('batch_normalization_init', lambda L: L.BatchNormalization(
        3, initial_gamma=ramp(3), initial_beta=2, initial_avg_mean=ramp(3), initial_avg_var=.5),
        VECTORS),
    case('batch_normalization_finetune', lambda L: L.BatchNormalization(3), (VECTORS, VECTORS),
         lambda link, *xs: [link(x, finetune=True) for x in xs],
         replays=False, why='the decay is another number in each call'),
    case('batch_renormalization', lambda L: L.BatchRenormalization(3, rmax=2, dmax=1), VECTORS),
    case('batch_renormalization_images', lambda L: L.BatchRenormalization(3, use_beta=False),
         IMAGES),
    case('group_normalization', lambda L: L.GroupNormalization(2), normal(2, 4, 3, 3)),
    case('group_normalization_init',
         lambda L: L.GroupNormalization(1, 4, 1e-2, initial_gamma=.5, initial_beta=1),
         normal(2, 4, 5)),
    case('layer_normalization', lambda L: L.LayerNormalization(), VECTORS, dtypes='fd'),
    case('layer_normalization_init',
         lambda L: L.LayerNormalization(3, 1e-2, initial_gamma=.5, initial_beta=1), VECTORS),
    case('decorrelated_batch_normalization',
         lambda L: L.DecorrelatedBatchNormalization(4, groups=2), normal(8, 4), since=7,
         tolerance=(3e-4, 3e-5), why='eigenvectors'),
]

ACTIVATION = [
    case('prelu', lambda L: L.PReLU(), VECTORS),
    case('prelu_shape', lambda L: L.PReLU((3,), init=.5), IMAGES),
    case('swish', lambda L: L.Swish(()), VECTORS),
    case('swish_lazy', lambda L: L.Swish(None, beta_init=.5), VECTORS),
    case('maxout', lambda L: L.Maxout(3, 2, 4), VECTORS),
    case('maxout_lazy', lambda L: L.Maxout(None, 2, 2, initial_bias=None), VECTORS),
    case('maxout_init',
         lambda L: L.Maxout(3, 2, 2, initialW=ramp(2, 2, 3), initial_bias=ramp(2, 2)), VECTORS),
    case('simplified_dropconnect', lambda L: L.SimplifiedDropconnect(3, 2), VECTORS),
    case('simplified_dropconnect_lazy',
         lambda L: L.SimplifiedDropconnect(None, 2, ratio=.25, nobias=True), VECTORS,
         lambda link, x: link(x, use_batchwise_mask=False)),
]

STEP_SCORES = (normal(3, 4), normal(2, 4), normal(1, 4))
STEP_LABELS = (integers(0, 4, 3), integers(0, 4, 2), integers(0, 4, 1))
SEQUENCE_SCORES = (normal(2, 4), normal(3, 4), normal(1, 4))
SEQUENCE_LABELS = (integers(0, 4, 2), integers(0, 4, 3), integers(0, 4, 1))
TREE = ((0, 1), (2, (3, 4)))
LABELS = constant([0, 2, 1, 3], np.int32)

LOSS = [
    case('classifier', lambda L: L.Classifier(L.Linear(3, 4)), (VECTORS, LABELS),
         lambda link, x, t: [link(x, t), link.y, link.accuracy]),
    case('classifier_key', lambda L: L.Classifier(L.Linear(None, 4), label_key='t'),
         (VECTORS, LABELS), lambda link, x, t: link(x, t=t)),
    case('crf1d', lambda L: L.CRF1d(4), (*STEP_SCORES, *STEP_LABELS),
         lambda link, *a: link(list(a[:3]), list(a[3:]))),
    case('crf1d_transpose', lambda L: L.CRF1d(4, initial_cost=ramp(4, 4)),
         (*SEQUENCE_SCORES, *SEQUENCE_LABELS),
         lambda link, *a: link(list(a[:3]), list(a[3:]), reduce='no', transpose=True), since=7),
    case('crf1d_argmax', lambda L: L.CRF1d(4), (*SEQUENCE_SCORES, *SEQUENCE_LABELS),
         lambda link, *a: [link(list(a[:3]), list(a[3:]), transpose=True),
                           link.argmax(list(a[:3]), transpose=True)],
         static=False, since=7, why='argmax shows its arrays'),
    case('negative_sampling', lambda L: L.NegativeSampling(3, [4, 3, 2, 5], 2), (VECTORS, LABELS)),
    case('negative_sampling_no', lambda L: L.NegativeSampling(3, [4, 3, 2, 5], 2, power=1.),
         (VECTORS, constant([0, -1, 3, 2], np.int32)), lambda link, x, t: link(x, t, reduce='no')),
    case('black_out', lambda L: L.BlackOut(3, [4, 3, 2, 5], 2), (VECTORS, LABELS)),
    case('binary_hierarchical_softmax', lambda L: L.BinaryHierarchicalSoftmax(3, TREE),
         (VECTORS, LABELS)),
    case('binary_hierarchical_softmax_huffman',
         lambda L: L.BinaryHierarchicalSoftmax(
             3, L.BinaryHierarchicalSoftmax.create_huffman_tree({0: 5, 3: 2, 2: 1, 1: 3, 4: 1})),
         (VECTORS, LABELS)),
]

FAMILIES = {
    'activation': ACTIVATION, 'connection': CONNECTION, 'loss': LOSS,
    'normalization': NORMALIZATION, 'rnn': RNN,
}
