"""The objects in the serialized files, built in the same way by Chainer and by us."""
import numpy as np


def make_model(chainer):
    """A chain with all that a link can hold; its values are to be filled or loaded."""
    class Leaf(chainer.Link):
        def __init__(self, *shape):
            super().__init__()
            with self.init_scope():
                self.W = chainer.Parameter(chainer.initializers.Zero(), shape)
                self.b = chainer.Parameter(chainer.initializers.Zero(np.float64), (shape[0],))

        def forward(self, x):
            return x

    class Lazy(chainer.Link):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.W = chainer.Parameter(chainer.initializers.Zero())
                self.late = chainer.Parameter(chainer.initializers.Zero())

    model = chainer.Chain()
    with model.init_scope():
        model.scale = chainer.Parameter(np.zeros((), np.float16))
        model.leaf = Leaf(2, 3)
        model.lazy = Lazy()
        model.stack = chainer.ChainList(Leaf(1, 2), Leaf(2, 2))
        # Its children are saved in another order than that of its layers.
        model.layers = chainer.Sequential(Leaf(1, 1), np.tanh, Leaf(2, 1), Leaf(3, 1), Leaf(4, 1))
    model.add_persistent('count', 0)
    model.add_persistent('mean', np.zeros(3, np.float32))
    model.add_persistent('nothing', None)
    model.add_persistent('ratio', 0.0)
    model.add_persistent('flag', False)
    return model


def fill(model):
    """Gives every value a number of its own; ``lazy.W`` stays uninitialized."""
    model.lazy.late.initialize((2, 2))
    for i, (_, param) in enumerate(sorted(model.namedparams(False))):
        param.array[...] = np.arange(param.size).reshape(param.shape) + 10 * (i + 1)
    model.count = 42
    model.mean[...] = [0.5, 1.5, 2.5]
    model.ratio = 0.25
    model.flag = True


def values(model):
    """All values of a model, as plain data."""
    found = {
        name: None if param.array is None else [str(param.dtype), param.array.tolist()]
        for name, param in model.namedparams()}
    for name in ('count', 'nothing', 'ratio', 'flag'):
        found[name] = getattr(model, name)
    found['mean'] = model.mean.tolist()
    return found


def make_optimizer(chainer):
    """An optimizer of a model without lazy parts."""
    link = chainer.Link()
    link.add_param('W', (2, 3))
    link.add_param('b', 3, np.float64)
    for param in link.params():
        param.array[...] = 0
    return chainer.optimizers.Adam(amsgrad=True).setup(link)


def train(optimizer, steps):
    rng = np.random.RandomState(0)
    for _ in range(steps):
        for _, param in sorted(optimizer.target.namedparams()):
            param.grad = rng.randint(-4, 5, size=param.shape).astype(param.dtype)
        optimizer.update()
    optimizer.new_epoch()


def states(optimizer):
    """All counts and states of an optimizer, as plain data."""
    found = {'t': optimizer.t, 'epoch': optimizer.epoch}
    for name, param in optimizer.target.namedparams():
        found[name + '/t'] = param.update_rule.t
        for key, value in param.update_rule.state.items():
            found[name + '/' + key] = [str(value.dtype), value.tolist()]
    return found
