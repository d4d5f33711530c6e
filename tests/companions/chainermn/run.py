"""Runs a script in one process of a job: run.py SECONDS SCRIPT [ARG ...].

After so many seconds the process writes its stacks to standard error; the test then ends the job.
"""
import faulthandler
import runpy
import sys

seconds, script, *args = sys.argv[1:]
faulthandler.dump_traceback_later(float(seconds))
sys.argv = [script, *args]
sys.path[0] = script.rpartition('/')[0]
runpy.run_path(script, run_name='__main__')
faulthandler.cancel_dump_traceback_later()
