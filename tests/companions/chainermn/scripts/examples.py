"""Runs several examples one after the other, in one job: examples.py FOLDER_OF_EXAMPLES."""
import contextlib
import io
import pathlib
import runpy
import sys
import warnings

import chainermn

warnings.simplefilter('ignore')
sys.path[0] = str(pathlib.Path(__file__).parent)  # as before run.py
EXAMPLES = pathlib.Path(sys.argv[1]) / 'chainermn'
RUNS = [
    ('mnist/train_mnist.py', '-e 2 -u 20'),
    ('mnist/train_mnist.py', '-e 2 -u 20 --static --communicator flat -o static'),
    ('mnist/train_mnist_checkpoint.py', '-e 2 -u 20 -b 40 --interval 2 --stop-at 9 -o again'),
    ('mnist/train_mnist_checkpoint.py', '-e 2 -u 20 -b 40 --interval 2 -o again'),
    ('mnist/train_mnist_checkpoint.py', '-e 1 -u 20 -b 40 --one-file --interval 2 -o one_file'),
    ('mnist/train_mnist_model_parallel.py', '-e 2 -u 20 -o model_parallel'),
    ('imagenet/train_imagenet.py', '-e 1 -b 25 --whole-batch -o imagenet'),
    ('dcgan/train_dcgan.py',
     '-e 1 -b 25 --ch 8 --display-interval 2 --snapshot-interval 5 -o dcgan'),
    ('seq2seq/seq2seq_mp1.py', '-e 1 -u 10 -b 100 --log-interval 1 -o seq2seq'),
]
comm = chainermn.create_communicator('naive')
for path, options in RUNS:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names = runpy.run_path(str(EXAMPLES / path))
        try:
            names['main'](['--test', *options.split()])
        except RuntimeError as error:
            if 'start again to go on' not in str(error):
                raise
            print('stopped')
    if comm.rank == 0:
        # In a line of its own: another process may just have written part of one.
        print(f'\n== {path} {options}\n{printed.getvalue()}', flush=True)
