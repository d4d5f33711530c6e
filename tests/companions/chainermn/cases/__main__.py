"""Runs all cases of some modules in all processes: all functions whose names start with ``case``.

The first process prints what failed where, as JSON; a process that is left waiting is ended by
run.py with its stacks.
"""
import inspect
import json
import pathlib
import sys
import traceback
import warnings

import numpy as np

import chainermn

warnings.simplefilter('ignore', FutureWarning)  # of experimental features
warnings.simplefilter('ignore', DeprecationWarning)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
comm = chainermn.create_communicator('naive')
failed = {}
number = 0
for module_name in sys.argv[1:]:
    module = __import__(module_name)
    for name, case in list(vars(module).items()):
        if not name.startswith('case') or case.__module__ != module_name:
            continue
        n_processes = inspect.signature(case).parameters.get('n_processes')
        if n_processes is not None and comm.size not in n_processes.default:
            continue
        number += 1
        np.random.seed(number)
        try:
            case(comm)
        except BaseException:  # pytest.raises raises such
            failed[f'{module_name}.{name}'] = text = traceback.format_exc()
            # If the others wait for this process, nothing else will be seen of it.
            print(f'rank {comm.rank}, {name}: {text}', file=sys.stderr, flush=True)
        comm.mpi_comm.Barrier()
everything = comm.gather_obj(failed)
if everything is not None:
    print(json.dumps({'cases': number, 'failed': everything}))
