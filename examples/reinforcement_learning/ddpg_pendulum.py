"""Learn to swing a pendulum up, by deep deterministic policy gradients (DDPG).

See T. P. Lillicrap et al., "Continuous control with deep reinforcement learning"
(arXiv:1509.02971).

    python ddpg_pendulum.py --episodes 100
    python ddpg_pendulum.py --test                 # a short run
"""
import os
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environments import Pendulum
from replay import ReplayBuffer
from shared import compiled, flags


class QFunction(chainer.Chain):
    """Tells how much reward an action will bring."""

    def __init__(self, n_observation, n_action, n_units):
        super().__init__()
        with self.init_scope():
            self.l0 = L.Linear(n_observation + n_action, n_units)
            self.l1 = L.Linear(n_units, n_units)
            self.l2 = L.Linear(n_units, 1, initialW=chainer.initializers.HeNormal(1e-3))

    def forward(self, observation, action):
        h = F.relu(self.l0(F.concat((observation, action))))
        h = F.relu(self.l1(h))
        return self.l2(h)


class Policy(chainer.Chain):
    """Tells what to do: an action between ``-limit`` and ``limit``."""

    def __init__(self, n_observation, n_action, n_units, limit):
        super().__init__()
        self.limit = limit
        with self.init_scope():
            self.l0 = L.Linear(n_observation, n_units)
            self.l1 = L.Linear(n_units, n_units)
            self.l2 = L.Linear(n_units, n_action, initialW=chainer.initializers.HeNormal(1e-3))

    def forward(self, observation):
        h = F.relu(self.l0(observation))
        h = F.relu(self.l1(h))
        return F.tanh(self.l2(h)) * self.limit


def update(nets, targets, optimizers, batch, gamma):
    """Make one step of learning of both networks."""
    q, policy = nets
    target_q, target_policy = targets
    with chainer.no_backprop_mode():
        following = target_q(batch.following, target_policy(batch.following)).array[:, 0]
    target = batch.reward + gamma * (1 - batch.done) * following
    optimizers[0].update(
        lambda: F.mean_squared_error(q(batch.observation, batch.action)[:, 0], target))
    optimizers[1].update(lambda: -F.mean(q(batch.observation, policy(batch.observation))))


def follow(target, source, tau):
    """Bring the parameters of a network a bit nearer to those of another one."""
    for ours, theirs in zip(target.params(), source.params()):
        ours.array[...] += tau * (theirs.array - ours.array)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, unit=100, test={'episodes': 30, 'unit': 64})
    parser.add_argument('--episodes', type=int, default=300, help='how often to play')
    parser.add_argument('--gamma', type=float, default=0.99, help='what a later reward is worth')
    parser.add_argument('--noise', type=float, default=0.4, help='added to the actions')
    parser.add_argument('--tau', type=float, default=0.01, help='how fast the targets follow')
    parser.add_argument('--replay-start-size', type=int, default=400,
                        help='steps before learning begins')
    parser.add_argument('--learnrate', type=float, default=0.001, help="Adam's alpha")
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        QFunction.forward = chainer.static_graph(QFunction.forward)
        Policy.forward = chainer.static_graph(Policy.forward)

    env = Pendulum(args.seed)
    q = QFunction(env.n_observation, env.n_action, args.unit)
    policy = Policy(env.n_observation, env.n_action, args.unit, env.max_torque)
    if args.resume:
        chainer.serializers.load_npz(args.resume, policy)
    nets = q, policy
    for net in nets:
        net.to_device(args.device)
    targets = [net.copy(mode='copy') for net in nets]
    optimizers = [chainer.optimizers.Adam(args.learnrate).setup(net) for net in nets]
    buffer = ReplayBuffer(10 ** 5)

    returns = []
    print('episode  mean reward of 5')
    for episode in range(1, args.episodes + 1):
        observation, done, total = env.reset(), False, 0
        while not done:
            with chainer.no_backprop_mode():
                action = policy(policy.xp.asarray(observation[None])).array[0]
            action = chainer.backends.cuda.to_cpu(action)
            action = action + np.random.normal(0, args.noise, action.shape).astype(np.float32)
            following, reward, done = env.step(action[0])
            # The end of an episode is no end of the world: the pendulum would swing on.
            buffer.append(observation, action, reward, False, following)
            observation = following
            total += reward
            if len(buffer) >= args.replay_start_size:
                batch = buffer.sample(args.batchsize, args.device)
                update(nets, targets, optimizers, batch, args.gamma)
                for target, net in zip(targets, nets):
                    follow(target, net, args.tau)
        returns.append(total)
        if episode % 5 == 0:
            print(f'{episode:7} {np.mean(returns[-5:]):17.1f}')

    os.makedirs(args.out, exist_ok=True)
    chainer.serializers.save_npz(os.path.join(args.out, 'policy.npz'), policy)
    if args.static:
        for net in nets:
            compiled.print_summary(net)


if __name__ == '__main__':
    main()
