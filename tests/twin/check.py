"""npu-twin check from outside: sound projects are clean, one edit makes a finding at its line.

usage: check.py NPU_TWIN
"""
import json
import pathlib
import subprocess
import sys
import tempfile

PROJECTS = pathlib.Path(__file__).parent / 'projects'
ADD = ['--input', 'f32:1003', '--input', 'f32:1003', '--output', 'f32:1003']


def check(program, project, *arguments, code):
    done = subprocess.run([program, 'check', str(project), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, f'{project} {arguments}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}'
    return done.stdout


def report(program, project, *arguments, code):
    return json.loads(check(program, project, *arguments, '--json', code=code))


def edited(folder, old, new):
    """The direct-launch sample with one edit; the number of the edited line."""
    text = (PROJECTS / 'direct/scale_add.asc').read_text(encoding='utf-8')
    assert text.count(old) == 1, old
    path = pathlib.Path(folder) / 'scale_add.asc'
    path.write_text(text.replace(old, new), encoding='utf-8')
    return path, text[:text.index(old)].count('\n') + 1


def main(program):
    clean = report(program, PROJECTS / 'add', *ADD, code=0)
    assert clean['clean'] and clean['runs'] == 3 and clean['end'] == 'complete' and not any(clean['faults'].values()), clean
    assert 'clean; 3 runs' in check(program, PROJECTS / 'direct/scale_add.asc', *ADD, code=0)
    with tempfile.TemporaryDirectory(prefix='evk check ') as folder:
        faults = [('inX.EnQue(a);', '', 'queue', 'queue_stalled'),
                  ('pipe.InitBuffer(inX, 2, tile * sizeof(T));', 'pipe.InitBuffer(inX, 2, tile * 64);', 'capacity', 'ub_overflow'),
                  ('DataCopyPad(gz[at], c, row);', 'DataCopyPad(gz[at + 1], c, row);', 'bounds', 'gm_write_out_of_bounds'),
                  ('Muls(c, a, static_cast<T>(2), n);', 'Muls(c, a, static_cast<T>(2), n - 1);', 'hazard', 'uninitialised_read'),
                  ('outZ.EnQue(c);', 'SetFlag<HardEvent::V_MTE3>(9); outZ.EnQue(c);', 'sync', 'flag_invalid')]
        for old, new, name, code in faults:
            path, line = edited(folder, old, new)
            found = report(program, path, *ADD, code=1)
            at = [f for f in found['findings'] if f['code'] == code]
            assert at and at[0]['class'] == name, (code, found['findings'])
            assert code == 'queue_stalled' or abs(at[0]['line'] - line) <= 1, (code, line, at)
        path, line = edited(folder, 'for (uint32_t at = GetBlockIdx() * tile; at < total;', 'for (uint32_t at = GetBlockIdx() * tile; at + 999 < total - 500;')
        unwritten = report(program, path, *ADD, code=1)
        assert [f['code'] for f in unwritten['findings']] == ['output_unwritten'], unwritten
        path, line = edited(folder, 'Muls(c, a,', 'Muls(d, a,')
        refused = report(program, path, *ADD, code=1)
        assert refused['findings'][0]['code'] == 'does_not_compile' and 'scale_add.asc' in refused['findings'][0]['message'], refused
    check(program, PROJECTS / 'direct', *ADD, code=3)
    print('npu-twin check behaves')


main(sys.argv[1])
