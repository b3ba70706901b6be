"""cupy_libraries.py - CuPy over cuSOLVER, cuFFT, cuSPARSE and cuRAND."""
import cupy
import cupyx.scipy.sparse

x = cupy.random.standard_normal((512, 512))
print("solve", cupy.linalg.solve(x, x[0]).shape)
print("svd", [part.shape for part in cupy.linalg.svd(x)])
print("eigh", cupy.linalg.eigh(x)[0].shape)
print("cholesky", cupy.linalg.cholesky(x).shape)
print("fft", cupy.fft.fft2(x).dtype, cupy.fft.irfft(cupy.fft.rfft(x)).shape)
sparse = cupyx.scipy.sparse.random(1000, 1000, density=0.01, format="csr")
print("sparse", (sparse @ cupy.ones(1000)).shape)
print("pool", cupy.get_default_memory_pool().total_bytes())
