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
  guint64 budget = 100000;
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
  g_test_add_func ("/ptx/damaged", test_damaged);
  g_test_add_func ("/replay/events", test_replay);
  g_test_add_func ("/replay/long", test_long);
  return g_test_run ();
}
