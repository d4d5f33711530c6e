"""Build cuDNN's plans for the convolutions of the vision models, for an H200, without a GPU.

    python3 -m venv build/cudnn && build/cudnn/bin/pip install --no-deps \\
        nvidia-cudnn-frontend nvidia-cudnn-cu13 nvidia-cublas 'nvidia-cuda-nvrtc==13.0.*' numpy
    python benchmarks/cudnn_plans.py --write      # benchmarks/results/cudnn_plans.md

The packages take 1 GB, so this is run by hand. cuDNN builds plans from a description of a device;
its libraries ask for the driver's library when they are loaded, for which a file of the same name
stands in whose functions only fail. Nothing in the library uses these plans yet: convolution is
``im2col`` and products. The table says what cuDNN would take for it, and how much memory.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TABLE = os.path.join(HERE, 'results', 'cudnn_plans.md')
BATCH = 32
MODELS = ('VGG16Layers', 'GoogLeNet', 'ResNet50Layers')
KINDS = ('float32', 'float32, TF32', 'float16')
LAYOUTS = ('NCHW', 'NHWC')
#: As published for an H200; cudnn.create_device_properties(0).serialize() gives a real device's.
DEVICE = {
    'maxGridSize': [2147483647, 65535, 65535], 'maxBlockSize': [1024, 1024, 64],
    'regsPerBlock': 65536, 'multiProcessorCount': 132, 'smCountOrigin': 0, 'warpSize': 32,
    'maxSharedMemoryPerBlock': 49152, 'maxSharedMemoryPerBlockOptin': 232448,
    'reservedSharedMemoryPerBlock': 1024, 'oversizedSharedMemoryPerBlock': 0,
    'maxRegistersPerSM': 65536, 'maxCtasPerSM': 32, 'maxThreadsPerBlock': 1024,
    'maxThreadsPerSM': 2048, 'pciDeviceId': 0x2335, 'isTccDriver': 0, 'supportCoopLaunch': 1,
    'totalGlobalMem': 150754820096, 'smClockRateKHz': 1980000, 'memClockRateKHz': 3201000,
    'memoryBusWidth': 6144, 'l2CacheSize': 62914560, 'cudaDeviceId': 0, 'deviceVer': 900,
    'driverVer': 13000, 'deviceName': 'NVIDIA H200'}
DRIVER = (
    'CtxGetCurrent CtxGetLimit CtxPopCurrent CtxPushCurrent DeviceGet DeviceGetCount '
    'DriverGetVersion GetErrorName GetErrorString KernelGetAttribute KernelGetFunction '
    'KernelSetAttribute LaunchCooperativeKernel LaunchKernel LaunchKernelEx LibraryGetKernel '
    'LibraryLoadData LibraryLoadFromFile LibraryUnload LinkAddData LinkComplete LinkCreate '
    'LinkDestroy ModuleGetFunction ModuleLoadData ModuleUnload OccupancyMaxPotentialClusterSize '
    'StreamGetCtx TensorMapEncodeIm2col TensorMapEncodeTiled')


def shapes_of(name):
    """The distinct convolutions of a model: shapes of input, weight and output, stride, pad."""
    import numpy as np

    import chainer
    found = {}

    class Hook(chainer.FunctionHook):
        def forward_postprocess(self, function, in_data):
            if function.label != 'Convolution2DFunction':
                return
            x, w = in_data[0].shape, in_data[1].shape
            stride, pad = (function.sy, function.sx), (function.ph, function.pw)
            y = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(
                x[2:], pad, w[2:], stride, strict=True)]
            facts = ((BATCH, *x[1:]), w, (BATCH, w[0], *y), stride, pad)
            found[facts] = facts

    model = getattr(chainer.links, name)(pretrained_model=None)
    with chainer.no_backprop_mode(), chainer.using_config('train', False), Hook():
        model(np.zeros((1, 3, 224, 224), 'f'))
    return list(found)


def stand_in(folder):
    """A library with the name of the driver's, of functions that fail."""
    os.makedirs(folder, exist_ok=True)
    text = ''.join(f'int cu{name}(void) {{ return 34; }}\n' for name in DRIVER.split())
    subprocess.run(
        ['cc', '-shared', '-fPIC', '-Wl,-soname,libcuda.so.1', '-x', 'c', '-', '-o',
         os.path.join(folder, 'libcuda.so.1')], input=text.encode(), check=True)
    return folder


class Plans:
    """Builds plans with cuDNN's frontend; made in an environment that has it."""

    def __init__(self):
        import cudnn
        self.cudnn = cudnn
        self.device = cudnn.create_device_properties(json.dumps(DEVICE))

    def _graph(self, kind):
        types = self.cudnn.data_type
        io = types.HALF if kind == 'float16' else types.FLOAT
        return io, self.cudnn.pygraph(
            io_data_type=io, intermediate_data_type=types.FLOAT, compute_data_type=types.FLOAT,
            device_property=self.device, sm_version=90)

    def convolution(self, way, shapes, stride, pad, kind, layout):
        """The workspace of a plan for y = conv(x, w), or for the gradient of x or w, in bytes."""
        io, graph = self._graph(kind)
        x, w, y = ((shape, strides(shape, layout)) for shape in shapes)
        settings = {'padding': pad, 'stride': stride, 'dilation': [1, 1]}

        def tensor(name, facts):
            return graph.tensor(name=name, dim=list(facts[0]), stride=facts[1], data_type=io)

        if way == 'forward':
            out, facts = graph.conv_fprop(
                image=tensor('x', x), weight=tensor('w', w), **settings), y
        elif way == 'input':
            out, facts = graph.conv_dgrad(
                loss=tensor('y', y), filter=tensor('w', w), **settings), x
        else:
            out, facts = graph.conv_wgrad(
                image=tensor('x', x), loss=tensor('y', y), **settings), w
        out.set_output(True).set_dim(list(facts[0])).set_stride(facts[1]).set_data_type(io)
        return self._built(graph, strict=kind == 'float32')

    def normalization(self, shape, kind, layout):
        """The workspace of a plan for batch normalization in training."""
        io, graph = self._graph(kind)
        x = graph.tensor(name='x', dim=list(shape), stride=strides(shape, layout), data_type=io)
        single = self.cudnn.data_type.FLOAT

        def of_channels(name, n=shape[1], **by_value):
            return graph.tensor(name=name, dim=[1, n, 1, 1], stride=[n, 1, 1, 1],
                                data_type=single, **by_value)

        scale, bias, mean, variance = map(of_channels, ('scale', 'bias', 'mean', 'variance'))
        epsilon, momentum = (of_channels(name, 1, is_pass_by_value=True) for name in 'em')
        outs = graph.batchnorm(
            name='normalization', input=x, scale=scale, bias=bias, in_running_mean=mean,
            in_running_var=variance, epsilon=epsilon, momentum=momentum)
        for out, dtype in zip(outs, [io] + [single] * 4, strict=True):
            out.set_output(True).set_data_type(dtype)
        return self._built(graph, strict=False)

    def _built(self, graph, strict):
        modes, notes = self.cudnn.heur_mode, self.cudnn.numerical_note
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([modes.A, modes.FALLBACK])
        if strict:
            graph.deselect_numeric_notes([notes.TENSOR_CORE, notes.DOWN_CONVERT_INPUTS])
        graph.deselect_workspace_greater_than(1 << 30)
        graph.check_support()
        graph.build_plans(self.cudnn.build_plan_policy.HEURISTICS_CHOICE)
        return graph.get_workspace_size()


def strides(shape, layout):
    order = [0, 1, 2, 3] if layout == 'NCHW' else [0, 2, 3, 1]
    found, step = [0] * 4, 1
    for k in reversed(order):
        found[k] = step
        step *= shape[k]
    return found


def build(path):
    """Build all plans of a file of shapes; prints the results as JSON."""
    plans, rows = Plans(), []
    with open(path) as file:
        models = json.load(file)
    for model, convolutions in models.items():
        for *shapes, stride, pad in convolutions:
            for kind in KINDS:
                for layout in LAYOUTS:
                    for way in ('forward', 'input', 'weight'):
                        rows.append([model, kind, layout, way, *attempt(
                            plans.convolution, way, shapes, stride, pad, kind, layout)])
        widest = max((c[2] for c in convolutions), key=lambda shape: shape[1])
        for kind in KINDS:
            for layout in LAYOUTS:
                rows.append([model, kind, layout, 'normalization', *attempt(
                    plans.normalization, widest, kind, layout)])
    print(json.dumps({'version': plans.cudnn.backend_version(), 'rows': rows}))


def attempt(function, *args):
    """The result, and why there is none."""
    try:
        return function(*args), None
    except Exception as error:
        text = re.sub(r'\[\d+\] eng\S+ \w+: ', '', ' '.join(str(error).split()))
        return None, text[:150]


def table(found, models):
    lines = [
        '# Plans of cuDNN for the vision models, built without a GPU', '',
        f'`python benchmarks/cudnn_plans.py --write`, cuDNN {found["version"]}, for an H200 as '
        f'published, batches of {BATCH} pictures of', '224 x 224. How many of the distinct '
        'convolutions have a plan, forward and for both gradients, and the largest workspace '
        '(MB).', 'The `float32` without TF32 uses no tensor cores. Batch normalization: one plan, '
        'of the widest layer; its engine is compiled when the plan is built, for which cuDNN '
        'asks the driver, so that it has none here.',
        'Pooling has no operation in `nvidia-cudnn-frontend`.', '',
        '| model | numbers | layout | forward | input | weight | largest workspace '
        '| batch normalization |', '|---|---|---|---|---|---|---|---|']
    groups, reasons = collections.defaultdict(list), collections.Counter()
    for model, kind, layout, way, size, error in found['rows']:
        groups[model, kind, layout].append((way, size))
        if error is not None:
            reasons[way == 'normalization', error] += 1
    for (model, kind, layout), rows in groups.items():
        counts = [f'{sum(w == way and size is not None for w, size in rows)} of '
                  f'{len(models[model])}' for way in ('forward', 'input', 'weight')]
        largest = max((size for way, size in rows
                       if size is not None and way != 'normalization'), default=0)
        normal = any(way == 'normalization' and size is not None for way, size in rows)
        lines.append(f'| {model} | {kind} | {layout} | {" | ".join(counts)} | '
                     f'{largest / 1e6:.1f} | {"yes" if normal else "no"} |')
    lines += ['', 'What cuDNN says where there is no plan:', '']
    for (normal, error), count in sorted(reasons.items()):
        what = 'batch normalization' if normal else 'convolution'
        lines.append(f'* {what}, {count} times: `{error}`')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--cudnn', default=os.path.join(ROOT, 'build', 'cudnn'))
    parser.add_argument('--write', action='store_true', help='write the table of results')
    parser.add_argument('--build', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.build:
        return build(args.build)
    models = {name: shapes_of(name) for name in MODELS}
    os.makedirs(os.path.join(ROOT, 'build'), exist_ok=True)
    path = os.path.join(ROOT, 'build', 'cudnn_shapes.json')
    with open(path, 'w') as file:
        json.dump(models, file)
    # Only for the child: CuPy would take the stand-in for a driver.
    driver = stand_in(os.path.join(ROOT, 'build', 'no_driver'))
    done = subprocess.run(
        [os.path.join(args.cudnn, 'bin', 'python'), __file__, '--build', path], check=True,
        stdout=subprocess.PIPE, env=dict(os.environ, LD_LIBRARY_PATH=driver))
    text = table(json.loads(done.stdout.splitlines()[-1]), models)
    print(text)
    if args.write:
        with open(TABLE, 'w') as file:
            file.write(text)


if __name__ == '__main__':
    sys.exit(main())
