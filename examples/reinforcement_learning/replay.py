"""What an agent remembers."""
import collections
import random

import numpy as np

Step = collections.namedtuple('Step', 'observation action reward done following')


class ReplayBuffer:
    """The last steps of an agent, to learn from in random order."""

    def __init__(self, size):
        self.steps = collections.deque(maxlen=size)

    def __len__(self):
        return len(self.steps)

    def append(self, *step):
        self.steps.append(Step(*step))

    def sample(self, n, device):
        """Return n steps as one, of arrays."""
        rows = random.sample(self.steps, n)
        observation, action, reward, done, following = zip(*rows)
        return Step(*(device.send(x) for x in (
            np.stack(observation), np.array(action), np.array(reward, np.float32),
            np.array(done, np.float32), np.stack(following))))
