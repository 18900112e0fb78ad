"""Traces a model to a flat list of aten operations and executes such lists."""

import copy
import math
import operator

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from loading import factories_on, outputs_of
from problems import Problem

try:
    from torch.func import functional_call as _functional_call
except ImportError:
    from torch.nn.utils.stateless import functional_call as _functional_call

NODES_MAX = 4000

# Composite operations that torch hands over whole; their parts are what a kernel's writer needs to see.
_DECOMPOSED = ("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy", "log_sigmoid_forward",
               "addcmul", "addcdiv", "lerp", "hinge_embedding_loss", "margin_ranking_loss", "l1_loss", "_euclidean_dist",
               "logaddexp", "rsub", "celu", "baddbmm", "addmv", "l1_loss")


def _decompositions():
    from torch._decomp import decomposition_table
    wanted = set(_DECOMPOSED)
    return {op: how for op, how in decomposition_table.items()
            if str(op).startswith("aten.") and str(op).split(".")[1] in wanted}


class Ref:
    """Output `index` of the node or graph input `id`."""

    def __init__(self, id, index=0):
        self.id, self.index = id, index

    def __eq__(self, other):
        return isinstance(other, Ref) and (self.id, self.index) == (other.id, other.index)

    def __hash__(self):
        return hash((self.id, self.index))


class Node:
    def __init__(self, id, target, args, kwargs):
        self.id, self.target, self.args, self.kwargs = id, target, args, kwargs
        self.outs = []  # (dtype, shape) of each output

    @property
    def op(self):
        return str(self.target)

    @property
    def base(self):
        """"mul" of "aten.mul.Tensor"."""
        return self.op.split(".")[1]


class GraphInput:
    """`kind` is input, param, buffer or const; `key` its place among the forward arguments or its name."""

    def __init__(self, id, kind, key, tensor):
        self.id, self.kind, self.key = id, kind, key
        self.dtype, self.shape = tensor.dtype, tuple(tensor.shape)


class Graph:
    def __init__(self):
        self.inputs, self.nodes, self.outputs = [], [], []

    def refs_of(self, node):
        return [a for a in flat([node.args, list(node.kwargs.values())]) if isinstance(a, Ref)]

    def run(self, values, visit=None):
        """Outputs for `values`, {input id: tensor}. `visit(node, made, arguments)` sees each step."""
        made = {(id, 0): tensor for id, tensor in values.items()}

        def real(argument):
            if isinstance(argument, Ref):
                return made[(argument.id, argument.index)]
            if isinstance(argument, (list, tuple)):
                return [real(a) for a in argument]
            return argument

        with torch.no_grad():
            for node in self.nodes:
                args, kwargs = real(node.args), {k: real(v) for k, v in node.kwargs.items()}
                out = node.target(*args, **kwargs)
                outs = list(out) if isinstance(out, (list, tuple)) else [out]
                for index, each in enumerate(outs):
                    made[(node.id, index)] = each
                if visit:
                    visit(node, outs, args)
        return [made[(r.id, r.index)] for r in self.outputs]


def flat(argument):
    if isinstance(argument, (list, tuple)):
        for each in argument:
            yield from flat(each)
    elif isinstance(argument, dict):
        for each in argument.values():
            yield from flat(each)
    else:
        yield argument


def call(model, state, inputs):
    return outputs_of(_functional_call(model, state, tuple(inputs)))


def trace(instance):
    """(Graph, {const id: tensor}) of the instance's forward pass with its parameters and buffers lifted to inputs."""
    model = copy.deepcopy(instance.model)
    state = list(model.named_parameters()) + list(model.named_buffers())
    kinds = ["param"] * len(list(model.named_parameters())) + ["buffer"] * len(list(model.named_buffers()))
    inputs = list(instance.inputs)
    places = [i for i, t in enumerate(inputs) if isinstance(t, torch.Tensor)]

    def forward(*tensors):
        arguments = list(inputs)
        for place, tensor in zip(places, tensors):
            arguments[place] = tensor
        named = {name: t for (name, _), t in zip(state, tensors[len(places):])}
        return call(model, named, arguments)

    tensors = [inputs[i] for i in places] + [t.detach().clone() for _, t in state]
    with factories_on(instance.device), torch.no_grad():
        traced = make_fx(forward, decomposition_table=_decompositions())(*tensors)
    heads = [("input", i) for i in places] + [(k, name) for k, (name, _) in zip(kinds, state)]
    return _clean(*_convert(traced, heads, tensors))


def _convert(traced, heads, tensors):
    graph, consts, ids = Graph(), {}, {}
    heads = iter(zip(heads, tensors))
    count = {"input": 0, "param": 0, "buffer": 0, "const": 0}

    def head(kind, key, tensor):
        id = f"{kind[0]}{count[kind]}"
        count[kind] += 1
        graph.inputs.append(GraphInput(id, kind, key, tensor))
        return id

    def argument(value):
        if isinstance(value, torch.fx.Node):
            return ids[value]
        if isinstance(value, (list, tuple)):
            return [argument(v) for v in value]
        if isinstance(value, slice):
            raise Problem("graph_unsupported", "a slice object among the arguments of the graph", "use plain tensor indexing")
        return value

    for step in traced.graph.nodes:
        if step.op == "placeholder":
            (kind, key), tensor = next(heads)
            ids[step] = Ref(head(kind, key, tensor))
        elif step.op == "get_attr":
            tensor = getattr(traced, step.target)
            id = head("const", f"const{count['const']}", tensor)
            consts[id] = tensor.detach()
            ids[step] = Ref(id)
        elif step.op == "output":
            graph.outputs = list(flat(argument(step.args[0])))
        elif step.target is operator.getitem:
            ids[step] = Ref(ids[step.args[0]].id, step.args[1])
        else:
            node = Node(f"n{len(graph.nodes)}", step.target, [argument(a) for a in step.args],
                        {k: argument(v) for k, v in step.kwargs.items()})
            graph.nodes.append(node)
            ids[step] = Ref(node.id)
        if len(graph.nodes) > NODES_MAX:
            raise Problem("graph_too_large", f"the traced graph has more than {NODES_MAX} operations",
                          "write the loop of forward() with tensor operations")
    return graph, consts, dict(zip([i.id for i in graph.inputs if i.kind != "const"], tensors))


_IDENTITIES = ("detach", "alias", "lift_fresh", "lift_fresh_copy", "clone", "contiguous", "lift")
_SAME_SHAPE = ("view", "_unsafe_view", "reshape", "expand", "_reshape_alias")


def _functional(node):
    """The operation that computes the same without writing into its argument."""
    name = node.target._schema.name.split("::")[1]
    if not name.endswith("_") or name.endswith("__"):
        return node.target
    packet = getattr(torch.ops.aten, name[:-1], None)
    overload = getattr(packet, node.target._overloadname, None) if packet else None
    return overload or node.target


def _clean(graph, consts, tensors):
    """Removes what only matters to torch: detachments, copies, unused steps, devices, buffer updates."""
    renamed = {}
    values = dict(tensors)
    values.update(consts)

    def renew(argument):
        if isinstance(argument, Ref):
            return renamed.get(argument, argument)
        if isinstance(argument, (list, tuple)):
            return [renew(a) for a in argument]
        return argument

    def learn(node, made, _):
        node.outs = [(t.dtype, tuple(t.shape)) if isinstance(t, torch.Tensor) else None for t in made]

    for node in graph.nodes:
        node.target = _functional(node)
        node.kwargs = {k: v for k, v in node.kwargs.items() if k not in ("pin_memory", "layout", "memory_format")
                       and not (k == "device" and v is None)}
    graph.run({id: t.clone() for id, t in values.items()}, learn)
    shapes = {Ref(i.id): (i.dtype, i.shape) for i in graph.inputs}
    kept = []
    for node in graph.nodes:
        node.args, node.kwargs = renew(node.args), renew_all(node.kwargs, renew)
        for index, out in enumerate(node.outs):
            shapes[Ref(node.id, index)] = out
        first = node.args[0] if node.args and isinstance(node.args[0], Ref) else None
        same = first is not None and node.outs[0] == shapes.get(first)
        if first is not None and (node.base in _IDENTITIES or same and node.base in _SAME_SHAPE + ("_to_copy",)):
            renamed[Ref(node.id)] = first
            continue
        kept.extend(_rewritten(node))
    graph.nodes = kept
    graph.outputs = [renew(r) for r in graph.outputs]
    _drop_unused(graph)
    return graph, {i.id: consts[i.id] for i in graph.inputs if i.kind == "const"}


def renew_all(kwargs, renew):
    return {k: renew(v) for k, v in kwargs.items()}


def _rewritten(node):
    if node.base in ("native_batch_norm", "_native_batch_norm_legit") and len(node.args) > 5 and node.args[5] is True:
        # In training the statistics are those of the batch: the running ones are written, never read.
        node.args = node.args[:3] + [None, None] + node.args[5:]
        node.target = torch.ops.aten.native_batch_norm.default
        return [node]
    if node.base in ("_reshape_alias", "_unsafe_view"):
        node.target, node.args, node.kwargs = torch.ops.aten.reshape.default, node.args[:2], {}
        return [node]
    if node.op == "aten.rsub.Scalar" and len(node.args) == 2 and not node.kwargs:
        negated = Node(node.id + "a", torch.ops.aten.neg.default, [node.args[0]], {})
        negated.outs = list(node.outs)
        added = Node(node.id, torch.ops.aten.add.Tensor, [Ref(negated.id), node.args[1]], {})
        added.outs = node.outs
        return [negated, added]
    return [node]


def _drop_unused(graph):
    wanted = {r.id for r in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if node.id in wanted:
            kept.append(node)
            wanted |= {r.id for r in graph.refs_of(node)}
    graph.nodes = kept[::-1]
    graph.inputs = [i for i in graph.inputs if i.kind == "input" or i.id in wanted]


def dtype_name(dtype):
    return str(dtype).replace("torch.", "")


def literal(value):
    """A graph argument as JSON."""
    if isinstance(value, Ref):
        return {"ref": value.id, "index": value.index} if value.index else {"ref": value.id}
    if isinstance(value, (list, tuple)):
        return [literal(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    return str(value)


def as_json(graph, indices):
    """`indices` maps a graph input's id to its position among the forward inputs, or to its name."""
    heads = []
    for head in graph.inputs:
        entry = {"id": head.id, "kind": head.kind}
        entry["index" if head.kind == "input" else "name"] = indices[head.id]
        entry.update(dtype=dtype_name(head.dtype), shape=list(head.shape))
        heads.append(entry)
    nodes = []
    for node in graph.nodes:
        kwargs = {k: literal(v) for k, v in node.kwargs.items() if k != "device"}
        outs = [{"dtype": dtype_name(o[0]), "shape": list(o[1])} if o else None for o in node.outs]
        nodes.append({"id": node.id, "op": node.op, "args": literal(node.args), "kwargs": kwargs, "outs": outs})
    outputs = [{"ref": r.id, "index": r.index} if r.index else r.id for r in graph.outputs]
    return {"inputs": heads, "nodes": nodes, "outputs": outputs}
