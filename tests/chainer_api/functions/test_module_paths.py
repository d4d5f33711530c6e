"""Functions and their classes stand where Chainer 5.4 has them, and where 7 has them."""
import importlib

import pytest

import chainer.functions as F

PATHS = [
    'activation.lstm:LSTM,lstm', 'activation.slstm:SLSTM,slstm',
    'activation.tree_lstm:TreeLSTM,tree_lstm',
    'connection.bilinear:BilinearFunction,bilinear',
    'connection.convolution_2d:Convolution2DFunction,convolution_2d',
    'connection.convolution_nd:ConvolutionND,convolution_1d,convolution_3d,convolution_nd',
    'connection.deconvolution_2d:Deconvolution2DFunction,deconvolution_2d',
    'connection.deconvolution_nd:DeconvolutionND,deconvolution_1d,deconvolution_3d,'
    'deconvolution_nd',
    'connection.deformable_convolution_2d_sampler:deformable_convolution_2d_sampler',
    'connection.depthwise_convolution_2d:depthwise_convolution_2d',
    'connection.dilated_convolution_2d:dilated_convolution_2d',
    'connection.embed_id:EmbedIDFunction,embed_id',
    'connection.linear:LinearFunction,LinearGradData,LinearGradWeight,linear',
    'connection.local_convolution_2d:LocalConvolution2DFunction,local_convolution_2d',
    'connection.n_step_gru:n_step_gru,n_step_bigru',
    'connection.n_step_lstm:n_step_lstm,n_step_bilstm',
    'connection.n_step_rnn:n_step_rnn,n_step_birnn',
    'connection.shift:Shift,shift',
    'noise.dropout:Dropout,dropout', 'noise.gaussian:Gaussian,gaussian',
    'noise.gumbel_softmax:gumbel_softmax',
    'noise.simplified_dropconnect:SimplifiedDropconnect,simplified_dropconnect',
    'noise.zoneout:Zoneout,zoneout',
    'normalization.batch_normalization:BatchNormalization,FixedBatchNormalization,'
    'batch_normalization,fixed_batch_normalization',
    'normalization.batch_renormalization:BatchRenormalizationFunction,batch_renormalization,'
    'fixed_batch_renormalization',
    'normalization.decorrelated_batch_normalization:DecorrelatedBatchNormalization,'
    'FixedDecorrelatedBatchNormalization,decorrelated_batch_normalization,'
    'fixed_decorrelated_batch_normalization',
    'normalization.group_normalization:GroupNormalization,group_normalization',
    'normalization.l2_normalization:NormalizeL2,normalize',
    'normalization.layer_normalization:LayerNormalization,layer_normalization',
    'normalization.local_response_normalization:LocalResponseNormalization,'
    'local_response_normalization',
    'pooling.average_pooling_2d:AveragePooling2D,average_pooling_2d',
    'pooling.average_pooling_nd:AveragePoolingND,average_pooling_1d,average_pooling_3d,'
    'average_pooling_nd',
    'pooling.max_pooling_2d:MaxPooling2D,max_pooling_2d',
    'pooling.max_pooling_nd:MaxPoolingND,max_pooling_1d,max_pooling_2d,max_pooling_3d,'
    'max_pooling_nd',
    'pooling.pooling_2d:Pooling2D', 'pooling.pooling_nd:_PoolingND',
    'pooling.roi_average_align_2d:ROIAverageAlign2D,roi_average_align_2d',
    'pooling.roi_average_pooling_2d:ROIAveragePooling2D,roi_average_pooling_2d',
    'pooling.roi_max_align_2d:ROIMaxAlign2D,roi_max_align_2d',
    'pooling.roi_max_pooling_2d:ROIMaxPooling2D,roi_max_pooling_2d',
    'pooling.roi_pooling_2d:ROIPooling2D,roi_pooling_2d',
    'pooling.spatial_pyramid_pooling_2d:spatial_pyramid_pooling_2d',
    'pooling.unpooling_2d:Unpooling2D,unpooling_2d',
    'pooling.unpooling_nd:UnpoolingND,unpooling_1d,unpooling_3d,unpooling_nd',
    'pooling.upsampling_2d:Upsampling2D,upsampling_2d',
    'rnn.lstm:LSTM,lstm,_extract_gates', 'rnn.slstm:SLSTM,slstm',
    'rnn.tree_lstm:TreeLSTM,tree_lstm', 'rnn.n_step_gru:n_step_gru,n_step_bigru',
    'rnn.n_step_lstm:n_step_lstm,n_step_bilstm', 'rnn.n_step_rnn:n_step_rnn,n_step_birnn',
]


@pytest.mark.parametrize('path', PATHS)
def test_names(path):
    module, names = path.split(':')
    module = importlib.import_module('chainer.functions.' + module)
    for name in names.split(','):
        found = getattr(module, name)
        if name in vars(F):
            assert found is getattr(F, name)
