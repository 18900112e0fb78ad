"""Makes the packs of our own suites and compares them with the shipped ones.

    python3 probe/check_packs.py ROOT [--update]

Exit status: 0 all alike, 1 something differs, 77 torch is missing (a skip for ctest). With the torch release that made the
shipped packs the bytes must be alike; with another one the tensors may differ by rounding.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SMALL_ELEMENTS = {"demo": 16384}


def main():
    root = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv[2:]
    probe = subprocess.run([sys.executable, "-I", "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    if probe.returncode:
        print(f"skipped: {sys.executable} has no torch; apt-get install python3-torch")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for suite, elements in SMALL_ELEMENTS.items():
            for name in sorted(os.listdir(os.path.join(root, "tasks", suite))):
                if name.endswith(".py"):
                    bad += check(root, suite, name[:-3], elements, scratch, update, probe.stdout.strip())
    print(f"{bad} packs differ" if bad else "all packs are alike")
    return 1 if bad else 0


def check(root, suite, name, elements, scratch, update, version):
    made, shipped = os.path.join(scratch, name), os.path.join(root, "tasks", "packs", suite, name)
    source = os.path.join(root, "tasks", suite, name + ".py")
    run = subprocess.run([sys.executable, "-I", os.path.join(root, "probe", "probe.py"), source, "--out", made, "--small-elements",
                          str(elements)], capture_output=True, text=True)
    if run.returncode:
        print(f"{name}: {run.stdout.strip() or run.stderr.strip()}")
        return 1
    if update:
        shutil.rmtree(shipped, ignore_errors=True)
        shutil.copytree(made, shipped)
        return 0
    difference = compare(made, shipped, version)
    if difference:
        print(f"{name}: {difference}")
    return 1 if difference else 0


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(at, f), folder) for at, _, names in os.walk(folder) for f in names)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def compare(made, shipped, version):
    """What differs, or an empty string."""
    if not os.path.isdir(shipped):
        return "there is no shipped pack; run with --update"
    if files_in(made) != files_in(shipped):
        return "the packs hold other files"
    exact = json.loads(read(shipped, "task.json"))["torch"] == version
    for name in files_in(made):
        ours, theirs = read(made, name), read(shipped, name)
        if ours == theirs or not exact and name == "task.json":
            continue
        if exact:
            return f"{name} has other bytes"
        if not alike(ours, theirs):
            return f"{name} has other values"
    return ""


def alike(ours, theirs):
    """Whether two safetensors files hold the same tensors but for rounding."""
    size = int.from_bytes(ours[:8], "little")
    if ours[: 8 + size] != theirs[: 8 + size]:
        return False
    for entry in json.loads(ours[8: 8 + size]).values():
        code = {"F32": "f", "F64": "d"}.get(entry["dtype"])
        begin, end = (8 + size + o for o in entry["data_offsets"])
        if not code:
            if ours[begin:end] != theirs[begin:end]:
                return False
            continue
        count = (end - begin) // struct.calcsize(code)
        pairs = zip(struct.unpack(f"<{count}{code}", ours[begin:end]), struct.unpack(f"<{count}{code}", theirs[begin:end]))
        if any(abs(a - b) > 1e-5 * (1 + abs(b)) for a, b in pairs):
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
