"""One process fails while the others wait for it: fail.py HOW RANK."""
import os
import signal
import sys
import threading

import numpy as np

import chainermn

how, rank = sys.argv[1], int(sys.argv[2])
comm = chainermn.create_communicator('naive')
comm.allreduce(np.ones(3, 'f4'))
if comm.rank == rank or rank < 0:
    if how == 'raise':
        raise ValueError('this process has a problem')
    if how == 'interrupt':
        raise KeyboardInterrupt
    if how == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    if how == 'segfault':
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == 'exit':
        os._exit(3)
    if how == 'sys.exit with a message':
        sys.exit('this process has a problem')
    if how == 'quit':
        quit(5)
    if how == 'SystemExit':
        raise SystemExit(4)
    if how == 'SystemExit with a message':
        raise SystemExit('this process has a problem')
    if how == 'caught':
        try:
            sys.exit(6)
        except SystemExit as error:
            print(f'caught {error.code}\n', end='')  # one write: both processes have one output
        try:
            raise SystemExit(8)
        except SystemExit as error:
            print(f'caught {error.code}\n', end='')  # one write: both processes have one output
        thread = threading.Thread(target=sys.exit, args=(7,))
        thread.start()
        thread.join()
for _ in range(2):
    comm.allreduce(np.ones(3, 'f4'))
print('the end\n', end='')
