"""A training step whose kernels XLA puts into command buffers: graphs that it builds node by node, and updates when the
arrays of a call are at other addresses."""
import os

# Fusions and calls of cuBLAS go into command buffers without a flag, if they are many. Untimed: the same kernels each time.
os.environ["XLA_FLAGS"] = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_autotune_level=0"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

from results import SEED, need, show, skip

jax = need("jax")
numpy = need("numpy")
if jax.default_backend() != "gpu":
    skip("JAX has no GPU")
random = numpy.random.default_rng(SEED)
print("seed", SEED)


def floats(*shape):
    return jax.numpy.asarray(random.standard_normal(shape, dtype=numpy.float32))


def loss(weights, x, target):
    h = x
    for weight in weights:
        h = jax.numpy.tanh(h @ weight)
    return ((h - target) ** 2).mean()


@jax.jit
def step(weights, x, target):
    value, slopes = jax.value_and_grad(loss)(weights, x, target)
    return value, [weight - 0.1 * slope for weight, slope in zip(weights, slopes)]


weights = [floats(128, 128) / 12 for _ in range(6)]
held = []
for turn in range(8):
    value, weights = step(weights, floats(64, 128), floats(64, 128))
    held.append(weights[0])  # new addresses in each call
    show("turn%d" % turn, numpy.asarray(value))
show("weights", *(numpy.asarray(weight) for weight in weights))
