"""What the programs of this folder share: arguments, and results as lines by which two runs can be compared."""
import hashlib
import importlib
import os
import random
import sys

SEED = 20
# cuBLAS gives the same bits in each run with a workspace of a fixed size; it reads this when it is loaded.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
options = sys.argv[1:]
correct = "--correct" in options


def need(name):
    """The module; a program without it ends with status 77, which the runner takes for skipped."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        skip("there is no module %s" % missing.name)


def skip(reason):
    print("skip: %s" % reason, flush=True)
    sys.exit(77)


def need_torch():
    torch = need("torch")
    if not torch.cuda.is_available():
        skip("PyTorch has no GPU")
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    print("seed", SEED, flush=True)
    return torch


def data_of(value):
    if hasattr(value, "untyped_storage"):  # a tensor of PyTorch, also of types that NumPy lacks
        import torch
        return value.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
    if hasattr(value, "get"):  # an array of CuPy
        value = value.get()
    return value.tobytes() if hasattr(value, "tobytes") else repr(value).encode()


def show(name, *values):
    """Prints a line with a digest of the values' bytes."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(data_of(value))
    print("result", name, digest.hexdigest()[:16], flush=True)
