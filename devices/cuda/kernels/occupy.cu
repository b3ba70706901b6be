/* occupy.cu - keeps a stream busy for a given time and does nothing else: the work of a recorded program (--occupy).
 *
 * Launch: one thread.  The clock is the GPU's own (%globaltimer, ns), which advances in steps of up to a microsecond.
 */

static __device__ unsigned long long
now (void)
{
  unsigned long long ns;
  asm volatile ("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

extern "C" __global__ void
gemem_occupy (unsigned long long ns)
{
  const unsigned long long began = now ();

  while (now () - began < ns)
    __nanosleep (100);
}
