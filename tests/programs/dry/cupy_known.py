"""cupy_known.py - sizes of CuPy's arrays that follow from values: of the host, or, with "drawn", of random numbers of the GPU."""
import sys

import cupy

if sys.argv[1:] == ["drawn"]:
    x = cupy.random.random(1000)
    print("drawn", 300 < x[x > 0.5].size < 700)
    sys.exit()
x = cupy.arange(100)
mask = x % 3 == 0
chosen = cupy.stack([x, x + 1, x * 2], axis=1)[mask]
kernel = cupy.RawKernel(r'extern "C" __global__ void f(long long *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = n - threadIdx.x; }', "f")
y = cupy.zeros(32, dtype=cupy.int64)
kernel((1,), (32,), (y, cupy.int32(10)))
sort = cupy.sort(cupy.asarray([5, 3, 5, 1]))
print("known", x[mask].size, cupy.nonzero(mask)[0].size, cupy.unique(x % 5).size, int(y.max()), int(cupy.searchsorted(x, 7)), int(sort[1]), chosen.shape)
