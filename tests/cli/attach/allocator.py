# A program whose allocator keeps what is freed, as PyTorch's does: modules of PyTorch's names, as far as the tools ask
# them, over one allocation of CUDA's. allocator.py FAULT
import ctypes, sys, types

SEGMENT, TENSOR = 1 << 20, 4096
runtime = ctypes.CDLL("libhostcuda.so.0")
address, live, callbacks = ctypes.c_void_p(), {}, {"alloc": [], "free": []}


def call(name, *arguments):
    error = getattr(runtime, name)(*arguments)
    if error:
        sys.exit("%s: %d" % (name, error))


def tell(what, pointer):
    for callback in callbacks[what]:
        callback(pointer)


def allocate(offset, size):
    live[address.value + offset] = size
    tell("alloc", address.value + offset)
    return address.value + offset


def free(pointer):
    del live[pointer]
    tell("free", pointer)


def memory_snapshot():
    blocks, at, pool = [], address.value, (0, 1) if private else (0, 0)
    for pointer in sorted(live):
        blocks.append(dict(size=pointer - at, state="inactive"))
        blocks.append(dict(size=live[pointer], state="active_allocated"))
        at = pointer + live[pointer]
    return [dict(address=address.value, segment_pool_id=pool, blocks=blocks)]


torch, cuda, trace = (types.ModuleType(name) for name in ("torch", "torch.cuda", "torch.cuda._gpu_trace"))
torch.cuda, cuda._gpu_trace = cuda, trace
torch._C = types.SimpleNamespace(_activate_gpu_trace=lambda: None)
cuda.is_initialized, cuda.memory_snapshot = lambda: True, memory_snapshot
trace.register_callback_for_memory_allocation = callbacks["alloc"].append
trace.register_callback_for_memory_deallocation = callbacks["free"].append
sys.modules.update({module.__name__: module for module in (torch, cuda, trace)})

fault = sys.argv[1]
private = fault == "private"
stream, graph, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(SEGMENT))
call("cudaStreamCreate", ctypes.byref(stream))
source, target, other = allocate(0, TENSOR), allocate(2 * TENSOR, TENSOR), allocate(4 * TENSOR, TENSOR)
call("cudaStreamBeginCapture", stream, 1)
call("cudaMemcpyAsync", ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(TENSOR), 3, stream)
call("cudaStreamEndCapture", stream, ctypes.byref(graph))
call("cudaGraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
call("cudaGraphDestroy", graph)
call("cudaGraphLaunch", executable, stream)
if fault in ("freed", "reused", "private"):
    free(source)
if fault == "reused":
    allocate(256, 512)
if fault == "other":
    free(other)
call("cudaGraphLaunch", executable, stream)
call("cudaStreamSynchronize", stream)
print("done")
