"""A dataset in another mode."""
from chainer.dataset.tabular import delegate_dataset


class _Astuple(delegate_dataset._View):

    @property
    def mode(self):
        return tuple


class _Asdict(delegate_dataset._View):

    @property
    def mode(self):
        return dict
