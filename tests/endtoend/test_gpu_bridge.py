"""On a machine with an NVIDIA GPU: today's packages through a bridge, and a kernel that runs.

The wheels are brought along: ``GPU_WHEELS`` names a folder with numba-cuda and all that its
extra for this CUDA needs, cuda-core among it, for the Python that runs the tests.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.environments import Environment

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("GPU_WHEELS" not in os.environ, reason="GPU_WHEELS is not set"),
]

NUMBA = """
import numpy
from numba import cuda

@cuda.jit
def add(left, right, out):
    place = cuda.grid(1)
    if place < out.size:
        out[place] = left[place] + 2 * right[place]

left = numpy.arange(100_000, dtype=numpy.float32)
right = numpy.ones_like(left)
out = numpy.zeros_like(left)
add[(left.size + 255) // 256, 256](left, right, out)
cuda.synchronize()
assert (out == left + 2).all(), out
print("numba-cuda computed", out.size)
"""

CORE = """
import numpy
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
from cuda.bindings import driver

device = Device()
device.set_current()
stream = device.create_stream()
code = '''extern "C" __global__ void triple(float* data, unsigned long count) {
    unsigned long place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count) data[place] *= 3.0f;
}'''
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
module = Program(code, code_type="c++", options=options).compile("cubin")
kernel = module.get_kernel("triple")
data = numpy.arange(4096, dtype=numpy.float32)
memory = device.allocate(data.nbytes, stream=stream)
address = int(memory.handle)
driver.cuMemcpyHtoD(address, data.ctypes.data, data.nbytes)
config = LaunchConfig(grid=(data.size + 255) // 256, block=256)
launch(stream, config, kernel, memory, numpy.uint64(data.size))
stream.sync()
out = numpy.empty_like(data)
driver.cuMemcpyDtoH(out.ctypes.data, address, data.nbytes)
assert (out == 3 * data).all(), out
print("cuda-core computed", out.size)
"""


def compute(environment: Environment, code: str) -> str:
    done = subprocess.run(
        [str(environment.python), "-c", code], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_bridge_takes_the_build_for_this_driver_and_a_kernel_runs(
    environment: Environment, tmp_path: Path
) -> None:
    wheels = Path(os.environ["GPU_WHEELS"])
    offline = ("--no-index", "--find-links", str(wheels))
    result = environment.vinstall(
        "install", "--bridge", *offline, "numba-cuda", "numpy<2.4"
    ).check()
    assert "Successfully installed" in result.stdout
    variants = [line for line in result.stdout.splitlines() if line.startswith("Variants:")]
    assert "numba-cuda" in "".join(variants)
    installed = environment.installed()
    assert "nvidia-cuda-nvrtc" in installed
    assert "nvidia-nvvm" in installed
    assert "numba-cuda computed 100000" in compute(environment, NUMBA)
    assert "cuda-core computed 4096" in compute(environment, CORE)
    environment.vinstall("check").check()
