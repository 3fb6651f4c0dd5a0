"""A kernel of Numba in a graph, which is captured and launched by calls of the driver."""
import ctypes

from results import need, show, skip

COUNT, THREADS, RELAXED = 1 << 16, 256, 2

numpy, numba = need("numpy"), need("numba")
if not hasattr(numpy, "row_stack"):  # gone in NumPy 2.5, and some releases of Numba ask for it
    numpy.row_stack = numpy.vstack
cuda = need("numba.cuda")
if not cuda.is_available():
    skip("Numba has no GPU")
driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    error = getattr(driver, name)(*arguments)
    if error:
        raise SystemExit("%s: error %d" % (name, error))


@cuda.jit
def scale(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2


values = cuda.to_device(numpy.arange(COUNT, dtype=numpy.float32))
handle, graph, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
call("cuStreamCreate", ctypes.byref(handle), 1)
stream = cuda.external_stream(handle.value)
scale[COUNT // THREADS, THREADS, stream](values)
call("cuStreamSynchronize", handle)
call("cuStreamBeginCapture_v2", handle, RELAXED)
scale[COUNT // THREADS, THREADS, stream](values)
call("cuStreamEndCapture", handle, ctypes.byref(graph))
call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
for _ in range(2):
    call("cuGraphLaunch", executable, handle)
call("cuStreamSynchronize", handle)
show("values", values.copy_to_host())
call("cuGraphExecDestroy", executable)
call("cuGraphDestroy", graph)
