"""For Python programs that run under `breakgraph COMMAND --attach -- python3 ...`.

    breakgraph.attached()                   whether the program does
    breakgraph.name_graph(graph, "decode")  a name for a graph, in reports and findings
    with breakgraph.graph("decode"): ...    the same for the graphs that are instantiated in the block
    breakgraph.name_tensor(t, "kv_cache")   findings write the name beside addresses in the tensor
    breakgraph.rows(t, 5)                   of its rows the first 5 are a batch's, for check --what=padding
    breakgraph.check()                      checks all graphs now; returns the findings
    breakgraph.vary("scale", 0.5, 0.25)     0.5; in the second run of check --what=recapture 0.25

Without --attach the names do nothing, so that they may stay in a program, and check() raises an Error. The command puts
the folder of this file on PYTHONPATH. It needs Python 3.8 and nothing else. docs/attach/names.md has an example for pytest.
`python3 -m breakgraph ARGUMENT...` is the command, where this file was installed with it.
"""

import ctypes
import json
import os
import shlex
import shutil
import sys
import sysconfig
import threading

__all__ = ["Error", "Finding", "Findings", "attached", "check", "forget_rows", "forget_tensor", "graph", "name_graph", "name_tensor", "rows", "vary"]

_JSON = 1  # BG_JSON
_NAME_BYTES = 51  # of a name, at most


class Error(RuntimeError):
    """A call failed, or there is nothing that could answer it."""


# ---- the functions of breakgraph/attach.h ----------------------------------------------------------------------------

_status = ctypes.c_int


class _Functions(ctypes.Structure):
    """bg_attach_functions, as far as this file uses it; newer libraries append members."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name_next", ctypes.CFUNCTYPE(_status, ctypes.c_char_p)),
        ("name_graph", ctypes.CFUNCTYPE(_status, ctypes.c_void_p, ctypes.c_char_p)),
        ("name_memory", ctypes.CFUNCTYPE(_status, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)),
        ("forget_memory", ctypes.CFUNCTYPE(_status, ctypes.c_void_p)),
        ("ledger_alloc", ctypes.c_void_p),
        ("ledger_free", ctypes.c_void_p),
        ("graph_count", ctypes.c_void_p),
        ("get_graph", ctypes.c_void_p),
        ("check", ctypes.CFUNCTYPE(_status, ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_void_p))),
        ("free_text", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("last_error", ctypes.CFUNCTYPE(ctypes.c_char_p)),
        ("rows", ctypes.CFUNCTYPE(_status, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64, ctypes.c_bool)),
        ("forget_rows", ctypes.CFUNCTYPE(_status, ctypes.c_void_p)),
    ]


def _functions():
    """The table of the preloaded library; None: there is none. It may be another one at the next call."""
    try:
        interface = ctypes.CDLL(None).bg_attach_interface
    except AttributeError:
        return None
    interface.restype = ctypes.POINTER(_Functions)
    table = interface()
    return table.contents if table else None


def _has(name):
    table = _functions()
    member = getattr(_Functions, name)
    return bool(table and table.struct_size >= member.offset + member.size and getattr(table, name))


def _call(name, *arguments):
    table = _functions()
    if not _has(name) or getattr(table, name)(*arguments) != 0:
        raise Error(table.last_error().decode(errors="replace"))


def _name(text):
    """As the library takes it. A name that is too long is cut, so that --attach does not change what a program does."""
    if not isinstance(text, str) or not text:
        raise TypeError("breakgraph: a name is a str that is not empty, and not %r" % (text,))
    return text.encode()[:_NAME_BYTES].decode(errors="ignore").encode()


def attached():
    """Whether the program runs under --attach."""
    return _functions() is not None


# ---- graphs ----------------------------------------------------------------------------------------------------------


def _exec_of(graph):
    """The CUgraphExec in what a library calls a graph."""
    if hasattr(graph, "raw_cuda_graph_exec"):  # torch.cuda.CUDAGraph
        return int(graph.raw_cuda_graph_exec())
    if hasattr(graph, "graphExec"):  # cupy.cuda.Graph
        return int(graph.graphExec)
    if isinstance(graph, ctypes.c_void_p):
        return graph.value
    try:
        return int(graph)  # a number, or a handle of cuda-python
    except (TypeError, ValueError):
        raise TypeError(
            "breakgraph.name_graph: %s does not tell its cudaGraphExec_t; write instead, around its capture: "
            'with breakgraph.graph("name"):' % type(graph).__name__
        ) from None


def name_graph(graph, name):
    """Names a graph: a torch.cuda.CUDAGraph, a cupy.cuda.Graph, or the number of a cudaGraphExec_t."""
    name = _name(name)
    if attached():
        _call("name_graph", _exec_of(graph), name)


class graph:
    """In the block, graphs that this thread instantiates are named: "decode", then "decode#1", "decode#2", ..."""

    _of_thread = threading.local()

    def __init__(self, name):
        self.name = _name(name)

    def __enter__(self):
        self.before = getattr(graph._of_thread, "name", None)
        graph._name_next(self.name)
        return self

    def __exit__(self, *_):
        graph._name_next(self.before)

    @staticmethod
    def _name_next(name):
        if attached():
            _call("name_next", name)
        graph._of_thread.name = name


# ---- tensors ---------------------------------------------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    """The beginning of a DLManagedTensor (dlpack.h)."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _span(shape, strides, size):
    """Bytes from the first element to the end of the last. strides in elements; None: contiguous."""
    last, step = 0, 1
    for i in reversed(range(len(shape))):
        if shape[i] == 0:
            return 0
        last += (shape[i] - 1) * (strides[i] if strides else step)
        step *= shape[i]
    return (last + 1) * size


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _layout_of(tensor):
    """(address, shape, strides in elements or None for contiguous, bytes of an element, whether elements are floats)"""
    floats = any(kind in str(getattr(tensor, "dtype", "")) for kind in ("float", "complex"))
    if hasattr(tensor, "data_ptr"):
        shape = tuple(tensor.shape)
        if hasattr(tensor, "stride") and hasattr(tensor, "element_size"):
            return tensor.data_ptr(), shape, tuple(tensor.stride()), tensor.element_size(), floats
        return tensor.data_ptr(), shape, None, tensor.nbytes // max(_count(shape), 1), floats
    interface = getattr(tensor, "__cuda_array_interface__", None)
    if interface is not None:
        size = int(interface["typestr"][2:])
        strides = interface.get("strides")
        strides = [stride // size for stride in strides] if strides else None
        return interface["data"][0], interface["shape"], strides, size, floats or interface["typestr"][1] in "fc"
    if hasattr(tensor, "__dlpack__"):
        cuda = tensor.__dlpack_device__()[0] == 2
        capsule = tensor.__dlpack__(stream=-1) if cuda else tensor.__dlpack__()  # -1: without waiting
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        t = _DLTensor.from_address(pointer(capsule, b"dltensor"))
        shape, strides = t.shape[: t.ndim], t.strides[: t.ndim] if t.strides else None
        floats = t.code not in (0, 1, 3, 6)  # integers, handles, bool
        return (t.data or 0) + t.byte_offset, shape, strides, (t.bits * t.lanes + 7) // 8, floats
    raise TypeError(
        "breakgraph: %s has neither data_ptr() nor __cuda_array_interface__ nor __dlpack__()"
        % type(tensor).__name__
    )


def _memory_of(tensor):
    """(address, bytes)"""
    address, shape, strides, size, _ = _layout_of(tensor)
    return address, _span(shape, strides, size)


def _is_solid(shape, strides):
    """Whether rows lie one behind the other, and have no gaps."""
    step = 1
    for i in reversed(range(len(shape))):
        if strides and shape[i] > 1 and strides[i] != step:
            return False
        step *= shape[i]
    return len(shape) > 0


def name_tensor(tensor, name):
    """Names the memory of a tensor, also when it is freed, until other memory there gets a name."""
    name = _name(name)
    if not attached():
        return
    address, size = _memory_of(tensor)
    if address and size > 0:  # tensors without memory need no name
        _call("name_memory", address, size, name)


def forget_tensor(tensor):
    """Removes the name of a tensor's memory, if it has one."""
    table = _functions()
    if table:
        table.forget_memory(_memory_of(tensor)[0])


def rows(tensor, live):
    """Tells that of the rows of a contiguous tensor, its first dimension, the first `live` are a batch's, and the others
    padding: for `check --attach --what=padding`. Tell it before each launch with another number; len(tensor) for memory
    that has no padding, such as a cache, without the slots that padding may use."""
    if not _has("rows"):  # or CUDA has not begun
        return
    address, shape, strides, size, floats = _layout_of(tensor)
    if not _is_solid(shape, strides):
        raise ValueError("breakgraph.rows: the tensor has no rows one behind the other, its shape is %s" % (tuple(shape),))
    if address and _count(shape) > 0:
        _call("rows", address, _count(shape[1:]) * size, shape[0], int(live), floats)


def forget_rows(tensor):
    """Forgets what was told of the tensor's rows, before its memory is used for something else."""
    if _has("forget_rows"):
        _functions().forget_rows(_layout_of(tensor)[0])


# ---- checks ----------------------------------------------------------------------------------------------------------


class Finding:
    """What is wrong. kind: "freed", ... (docs/findings.md). severity: "fault", "warning" or "note". graph: its name.
    node: "memcpy#0"; "": no single one. others: the names of more nodes with the same finding. place: "model.py:17",
    where the node was launched, or "". str() has it all."""

    def __init__(self, graph, row):
        self.graph = graph
        self.kind, self.severity, self.node = row["kind"], row["severity"], row["call"]
        self.place = row["file"] + (":%d" % row["line"] if row["file"] and row["line"] > 0 else "")
        self.others = row.get("others", [])
        self.message, self.advice = row["message"], row["advice"]

    def __repr__(self):
        where = " of ".join(filter(None, (self.node, self.graph)))
        return "%s [%s] %s%s" % (self.severity, self.kind, where, " at " + self.place if self.place else "")

    def __str__(self):
        return "%r: %s\n    %s" % (self, self.message, self.advice)


class Findings(list):
    """Warnings and faults, the faults of each graph first. notes: a list of the notes. graphs: how many were checked.
    not_checked: how many could not be; a note of each says why."""

    def __init__(self, result):
        found = [Finding(report["graph"], row) for report in result["reports"] for row in report["findings"]]
        super().__init__(finding for finding in found if finding.severity != "note")
        self.notes = [finding for finding in found if finding.severity == "note"]
        self.graphs, self.not_checked = result["graphs"], result["not_checked"]

    def __str__(self):
        return "\n".join(map(str, self))


def check():
    """Checks all graphs of the program now. Returns what is wrong now, and what launches have found since the last call:
    `assert not breakgraph.check()`. Raises an Error where nothing looks at the graphs."""
    if not attached():
        command = [sys.executable or "python3"] + list(getattr(sys, "orig_argv", ["python3"] + sys.argv))[1:]
        raise Error(
            "breakgraph.check: nothing looks at this program's graphs; start it with: breakgraph check --attach -- "
            + " ".join(map(shlex.quote, command))
        )
    count, text = ctypes.c_int(), ctypes.c_void_p()
    _call("check", _JSON, ctypes.byref(count), ctypes.byref(text))
    try:
        return Findings(json.loads(ctypes.string_at(text.value).decode()))
    finally:
        _functions().free_text(text)


# ---- two runs --------------------------------------------------------------------------------------------------------


def _value_text(value, is_first):
    """repr() of a tensor would copy it, which ends a capture."""
    if hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"):
        return "the %s %s" % ("first" if is_first else "second", type(value).__name__)
    return repr(value)


def vary(name, first, second):
    """first; in the second run of `breakgraph check --attach --what=recapture` second. The command compares what graphs
    hold in both runs, and its findings name the value: "with scale=0.25". May be called before CUDA is used."""
    value = second if os.environ.get("BG_ATTACH_RUN") == "2" else first
    directory = os.environ.get("BG_REPORT")
    if directory and "BG_ATTACH_RUN" in os.environ:
        try:
            line = json.dumps({"name": str(name), "value": _value_text(value, value is first)}) + "\n"
            with open(os.path.join(directory, "varied-%d.jsonl" % os.getpid()), "a") as file:
                file.write(line)
        except Exception:  # a full disk, or a value that cannot be printed: the program goes on as without the tools
            pass
    return value


# ---- python3 -m breakgraph -------------------------------------------------------------------------------------------


def _main():
    """The command: of this Python's environment, of the installation of this file, or on PATH."""
    installed = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bin")
    places = [sysconfig.get_path("scripts"), installed, os.environ.get("PATH", os.defpath)]
    command = shutil.which("breakgraph", path=os.pathsep.join(places))
    if command is None:
        sys.exit("breakgraph: the command is neither beside this Python nor on PATH; install it, or add its folder to PATH")
    os.execv(command, ["breakgraph"] + sys.argv[1:])


if __name__ == "__main__":
    _main()
