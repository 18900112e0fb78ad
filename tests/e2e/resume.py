"""kill -9 at any moment, then the same command: the final store equals that of an undisturbed run, for one and two workers.

usage: resume.py EVOKERNEL
"""
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

SWEEPS = '3'
KILLS = 6


def command(program, store, jobs):
    return [program, 'run', '--suite', 'demo', '--only', 'softmax_rows,gelu_tanh,rms_norm', '--sweeps', SWEEPS, '--seed', '5',
            '--jobs', str(jobs), '--store', str(store), '--json']


def finished(program, store, jobs):
    done = subprocess.run(command(program, store, jobs), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def disturbed(program, store, jobs, draw, seconds):
    for _ in range(KILLS):
        child = subprocess.Popen(command(program, store, jobs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(timeout=draw.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
    return finished(program, store, jobs)


def main(program):
    draw = random.Random(7)
    with tempfile.TemporaryDirectory(prefix='evk resume ') as folder:
        folder = pathlib.Path(folder)
        start = time.monotonic()
        whole = finished(program, folder / 'whole.evk', 1)
        seconds = time.monotonic() - start
        again = finished(program, folder / 'whole.evk', 1)
        assert again['fingerprint'] == whole['fingerprint'], 'a finished campaign was changed by running it again'
        for jobs in (1, 2):
            killed = disturbed(program, folder / f'killed{jobs}.evk', jobs, draw, seconds * 0.4)
            assert killed['fingerprint'] == whole['fingerprint'], f'{jobs} workers: the resumed store differs'
            assert killed['cost']['attempts'] == whole['cost']['attempts'], f'{jobs} workers: attempts lost or doubled'
    print(f'1 store, {2 * KILLS} kills, equal fingerprints {whole["fingerprint"][:12]}')


main(sys.argv[1])
