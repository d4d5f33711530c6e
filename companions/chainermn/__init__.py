"""Training on many processes and machines, as ChainerMN does it: over MPI, and NCCL on GPUs.

Importing it needs neither MPI nor a GPU; what does need them says how to get them.
"""
from chainermn import (
    communicators,
    datasets,
    extensions,
    functions,
    global_except_hook,
    iterators,
    links,
    optimizers,
)
from chainermn.communicators import CommunicatorBase, create_communicator
from chainermn.datasets import DataSizeError, scatter_dataset, scatter_index
from chainermn.extensions import create_multi_node_checkpointer, create_multi_node_evaluator
from chainermn.links import MultiNodeChainList
from chainermn.optimizers import create_multi_node_optimizer

__all__ = [
    'CommunicatorBase', 'DataSizeError', 'MultiNodeChainList', 'communicators',
    'create_communicator', 'create_multi_node_checkpointer', 'create_multi_node_evaluator',
    'create_multi_node_optimizer', 'datasets', 'extensions', 'functions', 'global_except_hook',
    'iterators', 'links', 'optimizers', 'scatter_dataset', 'scatter_index',
]

global_except_hook._add_hook_if_enabled()
