# A program in Python whose graph divides: nodes.py LIBRARY VALUE divides VALUE by VALUE, in one element.
import ctypes, sys

N = 1 << 12
library = ctypes.CDLL(sys.argv[1])
value = float(sys.argv[2])
stream, graph, executable, memory = (ctypes.c_void_p() for _ in range(4))


def call(name, *arguments):
    error = getattr(library, name)(*arguments)
    if error:
        sys.exit("%s: %d" % (name, error))


def buffer(index):
    return ctypes.c_void_p(memory.value + index * N * 4)


def forward():
    library.launch_scale(stream, buffer(1), buffer(0), ctypes.c_float(2))
    library.launch_divide(stream, buffer(2), buffer(1), buffer(1))  # here
    library.launch_scale(stream, buffer(3), buffer(2), ctypes.c_float(2))


call("cudaMalloc", ctypes.byref(memory), ctypes.c_size_t(4 * N * 4))
call("cudaStreamCreate", ctypes.byref(stream))
host = (ctypes.c_float * N)(*([1.0] * N))
host[7] = value
call("cudaMemcpy", buffer(0), host, ctypes.c_size_t(N * 4), 1)
call("cudaStreamBeginCapture", stream, 1)
forward()
call("cudaStreamEndCapture", stream, ctypes.byref(graph))
call("cudaGraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
call("cudaGraphLaunch", executable, stream)
call("cudaStreamSynchronize", stream)
call("cudaMemcpy", host, buffer(3), ctypes.c_size_t(N * 4), 2)
print(host[6], host[7])
