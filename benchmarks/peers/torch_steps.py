"""The workloads of bench_native.py, as one writes them with PyTorch.

On the device that ``PEERS_DEVICE`` names: ``cpu`` if it is not set, or ``cuda``.
"""
import os

import shapes
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
DEVICE = os.environ.get('PEERS_DEVICE', 'cpu')


def dense(*sizes):
    layers = []
    for n, m in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n, m), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        blocks = []
        for k, (n, m) in enumerate(shapes.CHANNELS):
            blocks += [nn.Conv2d(n, m, 3, padding=1, bias=False), nn.BatchNorm2d(m), nn.ReLU()]
            blocks += [nn.MaxPool2d(2)] if k % 2 else []
        self.blocks = nn.Sequential(*blocks)
        self.out = nn.Linear(128 * 64, 10)

    def forward(self, x):
        return self.out(self.blocks(x).flatten(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(2000, 650), nn.LSTM(650, 650)
        self.out = nn.Linear(650, 2000)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x.T))[0]).flatten(0, 1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.mix = nn.Linear(256, 768), nn.Linear(256, 256)
        self.wide, self.narrow = nn.Linear(256, 1024), nn.Linear(1024, 256)
        self.norm1, self.norm2 = nn.LayerNorm(256), nn.LayerNorm(256)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(16, 64, 3, 4, 64).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1024, 256)
        x = self.norm1(x + F.dropout(self.mix(a), 0.1, self.training))
        h = self.narrow(F.gelu(self.wide(x), approximate='tanh'))
        return self.norm2(x + F.dropout(h, 0.1, self.training))


class Elementwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.ones(1024)), nn.Parameter(torch.zeros(1024))
        self.norm = nn.LayerNorm(1024)

    def forward(self, x):
        h = self.norm(F.gelu(x * self.w + self.b, approximate='tanh'))
        return F.dropout(h, 0.1, self.training)


MODELS = {
    'small': lambda: dense(*shapes.SMALL), 'mlp': lambda: dense(*shapes.MLP), 'conv': Conv,
    'lstm': Recurrent, 'tr': Encoder, 'ew': Elementwise}


def optimizer_of(kind, parameters):
    if kind == 'adam':
        return torch.optim.Adam(parameters, fused=True)
    return torch.optim.SGD(parameters, 0.1 if kind == 'sgd' else 0.01,
                           momentum=0 if kind == 'sgd' else 0.9, fused=True)


def steps(workload, mode, way):
    """One step of a workload: ``way`` is 'eager' or 'compile'."""
    torch.manual_seed(0)
    model = MODELS[workload]().to(DEVICE)
    x, t, loss, optimizer = shapes.data(workload)
    x, t = torch.from_numpy(x).to(DEVICE), torch.from_numpy(t).to(DEVICE)
    compiled = torch.compile if way == 'compile' else lambda f: f
    if mode == 'infer':
        model.eval()
        forward = compiled(model)

        def infer():
            with torch.inference_mode():
                return forward(x)
        return infer
    if loss is None:
        x.requires_grad_()
        forward = compiled(model)

        def both():
            model.zero_grad()
            x.grad = None
            forward(x).backward(t)
        return both
    loss = F.mse_loss if loss == 'squares' else F.cross_entropy
    t = t.long() if not t.is_floating_point() else t
    rule = optimizer_of(optimizer, model.parameters())
    losses = compiled(lambda: loss(model(x), t))

    def train():
        rule.zero_grad()
        losses().backward()
        rule.step()
    return train


def wait():
    """What has been asked of the device is done."""
    if DEVICE != 'cpu':
        torch.cuda.synchronize()
