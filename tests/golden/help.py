"""What --help prints, held word for word: a change of a command's help is a change that a person sees.

usage: help.py EVOKERNEL NPU_TWIN [--update]
"""
import difflib
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent / 'help'


def help_of(program, *command):
    done = subprocess.run([program, *command, '--help'], capture_output=True, text=True, check=True, env={'COLUMNS': '100'})
    return done.stdout.replace(program, pathlib.Path(program).name)


def commands_in(text):
    """The names below the line that introduces the subcommands, as the option library prints them."""
    below = re.split(r'^SUBCOMMANDS:$|^Subcommands:$', text, maxsplit=1, flags=re.MULTILINE)
    return re.findall(r'^  ([a-z][a-z-]*)(?:\s|$)', below[1], flags=re.MULTILINE) if len(below) == 2 else []


def texts_of(name, program, *command):
    text = help_of(program, *command)
    yield '_'.join([name, *command]), text
    for below in commands_in(text):
        yield from texts_of(name, program, *command, below)


def main():
    update = '--update' in sys.argv
    programs = {'evokernel': sys.argv[1], 'npu-twin': sys.argv[2]}
    texts = dict(pair for name, program in programs.items() for pair in texts_of(name, program))
    assert len(texts) > 10, f'only {len(texts)} help texts found: the subcommands were not recognised'
    stored = {path.stem: path.read_text(encoding='utf-8') for path in FOLDER.glob('*.txt')}
    if update:
        for path in FOLDER.glob('*.txt'):
            path.unlink()
        for name, text in texts.items():
            (FOLDER / f'{name}.txt').write_text(text, encoding='utf-8')
        print(f'{len(texts)} help texts written to {FOLDER}')
        return
    changed = False
    for name in sorted({*texts, *stored}):
        difference = list(difflib.unified_diff(stored.get(name, '').splitlines(), texts.get(name, '').splitlines(),
                                               f'tests/golden/help/{name}.txt', 'printed', lineterm=''))
        changed = changed or bool(difference)
        print('\n'.join(difference), end='\n' if difference else '')
    if changed:
        sys.exit('help texts differ; if that is meant, run scripts/update-goldens')
    print(f'{len(texts)} help texts as stored')


main()
