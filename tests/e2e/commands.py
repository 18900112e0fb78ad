"""Each command from outside: help, JSON that parses, exit codes, errors that name file and remedy.

usage: commands.py EVOKERNEL
"""
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

COMMANDS = ['run', 'verify', 'tasks', 'tasks list', 'tasks probe', 'memory', 'memory stats', 'memory show', 'explain', 'report', 'replay',
            'redteam', 'doctor']


def run(program, *arguments, code=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, f'{arguments}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}'
    return done


def main(program):
    for name in COMMANDS:
        text = run(program, *name.split(), '--help').stdout
        assert len(text) > 100, f'{name} --help teaches nothing: {text}'
    run(program, code=2)
    run(program, 'fly', code=2)
    run(program, 'run', '--sweeps', 'many', code=2)
    with tempfile.TemporaryDirectory(prefix='evk commands ') as folder:
        folder = pathlib.Path(folder)
        store = str(folder / 'a store.evk')
        missing = run(program, 'report', store, code=3)
        assert store in missing.stderr and 'run' in missing.stderr, missing.stderr
        out = folder / 'kernels'
        report = json.loads(run(program, 'run', '--suite', 'demo', '--only', 'shifted_relu,gelu_tanh', '--sweeps', '4', '--store', store,
                                '--out', str(out), '--json').stdout)
        assert report['schema'] == 1 and len(report['tasks']) == 2, report
        assert report['cost']['attempts'] == 8, report['cost']
        for task in report['tasks']:
            assert task['simulated']
            if task['feasible']:
                assert list(pathlib.Path(task['kernel']).glob('op_kernel/*.cpp')), task
        assert json.loads(run(program, 'report', store, '--json').stdout)['fingerprint'] == report['fingerprint']
        assert 'simulated' in run(program, 'report', store).stdout
        explained = json.loads(run(program, 'explain', '1', '--store', store, '--json').stdout)
        assert explained['prompt'] and explained['context']['items'], 'attempt 1 was shown nothing'
        assert 'attempt 1' in run(program, 'explain', '1', '--store', store, '--prompt').stdout
        run(program, 'explain', '99999', '--store', store, code=3)
        assert json.loads(run(program, 'memory', 'stats', '--store', store, '--json').stdout)['items'] > 10
        assert json.loads(run(program, 'memory', 'show', '1', '--store', store, '--json').stdout)['name']
        replayed = json.loads(run(program, 'replay', store, '--quiet', '--jobs', '2', '--json').stdout)
        assert replayed['same'] and replayed['attempts'] == 8 and replayed['fingerprint'] == report['fingerprint'], replayed
        other = run(program, 'replay', store, '--quiet', '--epsilon', '0.7', code=1)
        assert 'schedule.epsilon' in other.stdout, other.stdout
        with sqlite3.connect(store) as database:
            database.execute('update attempt set answer_tokens = answer_tokens + 1, reward = 0.5 where attempt_id = 3')
        database.close()
        assert 'attempt 3: the reward differs' in run(program, 'replay', store, '--quiet', code=1).stdout
        changed = run(program, 'run', '--suite', 'demo', '--only', 'shifted_relu,gelu_tanh', '--sweeps', '4', '--store', store, '--seed', '9',
                      code=3)
        assert 'seed' in changed.stderr, changed.stderr
        config = folder / 'c.toml'
        config.write_text('[campaign]\nsweep = 3\n', encoding='utf-8')
        assert "did you mean 'campaign.sweeps'" in run(program, 'run', '--config', str(config), code=2).stderr
    assert len(json.loads(run(program, 'tasks', 'list', '--json').stdout)['tasks']) >= 12
    assert json.loads(run(program, 'doctor', '--json').stdout)['checks']
    print('commands behave')


main(sys.argv[1])
