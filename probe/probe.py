"""Turns a KernelBench-form task file into a task pack.

    python3 -I probe/probe.py FILE --out DIR [--wall-s 60] [--memory-mb 6144] [--small-elements 1048576] [--bundle FILE]

The file is executed in a child process under limits. stdout carries one line of JSON: {"pack": ...} (exit status 0) or
{"error": {"code", "message", "remedy"}} (exit status 1; 2 for wrong usage). DIR must not exist; it appears whole or not at all.
"""

import argparse
import json
import os
import resource
import select
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from problems import OutOfTime, Problem, one_line  # noqa: E402

REPLY_BYTES_MAX = 64 * 1024


def arguments():
    parser = argparse.ArgumentParser(prog="probe.py", description="Turns a KernelBench-form file into a task pack.")
    parser.add_argument("file")
    parser.add_argument("--out", required=True, help="folder to make; must not exist")
    parser.add_argument("--wall-s", type=float, default=60, help="time limit in seconds")
    parser.add_argument("--memory-mb", type=int, default=6144, help="address space limit in MiB")
    parser.add_argument("--bundle", help="also write the pack as one file, for callers that take over single files")
    parser.add_argument("--small-elements", type=int, default=1 << 20, help="elements of the checked sizes, in all")
    return parser.parse_args()


def main():
    options = arguments()
    started = time.monotonic()
    if os.path.lexists(options.out):
        return reply(Problem("out_exists", f"{options.out} exists already", "name a folder that does not exist").as_json())
    work = f"{options.out.rstrip('/')}.part{os.getpid()}"
    try:
        os.makedirs(work)
        answer = supervise(options, work)
        if "error" not in answer:
            os.rename(work, options.out)
            if options.bundle:
                write_bundle(options.out, options.bundle)
            answer["seconds"] = round(time.monotonic() - started, 2)
    except OSError as error:
        answer = Problem("files", f"{options.out}: {one_line(error)}", "give a folder that can be written").as_json()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return reply(answer)


def write_bundle(folder, path):
    """One line of JSON, {"files": [[name, bytes], ...]}, then the files one after the other."""
    names = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, all_names in os.walk(folder) for name in all_names)
    sizes = [[name, os.path.getsize(os.path.join(folder, name))] for name in names]
    with open(path, "wb") as bundle:
        bundle.write((json.dumps({"files": sizes}) + "\n").encode())
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                shutil.copyfileobj(file, bundle)


def reply(answer):
    print(json.dumps(answer), flush=True)
    return 1 if "error" in answer else 0


def supervise(options, work):
    """Runs the work in a child and ends it when its time is over, whatever it does."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        in_child(options, work, writer)
    os.close(writer)
    try:
        os.setpgid(child, child)
    except OSError:
        pass  # the child was faster
    text, over = read_reply(reader, time.monotonic() + options.wall_s + 2)
    os.close(reader)
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except OSError:
            pass
    status = os.waitpid(child, 0)[1]
    if over:
        return timed_out(options).as_json()
    try:
        return json.loads(text)
    except ValueError:
        return ended_early(options, status).as_json()


def read_reply(reader, deadline):
    """(text, whether the deadline passed)"""
    text = b""
    while len(text) < REPLY_BYTES_MAX:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return text, True
        piece = os.read(reader, 4096)
        if not piece:
            break
        text += piece
        if text.endswith(b"\n"):
            break
    return text, False


def timed_out(options):
    return Problem("time", f"{os.path.basename(options.file)}: not done after {options.wall_s:g} s",
                   "make the task smaller or raise --wall-s")


def out_of_memory(options):
    return Problem("memory", f"{os.path.basename(options.file)}: needs more than {options.memory_mb} MiB",
                   "make the task smaller or raise --memory-mb")


def ended_early(options, status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGALRM):
            return timed_out(options)
        if number in (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS):
            how = signal.Signals(number).name
            return Problem("crashed", f"{os.path.basename(options.file)}: the task's process ended by {how}",
                           "run the file's forward() by hand; a native crash or lack of memory ends it")
    return Problem("ended", f"{os.path.basename(options.file)}: the task ended its own process", "remove exit calls from the file")


def in_child(options, work, writer):
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # what the task prints is nobody's result
        os.dup2(null, number)
    try:
        answer = work_under_limits(options, work)
    except BaseException as error:  # whatever a task raises becomes one line
        answer = explain(error, options).as_json()
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.write(writer, (json.dumps(answer) + "\n").encode())
    os._exit(0)


def work_under_limits(options, work):
    def stop(*_):
        raise OutOfTime()

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, options.wall_s)
    memory = options.memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    cpu = int(options.wall_s) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    # The same code path on every processor, so that the same file gives the same bytes.
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        import torch
    except ImportError as error:
        raise Problem("torch_missing", f"this Python cannot import torch: {one_line(error)}",
                      "apt-get install python3-torch libopenblas0-pthread, or name another interpreter") from None
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    import warnings
    warnings.simplefilter("ignore")
    import shims
    shims.install()
    import packing
    with shims.NarrowOnCpu():
        document = packing.Packer(options.file, work, options.small_elements).make()
    return {"pack": options.out, "task_id": document["task_id"], "name": document["name"], "category": document["category"],
            "op_class": document["tolerance"]["op_class"]}


def explain(error, options):
    file = os.path.basename(options.file)
    if isinstance(error, Problem):
        return error
    if isinstance(error, OutOfTime):
        return timed_out(options)
    text = one_line(error)
    if isinstance(error, MemoryError) or "allocate memory" in text or "not enough memory" in text:
        return out_of_memory(options)
    if isinstance(error, RecursionError):
        return Problem("recursion", f"{file}: endless recursion", "mend the file's recursion")
    if isinstance(error, SystemExit):
        return Problem("ended", f"{file}: the task ended its own process", "remove exit calls from the file")
    return Problem("task_failed", f"{file}: {type(error).__name__}: {text}",
                   "make `Model(*get_init_inputs())(*get_inputs())` work on the CPU")


if __name__ == "__main__":
    sys.exit(main())
