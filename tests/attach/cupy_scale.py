"""A graph that makes a new array, as cupy/cupy#9655 has it: the name A is the new one's afterwards, and the array that the
graph reads is freed. cupy_scale.py [--correct]: it works in place."""
from results import correct, need, show

COUNT = 1 << 20

cupy = need("cupy")
source = cupy.arange(COUNT, dtype=cupy.float32) + 1
A = source.copy()
A = A * 2 / 2  # compiled before the capture
A *= 1
cupy.cuda.Device().synchronize()
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    stream.begin_capture()
    if correct:
        A *= 2
    else:
        A = A * 2  # launched
    graph = stream.end_capture()
for turn in range(2):
    graph.launch(stream=stream)
    stream.synchronize()
    ratio = A / source
    show("turn%d" % turn, ratio)
    print("ratio", float(ratio[0]), flush=True)
