# A program of Python that says which of its values an input decides (breakgraph.vary), over ctypes. vary.py [set]
import ctypes
import sys

import breakgraph

BYTES = 4096
byte = breakgraph.vary("byte", 3, 5)  # before CUDA is used
runtime = ctypes.CDLL("libhostcuda.so.1")


def call(name, *arguments):
    error = getattr(runtime, name)(*arguments)
    if error:
        raise RuntimeError("%s: %d" % (name, error))


def allocate():
    address = ctypes.c_void_p()
    call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(BYTES))
    return address


def main(constant):
    stream, graph, executable = (ctypes.c_void_p() for _ in range(3))
    to = allocate()
    call("cudaStreamCreateWithFlags", ctypes.byref(stream), 1)
    call("cudaStreamBeginCapture", stream, 1)
    call("cudaMemsetAsync", to, 7 if constant else byte, ctypes.c_size_t(BYTES), stream)
    call("cudaStreamEndCapture", stream, ctypes.byref(graph))
    with breakgraph.graph("fill"):
        call("cudaGraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    call("cudaGraphLaunch", executable, stream)
    call("cudaStreamSynchronize", stream)


main(len(sys.argv) > 1)
