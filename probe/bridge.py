"""Runs the model of a foreign candidate on tensors that have sizes and no data, and tells what it does with them.

    python3 -I probe/bridge.py FD

Speaks lines of JSON over descriptor FD. A request is one of
  {"strings": SOURCE}                     -> {"strings": {NAME: TEXT, ...}}: the module-level string constants of a Python text
  {"model": {"task", "file", "changes", "source", "entry", "modules", "inputs", "params"}}
While a model runs it sends {"call": {"function", "arguments"}}, answered by {"tensors": [...], "single"} or {"error": TEXT}, and
{"copy": {"from", "handle"}}, and at last {"done": {"outputs": [...]}} or {"error": {"code", "message"}}.

The child holds no data: what it could compute is worth nothing, so that nothing needs to be forbidden. Views are told by strides;
every other operation of PyTorch between the kernels is refused, since a kernel is what is judged.
"""

import ast
import json
import os
import sys
import types

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

LINE_BYTES_MAX = 8 << 20
COPIES_FROM = 1 << 20

VIEWS = {"view", "_unsafe_view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand", "slice", "select", "alias",
         "detach", "flatten", "as_strided", "narrow", "unflatten", "movedim", "lift_fresh", "_reshape_alias", "unbind", "split", "chunk"}
COPIES = {"clone", "contiguous", "_to_copy", "to"}


class Refusal(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Channel:
    def __init__(self, fd):
        self.fd, self.text = fd, b""

    def send(self, message):
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(self.fd, data):]

    def receive(self):
        """The next line, or None at the end."""
        while b"\n" not in self.text:
            piece = os.read(self.fd, 1 << 16)
            if not piece or len(self.text) > LINE_BYTES_MAX:
                return None
            self.text += piece
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)


def strings_of(text):
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = node.value.value
    return found


class Session:
    """One run of one model."""

    def __init__(self, channel, request):
        import torch
        self.torch, self.channel, self.request = torch, channel, request
        self.copies = COPIES_FROM
        self.traced = self._traced_class()

    def _traced_class(self):
        torch, session = self.torch, self

        class Traced(torch.Tensor):
            """A tensor of the judge's: sizes, strides, and the handle of the memory that it views."""

            @staticmethod
            def __new__(cls, bare, handle):
                made = torch.Tensor._make_wrapper_subclass(cls, bare.size(), strides=bare.stride(), storage_offset=bare.storage_offset(),
                                                           dtype=bare.dtype, device=bare.device, requires_grad=False)
                made.bare, made.handle = bare, handle
                return made

            def __repr__(self):
                return f"Traced({self.handle}, {tuple(self.shape)}, {self.dtype})"

            def npu(self, *_args, **_kwargs):
                return self

            @classmethod
            def __torch_dispatch__(cls, function, _types, args=(), kwargs=None):
                return session.dispatch(function, args, kwargs or {})

        return Traced

    def dispatch(self, function, args, kwargs):
        name = str(function).split(".")[1]
        mine = [a for a in args if isinstance(a, self.traced)]
        bare = [a.bare if isinstance(a, self.traced) else a for a in args]
        if name in VIEWS and len(mine) == 1:
            made = function(*bare, **kwargs)
            if isinstance(made, (list, tuple)):
                return type(made)(self.traced(each, mine[0].handle) for each in made)
            return self.traced(made, mine[0].handle)
        if name in COPIES and len(mine) == 1:
            made = function(*bare, **{k: v for k, v in kwargs.items() if k != "device"})
            if made.dtype == mine[0].dtype:
                return self.copy(mine[0])
            raise Refusal("model.computes", f"the model converts a tensor to {made.dtype} outside of a kernel")
        raise Refusal("model.computes", f"the model calls PyTorch's {name} on a tensor; every computation belongs into a kernel")

    def copy(self, tensor):
        self.copies += 1
        self.channel.send({"copy": {"from": self.described(tensor), "handle": self.copies}})
        fresh = self.torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
        return self.traced(fresh, self.copies)

    def described(self, tensor):
        return {"handle": tensor.handle, "sizes": list(tensor.bare.size()), "strides": list(tensor.bare.stride()),
                "offset": tensor.bare.storage_offset(), "dtype": str(tensor.dtype).rsplit(".", 1)[-1]}

    def argument(self, value):
        torch = self.torch
        if value is None:
            return {"none": True}
        if isinstance(value, self.traced):
            return {"tensor": self.described(value)}
        if isinstance(value, torch.Tensor):
            raise Refusal("model.constant", "the model gives a kernel a tensor of its own making; use an input, a parameter or an attribute")
        if isinstance(value, bool):
            return {"flag": value}
        if isinstance(value, int):
            return {"integer": value}
        if isinstance(value, float):
            return {"real": value}
        if isinstance(value, str):
            return {"text": value}
        if isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value):
            return {"integers": list(value)}
        if isinstance(value, (list, tuple)) and all(isinstance(v, (int, float)) for v in value):
            return {"reals": [float(v) for v in value]}
        raise Refusal("model.argument", f"the model gives a kernel a {type(value).__name__}")

    def call(self, function, args, kwargs):
        values = [self.argument(value) for value in [*args, *kwargs.values()]]
        self.channel.send({"call": {"function": function, "arguments": values}})
        answer = self.channel.receive()
        if answer is None:
            sys.exit(0)
        if "error" in answer:
            raise Refusal("model.call", answer["error"])
        made = []
        for each in answer["tensors"]:
            bare = self.torch.empty(each["sizes"], dtype=getattr(self.torch, each["dtype"]), device="meta")
            made.append(self.traced(bare, each["handle"]))
        if answer["single"]:
            return made[0]
        return tuple(made) if made else None

    def module_for(self, name):
        module = types.ModuleType(name)

        def find(function):
            if function.startswith("__"):
                raise AttributeError(function)
            return lambda *args, **kwargs: self.call(function, args, kwargs)

        module.__getattr__ = find
        return module

    def run(self):
        import loading
        import shims
        torch, request = self.torch, self.request
        torch.set_grad_enabled(False)
        shims.install()
        source = loading.Source(request["task"], request["file"])
        changes = self.changes_of(source)
        npu = types.ModuleType("torch_npu")
        npu.npu = types.SimpleNamespace(synchronize=lambda *a: None)
        sys.modules["torch_npu"] = npu
        for name in request["modules"]:
            sys.modules[name] = self.module_for(name)
        with loading.factories_on("meta"):
            torch.manual_seed(42)
            task = source.execute(changes)
            init, keywords = list(task.get_init_inputs() or []), {}
            if len(init) == 2 and isinstance(init[1], dict) and isinstance(init[0], (list, tuple)):
                init, keywords = list(init[0]), init[1]
            space = {"__name__": "candidate", "__file__": "/candidate/ModelNew.py"}
            exec(compile(request["source"], "ModelNew.py", "exec"), space)
            if request["entry"] not in space:
                raise Refusal("model.no_entry", f"the model's source defines no class {request['entry']}")
            model = space[request["entry"]](*init, **keywords)
            self.take_parameters(model)
            outputs = model(*self.inputs(task.get_inputs()))
        self.channel.send({"done": {"outputs": [self.described(t) for t in self.outputs(outputs)]}})

    def changes_of(self, source):
        """Which literal takes which value: those of one name and value take theirs in the order of the source."""
        wanted, found = {}, {}
        for change in self.request["changes"]:
            wanted.setdefault((change["name"], change["from"]), []).append(change["to"])
        for knob in source.knobs:
            found.setdefault((knob.name, knob.value), []).append(knob.place)
        changes = {}
        for key, values in wanted.items():
            places = found.get(key, [])
            for i, place in enumerate(places):
                changes[place] = values[i] if len(values) == len(places) else values[-1]
        return changes

    def inputs(self, drawn):
        """forward()'s arguments: tensors become the judge's, in order; numbers stay."""
        made, handle = [], 0
        for each in drawn:
            if not isinstance(each, self.torch.Tensor):
                made.append(each)
                continue
            wanted = self.request["inputs"][handle] if handle < len(self.request["inputs"]) else {}
            if list(each.shape) != wanted.get("shape") or str(each.dtype) != f"torch.{wanted.get('dtype')}":
                raise Refusal("model.sizes", f"get_inputs() gives {list(each.shape)} {each.dtype} where the pack has {wanted}")
            made.append(self.traced(self.torch.empty(each.shape, dtype=each.dtype, device="meta"), handle))
            handle += 1
        return made

    def take_parameters(self, model):
        """The model's parameters and buffers become the task's: by name, else the next of that shape."""
        first = len(self.request["inputs"])
        theirs = [dict(each, handle=first + i) for i, each in enumerate(self.request["params"])]
        own = [(module, table, key, f"{prefix}.{key}" if prefix else key) for prefix, module in model.named_modules()
               for table in (module._parameters, module._buffers) for key in table if table[key] is not None]
        matched = {}
        for by_name in (True, False):
            for place in own:
                _, table, key, name = place
                if name in matched:
                    continue
                shape = list(table[key].shape)
                for each in theirs:
                    if each["shape"] == shape and (each["name"] == name or not by_name):
                        matched[name] = each
                        theirs.remove(each)
                        break
        for _, table, key, name in own:
            bare = self.torch.empty(table[key].shape, dtype=table[key].dtype, device="meta")
            if name in matched:
                table[key] = self.traced(bare, matched[name]["handle"])
            else:
                table[key] = bare

    def outputs(self, made):
        if isinstance(made, self.traced):
            return [made]
        if isinstance(made, (list, tuple)):
            return [tensor for each in made for tensor in self.outputs(each)]
        raise Refusal("model.output", "the model returns something that no kernel made")


def answer(channel, request):
    if "strings" in request:
        channel.send({"strings": strings_of(request["strings"])})
        return
    try:
        Session(channel, request["model"]).run()
    except Refusal as error:
        channel.send({"error": {"code": error.code, "message": str(error)[:600]}})
    except SystemExit:
        raise
    except BaseException as error:  # whatever the model raises becomes one line
        text = " ".join(str(error).split())[:500]
        channel.send({"error": {"code": "model.failed", "message": f"{type(error).__name__}: {text}"}})


def main():
    channel = Channel(int(sys.argv[1]))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # what the model prints is nobody's result
        os.dup2(null, number)
    while True:
        request = channel.receive()
        if request is None:
            return
        answer(channel, request)


if __name__ == "__main__":
    main()
