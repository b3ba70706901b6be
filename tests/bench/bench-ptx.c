/* bench-ptx.c - how many instructions of PTX run in a second (dry/ptx/ptx.h).
 *
 * Why: what a program reads of its kernels' results is computed on the host; how long it waits is
 * decided here.
 *
 * Three kernels as compilers write them: a hash in integers, a loop over real numbers in which each
 * thread goes its own number of turns, and sums of a block through shared memory and shuffles.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "dry/ptx/ptx.h"
#include "tests/bench/bench.h"

#define N 65536
#define ADDRESS ((guint64) 1 << 44)
#define BEGIN \
  ".version 8.0\n.target sm_90\n.address_size 64\n" \
  ".visible .entry f(\n .param .u64 f_param_0,\n .param .u32 f_param_1\n)\n{\n" \
  " .reg .pred %p<4>;\n .reg .b32 %r<20>;\n .reg .b64 %rd<9>;\n .reg .f32 %f<9>;\n" \
  " .shared .align 4 .b8 all[1024];\n" \
  " ld.param.u64 %rd1, [f_param_0];\n ld.param.u32 %r1, [f_param_1];\n" \
  " mov.u32 %r2, %tid.x;\n mov.u32 %r3, %ctaid.x;\n mov.u32 %r4, %ntid.x;\n" \
  " mad.lo.s32 %r5, %r3, %r4, %r2;\n setp.ge.s32 %p1, %r5, %r1;\n @%p1 bra $end;\n" \
  " cvta.to.global.u64 %rd2, %rd1;\n mul.wide.s32 %rd3, %r5, 4;\n add.s64 %rd4, %rd2, %rd3;\n" \
  " ld.global.u32 %r6, [%rd4];\n"
#define END " st.global.u32 [%rd4], %r9;\n$end:\n ret;\n}\n"

static const struct
{
  const char *name, *code;
} kernels[] = {
  { "integers", BEGIN " mov.u32 %r10, 0;\n mov.u32 %r9, %r6;\n"
                      "$again:\n xor.b32 %r11, %r9, 61;\n shr.u32 %r12, %r9, 16;\n"
                      " xor.b32 %r9, %r11, %r12;\n mul.lo.s32 %r9, %r9, 668265261;\n"
                      " shl.b32 %r13, %r9, 3;\n add.s32 %r9, %r9, %r13;\n add.s32 %r10, %r10, 1;\n"
                      " setp.lt.s32 %p2, %r10, 16;\n @%p2 bra $again;\n" END },
  { "parted", BEGIN " cvt.rn.f32.s32 %f1, %r6;\n and.b32 %r10, %r6, 15;\n"
                    "$again:\n fma.rn.f32 %f1, %f1, 0f3F7FBE77, 0f3F800000;\n"
                    " setp.gt.f32 %p3, %f1, 0f44800000;\n @%p3 mul.f32 %f1, %f1, 0f3F000000;\n"
                    " add.s32 %r10, %r10, -1;\n setp.ge.s32 %p2, %r10, 0;\n @%p2 bra $again;\n"
                    " mov.b32 %r9, %f1;\n" END },
  { "sums", BEGIN " shl.b32 %r7, %r2, 2;\n mov.u32 %r8, all;\n add.s32 %r8, %r8, %r7;\n"
                  " st.shared.u32 [%r8], %r6;\n bar.sync 0;\n ld.shared.u32 %r9, [%r8];\n"
                  " mov.u32 %r10, 16;\n"
                  "$again:\n shfl.sync.bfly.b32 %r11|%p2, %r9, %r10, 31, -1;\n"
                  " add.s32 %r9, %r9, %r11;\n shr.u32 %r10, %r10, 1;\n"
                  " setp.ne.s32 %p3, %r10, 0;\n @%p3 bra $again;\n" END },
};

static void
bench (const char *name, const char *code)
{
  const guint runs = (guint) bench_size (5, 1), n = (guint) bench_size (N, 512);
  GememPtx *ptx = gemem_ptx_parse (code);
  const GememPtxFunction *kernel = gemem_ptx_kernel (ptx, "f");
  guint32 *values = g_new (guint32, n);
  guint8 *states = g_new0 (guint8, sizeof *values * n), parameters[16] = { 0 };
  const guint64 address = ADDRESS;
  double best = 0;

  memcpy (parameters, &address, sizeof address);
  memcpy (parameters + 8, &n, sizeof n);
  for (guint run = 0; run < runs; run++)
    {
      GememPtxMemory memory = { ADDRESS, sizeof *values * n, (guint8 *) values, states };
      guint64 budget = G_MAXINT64;
      const GememPtxLaunch launch = { .grid = { n / 256, 1, 1 },
                                      .block = { 256, 1, 1 },
                                      .parameters = parameters,
                                      .memory = &memory,
                                      .n_memory = 1,
                                      .budget = &budget };
      for (guint i = 0; i < n; i++)
        values[i] = i;
      const gint64 start = bench_clock ();
      g_assert_cmpint (gemem_ptx_run (kernel, &launch), ==, GEMEM_PTX_DONE);
      best = MAX (best,
                  (double) (G_MAXINT64 - budget) * 1e6 / (double) (bench_clock () - start + 1));
    }
  printf ("{\"bench\":\"ptx\",\"kernel\":\"%s\",\"threads\":%u,\"instructions_per_s\":%.0f}\n",
          name, n, best);
  fflush (stdout);
  gemem_ptx_free (ptx);
  g_free (values);
  g_free (states);
}

int
main (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    bench (kernels[i].name, kernels[i].code);
  return 0;
}
