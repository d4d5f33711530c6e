"""Train a fully connected network on MNIST, with a loop of one's own."""
# ruff: noqa: I001, UP008, UP032  Most of the code is that of Chainer's tutorial.
import math
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Chain, iterators, optimizers, serializers
from chainer.backends.cuda import to_cpu
from chainer.dataset import concat_examples
from chainer.datasets import mnist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags


class MyNetwork(Chain):

    def __init__(self, n_mid_units=100, n_out=10):
        super(MyNetwork, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_mid_units)
            self.l2 = L.Linear(n_mid_units, n_mid_units)
            self.l3 = L.Linear(n_mid_units, n_out)

    def forward(self, x):
        h = F.relu(self.l1(x))
        h = F.relu(self.l2(h))
        return self.l3(h)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=128, epoch=10, unit=100, out='my_mnist.model', test={'epoch': 5})
    parser.add_argument('--pictures', action='store_true',
                        help='draw a training and a test image (needs matplotlib)')
    return flags.parse(parser, argv)


def draw(x, path):
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    side = math.isqrt(x.size)
    plt.imshow(x.reshape(side, side), cmap='gray')
    plt.savefig(path)


def main(argv=None):
    args = parse_args(argv)
    batchsize = args.batchsize
    max_epoch = args.epoch
    if args.static:
        MyNetwork.forward = chainer.static_graph(MyNetwork.forward)

    # Download the MNIST data if you haven't downloaded it yet
    train, test = digits.get_digits() if args.test else mnist.get_mnist(withlabel=True, ndim=1)

    # Display an example from the MNIST dataset.
    # `x` contains the input image array and `t` contains that target class
    # label as an integer.
    x, t = train[0]
    if args.pictures:
        draw(x, '5.png')
    print('label:', t)

    train_iter = iterators.SerialIterator(train, batchsize)
    test_iter = iterators.SerialIterator(test, batchsize,
                                         repeat=False, shuffle=False)

    model = MyNetwork(args.unit)
    model.to_device(args.device)

    # Choose an optimizer algorithm
    optimizer = optimizers.MomentumSGD(lr=0.01, momentum=0.9)

    # Give the optimizer a reference to the model so that it
    # can locate the model's parameters.
    optimizer.setup(model)

    if args.resume:
        serializers.load_npz(args.resume, model)

    while train_iter.epoch < max_epoch:

        # ----- One iteration of the training loop -----
        train_batch = train_iter.next()
        image_train, target_train = concat_examples(train_batch, args.device)

        # Calculate the prediction of the network
        prediction_train = model(image_train)

        # Calculate the loss with softmax_cross_entropy
        loss = F.softmax_cross_entropy(prediction_train, target_train)

        # Calculate the gradients in the network
        model.cleargrads()
        loss.backward()

        # Update all the trainable parameters
        optimizer.update()
        # ----- until here -----

        # Check the validation accuracy of prediction after every epoch
        if train_iter.is_new_epoch:  # If this iteration is the final iteration of the current epoch

            # Display the training loss
            print('epoch:{:02d} train_loss:{:.04f} '.format(
                train_iter.epoch, float(to_cpu(loss.array))), end='')

            test_losses = []
            test_accuracies = []
            while True:
                test_batch = test_iter.next()
                image_test, target_test = concat_examples(test_batch, args.device)

                # Forward the test data
                prediction_test = model(image_test)

                # Calculate the loss
                loss_test = F.softmax_cross_entropy(prediction_test, target_test)
                test_losses.append(to_cpu(loss_test.array))

                # Calculate the accuracy
                accuracy = F.accuracy(prediction_test, target_test)
                accuracy.to_cpu()
                test_accuracies.append(accuracy.array)

                if test_iter.is_new_epoch:
                    test_iter.epoch = 0
                    test_iter.current_position = 0
                    test_iter.is_new_epoch = False
                    test_iter._pushed_position = None
                    break

            print('val_loss:{:.04f} val_accuracy:{:.04f}'.format(
                np.mean(test_losses), np.mean(test_accuracies)))

    serializers.save_npz(args.out, model)
    if args.static:
        compiled.print_summary(model)

    # Create an instance of the network you trained
    model = MyNetwork(args.unit)

    # Load the saved parameters into the instance
    serializers.load_npz(args.out, model)

    # Get a test image and label
    x, t = test[0]
    if args.pictures:
        draw(x, '7.png')
    print('label:', t)

    # Change the shape of the minibatch.
    # In this example, the size of minibatch is 1.
    # Inference using any mini-batch size can be performed.

    print(x.shape, end=' -> ')
    x = x[None, ...]
    print(x.shape)

    # Forward calculation of the model by sending X
    y = model(x)

    # The result is given as Variable, then we can take a look at the contents by the
    # attribute, .array.
    y = y.array

    # Look up the most probable digit number using argmax
    pred_label = y.argmax(axis=1)

    print('predicted label:', pred_label[0])


if __name__ == '__main__':
    main()
