"""Base classes of serializers."""
import pytest

import chainer


def test_abstract():
    for make in (chainer.AbstractSerializer, chainer.Serializer, chainer.Deserializer):
        with pytest.raises(NotImplementedError, match='__call__'):
            make()('key', 1)
        with pytest.raises(NotImplementedError, match='__getitem__'):
            make()['key']


def test_save_and_load_call_serialize():
    class Spy:
        def serialize(self, serializer):
            self.seen = serializer

    spy = Spy()
    for serializer, method in [(chainer.Serializer(), 'save'), (chainer.Deserializer(), 'load')]:
        getattr(serializer, method)(spy)
        assert spy.seen is serializer
