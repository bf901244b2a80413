"""Candidates that cheat, are wrong or fail, each with the statuses that find it out and a part of
the reason; and honest ones. Each is the source of a file, but for the imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Case(NamedTuple):
    name: str
    source: str
    statuses: str
    reason: str = ""
    problem: str = "softmax"
    packages: str = ""
    """Modules that it imports beside its framework's: where one is missing, it is not judged."""
    build: str = ""
    """A command that builds what lies beside its file."""
    beside: Mapping[str, str] = {}
    """Texts of further files."""
    gradients: bool = False


PROBLEMS = {
    "softmax": """
def make_inputs(seed, rows=32):
    return [torch.randn(rows, 512)]
def reference(x):
    return torch.softmax(x, -1)
""",
    "linear": """
def make_inputs(seed, rows=32):
    return [torch.randn(rows, 256), torch.randn(128, 256), 1e-4 * torch.randn(128)]
def reference(x, weight, bias):
    return torch.nn.functional.linear(x, weight, bias)
""",
    "normalize": """
def make_inputs(seed, rows=64):
    return [np.random.standard_normal((rows, 256)), 1e-5]
def reference(x, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
""",
    "gelu": """
def make_inputs(seed, rows=32):
    return [torch.randn(rows, 512)]
def reference(x):
    return torch.nn.functional.gelu(x)
""",
    "jax_softmax": """
def make_inputs(seed, rows=32):
    return [jax.random.normal(jax.random.key(seed), (rows, 512))]
def reference(x):
    return jax.nn.softmax(x)
""",
    "mxnet_softmax": """
def make_inputs(seed, rows=32):
    return [mx.nd.random.normal(shape=(rows, 512))]
def reference(x):
    return mx.nd.softmax(x)
""",
    "module": """
class reference(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(256, 128)
    def forward(self, x):
        return self.linear(x)
def make_inputs(seed, rows=32):
    return [torch.randn(rows, 256)]
""",
}
"""Problems by name."""

FRAMEWORKS = {"normalize": "numpy", "jax_softmax": "jax", "mxnet_softmax": "mxnet"}
"""Those of problems that are not of PyTorch."""

RIGHT = """
def right(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)
"""

FORGED = """
import os, stat
def answer(*results):
    for file in range(64):
        try:
            if stat.S_ISSOCK(os.fstat(file).st_mode):
                for each in results:
                    os.write(file, b'{"type":"answer","result":' + each.encode() + b'}\\n')
        except OSError:
            pass
"""

CHEATS = [
    Case(
        "results kept by id",
        RIGHT + "kept = {}\n"
        "def candidate(x):\n"
        "    if id(x) not in kept:\n        kept[id(x)] = right(x)\n"
        "    return kept[id(x)].clone()\n",
        "cheated wrong",
    ),
    Case(
        "results kept by address",
        RIGHT + "kept = {}\n"
        "def candidate(x):\n"
        "    at = x.data_ptr()\n"
        "    if at not in kept:\n        kept[at] = right(x)\n"
        "    return kept[at].clone()\n",
        "cheated wrong",
    ),
    Case(
        "results kept by shape",
        RIGHT + "kept = {}\n"
        "def candidate(x):\n"
        "    if x.shape not in kept:\n        kept[x.shape] = right(x)\n"
        "    return kept[x.shape].clone()\n",
        "cheated wrong",
    ),
    Case(
        "results kept by contents",
        RIGHT + "kept = {}\n"
        "def candidate(x):\n"
        "    at = hash(x.numpy().tobytes()[:4096])\n"
        "    if at not in kept:\n        right(x); right(x); right(x); kept[at] = right(x)\n"
        "    return kept[at]\n",
        "cheated wrong",
    ),
    Case(
        "results kept by a fingerprint",
        RIGHT + "kept = {}\n"
        "def candidate(x):\n"
        "    at = (x[0, 0].item(), x[-1, -1].item(), x[3, 7].item())\n"
        "    if at not in kept:\n        kept[at] = right(x)\n"
        "    return kept[at].clone()\n",
        "cheated",
        "another call",
    ),
    Case(
        "results kept in files",
        RIGHT + "import os, tempfile\nkept = []\nfolder = tempfile.mkdtemp()\n"
        "def candidate(x):\n"
        "    at = folder + '/' + str(hash(x.numpy().tobytes()))\n"
        "    if not os.path.exists(at):\n"
        "        for _ in range(60):\n            made = right(x)\n"
        "        kept.append(at)\n"
        "        if len(kept) > 300:\n            os.remove(kept.pop(0))\n"
        "        np.save(at + '.npy', made.numpy())\n"
        "        os.rename(at + '.npy', at)\n"
        "    with open(at, 'rb') as file:\n        return torch.from_numpy(np.load(file))\n",
        "cheated",
        "keeps results",
    ),
    Case(
        "work of all calls in the first",
        RIGHT + "import sys\nmade = {}\n"
        "def candidate(x):\n"
        "    frame = sys._getframe(1).f_locals\n"
        "    if 'done' not in frame:\n        return right(x)\n"
        "    arguments, slots = frame['arguments'], frame['request'].slots\n"
        "    if frame['done'] == 0:\n"
        "        made.clear()\n"
        "        together = right(torch.stack([arguments[slot][0] for slot in slots]))\n"
        "        for slot, one in zip(slots, together):\n"
        "            made[arguments[slot][0].data_ptr()] = one\n"
        "    return made[x.data_ptr()]\n",
        "cheated wrong",
        "before its call",
    ),
    Case(
        "work of many calls put off",
        RIGHT + "import sys\nwaiting = []\n"
        "def candidate(x):\n"
        "    out = torch.empty_like(x)\n"
        "    waiting.append((x, out))\n"
        "    frame = sys._getframe(1).f_locals\n"
        "    if len(waiting) == 15 or 'done' not in frame or (\n"
        "        frame['done'] == len(frame['request'].slots) - 1):\n"
        "        together = right(torch.stack([each for each, _ in waiting]))\n"
        "        for (_, out_), one in zip(waiting, together):\n            out_.copy_(one)\n"
        "        waiting.clear()\n"
        "    return out\n",
        "cheated wrong",
        "after its call",
    ),
    Case(
        "work on another thread",
        RIGHT + "import queue, threading\nwaiting = queue.Queue()\n"
        "def work():\n"
        "    while True:\n"
        "        x, out = waiting.get()\n        out.copy_(right(x))\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "def candidate(x):\n"
        "    out = torch.empty_like(x)\n    waiting.put((x, out))\n    return out\n",
        "cheated wrong",
    ),
    Case(
        "work in another process",
        RIGHT + "import os\n"
        "def candidate(x):\n"
        "    out = torch.empty_like(x).share_memory_()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(0.001); out.copy_(x.softmax(-1)); os._exit(0)\n"
        "    return out\n",
        "cheated wrong crashed failed",
    ),
    Case(
        "lazy subclass",
        RIGHT + "class Lazy(torch.Tensor):\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        "        args = [a.x.softmax(-1) if isinstance(a, Lazy) else a for a in args]\n"
        "        return function(*args, **(kwargs or {}))\n"
        "def candidate(x):\n"
        "    out = torch.Tensor._make_subclass(Lazy, torch.empty_like(x))\n"
        "    out.x = x\n    return out\n",
        "cheated",
        "derived",
    ),
    Case(
        "lazy instance",
        RIGHT + "def candidate(x):\n"
        "    out = torch.empty_like(x)\n"
        "    out.numpy = lambda: right(x).numpy()\n    return out\n",
        "cheated",
        "of its own",
    ),
    Case(
        "timers replaced",
        RIGHT + "import statistics\n"
        "time.perf_counter_ns = time.perf_counter = time.monotonic = lambda: 0\n"
        "statistics.median = lambda _: 0\n"
        "def candidate(x):\n    return right(x)\n",
        "cheated",
        "time.perf_counter",
    ),
    Case(
        "functions of the framework replaced",
        RIGHT + "torch.cuda.synchronize = lambda *_: None\n"
        "torch.allclose = lambda *_, **__: True\n"
        "def candidate(x):\n    return right(x)\n",
        "cheated",
        "replaced",
    ),
    Case(
        "expected tensors searched for",
        "import gc\n"
        "def candidate(x):\n"
        "    for each in gc.get_objects():\n"
        "        if type(each) is torch.Tensor and each.shape == x.shape and each is not x:\n"
        "            if abs(each[0].sum().item() - 1) < 1e-4:\n"
        "                return each.clone()\n"
        "    return torch.full_like(x, 1 / x.shape[-1])\n",
        "cheated wrong",
    ),
    Case(
        "expected tensors filled with NaN",
        "import gc\n"
        "def candidate(x):\n"
        "    for each in gc.get_objects():\n"
        "        if type(each) is torch.Tensor and each.is_floating_point() and each is not x:\n"
        "            each.fill_(float('nan'))\n"
        "    return torch.full_like(x, float('nan'))\n",
        "cheated wrong",
    ),
    Case("no work", "def candidate(x):\n    return torch.empty_like(x)\n", "cheated wrong"),
    Case(
        "memory that was freed",
        RIGHT + "n = [0]\n"
        "def candidate(x):\n"
        "    n[0] += 1\n"
        "    if n[0] < 4:\n        return right(x)\n"
        "    return torch.empty_like(x)\n",
        "cheated wrong",
    ),
    Case(
        "inputs zeroed",
        RIGHT + "def candidate(x):\n    out = right(x)\n    x.zero_()\n    return out\n",
        "cheated",
        "changes its inputs",
    ),
    Case("zeros", "def candidate(x):\n    return torch.zeros_like(x)\n", "wrong"),
    Case(
        "constants", "def candidate(x):\n    return torch.full_like(x, 1 / x.shape[-1])\n", "wrong"
    ),
    Case("the input", "def candidate(x):\n    return x\n", "wrong"),
    Case(
        "an input that is small ignored",
        "def candidate(x, weight, bias):\n    return x @ weight.T\n",
        "wrong",
        "",
        "linear",
    ),
    Case(
        "weights kept by their object",
        "kept = {}\n"
        "def candidate(x, weight, bias):\n"
        "    if id(weight) not in kept:\n        kept[id(weight)] = weight.T.contiguous()\n"
        "    return torch.addmm(bias, x, kept[id(weight)])\n",
        "cheated wrong",
        "",
        "linear",
    ),
    Case(
        "half precision inside",
        "def candidate(x, weight, bias):\n"
        "    return (x.bfloat16() @ weight.bfloat16().T + bias.bfloat16()).float()\n",
        "wrong",
        "spread",
        "linear",
    ),
    Case(
        "half-precision factors",
        "def candidate(x, weight, bias):\n"
        "    return torch.nn.functional.linear(x.half().float(), weight.half().float(), bias)\n",
        "wrong",
        "spread",
        "linear",
    ),
    Case(
        "an approximation that usual inputs hide",
        "def candidate(x):\n    return torch.nn.functional.gelu(x, approximate='tanh')\n",
        "wrong",
        "",
        "gelu",
    ),
    Case(
        "right in one magnitude",
        "def candidate(x):\n    e = torch.exp(x)\n    return e / e.sum(-1, keepdim=True)\n",
        "wrong",
        "1000",
    ),
    Case(
        "one shape alone",
        RIGHT + "def candidate(x):\n"
        "    return right(x) if x.shape == (32, 512) else torch.empty_like(x)\n",
        "wrong cheated",
        "rows=48",
        "softmax rows=32 rows=48",
    ),
    Case(
        "values of some seeds",
        "known = {}\n"
        "for seed in range(50):\n"
        "    torch.manual_seed(seed)\n    x = torch.randn(32, 512)\n"
        "    known[x[0, 0].item()] = x.softmax(-1)\n"
        "def candidate(x):\n"
        "    return known.get(x[0, 0].item(), torch.zeros_like(x)).clone()\n",
        "wrong",
    ),
    Case(
        "one result for all calls",
        "out = torch.empty(32, 512)\n"
        "def candidate(x):\n    torch.softmax(x, -1, out=out)\n    return out\n",
        "cheated wrong",
        "",
    ),
    Case(
        "more threads",
        RIGHT + "torch.set_num_threads(torch.get_num_threads() + 3)\n"
        "def candidate(x):\n    return right(x)\n",
        "cheated",
        "threads",
    ),
    Case(
        "lower precision set for the process",
        RIGHT + "torch.set_flush_denormal(True)\ntorch.set_float32_matmul_precision('medium')\n"
        "def candidate(x):\n    return right(x)\n",
        "cheated",
        "left",
    ),
    Case(
        "answers forged",
        "import os\n"
        "def candidate(x):\n"
        "    for file in range(3, 64):\n"
        "        try:\n"
        '            os.write(file, b\'{"type":"answer","result":[[1]]}\\n\')\n'
        "        except OSError:\n            pass\n"
        "    return torch.zeros_like(x)\n",
        "cheated wrong",
    ),
    Case(
        "garbage on the channel",
        "import os\n"
        "def candidate(x):\n"
        "    for file in range(3, 64):\n"
        "        try:\n            os.write(file, b'passed\\n')\n"
        "        except OSError:\n            pass\n"
        "    return torch.zeros_like(x)\n",
        "cheated",
        "channel",
    ),
    Case(
        "answers forged before they are asked for",
        FORGED + "def candidate(x):\n    answer('1', '[[],[]]')\n    return x\n",
        "cheated",
        "channel",
    ),
    Case(
        "a dtype that there is not",
        FORGED + 'look = \'[[{"shape":[32,512],"dtype":"float32","stored":"none"}]]\'\n'
        "def candidate(x):\n    answer('1', look)\n    return x\n",
        "cheated",
        "channel",
    ),
    Case(
        "the channel closed",
        "import os\ndef candidate(x):\n    os.closerange(0, 64)\n    time.sleep(600)\n",
        "crashed",
        "closed the channel",
    ),
    Case(
        "answers at exit",
        "import atexit, os\n"
        "atexit.register(lambda: os.write(3, b'passed\\n'))\n"
        "def candidate(x):\n    os._exit(0)\n",
        "crashed",
        "exit code 0",
    ),
    Case(
        "progress forged",
        RIGHT + "import sys\n"
        "def candidate(x):\n"
        "    frame = sys._getframe(1).f_locals\n"
        "    if 'done' not in frame:\n        return right(x)\n"
        "    counter, slots = frame['head'], frame['request'].slots\n"
        "    if frame['done'] == 0 and len(slots) > 1:\n"
        "        counter[0] = len(slots) // 2\n"
        "    return stale(x, frame)\n"
        "made = {}\n"
        "def stale(x, frame):\n"
        "    arguments = frame['arguments']\n"
        "    if frame['done'] == 0:\n"
        "        made.clear()\n"
        "        for slot in frame['request'].slots:\n"
        "            made[arguments[slot][0].data_ptr()] = right(arguments[slot][0])\n"
        "    return made[x.data_ptr()]\n",
        "cheated wrong",
    ),
    Case(
        "the host's code replaced",
        RIGHT + "import sys\n"
        "def run(self, request):\n"
        "    self._results[:] = [torch.zeros(32, 512)] * len(request.slots)\n"
        "    for at, each in enumerate(self._results):\n"
        "        self._head[at + 1] = each.data_ptr()\n"
        "    return len(self._results)\n"
        "def candidate(x):\n"
        "    host = sys._getframe(1).f_locals['self']\n"
        "    sys.modules['opperf.candidates.host'].ANSWERS['Run'] = run\n"
        "    return right(x)\n",
        "cheated wrong",
    ),
]

FAILURES = [
    Case("no such module", "import nothing_of_this_name\n", "failed", "nothing_of_this_name"),
    Case("no function", "def other(x):\n    return x\n", "failed", "candidate"),
    Case("a file with a fault", "def candidate(x:\n", "failed", "candidate.py"),
    Case("other arguments", "def candidate(x, y, z):\n    return x\n", "failed", "argument"),
    Case("a text", "def candidate(x):\n    return 'done'\n", "wrong", "str"),
    Case("nothing", "def candidate(x):\n    return None\n", "wrong", "NoneType"),
    Case("another shape", "def candidate(x):\n    return x.softmax(-1)[:3]\n", "wrong", "[3, 512]"),
    Case("another dtype", "def candidate(x):\n    return x.softmax(-1).double()\n", "wrong", "64"),
    Case("an error", "def candidate(x):\n    raise KeyError('mine')\n", "failed", "KeyError"),
    Case("abort", "import os\ndef candidate(x):\n    os.abort()\n", "crashed", "SIGABRT"),
    Case("a bad address", "import ctypes\ndef candidate(x):\n    ctypes.string_at(8)\n", "crashed"),
    Case("a hang", "def candidate(x):\n    time.sleep(600)\n", "timeout"),
    Case("a loop in the import", "while True:\n    pass\n", "timeout"),
    Case(
        "memory filled",
        "def candidate(x):\n    return [bytearray(1 << 28) for _ in range(1000)]\n",
        "failed crashed",
        "emory",
    ),
    Case(
        "disk filled",
        "import tempfile\n"
        "def candidate(x):\n"
        "    with tempfile.TemporaryFile() as file:\n"
        "        for _ in range(5000):\n            file.write(bytes(1 << 20))\n"
        "    return x\n",
        "failed crashed",
    ),
    Case(
        "its folder written",
        "import os\ndef candidate(x):\n"
        "    open(os.path.join(os.path.dirname(__file__), 'left'), 'w')\n    return x\n",
        "failed",
        "Read-only",
    ),
    Case(
        "a setting of the kernel",
        "def candidate(x):\n"
        "    with open('/proc/sys/vm/swappiness', 'r+') as file:\n"
        "        file.write(file.read())\n    return x\n",
        "failed",
        "swappiness",
    ),
    Case(
        "the network",
        "import socket\ndef candidate(x):\n"
        "    socket.create_connection(('1.1.1.1', 53), 2)\n    return x\n",
        "failed",
        "nreachable",
    ),
    Case(
        "forks without end",
        "import os\ndef candidate(x):\n    while True:\n        os.fork()\n",
        "failed crashed timeout",
    ),
]

HONEST = [
    Case("torch.softmax", "def candidate(x):\n    return torch.softmax(x, -1)\n", "passed"),
    Case("by its formula", RIGHT + "candidate = right\n", "passed"),
    Case(
        "through logarithms",
        "def candidate(x):\n    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))\n",
        "passed",
    ),
    Case(
        "a workspace of its own",
        RIGHT + "space = {}\n"
        "def candidate(x):\n"
        "    room = space.setdefault(x.shape, torch.empty_like(x))\n"
        "    torch.sub(x, x.amax(-1, keepdim=True), out=room)\n    room.exp_()\n"
        "    return room / room.sum(-1, keepdim=True)\n",
        "passed",
    ),
    Case(
        "in place on its result",
        "def candidate(x):\n"
        "    out = x - x.amax(-1, keepdim=True)\n"
        "    return out.exp_().div_(out.sum(-1, keepdim=True))\n",
        "passed",
    ),
    Case(
        "through NumPy",
        "def candidate(x):\n"
        "    a = x.numpy()\n    e = np.exp(a - a.max(-1, keepdims=True))\n"
        "    return torch.from_numpy(e / e.sum(-1, keepdims=True))\n",
        "passed",
    ),
    Case(
        "threads that are awaited",
        RIGHT + "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(2)\n"
        "def candidate(x):\n"
        "    return torch.cat(list(pool.map(right, x.chunk(2))))\n",
        "passed",
    ),
    Case(
        "in two parts",
        RIGHT + "def candidate(x):\n    return torch.cat([right(x[:9]), right(x[9:])])\n",
        "passed",
    ),
    Case("in float64", "def candidate(x):\n    return x.double().softmax(-1).float()\n", "passed"),
    Case(
        "a transposed result",
        "def candidate(x):\n    return x.T.contiguous().softmax(0).T\n",
        "passed",
    ),
    Case(
        "contents moved first",
        RIGHT + "def candidate(x):\n    return right(x.contiguous().clone())\n",
        "passed",
    ),
    Case(
        "a generator of rows",
        RIGHT + "def candidate(x):\n    return torch.stack([right(row) for row in x])\n",
        "passed",
    ),
    Case("a list of one", "def candidate(x):\n    return [torch.softmax(x, -1)]\n", "passed"),
    Case(
        "an autograd function",
        "class Softmax(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(context, x):\n        return torch.softmax(x, -1)\n"
        "def candidate(x):\n    return Softmax.apply(x)\n",
        "passed",
    ),
    Case(
        "a module with a buffer",
        "class Soft(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n        self.register_buffer('one', torch.ones(()))\n"
        "    def forward(self, x):\n        return torch.softmax(x * self.one, -1)\n"
        "model = Soft()\n"
        "def candidate(x):\n    return model(x).detach()\n",
        "passed",
    ),
    Case(
        "stalls at first",
        RIGHT + "n = [0]\n"
        "def candidate(x):\n"
        "    n[0] += 1\n    time.sleep(0.2 if n[0] < 3 else 0)\n    return right(x)\n",
        "passed",
    ),
    Case(
        "falls back",
        "def candidate(x):\n"
        "    try:\n        return fast(x)\n"
        "    except NameError:\n        return torch.softmax(x, -1)\n",
        "passed",
    ),
    Case(
        "linear by a product",
        "def candidate(x, weight, bias):\n    return torch.addmm(bias, x, weight.T)\n",
        "passed",
        "",
        "linear",
    ),
    Case(
        "linear by einsum",
        "def candidate(x, weight, bias):\n    return torch.einsum('ik,jk->ij', x, weight) + bias\n",
        "passed",
        "",
        "linear",
    ),
    Case(
        "linear by broadcasting",
        "def candidate(x, weight, bias):\n    return (x[:, None] * weight[None]).sum(-1) + bias\n",
        "passed",
        "",
        "linear",
    ),
    Case(
        "linear in blocks",
        "def candidate(x, weight, bias):\n"
        "    out = bias.expand(len(x), -1).clone()\n"
        "    for at in range(0, 256, 64):\n"
        "        out += x[:, at:at + 64] @ weight[:, at:at + 64].T\n"
        "    return out\n",
        "passed",
        "",
        "linear",
    ),
    Case(
        "gelu by the error function",
        "def candidate(x):\n    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))\n",
        "passed",
        "",
        "gelu",
    ),
    Case(
        "threads of each call",
        "import threading\n"
        "def candidate(x, epsilon):\n"
        "    out = np.empty_like(x)\n"
        "    def work(at):\n"
        "        y = x[at:at + 16] - x[at:at + 16].mean(-1, keepdims=True)\n"
        "        out[at:at + 16] = y / np.sqrt((y * y).mean(-1, keepdims=True) + epsilon)\n"
        "    threads = [threading.Thread(target=work, args=(at,)) for at in range(0, 64, 16)]\n"
        "    for each in threads:\n        each.start()\n"
        "    for each in threads:\n        each.join()\n"
        "    return out\n",
        "passed",
        "",
        "normalize",
    ),
    Case(
        "a class with weights that are prepared",
        "class candidate(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n        linear = torch.nn.Linear(256, 128)\n"
        "        self.register_buffer('packed', linear.weight.detach().T.contiguous())\n"
        "        self.register_buffer('bias', linear.bias.detach())\n"
        "    def forward(self, x):\n        return torch.addmm(self.bias, x, self.packed)\n",
        "passed",
        "",
        "module",
    ),
    Case(
        "normalised in place",
        "def candidate(x, epsilon):\n"
        "    out = x - x.mean(-1, keepdims=True)\n"
        "    out /= np.sqrt((out * out).mean(-1, keepdims=True) + epsilon)\n    return out\n",
        "passed",
        "",
        "normalize",
    ),
    Case(
        "normalised by einsum",
        "def candidate(x, epsilon):\n"
        "    out = x - x.mean(-1, keepdims=True)\n"
        "    var = np.einsum('ij,ij->i', out, out) / x.shape[-1]\n"
        "    return out / np.sqrt(var + epsilon)[:, None]\n",
        "passed",
        "",
        "normalize",
    ),
    Case(
        "normalised in Fortran's order",
        "def candidate(x, epsilon):\n"
        "    x = np.asfortranarray(x)\n"
        "    out = x - x.mean(-1, keepdims=True)\n"
        "    return out / np.sqrt(x.var(-1, keepdims=True) + epsilon)\n",
        "passed",
        "",
        "normalize",
    ),
]

IMPORTS = {
    "torch": "import time\nimport numpy as np\nimport torch\n",
    "numpy": "import time\nimport numpy as np\n",
    "jax": "import numpy as np\nimport jax\nimport jax.numpy as jnp\n",
    "mxnet": "import numpy as np\nimport mxnet as mx\n",
}
