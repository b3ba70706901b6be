"""cupy_pools.py - CuPy: arrays, a product, reductions, random numbers, kernels from text, its pool and the driver's; `full`: a request that is refused."""
import sys

import cupy

pool = cupy.get_default_memory_pool()
x = cupy.random.rand(2048, 2048, dtype=cupy.float32)
y = x @ x.T
z = cupy.exp(y).sum(axis=0) + cupy.sort(x, axis=1)[0] + cupy.cumsum(x[0])
double = cupy.ElementwiseKernel("float32 a", "float32 b", "b = a * 2", "double_it")
raw = cupy.RawKernel(r'extern "C" __global__ void add(float *a) { a[threadIdx.x] += 1; }', "add")
raw((1,), (32,), (x,))
z = double(z)
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    w = cupy.zeros(10_000_000, dtype=cupy.float64)
stream.synchronize()
print("sum", float(z.sum()), "host", cupy.asnumpy(w[:3]))
used, total = pool.used_bytes(), pool.total_bytes()
assert used == sum(max(512, (a.nbytes + 511) // 512 * 512) for a in (x, y, z, w)), used
del y, w
pool.free_all_blocks()
assert pool.total_bytes() < total
pinned = cupy.cuda.alloc_pinned_memory(1 << 20)
cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
a = cupy.ones((1024, 1024))
cupy.cuda.set_allocator(cupy.cuda.malloc_managed)
b = cupy.ones((1024, 1024))
cupy.cuda.set_allocator(pool.malloc)
if sys.argv[1:] == ["full"]:
    try:
        cupy.empty(1 << 50, dtype=cupy.uint8)
    except cupy.cuda.memory.OutOfMemoryError as error:
        print("refused:", str(error).split(" (")[0])
print("pool", used, total)
