/* kernels.cu - the source of the images beside it (make-images). */
__constant__ int table[20];
__device__ int counter;
__device__ int started[3] = { 1, 2, 3 };

extern "C" __global__ void
plain (int *p)
{
#if defined __CUDA_ARCH_FEAT_SM90_ALL || defined __CUDA_ARCH_FAMILY_SPECIFIC__
  __shared__ int only[64]; /* so that one can tell which entry was read */
  only[threadIdx.x & 63] = p[0];
  __syncthreads ();
  p[threadIdx.x + 1] = only[p[1] & 63];
#endif
  p[threadIdx.x] = counter + started[1];
}

extern "C" __global__ void __launch_bounds__ (128, 4) bounded (float *p)
{
  __shared__ float s[300];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads ();
  p[threadIdx.x] = s[127 - threadIdx.x] + table[threadIdx.x & 15];
}

extern "C" __global__ void
dynamic (double *p, int n)
{
  extern __shared__ double d[];
  __shared__ int k[5];
  int a[100];
#pragma unroll 1
  for (int i = 0; i < 100; i++)
    a[i] = (int) p[i];
  d[threadIdx.x] = p[n];
  k[threadIdx.x & 3] = n;
  __syncthreads ();
  p[threadIdx.x] = d[n] + k[n & 3] + a[a[n % 100] % 100];
}
