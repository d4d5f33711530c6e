"""Learn to balance a pole, by deep Q-learning (DQN, or double DQN).

See V. Mnih et al., "Human-level control through deep reinforcement learning" (Nature 518, 2015)
and H. van Hasselt, A. Guez and D. Silver, "Deep Reinforcement Learning with Double Q-learning"
(arXiv:1509.06461).

    python dqn_cartpole.py --double-dqn
    python dqn_cartpole.py --test                  # a short run
"""
import os
import pathlib
import random
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from environments import CartPole
from replay import ReplayBuffer
from shared import compiled, flags


class QFunction(chainer.Chain):
    """Tells how much reward each action will bring."""

    def __init__(self, n_observation, n_action, n_units):
        super().__init__()
        with self.init_scope():
            self.l0 = L.Linear(n_observation, n_units)
            self.l1 = L.Linear(n_units, n_units)
            self.l2 = L.Linear(n_units, n_action)

    def forward(self, x):
        h = F.tanh(self.l0(x))
        h = F.tanh(self.l1(h))
        return self.l2(h)


def choose_action(q, observation, epsilon):
    """Return the best action; with a probability of epsilon, any."""
    if random.random() < epsilon:
        return random.randrange(CartPole.n_action)
    with chainer.no_backprop_mode():
        return int(q(q.xp.asarray(observation[None])).array.argmax())


def update(q, target_q, optimizer, batch, gamma, double):
    """Make one step of learning; return the loss."""
    with chainer.no_backprop_mode():
        values = target_q(batch.following).array
        if double:
            # One network chooses the action, the other one judges it.
            best = q(batch.following).array.argmax(axis=1)
            following = values[q.xp.arange(len(best)), best]
        else:
            following = values.max(axis=1)
    target = batch.reward + gamma * (1 - batch.done) * following
    y = F.select_item(q(batch.observation), batch.action.astype(np.int32))
    loss = F.mean(F.huber_loss(y, target, delta=1, reduce='no'))
    q.cleargrads()
    loss.backward()
    optimizer.update()
    return float(loss.array)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, unit=100, test={'episodes': 60, 'unit': 50})
    parser.add_argument('--episodes', type=int, default=300, help='how often to play')
    parser.add_argument('--double-dqn', action='store_true', help='let two networks judge')
    parser.add_argument('--gamma', type=float, default=0.99, help='what a later reward is worth')
    parser.add_argument('--epsilon', type=float, default=0.05, help='random actions, at the end')
    parser.add_argument('--replay-start-size', type=int, default=200,
                        help='steps before learning begins')
    parser.add_argument('--target-update-freq', type=int, default=100,
                        help='steps between two updates of the target network')
    parser.add_argument('--learnrate', type=float, default=0.001, help="Adam's alpha")
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        QFunction.forward = chainer.static_graph(QFunction.forward)

    env = CartPole(args.seed)
    q = QFunction(env.n_observation, env.n_action, args.unit)
    if args.resume:
        chainer.serializers.load_npz(args.resume, q)
    q.to_device(args.device)
    target_q = q.copy(mode='copy')
    optimizer = chainer.optimizers.Adam(args.learnrate)
    optimizer.setup(q)
    buffer = ReplayBuffer(10 ** 5)

    n_steps, returns, losses = 0, [], []
    print('episode  steps  mean of 10  epsilon  loss')
    for episode in range(1, args.episodes + 1):
        observation, done, total = env.reset(), False, 0
        while not done:
            epsilon = max(args.epsilon, 1 - n_steps / 1000)
            action = choose_action(q, observation, epsilon)
            following, reward, done = env.step(action)
            # An episode that has only become too long would have gone on.
            fallen = done and env.n_steps < env.max_steps
            buffer.append(observation, action, reward, fallen, following)
            observation = following
            total += reward
            n_steps += 1
            if len(buffer) >= args.replay_start_size:
                batch = buffer.sample(args.batchsize, args.device)
                losses.append(update(
                    q, target_q, optimizer, batch, args.gamma, args.double_dqn))
                if n_steps % args.target_update_freq == 0:
                    target_q.copyparams(q)
        returns.append(total)
        if episode % 10 == 0:
            print(f'{episode:7} {n_steps:6} {np.mean(returns[-10:]):11.1f} {epsilon:8.2f}'
                  f' {np.mean(losses[-1000:]):.4f}')

    os.makedirs(args.out, exist_ok=True)
    chainer.serializers.save_npz(os.path.join(args.out, 'q.npz'), q)
    if args.static:
        compiled.print_summary(q)


if __name__ == '__main__':
    main()
