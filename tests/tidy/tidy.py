"""Rules of the tree that a machine can check. Prints each breach as file:line: rule; exits 1 if there is one.

usage: tidy.py ROOT
"""
import pathlib
import re
import sys

# Which folders of src/ a folder may include, besides base, core and itself (docs/architecture.md).
ALLOWED = {
    'base': set(), 'core': set(), 'store': set(), 'sandbox': set(), 'generate': set(),
    'task': {'sandbox'}, 'memory': {'store'}, 'backend': {'sandbox', 'twin'}, 'retrieve': {'memory'},
    'verify': {'task', 'backend', 'sandbox'}, 'learn': {'memory'},
    'agent': {'retrieve', 'generate', 'verify', 'learn', 'memory'},
    'campaign': {'agent', 'retrieve', 'learn', 'store', 'task', 'memory'}, 'report': {'store'},
    'testing': None, 'cli': None,  # anything (cli: but testing)
}
MAY_USE_CORE = set(ALLOWED) - {'base'}
FILE_LINES_MAX = 900
LINE_CHARS_MAX = 160
LEFT_OVER = re.compile(r'\b(TODO|FIXME|XXX|not implemented|unimplemented)\b', re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"')


def breaches_of_includes(path, folder, lines):
    allowed = ALLOWED.get(folder)
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found or '/' not in found[1]:
            continue
        target = found[1].split('/')[0]
        if target == 'testing' and folder != 'testing' and not path.stem.endswith('_test'):
            yield number, 'only tests include testing/'
        if allowed is None or target == folder or target not in {*ALLOWED, 'twin'}:
            continue
        if target == 'base' or (target == 'core' and folder in MAY_USE_CORE):
            continue
        if target not in allowed and not (target == 'testing' and path.stem.endswith('_test')):
            yield number, f'{folder}/ may not include {target}/'


def breaches_of_twin(lines):
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found and found[1].split('/')[0] in ALLOWED and found[1].split('/')[0] != 'base':
            yield number, 'twin/ includes nothing of src/ but base/'


def breaches_of_text(path, lines):
    if len(lines) > FILE_LINES_MAX:
        yield len(lines), f'file longer than {FILE_LINES_MAX} lines'
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_CHARS_MAX:
            yield number, f'line longer than {LINE_CHARS_MAX} characters'
        if LEFT_OVER.search(line):
            yield number, 'left-over marker'
        if '\t' in line:
            yield number, 'tab'
    if path.suffix == '.h' and not any(line.startswith('#pragma once') for line in lines):
        yield 1, 'header without #pragma once'
    if path.suffix == '.h' and not (lines and lines[0].startswith('//')):
        yield 1, 'header without a contract in its first line'


FINDING_CODE = re.compile(r'\b(?:fault|note|refuse|finding|findings_\.add)\("([a-z_]+)"')


def undocumented_codes(root):
    """Finding codes of the twin that docs/twin.md does not list."""
    documented = (root / 'docs/twin.md').read_text(encoding='utf-8')
    for path in sorted([*root.glob('twin/engine/*.cc'), *root.glob('twin/program/*.cc')]):
        if path.stem.endswith('_test'):
            continue
        for code in FINDING_CODE.findall(path.read_text(encoding='utf-8')):
            if f'`{code}`' not in documented and f'`{code.split("_")[0]}_*`' not in documented:
                yield path.relative_to(root), code


def main(root):
    count = 0
    for path, code in undocumented_codes(root):
        print(f'{path}: finding {code} is not in docs/twin.md')
        count += 1
    for path in sorted([*root.glob('src/**/*.[hc]*'), *root.glob('twin/**/*.[hc]*')]):
        if path.suffix not in {'.h', '.cc', '.cpp'}:
            continue
        lines = path.read_text(encoding='utf-8').splitlines()
        relative = path.relative_to(root)
        found = list(breaches_of_text(path, lines))
        if relative.parts[0] == 'src':
            found += breaches_of_includes(path, relative.parts[1], lines)
        else:
            found += breaches_of_twin(lines)
        for number, rule in sorted(found):
            print(f'{relative}:{number}: {rule}')
            count += 1
    print(f'{count} breaches')
    return 1 if count else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1])))
