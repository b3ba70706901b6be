/* test-dry-ptx.c - kernels that run on the host (dry/ptx/ptx.h) and memory that is done again
 * (dry/replay/replay.h), against results that were worked out by hand.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/ptx.h"
#include "dry/replay/replay.h"
#include "tests/util/testutil.h"

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BEGIN \
  HEADER ".visible .entry f(\n .param .u64 f_param_0,\n .param .u32 f_param_1\n)\n{\n" \
         " .reg .pred %p<4>;\n .reg .b32 %r<20>;\n .reg .b64 %rd<9>;\n .reg .f32 %f<9>;\n" \
         " .shared .align 4 .b8 all[256];\n" \
         " ld.param.u64 %rd1, [f_param_0];\n ld.param.u32 %r1, [f_param_1];\n" \
         " mov.u32 %r2, %tid.x;\n mov.u32 %r3, %ctaid.x;\n mov.u32 %r4, %ntid.x;\n" \
         " mad.lo.s32 %r5, %r3, %r4, %r2;\n cvta.to.global.u64 %rd2, %rd1;\n" \
         " mul.wide.s32 %rd3, %r5, 4;\n add.s64 %rd4, %rd2, %rd3;\n"
#define END " st.global.u32 [%rd4], %r9;\n ret;\n}\n"
#define ADDRESS ((guint64) 1 << 44)
#define N 64

typedef struct
{
  guint32 values[N];
  guint8 states[sizeof (guint32) * N];
  GememPtxEnd end;
} Result;

/* Runs @code as two blocks of 32 threads, on the numbers 0, 1, ... in its memory, of which those
 * from @unknown on are not known. */
static Result
run (const char *code, guint32 argument, guint unknown)
{
  GememPtx *ptx = gemem_ptx_parse (code);
  const GememPtxFunction *kernel = gemem_ptx_kernel (ptx, "f");
  Result result = { .end = GEMEM_PTX_LOST };
  GememPtxMemory memory = { ADDRESS, sizeof result.values, (guint8 *) result.values,
                            result.states };
  guint8 parameters[16] = { 0 };
  const guint64 address = ADDRESS;
  guint64 budget = 10000000;
  const GememPtxLaunch launch = { .grid = { 2, 1, 1 },
                                  .block = { 32, 1, 1 },
                                  .parameters = parameters,
                                  .memory = &memory,
                                  .n_memory = 1,
                                  .budget = &budget };

  g_assert_nonnull (kernel);
  memcpy (parameters, &address, sizeof address);
  memcpy (parameters + 8, &argument, sizeof argument);
  for (guint i = 0; i < N; i++)
    result.values[i] = i;
  memset (result.states + MIN (unknown, N) * sizeof (guint32), GEMEM_PTX_UNKNOWN,
          (N - MIN (unknown, N)) * sizeof (guint32));
  result.end = gemem_ptx_run (kernel, &launch);
  gemem_ptx_free (ptx);
  return result;
}

static void
test_integers (void)
{
  const Result result = run (
      BEGIN " ld.global.u32 %r6, [%rd4];\n mad.lo.s32 %r9, %r6, %r1, 7;\n" END, 3, N);

  g_assert_cmpint (result.end, ==, GEMEM_PTX_DONE);
  for (guint i = 0; i < N; i++)
    g_assert_cmpuint (result.values[i], ==, 3 * i + 7);
}

static void
test_reals (void)
{
  /* 1/3 to nearest is 0x3eaaaaab, down 0x3eaaaaaa */
  const Result near = run (BEGIN " mov.f32 %f1, 0f3F800000;\n mov.f32 %f2, 0f40400000;\n "
                                 "div.rn.f32 %f3, %f1, %f2;\n mov.b32 %r9, %f3;\n" END,
                           0, N);
  const Result down = run (BEGIN " mov.f32 %f1, 0f3F800000;\n mov.f32 %f2, 0f40400000;\n "
                                 "div.rm.f32 %f3, %f1, %f2;\n mov.b32 %r9, %f3;\n" END,
                           0, N);
  const Result half = run (BEGIN " mov.f32 %f1, 0f3EAAAAAB;\n .reg .b16 %h1;\n cvt.rn.f16.f32 %h1, "
                                 "%f1;\n mov.b32 %r9, {%h1, %h1};\n" END,
                           0, N);

  g_assert_cmphex (near.values[0], ==, 0x3eaaaaab);
  g_assert_cmphex (down.values[0], ==, 0x3eaaaaaa);
  g_assert_cmphex (half.values[0], ==, 0x35553555);
}

/* Each gets the number of its neighbour through shared memory, the others' sum by a shuffle. */
static void
test_together (void)
{
  const Result shared = run (BEGIN " shl.b32 %r6, %r2, 2;\n mov.u32 %r7, all;\n add.s32 %r8, %r7, "
                                   "%r6;\n st.shared.u32 [%r8], %r2;\n"
                                   " bar.sync 0;\n xor.b32 %r10, %r6, 4;\n add.s32 %r11, %r7, "
                                   "%r10;\n ld.shared.u32 %r9, [%r11];\n" END,
                             0, N);
  const Result shuffled = run (
      BEGIN " ld.global.u32 %r9, [%rd4];\n mov.u32 %r10, 16;\n"
            "$again:\n shfl.sync.bfly.b32 %r11|%p1, %r9, %r10, 31, -1;\n add.s32 %r9, %r9, %r11;\n"
            " shr.u32 %r10, %r10, 1;\n setp.ne.s32 %p2, %r10, 0;\n @%p2 bra $again;\n" END,
      0, N);

  g_assert_cmpint (shared.end, ==, GEMEM_PTX_DONE);
  g_assert_cmpuint (shared.values[6], ==, 7);
  g_assert_cmpint (shuffled.end, ==, GEMEM_PTX_DONE);
  g_assert_cmpuint (shuffled.values[0], ==, 31 * 32 / 2);
  g_assert_cmpuint (shuffled.values[40], ==, 31 * 32 / 2 + 32 * 32);
}

/* What is not known stays so, element by element; a branch by it loses all, and so does what is not
 * written here. */
static void
test_unknown (void)
{
  const Result some = run (BEGIN " ld.global.u32 %r6, [%rd4];\n add.s32 %r9, %r6, 1;\n" END, 0, 10);
  const Result lost = run (
      BEGIN " ld.global.u32 %r9, [%rd4];\n setp.eq.s32 %p1, %r9, 5;\n @%p1 bra $out;\n" END
            "$out:\n",
      0, 10);
  const Result absent = run (
      BEGIN " mov.u32 %r9, 0;\n tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [texture, {%r1}];\n" END, 0,
      N);
  const Result endless = run (BEGIN "$again:\n bra $again;\n" END, 0, N);

  g_assert_cmpint (some.end, ==, GEMEM_PTX_DONE);
  g_assert_cmpuint (some.states[9 * 4], ==, GEMEM_PTX_KNOWN);
  g_assert_cmpuint (some.states[10 * 4], ==, GEMEM_PTX_UNKNOWN);
  g_assert_cmpint (lost.end, ==, GEMEM_PTX_LOST);
  g_assert_cmpint (absent.end, ==, GEMEM_PTX_LOST);
  g_assert_cmpint (endless.end, ==, GEMEM_PTX_LOST);
}

/* What no instruction has set, and the number that an atomic operation gives, which hangs on who comes first. Triton writes addresses
 * with spaces. */
static void
test_unset (void)
{
  const Result unset = run (BEGIN " add.s32 %r9, %r12, 1;\n" END, 0, N);
  const Result place = run (BEGIN " atom.global.add.u32 %r9, [ %rd2 + 4 ], 1;\n" END, 0, N);
  const Result swapped = run (
      BEGIN " atom.global.cas.b32 %r9, [ %rd4 + 0 ], %r5, 7;\n add.s32 %r9, %r9, 1;\n" END, 0, N);
  const Result counted = run (BEGIN " red.global.add.u32 [ %rd2 + 4 ], 1;\n ret;\n}\n", 0, N);

  g_assert_cmpint (unset.end, ==, GEMEM_PTX_DONE);
  g_assert_cmpuint (unset.states[0], ==, GEMEM_PTX_UNKNOWN);
  g_assert_cmpuint (place.states[8], ==, GEMEM_PTX_ASSUMED);
  g_assert_cmpuint (swapped.states[8], ==, GEMEM_PTX_KNOWN);
  g_assert_cmpuint (swapped.values[2], ==, 3);
  g_assert_cmpuint (counted.states[4], ==, GEMEM_PTX_KNOWN);
  g_assert_cmpuint (counted.values[1], ==, 1 + N);
}

/* ---- lanes */

/* @operation on registers that hold numbers of every kind, different ones in each thread, and of
 * every state; @guard stands before it. */
static Result
run_operation (const char *operation, const char *guard)
{
  g_autofree char *code = g_strconcat (
      BEGIN " .reg .b16 %h<4>;\n .reg .f64 %d<6>;\n .reg .b64 %w<6>;\n"
            /* %r6 is the thread's number hashed, %r7 and %r8 others; one in eight is small */
            " ld.global.u32 %r6, [%rd4];\n mul.lo.s32 %r6, %r6, -1640531527;\n"
            " and.b32 %r10, %r5, 7;\n setp.eq.s32 %p1, %r10, 3;\n"
            " shr.s32 %r11, %r6, 28;\n selp.b32 %r6, %r11, %r6, %p1;\n"
            " shf.l.wrap.b32 %r7, %r6, %r6, 13;\n xor.b32 %r8, %r7, %r5;\n"
            " mov.b64 %w1, {%r6, %r7};\n mov.b64 %w2, {%r8, %r6};\n mov.b64 %w3, {%r7, %r8};\n"
            " cvt.rn.f32.s32 %f1, %r6;\n cvt.rn.f32.s32 %f2, %r11;\n mov.b32 %f3, %r7;\n"
            " cvt.rn.f64.s32 %d1, %r6;\n cvt.rn.f64.s32 %d2, %r11;\n mov.b64 %d3, %w1;\n"
            " cvt.u16.u32 %h1, %r6;\n cvt.u16.u32 %h2, %r7;\n"
            /* a predicate that is true and hangs on the order of threads */
            " atom.global.add.u32 %r12, [%rd2], 0;\n setp.ge.u32 %p2, %r12, 0;\n"
            " setp.lt.s32 %p1, %r6, %r7;\n setp.ge.s32 %p3, %r8, 0;\n"
            " mov.u32 %r9, 77;\n mov.f32 %f4, 0f3F800000;\n mov.b64 %w4, 99;\n mov.b64 %d4, 99;\n"
            " mov.b16 %h3, 5;\n"
            " ",
      guard, " ", operation,
      ";\n"
      /* all that may have been set, in one number: its bits, and the state of each */
      " mov.b32 %r13, %f4;\n mov.b64 %w5, %d4;\n xor.b64 %w5, %w5, %w4;\n"
      " mov.b64 {%r14, %r15}, %w5;\n cvt.u32.u16 %r16, %h3;\n"
      " selp.b32 %r17, 1, 2, %p1;\n selp.b32 %r18, 16, 32, %p3;\n"
      " mad.lo.s32 %r9, %r9, 31, %r13;\n mad.lo.s32 %r9, %r9, 31, %r14;\n"
      " mad.lo.s32 %r9, %r9, 31, %r15;\n mad.lo.s32 %r9, %r9, 31, %r16;\n"
      " mad.lo.s32 %r9, %r9, 31, %r17;\n mad.lo.s32 %r9, %r9, 31, %r18;\n" END,
      NULL);

  return run (code, 5, N - 8);
}

static const char *const lane_operations[] = {
  "add.s32 %r9, %r6, %r7",
  "add.s64 %w4, %w1, %w2",
  "add.s16 %h3, %h1, %h2",
  "add.sat.s32 %r9, %r6, %r7",
  "sub.s32 %r9, %r6, %r7",
  "sub.s64 %w4, %w1, %w2",
  "mul.lo.s32 %r9, %r6, %r7",
  "mul.hi.s32 %r9, %r6, %r7",
  "mul.hi.u32 %r9, %r6, %r7",
  "mul.hi.s64 %w4, %w1, %w2",
  "mul.hi.u64 %w4, %w1, %w2",
  "mul.wide.s32 %w4, %r6, %r7",
  "mul.wide.u32 %w4, %r6, %r7",
  "mul.wide.u16 %r9, %h1, %h2",
  "mul.wide.s16 %r9, %h1, %h2",
  "mad.lo.s32 %r9, %r6, %r7, %r8",
  "mad.wide.s32 %w4, %r6, %r7, %w3",
  "mad.wide.u32 %w4, %r6, %r7, %w3",
  "mad.hi.u32 %r9, %r6, %r7, %r8",
  "div.s32 %r9, %r6, %r11",
  "div.u32 %r9, %r6, %r11",
  "rem.s32 %r9, %r6, %r11",
  "rem.u64 %w4, %w1, %w2",
  "abs.s32 %r9, %r6",
  "neg.s32 %r9, %r6",
  "neg.s64 %w4, %w1",
  "min.s32 %r9, %r6, %r7",
  "min.u32 %r9, %r6, %r7",
  "max.s64 %w4, %w1, %w2",
  "max.u64 %w4, %w1, %w2",
  "min.s16 %h3, %h1, %h2",
  "max.u16 %h3, %h1, %h2",
  "and.b32 %r9, %r6, %r7",
  "or.b64 %w4, %w1, %w2",
  "xor.b32 %r9, %r6, -1",
  "not.b32 %r9, %r6",
  "not.b16 %h3, %h1",
  "cnot.b32 %r9, %r11",
  "lop3.b32 %r9, %r6, %r7, %r8, 0x96",
  "shl.b32 %r9, %r6, %r11",
  "shl.b64 %w4, %w1, %r11",
  "shl.b32 %r9, %r6, 31",
  "shr.u32 %r9, %r6, %r11",
  "shr.s32 %r9, %r6, %r11",
  "shr.s64 %w4, %w1, %r11",
  "shr.u64 %w4, %w1, %r11",
  "shr.s16 %h3, %h1, 3",
  "shl.b16 %h3, %h1, %r11",
  "shf.r.wrap.b32 %r9, %r6, %r7, %r8",
  "bfe.u32 %r9, %r6, %r11, 7",
  "bfe.s32 %r9, %r6, 3, 9",
  "bfi.b32 %r9, %r6, %r7, 4, 12",
  "bfind.s32 %r9, %r6",
  "brev.b32 %r9, %r6",
  "clz.b32 %r9, %r6",
  "popc.b64 %r9, %w1",
  "prmt.b32 %r9, %r6, %r7, 0x5410",
  "sad.s32 %r9, %r6, %r7, %r8",
  "add.f32 %f4, %f1, %f3",
  "add.rz.f32 %f4, %f1, %f3",
  "sub.f32 %f4, %f1, %f2",
  "mul.f32 %f4, %f1, %f3",
  "mul.ftz.f32 %f4, %f1, %f3",
  "mul.sat.f32 %f4, %f1, %f2",
  "fma.rn.f32 %f4, %f1, %f2, %f3",
  "fma.rp.f32 %f4, %f1, %f2, %f1",
  "div.rn.f32 %f4, %f1, %f2",
  "rcp.rn.f32 %f4, %f2",
  "sqrt.rn.f32 %f4, %f1",
  "min.f32 %f4, %f1, %f3",
  "abs.f32 %f4, %f3",
  "neg.f32 %f4, %f3",
  "copysign.f32 %f4, %f2, %f1",
  "add.f64 %d4, %d1, %d2",
  "mul.rn.f64 %d4, %d1, %d2",
  "fma.rn.f64 %d4, %d1, %d2, %d1",
  "div.rn.f64 %d4, %d1, %d2",
  "ex2.approx.f32 %f4, %f2",
  "cvt.s64.s32 %w4, %r6",
  "cvt.u64.u32 %w4, %r6",
  "cvt.u32.u64 %r9, %w1",
  "cvt.s32.s16 %r9, %h1",
  "cvt.sat.u16.s32 %h3, %r6",
  "cvt.rn.f32.s32 %f4, %r6",
  "cvt.rn.f32.u32 %f4, %r6",
  "cvt.rz.f32.s32 %f4, %r6",
  "cvt.rn.f64.s32 %d4, %r6",
  "cvt.rn.f64.s64 %d4, %w1",
  "cvt.rzi.s32.f32 %r9, %f3",
  "cvt.rn.f32.f64 %f4, %d1",
  "cvt.f64.f32 %d4, %f3",
  "cvt.rn.f16.f32 %h3, %f1",
  "cvt.f32.f16 %f4, %h1",
  "cvt.f32.bf16 %f4, %h1",
  "cvt.rn.bf16.f32 %h3, %f3",
  "cvt.rn.bf16x2.f32 %r9, %f1, %f3",
  "fma.rn.bf16x2 %r9, %r6, %r7, %r8",
  "add.rn.f16x2 %r9, %r6, %r7",
  "add.s16x2 %r9, %r6, %r7",
  "setp.lt.bf16 %p1, %h1, %h2",
  "mov.b32 %r9, %r6",
  "mov.b64 {%r9, %r14}, %w1",
  "mov.b32 %r9, {%h1, %h2}",
  "mov.u32 %r9, %laneid",
  "mov.u32 %r9, %tid.x",
  "mov.u32 %r9, %lanemask_lt",
  "selp.b32 %r9, %r6, %r7, %p1",
  "selp.f32 %f4, %f1, %f2, %p3",
  "selp.b32 %r9, %r7, %r7, %p2",
  "slct.s32.s32 %r9, %r6, %r7, %r8",
  "not.pred %p1, %p3",
  "and.pred %p1, %p1, %p3",
  "or.pred %p1, %p2, %p3",
  "xor.pred %p1, %p1, %p2",
  "set.lt.u32.s32 %r9, %r6, %r7",
  "testp.finite.f32 %p1, %f3",
  "ld.global.u32 %r9, [%rd4]",
  "ld.global.u8 %r9, [%rd4+1]",
  "ld.global.s16 %r9, [%rd4]",
  "ld.u32 %r9, [%rd4]",
  "ld.global.v2.u32 {%r9, %r14}, [%rd2+8]",
  "ld.global.u32 %r9, [%rd4+250]",
  "ld.param.u32 %r9, [f_param_1]",
  "st.global.u32 [%rd4], %r6",
  "st.global.u8 [%rd4+2], %r7",
  "st.global.v2.u32 [%rd2+8], {%r5, %r5}",
  "st.global.u32 [%rd4], 7",
  "add.cc.u32 %r9, %r6, %r7",
  "setp.lt.f32 %p1|%p3, %f1, %f3",
  "setp.lt.and.s32 %p1, %r6, %r7, %p3",
  "setp.ge.or.s32 %p1, %r6, %r7, !%p3",
  "setp.ne.xor.u32 %p1, %r6, %r7, %p2",
  "setp.lt.ftz.f32 %p1, %f1, %f3",
  "setp.eq.u16 %p1, %h1, %h2",
};
static const char *const lane_relations[] = { "eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                              "equ", "neu", "ltu", "leu", "gtu", "geu",
                                              "num", "nan", "lo",  "ls",  "hi",  "hs" };
static const struct
{
  const char *type, *operands;
  guint first, last; /* relations */
} lane_kinds[] = { { "s32", "%r6, %r7", 0, 6 },   { "u32", "%r6, %r7", 0, 6 },
                   { "u32", "%r6, %r7", 14, 18 }, { "s64", "%w1, %w2", 0, 6 },
                   { "u64", "%w1, %w2", 14, 18 }, { "b32", "%r6, %r11", 0, 2 },
                   { "f32", "%f1, %f2", 0, 14 },  { "f32", "%f1, %f3", 0, 14 },
                   { "f64", "%d1, %d3", 0, 14 } };

static void
test_lanes (void)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < G_N_ELEMENTS (lane_operations); i++)
    g_ptr_array_add (all, g_strdup (lane_operations[i]));
  for (guint i = 0; i < G_N_ELEMENTS (lane_kinds); i++)
    for (guint k = lane_kinds[i].first; k < lane_kinds[i].last; k++)
      g_ptr_array_add (all, g_strdup_printf ("setp.%s.%s %%p1, %s", lane_relations[k],
                                             lane_kinds[i].type, lane_kinds[i].operands));
  for (guint i = 0; i < all->len; i++)
    {
      const char *operation = all->pdata[i];
      const Result together = run_operation (operation, ""),
                   some = run_operation (operation, "@%p3"),
                   alone = run_operation (operation, "@%p2");
      g_test_message ("%s", operation);
      g_assert_cmpint (together.end, ==, GEMEM_PTX_DONE);
      g_assert_cmpint (some.end, ==, GEMEM_PTX_DONE);
      g_assert_cmpmem (together.values, sizeof together.values, alone.values, sizeof alone.values);
      for (guint k = 0; k < sizeof alone.states; k++)
        g_assert_cmpuint (MAX (together.states[k], GEMEM_PTX_ASSUMED), ==,
                          MAX (alone.states[k], GEMEM_PTX_ASSUMED));
    }
}

/* Threads that go different ways are together again behind; each does what it does alone. */
static void
test_parted (void)
{
  const Result loops = run (
      BEGIN " ld.global.u32 %r6, [%rd4];\n mov.u32 %r9, 0;\n"
            "$again:\n setp.eq.s32 %p1, %r6, 0;\n @%p1 bra $out;\n and.b32 %r7, %r6, 1;\n"
            " setp.eq.s32 %p2, %r7, 0;\n @%p2 bra $even;\n add.s32 %r9, %r9, 100;\n"
            " bra $next;\n$even:\n add.s32 %r9, %r9, 1;\n$next:\n shr.u32 %r6, %r6, 1;\n"
            " bra $again;\n$out:\n mov.u32 %r10, 0;\n activemask.b32 %r11;\n"
            " popc.b32 %r12, %r11;\n mad.lo.s32 %r9, %r12, 10000, %r9;\n" END,
      0, N);
  /* each holds a lock while it adds: the others spin, before and behind it in the code */
  const Result lock = run (
      BEGIN "$again:\n atom.global.cas.b32 %r6, [%rd2+252], 63, 1;\n setp.ne.s32 %p1, %r6, 63;\n"
            " @%p1 bra $again;\n ld.global.u32 %r7, [%rd2+248];\n add.s32 %r7, %r7, 1;\n"
            " st.global.u32 [%rd2+248], %r7;\n atom.global.exch.b32 %r8, [%rd2+252], 63;\n"
            " ret;\n}\n",
      0, N);
  const Result some = run (
      BEGIN " mov.u32 %r9, 5;\n setp.gt.s32 %p1, %r2, 20;\n @%p1 exit;\n and.b32 %r6, %r2, 3;\n"
            " setp.ne.s32 %p2, %r6, 1;\n @%p2 bra $out;\n add.s32 %r9, %r9, %r2;\n$out:\n" END,
      0, N);

  g_assert_cmpint (loops.end, ==, GEMEM_PTX_DONE);
  for (guint i = 0; i < N; i++)
    {
      guint bits = 0, expected;
      for (guint k = i; k != 0; k >>= 1)
        bits++;
      expected = 100 * (guint) __builtin_popcount (i) + bits - (guint) __builtin_popcount (i);
      g_assert_cmpuint (loops.values[i], ==, expected + 32 * 10000);
    }
  g_assert_cmpuint (lock.values[62], ==, 62 + N);
  for (guint i = 0; i < N; i++)
    g_assert_cmpuint (some.values[i], ==, i % 32 > 20 ? i : i % 4 == 1 ? 5 + i % 32 : 5);
}

/* bf16, pairs of halves and of integers, and what is said of a cache or never called. 1/3 is 0x3eaaaaab
 * as float, 0x3eab as bf16, 0x3555 as f16. */
static void
test_halves (void)
{
  static const struct
  {
    const char *code;
    guint32 result;
  } cases[] = {
    { "cvt.rn.bf16.f32 %h1, %f1;\n cvt.u32.u16 %r9, %h1", 0x3eab },
    { "cvt.rn.bf16x2.f32 %r9, %f1, %f2", 0x3eab4040 }, /* the first is the upper one */
    { "cvt.rn.f16x2.f32 %r9, %f2, %f1", 0x42003555 },
    { "cvt.rn.bf16.f32 %h1, %f1;\n cvt.f32.bf16 %f3, %h1;\n mov.b32 %r9, %f3", 0x3eab0000 },
    /* 1.5 * 2 + 0.25 and 1 * 4 + 1; 3.25 + 3.25 and 5 + 5 */
    { "fma.rn.bf16x2 %r9, 0x3fc03f80, 0x40004080, 0x3e803f80", 0x405040a0 },
    { "fma.rn.f16x2 %r9, 0x3e003c00, 0x40004400, 0x34003c00", 0x42804500 },
    { "add.rn.bf16x2 %r9, 0x405040a0, 0x405040a0", 0x40d04120 },
    { "max.bf16x2 %r9, 0x405040a0, 0x40a04050", 0x40a040a0 },
    { "neg.f16x2 %r9, 0x3c003c00", 0xbc00bc00 },
    { "add.s16x2 %r9, 0x0001ffff, 0x00020001", 0x00030000 },
    { "min.s16x2 %r9, 0x0001ffff, 0x00020001", 0x0001ffff },
    { "mov.b32 %r9, 0x7f7f;\n mov.b32 {%h1, %h2}, %r9;\n mul.rn.bf16 %h1, %h1, 0x4000;\n"
      " cvt.u32.u16 %r9, %h1",
      0x7f80 }, /* too large */
    { "setp.gt.bf16 %p1, 0x4050, 0x40a0;\n selp.b32 %r9, 1, 2, %p1", 2 },
    { "createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0;\n mov.u32 %r9, 3", 3 },
    { "mov.u32 %r9, 4;\n setp.lt.s32 %p1, %r2, 0;\n @%p1 bra $fails;\n bra $out;\n$fails:\n"
      " call.uni __assertfail, (f_param_0);\n trap;\n$out:\n mov.u32 %r9, 5",
      5 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *code = g_strconcat (BEGIN " .reg .b16 %h<4>;\n mov.f32 %f1, 0f3EAAAAAB;\n"
                                                 " mov.f32 %f2, 0f40400000;\n ",
                                           cases[i].code, ";\n" END, NULL);
      const Result result = run (code, 0, N);
      g_test_message ("%s", cases[i].code);
      g_assert_cmpint (result.end, ==, GEMEM_PTX_DONE);
      g_assert_cmphex (result.values[0], ==, cases[i].result);
      g_assert_cmphex (result.values[N - 1], ==, cases[i].result);
    }
  g_assert_cmpint (run (BEGIN " call.uni __assertfail, (f_param_0);\n" END, 0, N).end, ==,
                   GEMEM_PTX_LOST);
}

/* Each lane writes eight halves, 8 * lane + 0 to 7; a warp loads them as four matrices, whose places
 * the manual of PTX shows, and stores them again. */
static void
test_matrices (void)
{
#define ROWS \
  BEGIN " .shared .align 16 .b8 rows[512];\n mov.u32 %r6, rows;\n and.b32 %r7, %r2, 31;\n" \
        " shl.b32 %r8, %r7, 4;\n add.s32 %r6, %r6, %r8;\n shl.b32 %r8, %r7, 3;\n" \
        " mad.lo.s32 %r10, %r8, 65537, 65536;\n add.s32 %r11, %r10, 131074;\n" \
        " add.s32 %r12, %r11, 131074;\n add.s32 %r13, %r12, 131074;\n" \
        " st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};\n bar.sync 0;\n"
  static const char *const load =
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r14, %r15, %r16, %r9}, [%r6]";
  g_autofree char *plain = g_strconcat (ROWS " ", load, ";\n" END, NULL);
  g_autofree char *turned = g_strconcat (
      ROWS " ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r14, %r15, %r16, %r9}, [%r6];\n" END,
      NULL);
  g_autofree char *back = g_strconcat (
      ROWS " ", load,
      ";\n mov.b32 %r10, 0;\n st.shared.v4.b32 [%r6], {%r10, %r10, %r10, %r10};\n bar.sync 0;\n"
      " stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {%r14, %r15, %r16, %r9};\n bar.sync 0;\n"
      " ld.shared.b32 %r9, [%r6+12];\n" END,
      NULL);
  const Result first = run (plain, 0, N), second = run (turned, 0, N), third = run (back, 0, N);

  g_assert_cmpint (first.end, ==, GEMEM_PTX_DONE);
  g_assert_cmpint (second.end, ==, GEMEM_PTX_DONE);
  g_assert_cmpint (third.end, ==, GEMEM_PTX_DONE);
  for (guint i = 0; i < N; i++)
    {
      const guint lane = i % 32, low = 8 * (24 + lane / 4) + 2 * (lane % 4),
                  across = 8 * (24 + 2 * (lane % 4)) + lane / 4;
      g_assert_cmphex (first.values[i], ==, (low + 1) << 16 | low);
      g_assert_cmphex (second.values[i], ==, (across + 8) << 16 | across);
      g_assert_cmphex (third.values[i], ==, (8 * lane + 7) << 16 | (8 * lane + 6));
    }
}

/* Damaged code is read to its end and runs nowhere else. */
static void
test_damaged (void)
{
  const char code[] = BEGIN " ld.global.u32 %r6, [%rd4+4];\n call.uni (retval0), g, (param0);\n "
                            "mov.b64 {%r1,%r2}, %rd1;\n" END;

  for (gsize length = 0; length < sizeof code; length++)
    {
      g_autofree char *part = g_strndup (code, length);
      gemem_ptx_free (gemem_ptx_parse (part));
    }
}

/* Code with other characters in it runs to some end, and reaches nothing that is not its own (which
 * the sanitizers see). */
static void
test_altered (void)
{
  static const char code[] = BEGIN
      " setp.lt.and.s32 %p1|%p2, %r5, %r1, !%p3;\n @%p1 selp.b32 %r9, %r5, 7, %p2;\n"
      " mov.b64 {%r6, %r7}, %rd4;\n st.shared.v2.u32 [all+8], {%r6, %r7};\n bar.sync 0;\n"
      " ld.shared.u16 %r8, [all+10];\n shfl.sync.idx.b32 %r9|%p2, %r8, 3, 31, -1;\n"
      " atom.global.add.u32 %r10, [%rd2+4], 1;\n fma.rn.f32 %f1, %f2, %f3, 0f3F800000;\n"
      " cvt.rzi.s32.f32 %r11, %f1;\n @!%p2 bra $out;\n mad.wide.u32 %rd5, %r5, 4, %rd2;\n"
      "$out:\n vote.sync.ballot.b32 %r12, %p1, -1;\n add.rn.bf16x2 %r13, %r6, %r7;\n"
      " ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r14, %r15}, [all+16];\n" END;
  static const char characters[] = "%[]{}|,;.:@!$+-0179abdfprsu \n";

  for (guint run = 0; run < 2000; run++)
    {
      g_autofree char *text = g_strdup (code);
      const guint n = (guint) g_test_rand_int_range (1, 6);
      for (guint i = 0; i < n; i++)
        text[g_test_rand_int_range ((gint32) strlen (HEADER) + 20, sizeof code - 1)] =
            characters[g_test_rand_int_range (0, sizeof characters - 1)];
      GememPtx *ptx = gemem_ptx_parse (text);
      const GememPtxFunction *kernel = ptx != NULL ? gemem_ptx_kernel (ptx, "f") : NULL;
      guint8 bytes[256] = { 0 }, states[256] = { 0 }, parameters[256] = { 0 };
      GememPtxMemory memory = { ADDRESS, sizeof bytes, bytes, states };
      guint64 budget = 20000;
      const GememPtxLaunch launch = { .grid = { 1, 1, 1 },
                                      .block = { 40, 1, 1 },
                                      .parameters = parameters,
                                      .memory = &memory,
                                      .n_memory = 1,
                                      .budget = &budget };
      const guint64 address = ADDRESS;
      memcpy (parameters, &address, sizeof address);
      if (kernel != NULL && gemem_ptx_parameter_size (kernel) <= sizeof parameters)
        gemem_ptx_run (kernel, &launch);
      g_assert_cmpuint (budget, <=, 20000);
      if (ptx != NULL)
        gemem_ptx_free (ptx);
    }
}

/* ---- memory */

static char *
compile (const char *source, guint n_options, const char *const *options, guint n_expressions,
         const char *const *expressions, char **names)
{
  (void) n_options, (void) options, (void) n_expressions, (void) expressions, (void) names;
  return g_strdup (strstr (source, "plus") != NULL ? BEGIN
                       " ld.global.u32 %r6, [%rd4];\n add.s32 %r9, %r6, %r1;\n" END
                                                   : "no code");
}

static GememReplaySource *
source_of (const char *text)
{
  const char *const none[] = { NULL };
  g_autofree char *image = gemem_replay_source_add (text, 0, NULL, none);
  return gemem_replay_source_of (image);
}

static void
test_replay (void)
{
  GememReplaySource *plus = source_of ("__global__ void f(int* plus, const int n) {}"),
                    *other = source_of ("__global__ void f(int* x, const int n) {}");
  const guint grid[] = { 2, 1, 1 }, block[] = { 32, 1, 1 };
  guint64 address = ADDRESS;
  guint32 n = 5, values[N] = { 0 };
  void *parameters[] = { &address, &n };

  gemem_replay_set_compiler (compile);
  gemem_dry_replay_begin ();
  gemem_dry_block_begins (ADDRESS, 512);
  g_assert_cmpint (gemem_dry_replay (ADDRESS, 4, values, FALSE), ==, GEMEM_PTX_UNKNOWN);

  gemem_replay_fill (ADDRESS, sizeof values, 100, 4);
  for (guint i = 0; i < 3; i++)
    g_assert_true (gemem_replay_launch (plus, "f", grid, block, 0, parameters));
  g_assert_cmpint (gemem_dry_replay (ADDRESS, sizeof values, values, FALSE), ==, GEMEM_PTX_KNOWN);
  g_assert_cmpuint (values[N - 1], ==, 115);
  gemem_replay_host (ADDRESS + 4, &n, sizeof n);
  g_assert_cmpint (gemem_dry_replay (ADDRESS, sizeof values, values, FALSE), ==, GEMEM_PTX_KNOWN);
  g_assert_cmpuint (values[0], ==, 115);
  g_assert_cmpuint (values[1], ==, 5);

  /* behind what was written; what another kernel wrote; what a kernel without code wrote; another
   * block at the same place */
  g_assert_cmpint (gemem_dry_replay (ADDRESS + sizeof values, 4, values, FALSE), ==,
                   GEMEM_PTX_UNKNOWN);
  gemem_replay_lost (ADDRESS + 8, 4);
  g_assert_cmpint (gemem_dry_replay (ADDRESS + 8, 4, values, FALSE), ==, GEMEM_PTX_UNKNOWN);
  g_assert_cmpint (gemem_dry_replay (ADDRESS, 8, values, FALSE), ==, GEMEM_PTX_KNOWN);
  g_assert_true (gemem_replay_launch (other, "f", grid, block, 0, parameters));
  g_assert_cmpint (gemem_dry_replay (ADDRESS, 4, values, FALSE), ==, GEMEM_PTX_UNKNOWN);
  gemem_dry_block_ends (ADDRESS);
  gemem_replay_fill (ADDRESS, 4, 1, 4);
  g_assert_cmpint (gemem_dry_replay (ADDRESS, 4, values, FALSE), ==, GEMEM_PTX_UNKNOWN);
}

/* However long a program runs, what is kept is bounded, and what is dropped is not known rather
 * than wrong. */
static void
test_long (void)
{
  GememReplaySource *plus = source_of ("__global__ void f(int* plus, const int n) {}");
  const guint grid[] = { 2, 1, 1 }, block[] = { 32, 1, 1 };
  guint64 address = 2 * ADDRESS;
  guint32 n = 1, value = 0;
  void *parameters[] = { &address, &n };

  gemem_dry_replay_begin ();
  gemem_dry_block_begins (address, 512);
  gemem_replay_fill (address, 256, 0, 4);
  for (guint i = 0; i < 100; i++)
    g_assert_true (gemem_replay_launch (plus, "f", grid, block, 0, parameters));
  g_assert_cmpint (gemem_dry_replay (address, 4, &value, FALSE), ==, GEMEM_PTX_KNOWN);
  g_assert_cmpuint (value, ==, 100);
  for (guint i = 0; i < 60000; i++)
    gemem_replay_launch (plus, "f", grid, block, 0, parameters);
  g_assert_cmpint (gemem_dry_replay (address, 4, &value, FALSE), ==, GEMEM_PTX_UNKNOWN);
  gemem_replay_fill (address, 256, 3, 4);
  g_assert_cmpint (gemem_dry_replay (address, 4, &value, FALSE), ==, GEMEM_PTX_KNOWN);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ptx/integers", test_integers);
  g_test_add_func ("/ptx/reals", test_reals);
  g_test_add_func ("/ptx/together", test_together);
  g_test_add_func ("/ptx/unknown", test_unknown);
  g_test_add_func ("/ptx/unset", test_unset);
  g_test_add_func ("/ptx/lanes", test_lanes);
  g_test_add_func ("/ptx/parted", test_parted);
  g_test_add_func ("/ptx/halves", test_halves);
  g_test_add_func ("/ptx/matrices", test_matrices);
  g_test_add_func ("/ptx/damaged", test_damaged);
  g_test_add_func ("/ptx/altered", test_altered);
  g_test_add_func ("/replay/events", test_replay);
  g_test_add_func ("/replay/long", test_long);
  return g_test_run ();
}
