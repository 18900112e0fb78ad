"""A campaign against a model's endpoint that plays faults: killed and resumed it gives the store of an undisturbed run; a recorded
one replays offline; a program with two workers gives the store of one worker; a planted key is found nowhere.

usage: models.py EVOKERNEL
"""
import json
import os
import pathlib
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KEY = 'sk-planted-key-5d1f0c77'
TASKS = ['--suite', 'demo', '--only', 'softmax_rows,gelu_tanh', '--sweeps', '2', '--seed', '5', '--json']


def environment(**more):
    plain = {name: value for name, value in os.environ.items() if not name.upper().endswith('PROXY')}
    return {**plain, 'EVOKERNEL_API_KEY': KEY, **more}


def run(program, store, *options, check=True):
    done = subprocess.run([program, 'run', *TASKS, '--store', str(store), *options], capture_output=True, text=True, check=False,
                          env=environment())
    assert KEY not in done.stdout + done.stderr, 'the key was printed'
    if check:
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return done


class Server:
    def __init__(self, folder, cassette):
        port = folder / 'port'
        port.unlink(missing_ok=True)
        self.child = subprocess.Popen([sys.executable, HERE.parent / 'model_server/server.py', port, '--cassette', cassette, '--key', KEY],
                                      stdin=subprocess.PIPE)
        while not port.exists():
            assert self.child.poll() is None, 'the server ended'
            time.sleep(0.02)
        self.port = port.read_text()

    def options(self, behaviour, dialect='openai'):
        return ['--generator', dialect, '--base-url', f'http://127.0.0.1:{self.port}/{behaviour}/v1', '--model', 'test-model',
                '--pause', '1', '--tries', '6']

    def prompts_faulted(self):
        with socket.create_connection(('127.0.0.1', int(self.port))) as link:
            link.sendall(b'GET / HTTP/1.0\r\n\r\n')
            return json.loads(link.makefile('rb').read().split(b'\r\n\r\n', 1)[1])['prompts_faulted']

    def stop(self):
        self.child.stdin.close()
        self.child.wait()


def attempts(store):
    """Everything that the attempts left, without the campaign's settings and the wall times."""
    with sqlite3.connect(f'file:{store}?mode=ro', uri=True) as base:
        return {table: base.execute(f'SELECT * FROM {table} ORDER BY 1, 2').fetchall()
                for table in ('attempt', 'item', 'use', 'value_change', 'q')}


def killed(program, store, server, draw, seconds):
    command = [program, 'run', *TASKS, '--store', str(store), *server.options('plan')]
    for _ in range(3):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        try:
            child.wait(timeout=draw.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
    return run(program, store, *server.options('plan'))


def check_key(folder):
    for path in folder.rglob('*'):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), f'the key stands in {path.name}'


def main(program):
    draw = random.Random(7)
    with tempfile.TemporaryDirectory(prefix='evk models ') as folder:
        folder = pathlib.Path(folder)
        cassette, recorded = folder / 'composer.jsonl', folder / 'model.jsonl'
        run(program, folder / 'composer.evk', '--record', str(cassette))
        server = Server(folder, cassette)
        start = time.monotonic()
        whole = run(program, folder / 'whole.evk', *server.options('ok'), '--record', str(recorded))
        seconds = time.monotonic() - start
        assert whole['cost']['answer_tokens'] > 0, 'no tokens were counted'
        assert whole['cost']['infrastructure_errors'] == 0, whole['cost']

        faulty = killed(program, folder / 'killed.evk', server, draw, seconds * 0.6)
        assert faulty['fingerprint'] == whole['fingerprint'], 'faults or kills changed the store'
        assert server.prompts_faulted() == whole['cost']['attempts'], 'not every prompt met a fault'
        two = run(program, folder / 'two.evk', *server.options('ok'), '--jobs', '2')
        assert two['fingerprint'] == whole['fingerprint'], 'two workers gave another store'
        other = run(program, folder / 'anthropic.evk', *server.options('ok', 'anthropic'))
        assert other['cost']['answer_tokens'] > 0, 'no tokens were counted (anthropic)'
        assert attempts(folder / 'anthropic.evk') == attempts(folder / 'whole.evk'), 'the two forms gave different attempts'
        refused = run(program, folder / 'refused.evk', *server.options('401'), check=False)
        assert refused.returncode != 0 and 'EVOKERNEL_API_KEY' in refused.stderr + str(attempts(folder / 'refused.evk')), refused.stderr
        server.stop()

        run(program, folder / 'replayed.evk', '--generator', 'replay', '--cassette', str(recorded))
        assert attempts(folder / 'replayed.evk') == attempts(folder / 'whole.evk'), 'the replay differs from what was recorded'

        player = f"{sys.executable} '{HERE / 'play_cassette.py'}' '{cassette}'"
        prints = {run(program, folder / f'command{jobs}.evk', '--generator', 'command', '--command', player, '--jobs', jobs)['fingerprint']
                  for jobs in ('1', '2')}
        assert len(prints) == 1, 'a command with two workers gave another store'
        check_key(folder)
    print(f'endpoint, faults, kills, replay and command agree: {whole["fingerprint"][:12]}')


main(sys.argv[1])
