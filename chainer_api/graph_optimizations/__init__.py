"""Static subgraph optimizations: :func:`chainer.static_graph` and :func:`chainer.static_code`."""
