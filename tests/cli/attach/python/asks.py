# A program of Python that asks the tools itself (breakgraph.py), over ctypes. asks.py WHAT: prints what they answer.
import ctypes
import sys
import threading

import breakgraph

BYTES = 4096
runtime = ctypes.CDLL("libhostcuda.so.1")


def call(name, *arguments):
    error = getattr(runtime, name)(*arguments)
    if error:
        raise RuntimeError("%s: %d" % (name, error))


class Tensor:
    """As PyTorch's: with data_ptr(), shape and strides."""

    def __init__(self, *shape):
        address = ctypes.c_void_p()
        self.shape, self.strides = shape, [4]
        for size in reversed(shape[1:]):
            self.strides.insert(0, self.strides[0] * size)
        self.nbytes = self.strides[0] * shape[0]
        call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(self.nbytes))
        self.address = address.value

    def data_ptr(self):
        return self.address

    def free(self):
        call("cudaFree", ctypes.c_void_p(self.address))


class Strided:
    """As PyTorch's: every second row of a tensor."""

    def __init__(self, tensor):
        self.tensor, self.shape = tensor, (tensor.shape[0] // 2, tensor.shape[1])

    def data_ptr(self):
        return self.tensor.address

    def stride(self):
        return (2 * self.tensor.shape[1], 1)

    def element_size(self):
        return 4


class Transposed(Strided):
    """Rows that lie beside each other, without gaps."""

    def __init__(self, tensor):
        self.tensor, self.shape = tensor, tensor.shape

    def stride(self):
        return (1, self.shape[0])


class Interface:
    """As CuPy's."""

    def __init__(self, tensor, strides=None):
        self.__cuda_array_interface__ = dict(
            data=(tensor.address, False), shape=tensor.shape, typestr="<f4", strides=strides, version=3
        )


class Capsule:
    """As JAX's: with __dlpack__."""

    def __init__(self, tensor, device=2):
        self.tensor, self.device = tensor, device

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, stream=None):
        assert (stream == -1) == (self.device == 2)
        t = self.kept = breakgraph._DLTensor()
        self.shape = (ctypes.c_int64 * len(self.tensor.shape))(*self.tensor.shape)
        t.data, t.device_type, t.ndim, t.code, t.bits, t.lanes = self.tensor.address - 64, self.device, len(self.shape), 2, 32, 1
        t.shape, t.byte_offset = self.shape, 64
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(t), b"dltensor", None)


class Graph:
    """As torch.cuda.CUDAGraph, of one copy."""

    def __init__(self, to, source):
        self.stream, graph, self.executable = (ctypes.c_void_p() for _ in range(3))
        call("cudaStreamCreateWithFlags", ctypes.byref(self.stream), 1)
        call("cudaStreamBeginCapture", self.stream, 1)
        size = ctypes.c_size_t(BYTES)
        call("cudaMemcpyAsync", ctypes.c_void_p(to.address), ctypes.c_void_p(source.address), size, 3, self.stream)
        call("cudaStreamEndCapture", self.stream, ctypes.byref(graph))
        call("cudaGraphInstantiate", ctypes.byref(self.executable), graph, ctypes.c_ulonglong(0))
        call("cudaGraphDestroy", graph)

    def raw_cuda_graph_exec(self):
        return self.executable.value

    def replay(self):
        call("cudaGraphLaunch", self.executable, self.stream)
        call("cudaStreamSynchronize", self.stream)


def tell(findings):
    print("%d findings in %d graphs" % (len(findings), findings.graphs))
    for finding in findings:
        print(finding)


def freed(source, named):
    """The graph's input is freed, and has a name."""
    graph = Graph(Tensor(32, 32), source)
    breakgraph.name_graph(graph, "decode")
    breakgraph.name_tensor(named, "weights")
    graph.replay()
    tell(breakgraph.check())
    source.free()
    tell(breakgraph.check())


def names():
    to, source = Tensor(32, 32), Tensor(32, 32)
    graphs = []

    def other():
        with breakgraph.graph("other"):
            graphs.append(Graph(to, source))

    with breakgraph.graph("outer"):
        graphs.append(Graph(to, source))
        with breakgraph.graph("inner"):
            graphs.append(Graph(to, source))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    graphs.append(Graph(to, source))
    breakgraph.name_graph(graphs[-1], "last")
    graphs.append(Graph(to, source))
    breakgraph.name_graph(graphs[-1].executable, "number")
    for graph in graphs:
        graph.replay()


def wrong():
    for call in (
        lambda: breakgraph.name_graph(object(), "x"),
        lambda: breakgraph.name_graph(77, "x"),
        lambda: breakgraph.name_tensor(object(), "x"),
        lambda: breakgraph.name_tensor(source, ""),
        lambda: breakgraph.forget_tensor(source),
        lambda: breakgraph.rows(Strided(source), 1),
        lambda: breakgraph.rows(Transposed(source), 1),
        lambda: breakgraph.rows(Interface(source), 33),
        lambda: breakgraph.rows(object(), 1),
    ):
        try:
            call()
            print("no error")
        except (breakgraph.Error, TypeError, ValueError) as error:
            print("%s: %s" % (type(error).__name__, error))


def memory():
    """Bytes of tensors that are nowhere, from their addresses on."""
    t = Tensor.__new__(Tensor)
    t.address, t.shape, t.nbytes = 4096, (8, 32), 1024
    for tensor in (t, Strided(t), Interface(t), Interface(t, (256, 4)), Interface(t, (4, 32)), Capsule(t), Capsule(t, 1)):
        print(*breakgraph._memory_of(tensor))
    t.shape = (0, 32)
    print(*breakgraph._memory_of(Interface(t)))


def rows(of_source, of_copy):
    """The graph copies all rows: those of padding come to where there is none."""
    to = Tensor(32, 32)
    graph = Graph(to, source)
    breakgraph.rows(of_source(source), 20)
    breakgraph.rows(of_copy(to), 32)
    graph.replay()


def main(what):
    global source
    if what == "attached":
        print(breakgraph.attached())
        tell(breakgraph.check())
        return
    if what == "memory":
        memory()
        return
    source = Tensor(32, 32)
    if what == "names":
        names()
    elif what == "wrong":
        wrong()
    elif what == "rows-interface":
        rows(Interface, Interface)
    elif what == "rows-dlpack":
        rows(Capsule, Capsule)
    elif what == "rows-pointer":  # nothing tells that these are floats
        rows(lambda tensor: tensor, Interface)
    elif what == "none":
        graph = Graph(Tensor(32, 32), source)
        graph.replay()
        tell(breakgraph.check())
    else:
        named = {
            "pointer": lambda: source,
            "strided": lambda: Strided(source),
            "interface": lambda: Interface(source),
            "interface-strided": lambda: Interface(source, (256, 4)),
            "dlpack": lambda: Capsule(source),
            "dlpack-host": lambda: Capsule(source, 1),
            "other": lambda: Tensor(32, 32),
        }
        freed(source, named[what]())


if __name__ == "__main__":
    main(sys.argv[1])
