"""Answers the prompt on standard input from a file of recorded answers. usage: play_cassette.py FILE"""
import json
import pathlib
import sys

prompt = sys.stdin.read()
for line in map(json.loads, pathlib.Path(sys.argv[1]).read_text(encoding='utf-8').splitlines()):
    if line['prompt'] == prompt:
        sys.stdout.write(line['text'])
        break
else:
    sys.exit('no such prompt')
