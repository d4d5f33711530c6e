"""The workloads under Chainer, this one or the original."""
import bench_native
import numpy as np

import chainer


def steps(workload, mode, way):
    """One step of a workload: ``way`` is 'define-by-run' or 'static_graph'."""
    np.random.seed(0)
    chainer.global_config.static_target = 'native'  # define-by-run functions, too
    chainer.global_config.static_budget = None  # programs, whatever they cost
    train, infer, _ = bench_native.steps(workload, way)
    return train if mode == 'train' else infer
