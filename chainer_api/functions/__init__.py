"""Differentiable functions on variables."""
from chainer.functions import rnn as rnn
from chainer.functions import theano as theano
from chainer.functions.activation.clipped_relu import clipped_relu as clipped_relu
from chainer.functions.activation.clipped_relu import relu6 as relu6
from chainer.functions.activation.crelu import crelu as crelu
from chainer.functions.activation.elu import elu as elu
from chainer.functions.activation.hard_sigmoid import hard_sigmoid as hard_sigmoid
from chainer.functions.activation.leaky_relu import leaky_relu as leaky_relu
from chainer.functions.activation.log_softmax import log_softmax as log_softmax
from chainer.functions.activation.lstm import lstm as lstm
from chainer.functions.activation.maxout import maxout as maxout
from chainer.functions.activation.prelu import prelu as prelu
from chainer.functions.activation.relu import relu as relu
from chainer.functions.activation.rrelu import rrelu as rrelu
from chainer.functions.activation.selu import selu as selu
from chainer.functions.activation.sigmoid import sigmoid as sigmoid
from chainer.functions.activation.slstm import slstm as slstm
from chainer.functions.activation.softmax import softmax as softmax
from chainer.functions.activation.softplus import softplus as softplus
from chainer.functions.activation.swish import swish as swish
from chainer.functions.activation.tanh import tanh as tanh
from chainer.functions.activation.tree_lstm import tree_lstm as tree_lstm
from chainer.functions.array.as_strided import as_strided as as_strided
from chainer.functions.array.broadcast import broadcast as broadcast
from chainer.functions.array.broadcast import broadcast_to as broadcast_to
from chainer.functions.array.cast import cast as cast
from chainer.functions.array.concat import concat as concat
from chainer.functions.array.copy import copy as copy
from chainer.functions.array.depth2space import depth2space as depth2space
from chainer.functions.array.diagonal import diagonal as diagonal
from chainer.functions.array.dstack import dstack as dstack
from chainer.functions.array.expand_dims import expand_dims as expand_dims
from chainer.functions.array.flatten import flatten as flatten
from chainer.functions.array.flip import flip as flip
from chainer.functions.array.fliplr import fliplr as fliplr
from chainer.functions.array.flipud import flipud as flipud
from chainer.functions.array.get_item import get_item as get_item
from chainer.functions.array.hstack import hstack as hstack
from chainer.functions.array.im2col import im2col as im2col
from chainer.functions.array.moveaxis import moveaxis as moveaxis
from chainer.functions.array.pad import pad as pad
from chainer.functions.array.pad_sequence import pad_sequence as pad_sequence
from chainer.functions.array.permutate import permutate as permutate
from chainer.functions.array.repeat import repeat as repeat
from chainer.functions.array.reshape import reshape as reshape
from chainer.functions.array.resize_images import resize_images as resize_images
from chainer.functions.array.rollaxis import rollaxis as rollaxis
from chainer.functions.array.scatter_add import scatter_add as scatter_add
from chainer.functions.array.select_item import select_item as select_item
from chainer.functions.array.separate import separate as separate
from chainer.functions.array.space2depth import space2depth as space2depth
from chainer.functions.array.spatial_transformer_grid import (
    spatial_transformer_grid as spatial_transformer_grid,
)
from chainer.functions.array.spatial_transformer_sampler import (
    spatial_transformer_sampler as spatial_transformer_sampler,
)
from chainer.functions.array.split_axis import split_axis as split_axis
from chainer.functions.array.squeeze import squeeze as squeeze
from chainer.functions.array.stack import stack as stack
from chainer.functions.array.swapaxes import swapaxes as swapaxes
from chainer.functions.array.tile import tile as tile
from chainer.functions.array.transpose import transpose as transpose
from chainer.functions.array.transpose_sequence import transpose_sequence as transpose_sequence
from chainer.functions.array.vstack import vstack as vstack
from chainer.functions.array.where import where as where
from chainer.functions.connection.bilinear import bilinear as bilinear
from chainer.functions.connection.convolution_2d import convolution_2d as convolution_2d
from chainer.functions.connection.convolution_nd import convolution_1d as convolution_1d
from chainer.functions.connection.convolution_nd import convolution_3d as convolution_3d
from chainer.functions.connection.convolution_nd import convolution_nd as convolution_nd
from chainer.functions.connection.deconvolution_2d import deconvolution_2d as deconvolution_2d
from chainer.functions.connection.deconvolution_nd import deconvolution_1d as deconvolution_1d
from chainer.functions.connection.deconvolution_nd import deconvolution_3d as deconvolution_3d
from chainer.functions.connection.deconvolution_nd import deconvolution_nd as deconvolution_nd
from chainer.functions.connection.deformable_convolution_2d_sampler import (
    deformable_convolution_2d_sampler as deformable_convolution_2d_sampler,
)
from chainer.functions.connection.depthwise_convolution_2d import (
    depthwise_convolution_2d as depthwise_convolution_2d,
)
from chainer.functions.connection.dilated_convolution_2d import (
    dilated_convolution_2d as dilated_convolution_2d,
)
from chainer.functions.connection.embed_id import embed_id as embed_id
from chainer.functions.connection.linear import linear as linear
from chainer.functions.connection.local_convolution_2d import (
    local_convolution_2d as local_convolution_2d,
)
from chainer.functions.connection.n_step_gru import n_step_bigru as n_step_bigru
from chainer.functions.connection.n_step_gru import n_step_gru as n_step_gru
from chainer.functions.connection.n_step_lstm import n_step_bilstm as n_step_bilstm
from chainer.functions.connection.n_step_lstm import n_step_lstm as n_step_lstm
from chainer.functions.connection.n_step_rnn import n_step_birnn as n_step_birnn
from chainer.functions.connection.n_step_rnn import n_step_rnn as n_step_rnn
from chainer.functions.connection.shift import shift as shift
from chainer.functions.evaluation.accuracy import accuracy as accuracy
from chainer.functions.evaluation.binary_accuracy import binary_accuracy as binary_accuracy
from chainer.functions.evaluation.classification_summary import (
    classification_summary as classification_summary,
)
from chainer.functions.evaluation.classification_summary import f1_score as f1_score
from chainer.functions.evaluation.classification_summary import precision as precision
from chainer.functions.evaluation.classification_summary import recall as recall
from chainer.functions.evaluation.r2_score import r2_score as r2_score
from chainer.functions.loss.absolute_error import absolute_error as absolute_error
from chainer.functions.loss.black_out import black_out as black_out
from chainer.functions.loss.contrastive import contrastive as contrastive
from chainer.functions.loss.crf1d import argmax_crf1d as argmax_crf1d
from chainer.functions.loss.crf1d import crf1d as crf1d
from chainer.functions.loss.cross_covariance import cross_covariance as cross_covariance
from chainer.functions.loss.ctc import (
    connectionist_temporal_classification as connectionist_temporal_classification,
)
from chainer.functions.loss.decov import decov as decov
from chainer.functions.loss.discriminative_loss import (
    discriminative_margin_based_clustering_loss as discriminative_margin_based_clustering_loss,
)
from chainer.functions.loss.hinge import hinge as hinge
from chainer.functions.loss.huber_loss import huber_loss as huber_loss
from chainer.functions.loss.mean_absolute_error import mean_absolute_error as mean_absolute_error
from chainer.functions.loss.mean_squared_error import mean_squared_error as mean_squared_error
from chainer.functions.loss.negative_sampling import negative_sampling as negative_sampling
from chainer.functions.loss.sigmoid_cross_entropy import (
    sigmoid_cross_entropy as sigmoid_cross_entropy,
)
from chainer.functions.loss.softmax_cross_entropy import (
    softmax_cross_entropy as softmax_cross_entropy,
)
from chainer.functions.loss.squared_error import squared_error as squared_error
from chainer.functions.loss.triplet import triplet as triplet
from chainer.functions.loss.vae import bernoulli_nll as bernoulli_nll
from chainer.functions.loss.vae import gaussian_kl_divergence as gaussian_kl_divergence
from chainer.functions.loss.vae import gaussian_nll as gaussian_nll
from chainer.functions.math.arctanh import arctanh as arctanh
from chainer.functions.math.average import average as average
from chainer.functions.math.basic_math import absolute as absolute
from chainer.functions.math.basic_math import add as add
from chainer.functions.math.batch_l2_norm_squared import (
    batch_l2_norm_squared as batch_l2_norm_squared,
)
from chainer.functions.math.bias import bias as bias
from chainer.functions.math.ceil import ceil as ceil
from chainer.functions.math.cholesky import cholesky as cholesky
from chainer.functions.math.clip import clip as clip
from chainer.functions.math.cumprod import cumprod as cumprod
from chainer.functions.math.cumsum import cumsum as cumsum
from chainer.functions.math.det import batch_det as batch_det
from chainer.functions.math.det import det as det
from chainer.functions.math.digamma import digamma as digamma
from chainer.functions.math.einsum import einsum as einsum
from chainer.functions.math.erf import erf as erf
from chainer.functions.math.erfc import erfc as erfc
from chainer.functions.math.erfcinv import erfcinv as erfcinv
from chainer.functions.math.erfcx import erfcx as erfcx
from chainer.functions.math.erfinv import erfinv as erfinv
from chainer.functions.math.exponential import exp as exp
from chainer.functions.math.exponential import log as log
from chainer.functions.math.exponential import log2 as log2
from chainer.functions.math.exponential import log10 as log10
from chainer.functions.math.exponential_m1 import expm1 as expm1
from chainer.functions.math.fft import fft as fft
from chainer.functions.math.fft import ifft as ifft
from chainer.functions.math.fix import fix as fix
from chainer.functions.math.floor import floor as floor
from chainer.functions.math.fmod import fmod as fmod
from chainer.functions.math.hyperbolic import cosh as cosh
from chainer.functions.math.hyperbolic import sinh as sinh
from chainer.functions.math.identity import identity as identity
from chainer.functions.math.inv import batch_inv as batch_inv
from chainer.functions.math.inv import inv as inv
from chainer.functions.math.lgamma import lgamma as lgamma
from chainer.functions.math.linear_interpolate import linear_interpolate as linear_interpolate
from chainer.functions.math.log_ndtr import log_ndtr as log_ndtr
from chainer.functions.math.logarithm_1p import log1p as log1p
from chainer.functions.math.logsumexp import logsumexp as logsumexp
from chainer.functions.math.matmul import batch_matmul as batch_matmul
from chainer.functions.math.matmul import matmul as matmul
from chainer.functions.math.maximum import maximum as maximum
from chainer.functions.math.minimum import minimum as minimum
from chainer.functions.math.minmax import argmax as argmax
from chainer.functions.math.minmax import argmin as argmin
from chainer.functions.math.minmax import max as max
from chainer.functions.math.minmax import min as min
from chainer.functions.math.ndtr import ndtr as ndtr
from chainer.functions.math.ndtri import ndtri as ndtri
from chainer.functions.math.polygamma import polygamma as polygamma
from chainer.functions.math.prod import prod as prod
from chainer.functions.math.scale import scale as scale
from chainer.functions.math.sign import sign as sign
from chainer.functions.math.sparse_matmul import sparse_matmul as sparse_matmul
from chainer.functions.math.sqrt import rsqrt as rsqrt
from chainer.functions.math.sqrt import sqrt as sqrt
from chainer.functions.math.square import square as square
from chainer.functions.math.squared_difference import squared_difference as squared_difference
from chainer.functions.math.sum import sum as sum
from chainer.functions.math.sum import sum_to as sum_to
from chainer.functions.math.tensordot import tensordot as tensordot
from chainer.functions.math.trigonometric import arccos as arccos
from chainer.functions.math.trigonometric import arcsin as arcsin
from chainer.functions.math.trigonometric import arctan as arctan
from chainer.functions.math.trigonometric import arctan2 as arctan2
from chainer.functions.math.trigonometric import cos as cos
from chainer.functions.math.trigonometric import sin as sin
from chainer.functions.math.trigonometric import tan as tan
from chainer.functions.math.zeta import zeta as zeta
from chainer.functions.noise.dropout import dropout as dropout
from chainer.functions.noise.gaussian import gaussian as gaussian
from chainer.functions.noise.gumbel_softmax import gumbel_softmax as gumbel_softmax
from chainer.functions.noise.simplified_dropconnect import (
    simplified_dropconnect as simplified_dropconnect,
)
from chainer.functions.noise.zoneout import zoneout as zoneout
from chainer.functions.normalization.batch_normalization import (
    batch_normalization as batch_normalization,
)
from chainer.functions.normalization.batch_normalization import (
    fixed_batch_normalization as fixed_batch_normalization,
)
from chainer.functions.normalization.batch_renormalization import (
    batch_renormalization as batch_renormalization,
)
from chainer.functions.normalization.batch_renormalization import (
    fixed_batch_renormalization as fixed_batch_renormalization,
)
from chainer.functions.normalization.decorrelated_batch_normalization import (
    decorrelated_batch_normalization as decorrelated_batch_normalization,
)
from chainer.functions.normalization.decorrelated_batch_normalization import (
    fixed_decorrelated_batch_normalization as fixed_decorrelated_batch_normalization,
)
from chainer.functions.normalization.group_normalization import (
    group_normalization as group_normalization,
)
from chainer.functions.normalization.l2_normalization import normalize as normalize
from chainer.functions.normalization.layer_normalization import (
    layer_normalization as layer_normalization,
)
from chainer.functions.normalization.local_response_normalization import (
    local_response_normalization as local_response_normalization,
)
from chainer.functions.pooling.average_pooling_2d import average_pooling_2d as average_pooling_2d
from chainer.functions.pooling.average_pooling_nd import average_pooling_1d as average_pooling_1d
from chainer.functions.pooling.average_pooling_nd import average_pooling_3d as average_pooling_3d
from chainer.functions.pooling.average_pooling_nd import average_pooling_nd as average_pooling_nd
from chainer.functions.pooling.max_pooling_2d import max_pooling_2d as max_pooling_2d
from chainer.functions.pooling.max_pooling_nd import max_pooling_1d as max_pooling_1d
from chainer.functions.pooling.max_pooling_nd import max_pooling_3d as max_pooling_3d
from chainer.functions.pooling.max_pooling_nd import max_pooling_nd as max_pooling_nd
from chainer.functions.pooling.roi_average_align_2d import (
    roi_average_align_2d as roi_average_align_2d,
)
from chainer.functions.pooling.roi_average_pooling_2d import (
    roi_average_pooling_2d as roi_average_pooling_2d,
)
from chainer.functions.pooling.roi_max_align_2d import roi_max_align_2d as roi_max_align_2d
from chainer.functions.pooling.roi_max_pooling_2d import roi_max_pooling_2d as roi_max_pooling_2d
from chainer.functions.pooling.roi_pooling_2d import roi_pooling_2d as roi_pooling_2d
from chainer.functions.pooling.spatial_pyramid_pooling_2d import (
    spatial_pyramid_pooling_2d as spatial_pyramid_pooling_2d,
)
from chainer.functions.pooling.unpooling_2d import unpooling_2d as unpooling_2d
from chainer.functions.pooling.unpooling_nd import unpooling_1d as unpooling_1d
from chainer.functions.pooling.unpooling_nd import unpooling_3d as unpooling_3d
from chainer.functions.pooling.unpooling_nd import unpooling_nd as unpooling_nd
from chainer.functions.pooling.upsampling_2d import upsampling_2d as upsampling_2d
from chainer.functions.util.forget import forget as forget

mean = average  # its second name


def __getattr__(name):
    """Classes of functions under this name, as Chainer 1 to 4 had them (``F.MaxPooling2D``)."""
    if name[:1].isupper():
        from chainer.functions import _classes
        found = _classes.find(name)
        if found is not None:
            return found
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
