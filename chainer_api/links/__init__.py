"""Links: layers and models with parameters."""
from chainer.links.connection.bias import Bias as Bias
from chainer.links.connection.convolution_2d import Convolution2D as Convolution2D
from chainer.links.connection.convolution_nd import Convolution1D as Convolution1D
from chainer.links.connection.convolution_nd import Convolution3D as Convolution3D
from chainer.links.connection.convolution_nd import ConvolutionND as ConvolutionND
from chainer.links.connection.deconvolution_2d import Deconvolution2D as Deconvolution2D
from chainer.links.connection.deconvolution_nd import Deconvolution1D as Deconvolution1D
from chainer.links.connection.deconvolution_nd import Deconvolution3D as Deconvolution3D
from chainer.links.connection.deconvolution_nd import DeconvolutionND as DeconvolutionND
from chainer.links.connection.embed_id import EmbedID as EmbedID
from chainer.links.connection.linear import Linear as Linear
from chainer.links.connection.lstm import LSTM as LSTM
from chainer.links.connection.lstm import StatelessLSTM as StatelessLSTM
from chainer.links.connection.scale import Scale as Scale
from chainer.links.normalization.batch_normalization import (
    BatchNormalization as BatchNormalization,
)
