"""What the models of vision share: images in, activations of named layers out."""
import os

import numpy

import chainer
from chainer import functions as F
from chainer import link, serializers
from chainer.dataset import download
from chainer.utils import argument, imgproc

_OLD_ARGUMENTS = {
    name: f'{name} argument is not supported anymore. Use chainer.using_config'
    for name in ('test', 'train', 'volatile')}


class PretrainedLayers(link.Chain):
    """Chain whose layers have names, with weights that may come from a file.

    A child class has the property ``functions``, the class attribute ``default_layers``, and the
    methods ``_prepare`` and ``_read_caffemodel``.
    """

    default_layers = ()

    @property
    def available_layers(self):
        """List of the names of all layers."""
        return list(self.functions)

    def forward(self, x, layers=None, **kwargs):
        """Computes the activations of some layers.

        Args:
            x (Variable or array): Batch of prepared images.
            layers (list of str): Names of the layers, ``['prob']`` by default. Names that are not
                among :attr:`available_layers` are ignored.

        Returns:
            dict of Variables: The activations by the names of the layers.
        """
        if kwargs:
            argument.check_unexpected_kwargs(kwargs, **_OLD_ARGUMENTS)
            argument.assert_kwargs_empty(kwargs)
        wanted = {'prob'} if layers is None else set(layers)
        activations = {}
        h = x
        for name, functions in self.functions.items():
            if len(activations) == len(wanted):
                break
            for function in functions:
                h = function(h)
            if name in wanted:
                activations[name] = h
        return activations

    def extract(self, images, layers=None, size=(224, 224), **kwargs):
        """Prepares images and computes the activations of some layers.

        Unlike :meth:`predict` it leaves ``chainer.config.train`` and
        ``chainer.config.enable_backprop`` as they are; for features of a trained model set both
        to ``False``.

        Args:
            images (iterable of PIL.Image or array): Images, see ``prepare`` of the module.
            layers (list of str): Names of the layers.
            size (pair of ints): Width and height of the prepared images.

        Returns:
            dict of Variables: The activations by the names of the layers.
        """
        if kwargs:
            argument.check_unexpected_kwargs(kwargs, **_OLD_ARGUMENTS)
            argument.assert_kwargs_empty(kwargs)
        x = self._batch(images, size)
        return self(x, layers=self.default_layers if layers is None else layers)

    def predict(self, images, oversample=True):
        """Computes the probabilities of the 1000 categories of ImageNet, without a graph.

        Args:
            images (iterable of PIL.Image or array): Images, see ``prepare`` of the module.
            oversample (bool): Whether to average over ten crops of each image (center, corners,
                and their mirror images) rather than take the center.

        Returns:
            Variable: Probabilities of shape (number of images, 1000).
        """
        x = self._batch(images, (256, 256))
        if oversample:
            x = imgproc.oversample(x, crop_dims=(224, 224))
        else:
            x = x[:, :, 16:240, 16:240]
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            y = self(x, layers=['prob'])['prob']
            if oversample:
                y = F.sum(F.reshape(y, (-1, 10) + y.shape[1:]), axis=1) / 10
        return y

    def _batch(self, images, size):
        x = [self._prepare(image, size) for image in images]
        if not x:
            raise ValueError('batch is empty')
        return self.xp.asarray(numpy.stack(x))

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel, path_npz):
        """Reads weights from a file of Caffe and writes them to a file of NumPy.

        Args:
            path_caffemodel (str): File of Caffe.
            path_npz (str): File to write; ``pretrained_model`` may name it then.
        """
        model = cls(pretrained_model=None)
        model._read_caffemodel(path_caffemodel)
        serializers.save_npz(path_npz, model, compression=False)

    def _load(self, pretrained_model, name, url):
        """Reads weights.

        Args:
            pretrained_model (str): File of Caffe or NumPy, or ``'auto'``.
            name (str): Name of the published file, without its extension.
            url (str): Where it is published.

        Raises:
            FileNotFoundError: There is no file.
        """
        if pretrained_model == 'auto':
            pretrained_model = _cached_file(self, name, url)
        if pretrained_model.endswith('.caffemodel'):
            self._read_caffemodel(pretrained_model)
        else:
            serializers.load_npz(pretrained_model, self)


def _cached_file(model, name, url):
    folder = download.get_dataset_directory('pfnet/chainer/models/', create_directory=False)
    for extension in ('.npz', '.caffemodel'):
        path = os.path.join(folder, name + extension)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(
        f'The pre-trained weights of {type(model).__name__} are not on this machine. Download '
        f'{name}.caffemodel from {url} and place it at '
        f'{os.path.join(folder, name + ".caffemodel")}, or name a file of yours by '
        f'{type(model).__name__}(pretrained_model=...). For random weights, use '
        'pretrained_model=None.')


def prepare(image, size, mean):
    """Makes an image ready for a model: RGB, resized, then BGR without the mean, channels first.

    Args:
        image (PIL.Image or array): Image; an array has the shape (height, width),
            (height, width, channels) or (channels, height, width) and values from 0 to 255.
        size (pair of ints or None): Width and height; ``None`` leaves them.
        mean (tuple of floats): Means of blue, green and red.

    Returns:
        numpy.ndarray: Shape (3, height, width), dtype ``chainer.config.dtype``.
    """
    try:
        from PIL import Image
    except ImportError as e:
        raise ImportError(
            'preparing images needs Pillow, which is not installed: pip install pillow') from e
    if isinstance(image, numpy.ndarray):
        if image.ndim == 3:
            if image.shape[0] == 1:
                image = image[0]
            elif image.shape[0] == 3:
                image = image.transpose(1, 2, 0)
            elif image.shape[2] == 1:
                image = image[:, :, 0]
        image = Image.fromarray(image.astype(numpy.uint8))
    image = image.convert('RGB')
    if size:
        image = image.resize(size)
    dtype = chainer.get_dtype()
    bgr = numpy.asarray(image, dtype=dtype)[:, :, ::-1] - numpy.array(mean, dtype=dtype)
    return bgr.transpose(2, 0, 1)
