"""Chooses sizes: small ones for checking, ragged ones for tails, large ones for timing.

Knows nothing of single tasks. A choice is a set of changed integer literals of the source, tried on the meta device, where
tensors have shapes and no data; it holds if the forward pass still works and gives outputs of the same kind.
"""

import torch

from loading import Census, Instance, outputs_of
from problems import OutOfTime, Problem, one_line


class Sizes:
    """What one choice of literals makes."""

    def __init__(self, inputs, params, largest, outputs, operations):
        self.inputs, self.params, self.largest = inputs, params, largest
        self.outputs, self.operations = outputs, operations  # shapes; names of aten operations

    @property
    def output_elements(self):
        return sum(_elements(shape) for shape in self.outputs)

    @property
    def total(self):
        return self.inputs + self.params + self.largest

    @property
    def moved(self):
        """Elements that a kernel must read and write."""
        return self.inputs + self.params + self.output_elements


def _elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


class Trial:
    """Evaluates choices of one source; remembers the answers."""

    def __init__(self, source):
        self.source, self.known, self.device = source, {}, "meta"
        self.reason = None

    def sizes(self, changes):
        """Sizes, or None if the task does not work with them."""
        key = tuple(sorted(changes.items()))
        if key not in self.known:
            self.known[key] = self._measure(changes)
        return self.known[key]

    def _measure(self, changes):
        try:
            return measure(self.source, changes, self.device)
        except (Problem, OutOfTime, MemoryError):
            raise
        except Exception as error:  # the task's own failure with these sizes
            self.reason = f"{type(error).__name__}: {one_line(error)}"
            return None

    def original(self):
        found = self.sizes({})
        if found is None:
            # Some tasks read values while they build (for example .item()); those run for real or not at all.
            self.device, self.known = "cpu", {}
            meta_reason = self.reason
            found = self.sizes({})
            if found is None:
                raise Problem("forward_failed", f"{self.source.filename}: forward() fails: {self.reason or meta_reason}",
                              "make `Model(*get_init_inputs())(*get_inputs())` work on the CPU")
        return found


def measure(source, changes, device):
    instance = Instance(source, changes, device)
    tensors = [t for t in instance.inputs if isinstance(t, torch.Tensor)]
    with Census() as census:
        outputs = instance.forward()
    if not outputs:
        raise RuntimeError("forward() returns no tensor")
    params = sum(p.numel() for p in list(instance.model.parameters()) + list(instance.model.buffers()))
    largest = max([census.largest] + [t.numel() for t in outputs])
    return Sizes(sum(t.numel() for t in tensors), params, largest, [tuple(t.shape) for t in outputs], census.operations)


def _same_kind(before, after):
    if after is None or len(before.outputs) != len(after.outputs) or before.operations != after.operations:
        return False
    for old, new in zip(before.outputs, after.outputs):
        if len(old) != len(new) or any(n < 1 or (n == 1 and o != 1) for o, n in zip(old, new)):
            return False
    return True


def _is_batch(knob):
    return "batch" in knob.name.lower() or knob.name in ("B", "bs", "N_batch")


def shrink(trial, cost, target, start=None):
    """Changes that bring `cost` to at most `target`, or as near as it gets; and its Sizes."""
    knobs = trial.source.knobs
    values = {k.place: (start or {}).get(k.place, k.value) for k in knobs}

    def changes():
        return {k.place: values[k.place] for k in knobs if values[k.place] != k.value}

    original = trial.original()
    now = trial.sizes(changes())
    batch = [k for k in knobs if _is_batch(k)]
    others = [k for k in knobs if not _is_batch(k)]
    for group, floor in ((batch, 8), (others, 64), (knobs, 64), (others, 32), (batch, 2), (others, 16), (knobs, 16), (others, 8), (others, 4)):
        frozen = set()
        while cost(now) > target:
            movable = [k for k in group if values[k.place] // 2 >= floor and k.place not in frozen]
            if not movable:
                break
            top = max(values[k.place] for k in movable)
            equal = [k for k in movable if values[k.place] == top]
            accepted = None
            # Equal sizes move together first: squares stay squares.
            for attempt in ([equal] if len(equal) > 1 else []) + [[k] for k in equal]:
                old = dict(values)
                for knob in attempt:
                    values[knob.place] = (values[knob.place] + 1) // 2
                found = trial.sizes(changes())
                if _same_kind(original, found) and cost(found) < cost(now) * 0.985:
                    accepted = found
                    break
                values.update(old)
            if accepted is None:
                frozen |= {k.place for k in equal}
            else:
                now = accepted
    return changes(), now


def grow_towards(trial, changes, cost, target):
    """Grows single literals of a shrunk choice again while `cost` stays at most `target`."""
    knobs = {k.place: k for k in trial.source.knobs}
    original = trial.original()
    changes = dict(changes)
    for place in sorted(changes, key=lambda p: (not _is_batch(knobs[p]), p)):
        for step in (7, 6, 5):  # quarters of a halved size that may come back
            wanted = changes[place] * step // 4
            tried = dict(changes, **{})
            tried[place] = min(wanted, knobs[place].value)
            found = trial.sizes(tried)
            if _same_kind(original, found) and cost(found) <= target:
                changes = tried
                break
    return changes


def ragged(trial, changes, limit):
    """Changes from `changes` on, so that as many sizes as possible are odd; and its Sizes."""
    knobs = trial.source.knobs
    values = {k.place: changes.get(k.place, k.value) for k in knobs}
    original = trial.original()

    def as_changes(of):
        return {k.place: of[k.place] for k in knobs if of[k.place] != k.value}

    groups = {}
    for knob in knobs:
        groups.setdefault(values[knob.place], []).append(knob)
    base, turn = trial.sizes(changes), 0
    for value in sorted(groups, reverse=True):
        # One by one first: equal sizes would hide a transposition. Together where the operator needs them equal.
        singles = [[k] for k in groups[value]]
        for attempt in singles + ([groups[value]] if len(singles) > 1 else []):
            if any(values[k.place] != value for k in attempt):
                continue
            found = _first_odd(trial, values, attempt, turn, as_changes, base, original, limit)
            turn += 1
            if found:
                values = found
    return as_changes(values), trial.sizes(as_changes(values))


_ODD_STEPS = (-3, -5, -1, 3, 1, 5)


def _first_odd(trial, values, attempt, turn, as_changes, base, original, limit):
    value = values[attempt[0].place]
    first = turn % 2
    for step in _ODD_STEPS[first:] + _ODD_STEPS[:first]:
        wanted = value + step
        if wanted % 2 == 0:
            wanted += 1
        if wanted < 2 or wanted == value:
            continue
        tried = dict(values)
        for knob in attempt:
            tried[knob.place] = wanted
        found = trial.sizes(as_changes(tried))
        # Only sizes of data count: a literal that moves no tensor's size is an attribute.
        before = trial.sizes(as_changes(values)) or base
        if _same_kind(original, found) and found.total <= limit and found.total != before.total:
            return tried
    return None


def described(source, changes):
    """[{name, from, to}] for task.json."""
    return [{"name": k.name, "from": k.value, "to": changes[k.place]} for k in source.knobs if k.place in changes]
