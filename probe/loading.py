"""Executes a task file, as it stands or with other sizes, with real tensors or on the meta device."""

import ast
import contextlib
import inspect
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from problems import Problem, one_line

# Names whose small values are properties of the operator, not sizes of its data.
_ATTRIBUTE_WORDS = ("kernel", "stride", "padding", "dilation", "group", "head", "dim", "axis", "axes", "num_layers", "margin")
_ATTRIBUTE_BELOW = 64

_FACTORIES = ("rand", "randn", "randint", "randperm", "zeros", "ones", "empty", "full", "arange", "linspace", "eye",
              "tensor", "as_tensor", "tril_indices", "triu_indices", "normal", "logspace", "range", "empty_strided")


class Knob:
    """An integer literal of the source that may stand for a size. Identified by its place in the source."""

    def __init__(self, name, value, place):
        self.name, self.value, self.place = name, value, place


class Source:
    def __init__(self, text, filename):
        self.text, self.filename = text, filename
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            where = f"line {line}: " if line else ""
            raise Problem("syntax", f"{filename}: {where}{one_line(getattr(error, 'msg', None) or error)}",
                          "mend the Python syntax of the file") from None
        self._require_form()
        self.knobs = _find_knobs(self.tree)
        self.doc = _doc_of(self.tree)

    def _require_form(self):
        classes = {n.name for n in self.tree.body if isinstance(n, ast.ClassDef)}
        names = {n.name for n in self.tree.body if isinstance(n, ast.FunctionDef)}
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        form = "a task file has `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()`, as in KernelBench"
        if "Model" not in classes:
            raise Problem("no_model", f"{self.filename}: there is no class Model", form)
        for wanted in ("get_inputs", "get_init_inputs"):
            if wanted not in names:
                raise Problem("no_inputs", f"{self.filename}: there is no function {wanted}()", form)

    def code(self, changes):
        """Compiled source with the literals at the places of `changes` replaced."""
        tree = self.tree
        if changes:
            tree = _Replace(changes).visit(ast.parse(self.text))
            ast.fix_missing_locations(tree)
        return compile(tree, self.filename, "exec")

    def execute(self, changes=None):
        module = types.ModuleType("task_file")
        module.__dict__["__file__"] = self.filename
        import sys
        sys.modules["task_file"] = module
        try:
            exec(self.code(changes), module.__dict__)
        except ImportError as error:
            name = getattr(error, "name", None) or "a module"
            raise Problem("module_missing", f"{self.filename}: cannot import {name}: {one_line(error)}",
                          f"install the Python module {name} for the interpreter that runs the probe") from None
        return module


class _Replace(ast.NodeTransformer):
    def __init__(self, changes):
        self.changes = changes

    def visit_Constant(self, node):
        wanted = self.changes.get((node.lineno, node.col_offset))
        if wanted is not None and type(node.value) is int:
            return ast.copy_location(ast.Constant(wanted), node)
        return node


def _doc_of(tree):
    docs = [ast.get_docstring(tree)]
    docs += [ast.get_docstring(n) for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"]
    return "\n\n".join(d.strip() for d in docs if d)


def _find_knobs(tree):
    knobs, seen = [], set()

    def add(name, node):
        place = (node.lineno, node.col_offset)
        if place in seen or type(node.value) is not int or node.value < 2:
            return
        if any(word in name.lower() for word in _ATTRIBUTE_WORDS) and node.value < _ATTRIBUTE_BELOW:
            return
        seen.add(place)
        knobs.append(Knob(name, node.value, place))

    def walk(name, node):
        if isinstance(node, ast.Subscript):
            walk(name, node.value)
        elif isinstance(node, ast.Call):
            for argument in node.args:
                walk(name, argument)
            for keyword in node.keywords:
                if keyword.arg not in ("dim", "axis", "low", "dtype", "device"):
                    walk(keyword.arg or name, keyword.value)
        elif isinstance(node, ast.Constant):
            add(name, node)
        else:
            for child in ast.iter_child_nodes(node):
                walk(name, child)

    def targets_of(node):
        first = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return first

    def assign(node):
        target, value = targets_of(node), node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, part in zip(target.elts, value.elts):
                walk(getattr(each, "id", "size"), part)
        elif value is not None:
            walk(getattr(target, "id", "size"), value)

    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            assign(node)
        elif isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs"):
            for part in node.body:
                if isinstance(part, (ast.Assign, ast.AnnAssign)):
                    assign(part)
                elif not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)):
                    walk("size", part)
        elif isinstance(node, ast.ClassDef) and node.name == "Model":
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    arguments = part.args.args[len(part.args.args) - len(part.args.defaults):]
                    for argument, default in zip(arguments, part.args.defaults):
                        if isinstance(default, ast.Constant) and type(default.value) is int and default.value >= 64:
                            add(argument.arg, default)
    return knobs


@contextlib.contextmanager
def factories_on(device):
    """Within it, torch's factory functions make tensors on `device` (a tensor that does not exist costs nothing)."""
    if device == "cpu":
        yield
        return
    saved = {}

    def wrapped(function):
        def make(*args, **kwargs):
            kwargs = dict(kwargs, device=device)
            kwargs.pop("generator", None)
            return function(*args, **kwargs)
        return make

    for name in _FACTORIES:
        if hasattr(torch, name):
            saved[name] = getattr(torch, name)
            setattr(torch, name, wrapped(saved[name]))
    try:
        yield
    finally:
        for name, function in saved.items():
            setattr(torch, name, function)


class Census(TorchDispatchMode):
    """Counts what a forward pass makes: the largest tensor and the aten operations."""

    def __init__(self):
        super().__init__()
        self.largest, self.operations = 0, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        self.operations.append(str(function))
        for each in made if isinstance(made, (list, tuple)) else (made,):
            if isinstance(each, torch.Tensor):
                self.largest = max(self.largest, each.numel())
        return made


class Instance:
    """A built model with one draw of its inputs. `seed` is used as KernelBench does: before each step."""

    def __init__(self, source, changes=None, device="cpu", seed=42):
        self.source, self.device = source, device
        with factories_on(device):
            torch.manual_seed(seed)
            self.module = source.execute(changes)
            torch.manual_seed(seed)
            init = list(self.module.get_init_inputs() or [])
            torch.manual_seed(seed)
            if init and isinstance(init[-1], dict) and len(init) == 2 and isinstance(init[0], (list, tuple)):
                self.model = self.module.Model(*init[0], **init[1])
            else:
                self.model = self.module.Model(*init)
            if not isinstance(self.model, torch.nn.Module):
                raise Problem("no_model", f"{source.filename}: class Model is no torch.nn.Module",
                              "derive Model from torch.nn.Module")
            self.model.train()
            switch_dropout_off(self.model)
            self.inputs = self.draw(seed)

    def draw(self, seed):
        with factories_on(self.device):
            torch.manual_seed(seed)
            made = self.module.get_inputs()
        if not isinstance(made, (list, tuple)):
            raise Problem("no_inputs", f"{self.source.filename}: get_inputs() returns no list",
                          "let get_inputs() return the list of forward()'s arguments")
        return [each.detach() if isinstance(each, torch.Tensor) else each for each in made]

    def forward(self, inputs=None):
        with factories_on(self.device), torch.no_grad():
            return outputs_of(self.model(*(self.inputs if inputs is None else inputs)))

    def input_names(self):
        try:
            parameters = [p for p in inspect.signature(self.model.forward).parameters.values()]
        except (TypeError, ValueError):
            parameters = []
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = names[: len(self.inputs)]
        return names + [f"arg{i}" for i in range(len(names), len(self.inputs))]


def switch_dropout_off(model):
    for module in model.modules():
        if type(module).__name__.endswith("Dropout") or type(module).__name__.startswith("Dropout"):
            module.eval()
            module.p = 0.0
        elif isinstance(module, torch.nn.MultiheadAttention):
            module.dropout = 0.0


def outputs_of(made):
    """The tensors of a forward result, in order."""
    if isinstance(made, torch.Tensor):
        return [made]
    if isinstance(made, dict):
        made = list(made.values())
    if isinstance(made, (list, tuple)):
        return [tensor for each in made for tensor in outputs_of(each)]
    return []
