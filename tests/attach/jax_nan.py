"""A norm that is not a number for some inputs, in kernels that XLA puts into command buffers.
jax_nan.py [--correct]: the inputs are those that it is made for."""
import os

os.environ["XLA_FLAGS"] = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_autotune_level=0"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

from results import SEED, correct, need, show, skip

jax = need("jax")
numpy = need("numpy")
if jax.default_backend() != "gpu":
    skip("JAX has no GPU")
random = numpy.random.default_rng(SEED)
print("seed", SEED)


@jax.jit
def step(weights, x):
    norm = jax.numpy.sqrt(1 - x.sum(axis=1, keepdims=True))  # of rows whose sum is below 1
    for weight in weights:
        x = jax.numpy.tanh(x @ weight)
    return x / norm


weights = [jax.numpy.asarray(random.standard_normal((256, 256), dtype=numpy.float32)) for _ in range(4)]
x = jax.numpy.asarray(random.random((64, 256), dtype=numpy.float32)) / (200 if correct else 100)
for turn in range(4):
    show("turn%d" % turn, numpy.asarray(step(weights, x)))
