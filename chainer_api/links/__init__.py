"""Links: layers and models with parameters."""
from chainer.links import caffe as caffe
from chainer.links import rnn as rnn
from chainer.links.activation.maxout import Maxout as Maxout
from chainer.links.activation.prelu import PReLU as PReLU
from chainer.links.activation.simplified_dropconnect import (
    SimplifiedDropconnect as SimplifiedDropconnect,
)
from chainer.links.activation.swish import Swish as Swish
from chainer.links.connection.bias import Bias as Bias
from chainer.links.connection.bilinear import Bilinear as Bilinear
from chainer.links.connection.convolution_2d import Convolution2D as Convolution2D
from chainer.links.connection.convolution_nd import Convolution1D as Convolution1D
from chainer.links.connection.convolution_nd import Convolution3D as Convolution3D
from chainer.links.connection.convolution_nd import ConvolutionND as ConvolutionND
from chainer.links.connection.deconvolution_2d import Deconvolution2D as Deconvolution2D
from chainer.links.connection.deconvolution_nd import Deconvolution1D as Deconvolution1D
from chainer.links.connection.deconvolution_nd import Deconvolution3D as Deconvolution3D
from chainer.links.connection.deconvolution_nd import DeconvolutionND as DeconvolutionND
from chainer.links.connection.deformable_convolution_2d import (
    DeformableConvolution2D as DeformableConvolution2D,
)
from chainer.links.connection.depthwise_convolution_2d import (
    DepthwiseConvolution2D as DepthwiseConvolution2D,
)
from chainer.links.connection.dilated_convolution_2d import (
    DilatedConvolution2D as DilatedConvolution2D,
)
from chainer.links.connection.embed_id import EmbedID as EmbedID
from chainer.links.connection.gru import GRU as GRU
from chainer.links.connection.gru import StatefulGRU as StatefulGRU
from chainer.links.connection.gru import StatelessGRU as StatelessGRU
from chainer.links.connection.highway import Highway as Highway
from chainer.links.connection.inception import Inception as Inception
from chainer.links.connection.inceptionbn import InceptionBN as InceptionBN
from chainer.links.connection.linear import Linear as Linear
from chainer.links.connection.local_convolution_2d import LocalConvolution2D as LocalConvolution2D
from chainer.links.connection.lstm import LSTM as LSTM
from chainer.links.connection.lstm import StatelessLSTM as StatelessLSTM
from chainer.links.connection.mgu import StatefulMGU as StatefulMGU
from chainer.links.connection.mgu import StatelessMGU as StatelessMGU
from chainer.links.connection.mlp_convolution_2d import MLPConvolution2D as MLPConvolution2D
from chainer.links.connection.n_step_gru import NStepBiGRU as NStepBiGRU
from chainer.links.connection.n_step_gru import NStepGRU as NStepGRU
from chainer.links.connection.n_step_lstm import NStepBiLSTM as NStepBiLSTM
from chainer.links.connection.n_step_lstm import NStepLSTM as NStepLSTM
from chainer.links.connection.n_step_rnn import NStepBiRNNReLU as NStepBiRNNReLU
from chainer.links.connection.n_step_rnn import NStepBiRNNTanh as NStepBiRNNTanh
from chainer.links.connection.n_step_rnn import NStepRNNReLU as NStepRNNReLU
from chainer.links.connection.n_step_rnn import NStepRNNTanh as NStepRNNTanh
from chainer.links.connection.parameter import Parameter as Parameter
from chainer.links.connection.peephole import StatefulPeepholeLSTM as StatefulPeepholeLSTM
from chainer.links.connection.scale import Scale as Scale
from chainer.links.connection.tree_lstm import ChildSumTreeLSTM as ChildSumTreeLSTM
from chainer.links.connection.tree_lstm import NaryTreeLSTM as NaryTreeLSTM
from chainer.links.connection.zoneoutlstm import StatefulZoneoutLSTM as StatefulZoneoutLSTM
from chainer.links.loss.black_out import BlackOut as BlackOut
from chainer.links.loss.crf1d import CRF1d as CRF1d
from chainer.links.loss.hierarchical_softmax import (
    BinaryHierarchicalSoftmax as BinaryHierarchicalSoftmax,
)
from chainer.links.loss.negative_sampling import NegativeSampling as NegativeSampling
from chainer.links.model.classifier import Classifier as Classifier
from chainer.links.model.vision.googlenet import GoogLeNet as GoogLeNet
from chainer.links.model.vision.resnet import ResNet50Layers as ResNet50Layers
from chainer.links.model.vision.resnet import ResNet101Layers as ResNet101Layers
from chainer.links.model.vision.resnet import ResNet152Layers as ResNet152Layers
from chainer.links.model.vision.vgg import VGG16Layers as VGG16Layers
from chainer.links.model.vision.vgg import VGG19Layers as VGG19Layers
from chainer.links.normalization.batch_normalization import BatchNormalization as BatchNormalization
from chainer.links.normalization.batch_renormalization import (
    BatchRenormalization as BatchRenormalization,
)
from chainer.links.normalization.decorrelated_batch_normalization import (
    DecorrelatedBatchNormalization as DecorrelatedBatchNormalization,
)
from chainer.links.normalization.group_normalization import GroupNormalization as GroupNormalization
from chainer.links.normalization.layer_normalization import LayerNormalization as LayerNormalization
from chainer.links.theano.theano_function import TheanoFunction as TheanoFunction
