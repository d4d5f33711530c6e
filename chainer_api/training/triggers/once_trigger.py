"""Once in a training."""
from chainer.training.triggers import _progress


class OnceTrigger:
    """Fires at its first call.

    Args:
        call_on_resume (bool): Whether to fire again at the first call after a snapshot was loaded.
    """

    def __init__(self, call_on_resume=False):
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self):
        """Whether it will not fire any more."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, trainer):
        """Whether this is the first call."""
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer):
        """Saves or restores whether it has fired."""
        self._flag_first = _progress.load_flag(
            serializer, '_flag_first', self._flag_first, default=False)
