"""What kind of operator a graph is: category, comparison class, error scales. Derived from operations and shapes alone."""

import torch

from tracing import Ref

EXACT = {"relu", "max", "min", "amax", "amin", "maximum", "minimum", "clamp", "clamp_min", "clamp_max", "hardtanh", "abs", "neg",
         "where", "view", "reshape", "expand", "permute", "transpose", "t", "squeeze", "unsqueeze", "select", "slice", "cat", "stack",
         "index", "index_select", "gather", "flip", "tril", "triu", "masked_fill", "max_pool1d_with_indices", "unbind",
         "max_pool2d_with_indices", "max_pool3d_with_indices", "constant_pad_nd", "repeat", "roll", "eq", "ne", "lt", "le", "gt", "ge",
         "logical_not", "logical_and", "logical_or", "argmax", "argmin", "sort", "topk", "split", "split_with_sizes", "chunk", "copy",
         "sign", "floor", "ceil", "round", "as_strided", "unfold", "zeros_like", "ones_like", "full_like", "zeros", "ones", "full",
         "arange", "scalar_tensor", "new_zeros", "new_ones", "empty_like", "fill", "diagonal", "diag", "diag_embed", "repeat_interleave",
         "threshold", "_to_copy", "cummax", "cummin", "zero", "median"}
ROUNDING = {"add", "sub", "mul", "div", "sqrt", "reciprocal", "leaky_relu", "square", "prelu", "_prelu_kernel", "rsub", "addcmul", "addcdiv",
            "lerp", "dist"}
# Operation: how many transcendental calls it stands for.
TRANSCENDENTAL = {"exp": 1, "log": 1, "tanh": 1, "sigmoid": 1, "erf": 1, "gelu": 1, "silu": 1, "elu": 1, "selu": 1, "celu": 1, "pow": 1,
                  "rsqrt": 1, "softplus": 2, "mish": 3, "sin": 1, "cos": 1, "log1p": 1, "expm1": 1, "log_sigmoid_forward": 2, "hardswish": 1,
                  "hardsigmoid": 1, "xlogy": 1, "log2": 1, "exp2": 1, "tan": 1, "atan": 1, "asin": 1, "acos": 1, "sinh": 1, "cosh": 1,
                  "logaddexp": 2, "erfc": 1}
NONLINEAR = set(TRANSCENDENTAL) | {"relu", "leaky_relu", "clamp", "clamp_min", "hardtanh", "threshold", "prelu", "_prelu_kernel", "abs",
                                   "softshrink", "hardshrink", "rrelu_with_noise"}
CONTRACTIONS = {"mm", "addmm", "bmm", "baddbmm", "mv", "dot", "addmv", "addbmm", "_cdist_forward"}
CONVOLUTIONS = {"convolution", "_convolution", "mkldnn_convolution"}
SUMS = {"sum", "mean", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "nansum", "cumsum",
        "logcumsumexp", "prod"}
RATIOS = {"_softmax", "_log_softmax", "native_layer_norm", "native_batch_norm", "native_group_norm", "norm", "linalg_vector_norm", "var",
          "std", "var_mean", "logsumexp", "_cosine_similarity", "frobenius_norm"}
NORMS = {"native_layer_norm", "native_batch_norm", "native_group_norm"}
SCANS = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}
POOLS = {"max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d",
         "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"}
EXTREMES = {"max", "min", "amax", "amin", "argmax", "argmin", "median", "prod", "any", "all"}
LOSSES = {"nll_loss_forward", "nll_loss2d_forward", "binary_cross_entropy", "kl_div", "mse_loss", "smooth_l1_loss", "_ctc_loss"}


def _elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _is_whole(node):
    """Whether a max or min compares two tensors, element by element, rather than reducing one."""
    return node.base in ("max", "min") and len(node.args) == 2 and isinstance(node.args[1], Ref)


def _reduces(node):
    return node.base in SUMS - POOLS - SCANS | EXTREMES | RATIOS - NORMS - {"_softmax", "_log_softmax"} and not _is_whole(node)


def category(graph):
    bases = [n.base for n in graph.nodes]
    found = set(bases)
    tensors = [i for i in graph.inputs if i.kind == "input"]
    largest = max([_elements(i.shape) for i in tensors] + [1])
    produced = max([_elements(_shape(graph, r)) for r in graph.outputs] + [1])
    products = [i for i, b in enumerate(bases) if b in CONTRACTIONS]
    if "_softmax" in found and len(products) > 1 and products[0] < bases.index("_softmax") < products[-1]:
        return "attention"
    if found & CONVOLUTIONS:
        return "convolution"
    reduces = any(_reduces(n) for n in graph.nodes)
    if len(tensors) > 1 and not products and (found & LOSSES or reduces and produced < largest):
        return "loss"
    if products:
        return "matmul"
    if found & SCANS:
        return "scan"
    if found & POOLS:
        return "pooling"
    if found & NORMS or reduces and produced >= largest:
        return "normalization"
    if reduces:
        return "reduction"
    if found & {"_softmax", "_log_softmax"}:
        return "activation"
    if bases and found <= EXACT | ROUNDING | set(TRANSCENDENTAL) | NONLINEAR:
        return "activation" if len(tensors) == 1 and found & NONLINEAR else "elementwise"
    return "other"


def _shape(graph, ref):
    for node in graph.nodes:
        if node.id == ref.id:
            return node.outs[ref.index][1]
    return next(i.shape for i in graph.inputs if i.id == ref.id)


def _path_length(graph, weight):
    """The largest sum of weight(node) on a path from an input to an output."""
    length = {}
    for node in graph.nodes:
        before = max([length.get(r.id, 0) for r in graph.refs_of(node)] + [0])
        length[node.id] = before + weight(node)
    return max([length.get(r.id, 0) for r in graph.outputs] + [0])


def transcendentals(graph):
    def weight(node):
        if node.base == "pow" and node.args[1:] and node.args[1] in (2, 3, 2.0, 3.0):
            return 0
        return TRANSCENDENTAL.get(node.base, 1 if node.base in ("_softmax", "_log_softmax", "logsumexp") else 0)

    return _path_length(graph, weight)


def reduction_length(graph):
    """Terms of the longest sum (or the longest reduced axis) of the graph."""
    return max([_terms(graph, n) for n in graph.nodes] + [1])


def multiplications(graph):
    """Of all contractions and convolutions: what dominates the cost of an execution."""
    return sum(_terms(graph, n) * _elements(n.outs[0][1]) for n in graph.nodes if n.base in CONTRACTIONS or n.base in CONVOLUTIONS)


def _terms(graph, node):
    refs = [a for a in node.args if isinstance(a, Ref)]
    base, shapes = node.base, [_shape(graph, r) for r in refs]
    if base in CONTRACTIONS:
        return shapes[-2][-1] if len(shapes) > 1 else 1
    if base in CONVOLUTIONS:
        weight = shapes[1]
        return _elements(weight[1:]) if not node.args[6] else _elements(weight) // max(1, weight[1])
    if base in SCANS:
        dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", -1)
        return shapes[0][dim] if shapes[0] else 1
    if base in ("_softmax", "_log_softmax"):
        return shapes[0][node.args[1]] if shapes[0] else 1
    if base == "native_layer_norm":
        return _elements(node.args[1])
    if base in ("native_batch_norm",):
        return _elements(shapes[0]) // max(1, shapes[0][1])
    if base == "native_group_norm":
        return _elements(shapes[0]) // max(1, shapes[0][0] * node.args[6])
    if base in POOLS and "avg" in base:
        if "adaptive" in base:
            return max(1, _elements(shapes[0]) // max(1, _elements(node.outs[0][1])))
        return _elements(node.args[1]) if isinstance(node.args[1], list) else node.args[1]
    if _reduces(node) and shapes:
        return max(1, _elements(shapes[0]) // max(1, _elements(node.outs[0][1])))
    if base in LOSSES and shapes:
        return max(1, _elements(shapes[-1]))
    return 1


def op_class(graph):
    """A row of the tolerance table: copy, one_rounding, elementwise, sum, normalisation, scan or composite."""
    kinds = [_kind(n) for n in graph.nodes]
    sums, ratios = kinds.count("sum"), kinds.count("ratio")
    if "unknown" in kinds:
        return "composite"
    if "scan" in kinds:
        return "scan" if sums + ratios == 0 and "function" not in kinds and kinds.count("scan") == 1 else "composite"
    if sums == 0 and ratios == 0:
        if "function" in kinds:
            return "elementwise"
        return ("copy", "one_rounding")[kinds.count("rounding")] if kinds.count("rounding") < 2 else "elementwise"
    if any(n.base in CONTRACTIONS | CONVOLUTIONS for n in graph.nodes):
        return "sum" if sums == 1 and ratios == 0 and "function" not in kinds else "composite"
    if sums == 1 and ratios == 0 and "function" not in kinds and not _returns_to_full(graph):
        return "sum"
    if sums + ratios >= 1 and (ratios or _returns_to_full(graph)) and kinds.count("function") <= 4:
        return "normalisation"
    return "composite"


def _kind(node):
    if node.base in SCANS:
        return "scan"
    if node.base in SUMS | CONTRACTIONS | CONVOLUTIONS:
        return "sum"
    if node.base in RATIOS:
        return "ratio"
    if node.base == "pow" and node.args[1:] and node.args[1] in (2, 3, 2.0, 3.0):
        return "rounding"
    if node.base in TRANSCENDENTAL:
        return "function"
    if node.base in EXACT:
        return "exact"
    return "rounding" if node.base in ROUNDING else "unknown"


def _returns_to_full(graph):
    """Whether a reduced value came back to the size of what was reduced: then it was a statistic."""
    largest = 0
    for node in graph.nodes:
        refs = graph.refs_of(node)
        if _reduces(node) and refs:
            largest = max(largest, _elements(_shape(graph, refs[0])))
    return largest > 1 and max([_elements(_shape(graph, r)) for r in graph.outputs] + [1]) >= largest


# Slope bounds of functions, for carrying an error scale through them: at most this times the incoming scale.
_SLOPE_ONE = EXACT | {"tanh", "sigmoid", "gelu", "silu", "leaky_relu", "softplus", "mish", "hardswish", "hardsigmoid", "elu", "erf", "sin",
                      "cos", "prelu", "_prelu_kernel", "logsumexp", "norm", "linalg_vector_norm", "max", "min"}
_LINEAR = CONTRACTIONS | CONVOLUTIONS | {"sum", "mean", "cumsum", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d",
                                         "_adaptive_avg_pool3d"}


class Scales:
    """Carries the sum of |terms| of every value along while a graph runs: what its rounding errors scale with."""

    def __init__(self, graph, values):
        self.of = {(id, 0): t.abs() for id, t in values.items() if t.dtype.is_floating_point}
        self.graph = graph

    def visit(self, node, outs, args):
        scales = [self.of.get((a.id, a.index)) if isinstance(a, Ref) else None for a in node.args]
        made = None
        try:
            made = self._carried(node, outs, args, scales)
        except (RuntimeError, TypeError, IndexError):
            made = None  # a form of the operation that this rule does not fit
        for index, out in enumerate(outs):
            if isinstance(out, torch.Tensor) and out.dtype.is_floating_point:
                fits = index == 0 and made is not None and made.shape == out.shape
                self.of[(node.id, index)] = torch.maximum(made, out.abs()) if fits else out.abs()

    def _carried(self, node, outs, args, scales):
        base = node.base
        if base in _LINEAR:
            bare = [s if s is not None else a for s, a in zip(scales, args)]
            return node.target(*bare, **node.kwargs)
        if base in ("add", "sub"):
            other = scales[1] if scales[1] is not None else torch.as_tensor(args[1], dtype=torch.float64).abs()
            return (scales[0] if scales[0] is not None else torch.as_tensor(args[0]).abs()) + other
        if base == "mul":
            other = scales[1] if scales[1] is not None else torch.as_tensor(args[1], dtype=torch.float64).abs()
            return scales[0] * other
        if base == "div" and scales[0] is not None:
            return scales[0] / torch.as_tensor(args[1], dtype=torch.float64).abs()
        if base in ("view", "reshape", "expand", "permute", "transpose", "t", "squeeze", "unsqueeze", "select", "slice"):
            return node.target(scales[0], *args[1:])
        if base in _SLOPE_ONE and scales[0] is not None and scales[0].shape == outs[0].shape:
            return scales[0]
        if base == "exp":
            return scales[0].clamp_min(1.0) * outs[0]
        return None


def wants_scales(graph):
    return op_class(graph) in ("sum", "scan", "composite")
