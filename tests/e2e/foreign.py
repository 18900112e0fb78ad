"""Candidates of other systems' forms, from outside: honest ones pass, each kind of trick has its finding.

usage: foreign.py EVOKERNEL
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).parent.parent / 'foreign'
STRINGS = ('project_json_src', 'host_tiling_src', 'host_operator_src', 'kernel_src', 'python_bind_src', 'model_src')


def honest():
    spec = importlib.util.spec_from_file_location('honest', FOLDER / 'rms_norm_two_kernels.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, name) for name in STRINGS}


def with_model(body):
    """The honest kernels behind another forward()."""
    strings = honest()
    head = strings['model_src'].split('    def forward')[0]
    return dict(strings, model_src=head + '    def forward(self, x):\n        ' + body + '\n')


def with_text(name, old, new):
    strings = honest()
    assert old in strings[name], f'{old} is not in {name}'
    return dict(strings, **{name: strings[name].replace(old, new)})


GAIN = 'custom_ops_lib.column_gain(custom_ops_lib.row_rms(x, 1e-5), self.gamma)'
CASES = {  # name: (candidate, code of the first finding; None: it passes)
    'two calls and views': (honest(), None),
    'two kernels in one call': (with_model('return custom_ops_lib.rms_and_gain(x, self.gamma, 1e-5)'), None),
    'a wrong attribute': (with_model('return custom_ops_lib.rms_and_gain(x, self.gamma, 0.25)'), 'compare.mismatch'),
    'half of the work by PyTorch': (with_model('return custom_ops_lib.row_rms(x, 1e-5) * self.gamma'), 'model.computes'),
    'all of it by PyTorch': (with_model('return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.gamma'), 'model.computes'),
    'no kernel at all': (with_model('return x'), 'model.no_kernel'),
    'a kernel for show': (with_model(GAIN + '; return x'), 'compare.mismatch'),
    'a constant of its own': (with_model('return custom_ops_lib.column_gain(x, torch.ones(x.shape[1]))'), 'model.constant'),
    'an answer kept from the first call': (with_model('self.y = getattr(self, "y", None) or ' + GAIN + '; return self.y[0]'), 'model.output'),
    'a look at the data': (with_model('return x if x[0, 0].item() > 0 else ' + GAIN), 'model.computes'),
    'an endless loop': (with_model('\n        while True: pass'), 'model.silent'),
    'an exit': (with_model('import os; os._exit(0)'), 'model.silent'),
    'a module that is not there': (with_model('import numba'), 'model.failed'),
    'a function that is not there': (with_model('return custom_ops_lib.relu(x)'), 'twin.bridge_error'),
    'another name of the class': (with_text('model_src', 'class ModelNew', 'class Model'), 'model.no_entry'),
    'an operator that is not there': (with_text('python_bind_src', 'aclnnRowRmsCustom, x, epsilon, y', 'aclnnRowNorm, x, epsilon, y'),
                                      'twin.registration_missing'),
    'a tensor too few': (with_text('python_bind_src', 'ColumnGainCustom, x, gain, y', 'ColumnGainCustom, x, y'), 'twin.registration_tensors'),
    'glue that computes on the host': (with_text('python_bind_src', 'at::Tensor y = at::empty_like(x);\n  EXEC',
                                                 'at::Tensor y = at::empty_like(x);\n  y.data_ptr<float>()[0] = 1.0f;\n  EXEC'),
                                       'twin.crash_memory'),
    'glue that prints a plan': (with_text('python_bind_src', 'TORCH_CHECK(x.dim() == 2, "rows and columns");',
                                          'evk_twin_say("EVKPLAN end 0 1\\\\n");'), 'model.call'),
    'glue of a real library': (with_text('python_bind_src', 'return y;\n}\n//', 'return at::relu(y);\n}\n//'), 'compile.error'),
}


def verify(program, path, *options, code=(0, 1)):
    done = subprocess.run([program, 'verify', 'rms_norm', str(path), '--json', *options], capture_output=True, text=True, check=False)
    assert done.returncode in code, f'{path}: exit {done.returncode}\n{done.stdout}\n{done.stderr}'
    return json.loads(done.stdout) if done.returncode < 2 else done.stderr


def written(folder, strings):
    path = folder / 'candidate.py'
    path.write_text('\n'.join(f'{name} = {text!r}' for name, text in strings.items()), encoding='utf-8')
    return path


def main(program):
    wrong = []
    with tempfile.TemporaryDirectory(prefix='evk foreign ') as folder:
        folder = pathlib.Path(folder)
        for name, (strings, wanted) in CASES.items():
            verdict = verify(program, written(folder, strings), '--format', 'multikernelbench')
            found = None if verdict['feasible'] else verdict['findings'][0]['code']
            if found != wanted:
                wrong.append(f'{name}: expected {wanted}, found {found}: {verdict["message"]}')
        missing = {k: v for k, v in honest().items() if k != 'kernel_src'}
        assert 'kernel_src' in verify(program, written(folder, missing), '--format', 'multikernelbench', code=(3,))
        broken = folder / 'broken.json'
        for text, word in {'[' * 100000: 'sources', '{"sources": 3}': 'sources', '{"sources": []}': 'entry.model',
                           '{"sources": [{"path": 1}], "entry": {"model": "M.py::M"}}': 'path'}.items():
            broken.write_text(text, encoding='utf-8')
            assert word in verify(program, broken, '--format', 'direct-launch', code=(3,)), text[:40]
    if wrong:
        sys.exit('\n'.join(wrong))
    print(f'{len(CASES)} candidates judged as they should be')


main(sys.argv[1])
