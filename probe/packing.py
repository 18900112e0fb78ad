"""Makes the pack of one task: sizes, graphs, cases with goldens, tolerances, sensitivity."""

import copy
import os
import re

import torch

import classify
import draws
import files
import shrink
import tracing
from loading import Instance, Source
from problems import Problem, one_line

SCHEMA = 1
PROBE_VERSION = "2"
BENCH_ELEMENTS = 1 << 26
TIMED_ELEMENTS = 1 << 24
TIMED_TERMS = 1 << 30
TIMED_SAMPLES = 512
HIDDEN_SMALL = (("h1", "wide"), ("h2", "scaled"), ("h3", "shifted"))
HIDDEN_RAGGED = (("r1", "scaled"),)


class Golden:
    """What is expected of one case. `truth` in float64, `reference` as torch computes it, `scales` per element or None."""

    def __init__(self, truth, reference, scales):
        self.truth, self.reference, self.scales = truth, reference, scales

    def finite(self):
        return all(bool(torch.isfinite(t).all()) for t in self.truth + self.reference if t.dtype.is_floating_point)


class ShapeSet:
    def __init__(self, source, id, changes):
        self.source, self.id, self.changes = source, id, changes
        self.instance = Instance(source, changes, "meta" if id == "bench" else "cpu", draws.PUBLIC_SEED)
        self.graph, self.consts, _ = self._traced()
        self.preconditions = ["none"] * len(self.instance.inputs)
        self.dists = ["other"] * len(self.instance.inputs)

    def _traced(self):
        graph, consts = tracing.trace(self.instance)
        return graph, consts, None

    def look_at_inputs(self):
        first, second = self.instance.inputs, self.instance.draw(draws.OTHER_SEED)
        for i, tensor in enumerate(first):
            if isinstance(tensor, torch.Tensor):
                others = [t for j, t in enumerate(first) if j != i and isinstance(t, torch.Tensor)]
                self.preconditions[i] = draws.precondition("", tensor, second[i], others)
                self.dists[i] = draws.distribution(tensor)

    def state(self):
        model = self.instance.model
        return {n: t.detach() for n, t in list(model.named_parameters()) + list(model.named_buffers())}

    def golden(self, inputs, state):
        model = copy.deepcopy(self.instance.model)
        with torch.no_grad():
            reference = tracing.call(model, {n: t.clone() for n, t in state.items()}, _clones(inputs))
        reference = [t.detach() for t in reference]
        truth = self._truth(inputs, state, reference)
        return Golden(truth, reference, self._scales(inputs, state, truth))

    def _truth(self, inputs, state, reference):
        values = self.graph_values(inputs, state, torch.float64)
        try:
            model = copy.deepcopy(self.instance.model).double()
            with torch.no_grad():
                truth = tracing.call(model, {n: _wide(t.clone()) for n, t in state.items()}, [_wide(t) for t in _clones(inputs)])
        except RuntimeError:  # the task fixes a narrower type somewhere
            truth = self.graph.run(values)
        truth = [_wide(t.detach()) if r.dtype.is_floating_point else t.detach().to(r.dtype) for t, r in zip(truth, reference)]
        return truth

    def graph_values(self, inputs, state, dtype=None):
        """{graph input id: tensor} for the graph's own execution."""
        values = {}
        for head in self.graph.inputs:
            tensor = {"input": lambda: inputs[head.key], "const": lambda: self.consts[head.id]}.get(
                head.kind, lambda: state[head.key])()
            values[head.id] = tensor.to(dtype) if dtype and tensor.dtype.is_floating_point else tensor
        return values

    def _scales(self, inputs, state, truth):
        if not classify.wants_scales(self.graph):
            return [None] * len(truth)
        values = self.graph_values(inputs, state, torch.float64)
        scales = classify.Scales(self.graph, values)
        try:
            self.graph.run(values, scales.visit)
        except RuntimeError:
            return [None] * len(truth)
        found = [scales.of.get((r.id, r.index)) for r in self.graph.outputs]
        return [s if s is not None and s.shape == t.shape and bool(torch.isfinite(s).all()) else None
                for s, t in zip(found, truth)]

    def check_graph(self, inputs, golden, state):
        """The graph must compute what the module computes; a pack with another graph would mislead."""
        try:
            made = self.graph.run(self.graph_values(inputs, state, torch.float64))
        except RuntimeError as error:
            raise Problem("graph_unsupported", f"the traced graph cannot be executed: {one_line(error)}",
                          "write forward() without in-place changes of views and without data-dependent control flow") from None
        for got, want in zip(made, golden.truth):
            same = got.shape == want.shape and torch.allclose(got.double(), want.double(), rtol=1e-6, atol=1e-9, equal_nan=True)
            if not same:
                raise Problem("graph_differs", "the traced graph does not compute what forward() computes",
                              "write forward() without in-place changes of views and without data-dependent control flow")


def _wide(tensor):
    return tensor.double() if isinstance(tensor, torch.Tensor) and tensor.dtype.is_floating_point else tensor


def _clones(inputs):
    return [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]


class Packer:
    def __init__(self, path, out, small_elements):
        self.out, self.small_elements = out, small_elements
        self.filename = os.path.basename(path)
        try:
            with open(path, "rb") as file:
                raw = file.read(1 << 20)
            self.text = raw.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Problem("unreadable", f"{self.filename}: {one_line(error)}", "give a readable UTF-8 Python file below 1 MB") from None
        import hashlib
        self.sha256 = hashlib.sha256(raw).hexdigest()
        self.source = Source(self.text, self.filename)
        self.trial = shrink.Trial(self.source)
        self.nonneg = False

    def make(self):
        small, ragged, bench = self._choose_sizes()
        small.look_at_inputs()
        self._settle_domain(small)
        cases = self._small_cases(small)
        self._write_cases(small, cases)
        document = self._document(small, cases)
        document["shape_sets"].append(self._set_json(small, cases))
        if ragged:
            ragged.preconditions, ragged.dists = small.preconditions, small.dists
            hidden = [self._hidden_case(ragged, id, variant) for id, variant in HIDDEN_RAGGED]
            self._write_cases(ragged, hidden)
            document["shape_sets"].append(self._set_json(ragged, hidden))
        bench.preconditions, bench.dists = small.preconditions, small.dists
        entry = self._set_json(bench, [])
        timed = self._timed(bench, entry)
        if timed:
            entry["timed"] = timed
        document["shape_sets"].append(entry)
        files.write_json(os.path.join(self.out, "task.json"), document)
        return document

    def _timed(self, bench, entry):
        """Inputs of the timed sizes by rule, and what is expected at some positions. None where it would cost too much or no rule fits."""
        tensors = entry["inputs"] + entry["params"]
        elements = [_product(t["shape"]) for t in tensors + entry["outputs"]]
        plain = all(t["dtype"] == "float32" for t in tensors) and all(h.kind != "const" for h in bench.graph.inputs)
        plain = plain and all(t["precondition"] in ("none", "nonneg") for t in entry["inputs"])
        work = classify.multiplications(bench.graph)
        if not plain or sum(elements) > TIMED_ELEMENTS or work > TIMED_TERMS:
            return None
        full = bench if self.trial.device != "meta" else ShapeSet(self.source, "timed", bench.changes)
        rules = [(draws.seed_of(self.sha256, "timed", i) & 0xFFFFFFFF,
                  *draws.timed_range(t.get("role", "input"), t.get("precondition", "none"), t["shape"])) for i, t in enumerate(tensors)]
        values = [draws.counted(seed, low, span / (1 << 24), t["shape"]) for (seed, low, span), t in zip(rules, tensors)]
        drawn, inputs = iter(values), []
        for tensor in full.instance.inputs:
            inputs.append(next(drawn) if isinstance(tensor, torch.Tensor) else tensor)
        state = dict(full.state(), **{t["name"]: next(drawn) for t in entry["params"]})
        golden = full.golden(inputs, state)
        if not golden.finite():
            return None
        files.make_folder(os.path.join(self.out, "bench"))
        files.write_safetensors(os.path.join(self.out, "bench", "t0.expected.safetensors"), self._sampled(bench, golden))
        return {"expected": "bench/t0.expected.safetensors",
                "draws": [{"low": low, "step": span / (1 << 24), "seed": seed} for seed, low, span in rules]}

    def _sampled(self, bench, golden):
        tensors = {}
        for i, (truth, reference, scale) in enumerate(zip(golden.truth, golden.reference, golden.scales)):
            if not reference.dtype.is_floating_point or truth.numel() == 0:
                continue
            last = truth.numel() - 1
            unit = draws.Draw(self.sha256, "positions", i).unit((TIMED_SAMPLES,))
            chosen = torch.cat([torch.tensor([0, last]), (unit * truth.numel()).long().clamp(0, last)]).unique()
            tensors[f"positions.{i}"] = chosen
            tensors[f"truth.{i}"] = truth.reshape(-1)[chosen]
            tensors[f"reference.{i}"] = reference.reshape(-1)[chosen]
            if scale is not None:
                tensors[f"scale.{i}"] = scale.float().reshape(-1)[chosen]
        return tensors

    def _choose_sizes(self):
        limit = self.small_elements
        changes, sizes = shrink.shrink(self.trial, lambda s: s.total, limit)
        if sizes.total > 16 * max(limit, 1 << 20):
            raise Problem("too_large", f"{self.filename}: the smallest sizes found still make {sizes.total} elements",
                          "name the sizes as integers in the file, so that they can be made smaller")
        small = ShapeSet(self.source, "small", changes)
        odd, _ = shrink.ragged(self.trial, changes, 2 * sizes.total)
        return small, self._ragged(small, odd), self._bench()

    def _ragged(self, small, odd):
        """The set of odd sizes. A size that changes the operator itself (a factor made from it) keeps its small value."""
        regular = [p for p in sorted(odd) if odd[p] != small.changes.get(p)]
        for kept in [None] + regular:
            changes = {p: v for p, v in odd.items() if p != kept}
            if kept in small.changes:
                changes[kept] = small.changes[kept]
            if changes == small.changes or self.trial.sizes(changes) is None:
                continue
            ragged = ShapeSet(self.source, "ragged", changes)
            if _same_structure(small.graph, ragged.graph):
                return ragged
        return None

    def _bench(self):
        if self.trial.device != "meta":
            return ShapeSet(self.source, "bench", {})
        changes, sizes = shrink.shrink(self.trial, lambda s: s.moved, BENCH_ELEMENTS)
        if sizes.moved < BENCH_ELEMENTS * 3 // 4 and changes:
            changes = shrink.grow_towards(self.trial, changes, lambda s: s.moved, BENCH_ELEMENTS)
        return ShapeSet(self.source, "bench", changes)

    def _labels(self, shapes, id):
        return (self.sha256, shapes.id, id)

    def _settle_domain(self, small):
        """Zero-mean inputs unless the operator has no finite value there."""
        labels = self._labels(small, "domain")
        state = small.state()
        for nonneg in (False, True):
            inputs = draws.hidden_inputs(small.instance, small.preconditions, "scaled", labels, nonneg)
            if small.golden(inputs, state).finite():
                self.nonneg = nonneg
                break
        if self.nonneg:
            small.preconditions = ["nonneg" if rule == "none" and isinstance(t, torch.Tensor) and t.dtype.is_floating_point
                                   and bool((t >= 0).all()) else rule
                                   for rule, t in zip(small.preconditions, small.instance.inputs)]

    def _small_cases(self, small):
        inputs, state = small.instance.inputs, small.state()
        golden = small.golden(inputs, state)
        small.check_graph(inputs, golden, state)
        cases = [("p0", "public", inputs, state, golden)]
        return cases + [self._hidden_case(small, id, variant) for id, variant in HIDDEN_SMALL]

    def _hidden_case(self, shapes, id, variant):
        labels = self._labels(shapes, id)
        own = shapes.instance.draw(draws.seed_of("own", *labels) % (1 << 31))
        spread = draws.hidden_inputs(shapes.instance, shapes.preconditions, variant, labels, self.nonneg)
        fresh = draws.hidden_state(shapes.instance.model, labels)
        # In order of preference; a case without a finite golden checks nothing.
        for inputs, state in ((spread, fresh), (spread, shapes.state()), (own, fresh), (own, shapes.state())):
            golden = shapes.golden(inputs, state)
            if golden.finite():
                break
        return (id, "hidden", inputs, state, golden)

    def _write_cases(self, shapes, cases):
        folder = os.path.join(self.out, shapes.id)
        files.make_folder(folder)
        names = shapes.instance.input_names()
        for id, _, inputs, state, golden in cases:
            tensors = {f"input.{n}": t for n, t in zip(names, inputs) if isinstance(t, torch.Tensor)}
            for head in shapes.graph.inputs:
                if head.kind in ("param", "buffer"):
                    tensors[f"{head.kind}.{head.key}"] = state[head.key]
                elif head.kind == "const":
                    tensors[f"const.{head.key}"] = shapes.consts[head.id]
            files.write_safetensors(os.path.join(folder, f"{id}.inputs.safetensors"), tensors)
            files.write_safetensors(os.path.join(folder, f"{id}.expected.safetensors"), self._expected(shapes, inputs, state, golden))

    def _expected(self, shapes, inputs, state, golden):
        tensors = {}
        for i, (truth, reference, scale) in enumerate(zip(golden.truth, golden.reference, golden.scales)):
            tensors[f"truth.{i}"] = truth
            if reference.dtype.is_floating_point:
                tensors[f"reference.{i}"] = reference
            if scale is not None:
                tensors[f"scale.{i}"] = scale.float()
            index = index_source(shapes.graph, i)
            if index:
                tensors[f"values.{i}"] = self._values_at(shapes, index[0], inputs, state)
        return tensors

    def _values_at(self, shapes, ref, inputs, state):
        """The tensor that an output's indices point into."""
        view = copy.copy(shapes.graph)
        view.outputs = [ref]
        return view.run(shapes.graph_values(inputs, state))[0]

    def _set_json(self, shapes, cases):
        names = shapes.instance.input_names()
        tensors = [(n, t, i) for i, (n, t) in enumerate(zip(names, shapes.instance.inputs)) if isinstance(t, torch.Tensor)]
        inputs = [{"name": n, "kind": "tensor", "dtype": tracing.dtype_name(t.dtype), "shape": list(t.shape),
                   "precondition": shapes.preconditions[i], "dist": shapes.dists[i]} for n, t, i in tensors]
        position = {i: place for place, (_, _, i) in enumerate(tensors)}
        owners = draws.roles(shapes.instance.model)
        params = [{"name": h.key, "role": "const" if h.kind == "const" else owners.get(h.key, "weight"), "kind": h.kind,
                   "dtype": tracing.dtype_name(h.dtype), "shape": list(h.shape)} for h in shapes.graph.inputs if h.kind != "input"]
        scalars = [{"name": n, "index": i, "value": tracing.literal(t)} for i, (n, t) in enumerate(zip(names, shapes.instance.inputs))
                   if not isinstance(t, torch.Tensor)]
        indices = {h.id: position[h.key] if h.kind == "input" else h.key for h in shapes.graph.inputs}
        return {"id": shapes.id, "changes": shrink.described(self.source, shapes.changes), "inputs": inputs, "params": params,
                "scalars": scalars, "outputs": outputs_json(shapes.graph), "graph": tracing.as_json(shapes.graph, indices),
                "cases": [{"id": id, "visibility": visibility, "inputs": f"{shapes.id}/{id}.inputs.safetensors",
                           "expected": f"{shapes.id}/{id}.expected.safetensors"} for id, visibility, *_ in cases]}

    def _document(self, small, cases):
        stem = os.path.splitext(self.filename)[0]
        kind = classify.op_class(small.graph)
        return {"schema": SCHEMA, "task_id": stem, "name": identifier(stem), "title": title(stem), "doc": self.source.doc,
                "category": classify.category(small.graph), "mode": "train-nodropout", "probe_version": PROBE_VERSION,
                "torch": torch.__version__, "source_sha256": self.sha256, "source_text": self.text,
                "tolerance": {"atol": 1e-2, "rtol": 1e-2, "centred_rel": 1e-2, "op_class": kind,
                              "reduction_length": classify.reduction_length(small.graph),
                              "transcendentals": classify.transcendentals(small.graph)},
                "sensitivity": sensitivity(cases), "shape_sets": []}


def _product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _same_structure(first, second):
    def attributes(graph):
        return [(n.op, [a for a in n.args if isinstance(a, (bool, float, str))]) for n in graph.nodes]
    return attributes(first) == attributes(second)


def index_source(graph, place):
    """(what the indices of output `place` point into, dimension), for outputs that are positions of an extreme."""
    ref = graph.outputs[place]
    for node in graph.nodes:
        if node.id != ref.id:
            continue
        extreme = node.base in ("argmax", "argmin") or node.base in ("max", "min") and ref.index == 1 and len(node.args) > 1
        if extreme and node.args[1:] and node.args[1] is not None:
            return node.args[0], node.args[1]
    return None


def outputs_json(graph):
    made = []
    shapes = {i.id: (i.dtype, i.shape) for i in graph.inputs}
    for place, ref in enumerate(graph.outputs):
        out = next((n.outs[ref.index] for n in graph.nodes if n.id == ref.id), shapes.get(ref.id))
        index = index_source(graph, place)
        entry = {"dtype": tracing.dtype_name(out[0]), "shape": list(out[1]),
                 "compare": "index_value" if index else "float" if out[0].is_floating_point else "exact"}
        if index:
            entry["index_dim"] = index[1]
        made.append(entry)
    return made


def identifier(stem):
    name = re.sub(r"[^0-9a-z]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", stem).lower()).strip("_")
    return f"task_{name}" if not name or name[0].isdigit() else name


def title(stem):
    return re.sub(r"^\d+[_\-]", "", stem).replace("_", " ").strip() or stem


def _accepts(want, got):
    """By the paper's tolerance and by the centred error, both."""
    if not bool(torch.isfinite(want).all()) or got.shape != want.shape:
        return False
    close = bool(torch.allclose(got, want, atol=1e-2, rtol=1e-2))
    spread = float((want - want.mean()).norm()) if want.numel() > 1 else float(want.abs().sum())
    error = float((got - want).norm())
    return close and (error <= 1e-2 * spread if spread > 0 else error <= 1e-2 * float(want.norm()) + 1e-12)


def sensitivity(cases):
    """Which candidates that compute nothing would pass every case."""
    truths = [[t.double() for t in golden.truth] for *_, golden in cases]

    def passes(mutant):
        results = []
        for number, (_, _, inputs, _, _) in enumerate(cases):
            made = mutant(number, inputs)
            results.append(made is not None and all(_accepts(w, g) for w, g in zip(truths[number], made)))
        return all(results)

    def identity(number, inputs):
        for tensor in inputs:
            if isinstance(tensor, torch.Tensor) and tensor.shape == truths[number][0].shape:
                return [tensor.double()] * len(truths[number])
        return None

    found = {"accepts_zeros": passes(lambda n, _: [torch.zeros_like(t) for t in truths[n]]),
             "accepts_mean": passes(lambda n, _: [torch.full_like(t, float(t.mean())) for t in truths[n]])
             if truths[0][0].numel() > 1 else False,
             "accepts_identity": passes(identity),
             "accepts_other_input": passes(lambda n, _: truths[(n + 1) % len(truths)])}
    found["structurally_constant"] = found["accepts_zeros"] or found["accepts_mean"] or found["accepts_other_input"]
    return found
