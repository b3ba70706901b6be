/* test-paddle-planners.c - PaddlePaddle's planners: worked examples of paddle.md, every rule in
 * a small program, random programs against the pseudo-code followed word by word, and plans that
 * the checker accepts. */
#include "config.h"

#include <string.h>

#include "base/rules.h"
#include "planners/check.h"
#include "planners/paddle/node-size.h"
#include "planners/paddle/passes.h"
#include "tests/util/paddle-program.h"

/* ---- helpers */

static char *
optimize (const char *text, const PaddleMemoryOptimize *settings)
{
  g_autoptr (GememGraph) graph = test_paddle_program (text);
  g_autoptr (PaddleProgram) program = gemem_paddle_program_new (graph);
  g_autoptr (GError) error = NULL;
  g_autoptr (PaddleRewrite) rewrite = gemem_paddle_memory_optimize (program, settings, &error);

  return rewrite != NULL ? test_paddle_rewrite_text (program, rewrite) : g_strdup (error->message);
}

/* The lines of @text that begin with @prefix, without the prefix. */
static char *
lines_of (const char *text, const char *prefix)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString *out = g_string_new (NULL);

  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], prefix))
      g_string_append_printf (out, "%s%s", out->len > 0 ? "\n" : "", lines[i] + strlen (prefix));
  return g_string_free (out, FALSE);
}

#define assert_lines(text, prefix, expected) \
  G_STMT_START \
  { \
    g_autofree char *found = lines_of ((text), (prefix)); \
    g_assert_cmpstr (found, ==, (expected)); \
  } \
  G_STMT_END

/* The checked plan of a planner; its log is appended to @log (may be NULL). */
static GememPlan *
plan (const GememGraph *graph, const char *spec, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { graph, NULL, 1 };
  g_autoptr (GememPlan) result = NULL;

  if (!gemem_planner_parse (spec, choices, error))
    return NULL;
  result = gemem_planner_run (choices->pdata[0], &input, error);
  return result != NULL && gemem_plan_verify (result, &input, error) ? g_steal_pointer (&result)
                                                                     : NULL;
}

/* Offsets of all outputs as "op0=0 op1=256...", '-' for none, and the arena. */
static char *
offsets (const char *text, const char *spec)
{
  g_autoptr (GememGraph) graph = test_paddle_program (text);
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) result = plan (graph, spec, &error);
  GString *out = g_string_new (NULL);

  g_assert_no_error (error);
  for (guint32 i = 0; i < result->n_items; i++)
    if (result->offsets[i] == GEMEM_NO_OFFSET)
      g_string_append (out, "- ");
    else
      g_string_append_printf (out, "%" G_GUINT64_FORMAT " ", result->offsets[i]);
  g_string_append_printf (out, "of %" G_GUINT64_FORMAT, result->arena);
  for (guint i = 0; i < result->log->len; i++)
    g_string_append_printf (out, "\n%s", (const char *) result->log->pdata[i]);
  return g_string_free (out, FALSE);
}

#define assert_offsets(text, spec, expected) \
  G_STMT_START \
  { \
    g_autofree char *found = offsets ((text), (spec)); \
    g_assert_cmpstr (found, ==, (expected)); \
  } \
  G_STMT_END

/* ---- 8.1, 8.2: worked example E18 */

#define E18(e) \
  "x[-1,784] w0[784,100]! w1[100,200]! w2[200,100]! a[-1,100] b[-1,100] c[-1,200] d[-1,200] e" e \
  " f[1]\n" \
  "mul x w0 -> a\nrelu a -> b\nmul b w1 -> c\nrelu c -> d\nmul d w2 -> e\nmean e -> f\n"

static void
test_e18 (void)
{
  PaddleMemoryOptimize settings = { .print_log = TRUE };

  for (settings.level = 0; settings.level <= 1; settings.level++)
    {
      g_autofree char *text = optimize (E18 ("[-1,100]"), &settings);

      assert_lines (text, "print ", "!!! 0,  e[-1, 100] => a[-1, 100], cache idx 0, pool size 3");
      assert_lines (text, "rename ", "4 e a 0 3");
      assert_lines (text, "pool ", "b -1 100\na -1 100\nc -1 200\nd -1 200");
    }
  settings.level = 0;
  {
    g_autofree char *text = optimize (E18 ("[-1,50]"), &settings);

    assert_lines (text, "print ", "");
    assert_lines (text, "pool ", "e -1 50\na -1 100\nb -1 100\nc -1 200\nd -1 200");
  }
  settings.level = 1;
  {
    g_autofree char *text = optimize (E18 ("[-1,50]"), &settings);

    assert_lines (text, "print ", "!!! 0,  e[-1, 50] => a[-1, 100], cache idx 0, pool size 3");
    assert_lines (text, "pool ", "b -1 100\na -1 100\nc -1 200\nd -1 200");
  }
}

/* a, b, c, d, f have memory of their own; e lies in a; each as large as a batch of one. */
static void
test_e18_plan (void)
{
  assert_offsets (
      E18 ("[-1,100]"), "paddle-memory-optimize:print_log=yes",
      "0 512 1024 2048 0 3072 of 3328\n!!! 0,  e[-1, 100] => a[-1, 100], cache idx 0, pool size 3");
  assert_offsets (E18 ("[-1,50]"), "paddle-memory-optimize:level=0",
                  "0 512 1024 2048 3072 3328 of 3584");
  assert_offsets (E18 ("[-1,50]"), "paddle-memory-optimize:level=1,alignment=64",
                  "0 448 896 1728 0 2560 of 2624");
}

/* ---- every rule in a small program */

static void
test_skip (void)
{
  static const char program[] = "x[8] a[8] b[8] c[8] d[8] e[8]\n"
                                "op x -> a\nop a -> b\nop b -> c\nop c -> d\nop d -> e\n";
  PaddleMemoryOptimize settings = { 0 };
  g_autofree char *plain = optimize (program, &settings), *without_a = NULL, *without_c = NULL,
                  *all = NULL, *unknown = NULL, *empty = NULL;

  assert_lines (plain, "rename ", "2 c a 0 1\n3 d b 0 1\n4 e a 0 1");
  settings.skip_opt_set = (char *) "a";
  without_a = optimize (program, &settings);
  assert_lines (without_a, "rename ", "3 d b 0 1\n4 e c 0 1");
  settings.skip_opt_set = (char *) "c";
  without_c = optimize (program, &settings);
  assert_lines (without_c, "rename ", "3 d a 0 2\n4 e b 0 1");
  settings.skip_opt_set = (char *) "[a, b,c,d,e]";
  all = optimize (program, &settings);
  assert_lines (all, "rename ", "");
  settings.skip_opt_set = (char *) "a,nope";
  unknown = optimize (program, &settings);
  g_assert_true (g_str_has_prefix (unknown, "skip_opt_set: 'nope' is no variable of program; "));
  settings.skip_opt_set = (char *) "a,,b";
  empty = optimize (program, &settings);
  g_assert_true (g_str_has_prefix (empty, "skip_opt_set: '' is no variable of program; "));
}

static void
test_skip_by_attribute (void)
{
  static const char forced[] = "x[8] a[8] b[8] c[8]\nop x -> a force_cpu\nop a -> b\nop b -> c\n";
  static const char constant[] =
      "x[8] a[8] b[8] c[8]\nfill_constant x -> a force_cpu\nop a -> b\nop b -> c\n";
  static const char gradient[] =
      "x[8] p[8]! g[8] y[8] z[8]\nop x -> g\nsgd g -> p optimize=p,g\nop x -> y\nop y -> z\n";
  /* 6.2: fused gradients persist */
  static const char fused[] = "x[8] g[8]! y[8] z[8]\nop x -> g\nop g -> y\nop y -> z\nop z -> y\n";
  PaddleMemoryOptimize settings = { 0 }, old = { .era = PADDLE_ERA_1_2 },
                       skip_grads = { .skip_grads = TRUE };
  g_autofree char *forced_new = optimize (forced, &settings), *forced_old = optimize (forced, &old);
  g_autofree char *constant_old = optimize (constant, &old);
  g_autofree char *reused = optimize (gradient, &settings),
                  *kept = optimize (gradient, &skip_grads),
                  *persistent = optimize (fused, &settings);

  assert_lines (forced_new, "rename ", "");
  assert_lines (forced_old, "rename ", "1 b x 0 1\n2 c a 0 1");
  assert_lines (constant_old, "rename ", "1 b x 0 1");
  assert_lines (reused, "rename ", "2 y g 0 1");
  assert_lines (kept, "rename ", "");
  assert_lines (persistent, "pool ", "y 8\nz 8");
  assert_offsets (fused, "paddle-memory-optimize", "- 0 256 0 of 512");
}

static void
test_printed (void)
{
  static const char program[] = "x[8] a[8] i[8]:int64 b[8] c[8]\n"
                                "op x -> a\nop a -> i\nop i -> b\nop b -> a\nop a -> c\n";
  PaddleMemoryOptimize settings = { .print_log = TRUE },
                       old = { .print_log = TRUE, .era = PADDLE_ERA_1_2 };
  g_autofree char *text = optimize (program, &settings), *before = optimize (program, &old);

  assert_lines (text, "print ",
                "!!! 0,  b[8] => a[8], cache idx 0, pool size 1\n"
                "x_dtype and cache_dtype are different");
  assert_lines (
      before, "print ",
      "Hit Cache !!!! cache pool index is 0, var name is b, cached var name is x, var shape is [8] "
      "\n"
      "x :  a  cache :  a  is same var!\n" /* and stays in the pool, though it is live again */
      "Hit Cache !!!! cache pool index is 0, var name is c, cached var name is a, var shape is "
      "[8] ");
}

/* Static shapes are separate from dynamic ones; the pool lists the dynamic ones first. */
static void
test_batch_classes (void)
{
  static const char program[] = "x[1] a[4] b[-1,4] c[-1,2] d[4] e[-1,4] f[2]\n"
                                "op x -> a b c\nop a b c -> d\nop d -> e f\n";
  PaddleMemoryOptimize settings = { .level = 1 };
  g_autofree char *text = optimize (program, &settings);

  assert_lines (text, "rename ", "2 e b 1 3\n2 f a 1 2");
  assert_lines (text, "pool ", "c -1 2\nd 4");
}

#define LOOP \
  "x[8] a[8] b[8] o[8] s[8] t[8] u[8] v[8] og[8] gs[8] gt[8] gu[8] gv[8] h[8] k[8]\n" \
  "op x -> a\nop a -> b\n" \
  "while b -> o\n{\nop b -> s\nop s -> t\nop t -> u\nop u -> v\n}\n" \
  "op o -> og\n" \
  "while_grad og -> h\n{\nop og -> gs\nop gs -> gt\nop gt -> gu\n}\n" \
  "op h -> k\n"

/* The global list neither reuses nor provides variables that the loop uses; forward and backward
 * block are one list, and the backward block finds what the forward one declares (13.2). */
static void
test_blocks (void)
{
  PaddleMemoryOptimize settings = { .print_log = TRUE };
  g_autofree char *text = optimize (LOOP, &settings);

  assert_lines (text, "rename ", "5 k a 0 1\n2 u s 0 1\n3 v t 0 1\n4 gs s 0 1\n6 gu s 0 1");
  assert_lines (text, "print ",
                "!!! 0,  k[8] => a[8], cache idx 0, pool size 1\n"
                "!!! 0,  u[8] => s[8], cache idx 0, pool size 1\n"
                "!!! 1,  v[8] => t[8], cache idx 0, pool size 1\n"
                "!!! 2,  gs[8] => s[8], cache idx 0, pool size 1\n"
                "!!! 3,  gu[8] => s[8], cache idx 0, pool size 1");
}

/* ---- 13.2: what the real transpilers do */

/* b, renamed to p by op2, is served behind n by op4: p is dead then, so n takes it, and b finds
 * nothing.  In the written order b would meet its own name first. */
static void
test_moved (void)
{
  static const char program[] = "x[8] p[8] q[8] b[8] c[8] n[8] m[8]\n"
                                "op x -> p\nop p -> q\nop q -> b\nop b -> c\nop c -> b n\n"
                                "op b n -> m\n";
  PaddleMemoryOptimize settings = { .print_log = TRUE };
  g_autofree char *text = optimize (program, &settings);

  assert_lines (text, "print ",
                "!!! 0,  b[8] => p[8], cache idx 0, pool size 1\n"
                "!!! 1,  c[8] => q[8], cache idx 0, pool size 1\n"
                "!!! 2,  n[8] => p[8], cache idx 0, pool size 1\n"
                "!!! 3,  m[8] => q[8], cache idx 0, pool size 1");
}

/* Until 1.2 names die in the order in which the operator reads them, and the line shows the shape of
 * the dead one; no line is about types. */
static void
test_order_of_deaths (void)
{
  static const char program[] = "w[8]! b[4,2] a[8] i[8]:int64 c[1] d[2,4] e[1]\n"
                                "op w -> b a i\nop b a i -> c\nop c -> d\nop d -> e\n";
  PaddleMemoryOptimize settings = { .level = 1, .print_log = TRUE, .era = PADDLE_ERA_1_0 };
  g_autofree char *before = optimize (program, &settings), *after = NULL;

  assert_lines (before, "print ",
                "Hit Cache !!!! cache pool index is 0, var name is d, cached var name is b, var "
                "shape is [4, 2] \n"
                "Hit Cache !!!! cache pool index is 0, var name is e, cached var name is a, var "
                "shape is [8] ");
  settings.era = PADDLE_ERA_1_4;
  after = optimize (program, &settings);
  assert_lines (after, "rename ", "2 d a 0 3\n3 e c 0 3");
}

/* The state of 2019-02-01 compares no element types, and says nothing about them. */
static void
test_untyped (void)
{
  static const char program[] = "w[8]! a[8] b[8] c[8]:int64\nop w -> a\nop a -> b\nop b -> c\n";
  PaddleMemoryOptimize settings = { .print_log = TRUE, .era = PADDLE_ERA_2019_02 };
  g_autofree char *untyped = optimize (program, &settings), *typed = NULL;

  assert_lines (untyped, "print ", "!!! 0,  c[8] => a[8], cache idx 0, pool size 1");
  settings.era = PADDLE_ERA_1_3;
  typed = optimize (program, &settings);
  assert_lines (typed, "print ", "x_dtype and cache_dtype are different");
}

/* What recurrent reads is not skipped, and lives as long as its block. */
static void
test_recurrent (void)
{
  static const char program[] = "w[64]! a[64] r[1] s[64] b[64] c[64]\n"
                                "op w -> a\nrecurrent a -> r\n{\nop a -> s\n}\nop r -> b\n"
                                "op b -> c\n";
  PaddleMemoryOptimize settings = { 0 };
  g_autofree char *text = optimize (program, &settings);

  assert_lines (text, "rename ", "2 b a 0 1");
  assert_offsets (program, "paddle-release-memory",
                  "0 256 512 0 256 of 768\n"
                  "delete_var block 0 index 2: a\n"
                  "delete_var block 0 index 4: r\n"
                  "delete_var block 0 index 6: b");
}

/* Pairs of blocks come in the order of the gradient operators, blocks without gradients last: the
 * second loop, the third, the first. */
static void
test_order_of_pairs (void)
{
  static const char program[] =
      "w[8]! l[1] l1[1] l2[1] l3[1] a[8] b[8] c[8] d[8] e[8] f[8] g[8] h[8] i[8] j[8]\n"
      "while w -> l\n{\nop w -> a\nop a -> b\nop b -> c\n}\n"
      "while w -> l1\n{\nop w -> d\nop d -> e\nop e -> f\n}\n"
      "while_grad w -> l2\n{\nop f -> g\n}\n"
      "while w -> l3\n{\nop w -> h\nop h -> i\nop i -> j\n}\n"
      "while_grad w -> l3\n{\nop j -> w\n}\n";
  PaddleMemoryOptimize settings = { .print_log = TRUE };
  g_autofree char *text = optimize (program, &settings);

  assert_lines (text, "print ",
                "!!! 0,  f[8] => d[8], cache idx 0, pool size 1\n"
                "!!! 1,  g[8] => e[8], cache idx 0, pool size 1\n"
                "!!! 0,  j[8] => h[8], cache idx 0, pool size 1\n"
                "!!! 0,  c[8] => a[8], cache idx 0, pool size 1");
}

/* A block reuses what it declares itself.  Where nobody says, a name that only blocks below use is a
 * variable of each of them; one whose value passes between them is declared around them. */
static void
test_declaring_blocks (void)
{
#define BRANCHES(a, b, last) \
  "w[8]! " a " " b " c[8] d[8] l[1] m[1]\n" \
  "conditional_block w -> l\n{\nop w -> a\nop a -> b\nop b -> c\n}\n" \
  "conditional_block w -> m\n{\n" last "op a -> b\nop b -> d\n}\n"
  PaddleMemoryOptimize settings = { 0 };
  g_autofree char *inferred = optimize (BRANCHES ("a[8]", "b[8]", "op w -> a\n"), &settings);
  g_autofree char *passed = optimize (BRANCHES ("a[8]", "b[8]", ""), &settings);
  g_autofree char *outside = optimize (BRANCHES ("a[8]@0", "b[8]", "op w -> a\n"), &settings);
  g_autofree char *inside = optimize (BRANCHES ("a[8]@1 a[8]@2", "b[8]@1 b[4]@2", "op w -> a\n"),
                                      &settings);

  assert_lines (inferred, "rename ", "2 c a 0 1\n2 d a 0 1");
  assert_lines (passed, "rename ", "");
  assert_lines (outside, "rename ", "");
  assert_lines (inside, "rename ", "2 c a 0 1\n2 d a 0 1");
  /* in the graph a and b are one variable each, whose memory the plan shares with nothing; c and d,
   * both called a, are not in it */
  assert_offsets (BRANCHES ("a[64]", "b[64]", "op w -> a\n"), "paddle-memory-optimize:level=1",
                  "0 256 512 768 1024 256 512 768 of 1280");
  settings.skip_opt_set = (char *) "a";
  {
    g_autofree char *skipped = optimize (BRANCHES ("a[8]@1 a[8]@2", "b[8]@1 b[4]@2", "op w -> a\n"),
                                         &settings);

    assert_lines (skipped, "rename ", ""); /* both of the name */
  }
#undef BRANCHES
}

/* The block of recurrent's gradients sees what the forward block declares. */
static void
test_blocks_of_gradients (void)
{
  static const char program[] = "w[8]! r[1] s[8] t[8] u[8] g[8] h[8]\n"
                                "recurrent w -> r\n{\nop w -> s\nwhile s -> t\n{\nop s -> u\n}\n}\n"
                                "recurrent_grad r -> w\n{\nop s -> g\nwhile_grad s -> h\n{\n"
                                "op u -> h\n}\n}\n";
  g_autoptr (GememGraph) graph = test_paddle_program (program);
  g_autoptr (PaddleProgram) read = gemem_paddle_program_new (graph);

  /* blocks: 1 recurrent, 2 while, 3 recurrent_grad, 4 while_grad */
  g_assert_cmpuint (read->outer[3], ==, 1);
  g_assert_cmpuint (read->outer[4], ==, 2);
  g_assert_cmpuint (gemem_paddle_variable (read, gemem_paddle_find (read, "s"))->block, ==, 1);
  g_assert_cmpuint (gemem_paddle_variable (read, gemem_paddle_find (read, "u"))->block, ==, 2);
  g_assert_cmpuint (gemem_paddle_variable (read, gemem_paddle_find (read, "g"))->block, ==, 3);
  g_assert_true (gemem_paddle_block_sees (read, 4, 2));
  g_assert_false (gemem_paddle_block_sees (read, 4, 3));
}

/* Parameters p, q; a forward part, its gradients, two updates. */
#define STEP \
  "x[8] p[8]! a[8] b[8] l[1] bg[8] ag[8] pg[8] t[8]\n" \
  "op x p -> a\nop a -> b\nop b -> l\n" \
  "op l -> bg backward\nop bg b -> ag backward\nop ag x -> pg backward\n" \
  "sgd p pg -> p optimize=p,pg\nop x -> t\n"

/* As built skip_grads leaves out pg alone; as documented bg, ag and pg.  In 1.5 it is the default. */
static void
test_skip_grads (void)
{
  PaddleMemoryOptimize settings = { .skip_grads = PADDLE_SKIP_GRADS_BY_VERSION };
  g_autofree char *without = optimize (STEP, &settings), *built = NULL, *documented = NULL,
                  *by_version = NULL, *never = NULL;

  assert_lines (without, "rename ", "3 bg a 0 1\n5 pg a 1 3\n7 t b 1 4");
  settings.skip_grads = PADDLE_SKIP_GRADS_YES;
  built = optimize (STEP, &settings);
  assert_lines (built, "rename ", "3 bg a 0 1\n7 t a 1 4");
  settings.rules = GEMEM_RULES_DOCUMENTED;
  documented = optimize (STEP, &settings);
  assert_lines (documented, "rename ", "7 t a 1 3");
  assert_lines (documented, "pool ", "l 1\nb 8\nx 8"); /* x, which no operator writes */
  settings.rules = GEMEM_RULES_AS_BUILT;
  settings.skip_grads = PADDLE_SKIP_GRADS_BY_VERSION;
  settings.era = PADDLE_ERA_1_5;
  by_version = optimize (STEP, &settings);
  g_assert_cmpstr (by_version, ==, built);
  settings.skip_grads = PADDLE_SKIP_GRADS_NO;
  never = optimize (STEP, &settings);
  g_assert_cmpstr (never, ==, without);
}

/* ---- 8.3 */

static void
test_release (void)
{
  static const char program[] = "x[64] w[64]! a[64] b[64] c[32] d[64] e[32]\n"
                                "mul x w -> a\nrelu a -> b\nop a b -> c\nop c -> d\nop d c -> e\n";

  /* a 0, b 256; both are deleted after op2, c lies after them; d reuses a, e reuses b: c and d
   * are still live */
  assert_offsets (program, "paddle-release-memory",
                  "0 256 512 0 256 of 768\n"
                  "delete_var block 0 index 1: x\n"
                  "delete_var block 0 index 4: a, b\n"
                  "delete_var block 0 index 7: d, c");
  assert_offsets (program, "paddle-release-memory:skip_opt_set=[a,x]",
                  "0 256 512 256 768 of 1024\n"
                  "delete_var block 0 index 3: b\n"
                  "delete_var block 0 index 6: d, c");
}

/* Forward and backward part are counted separately; variables that the loop uses stay. */
static void
test_release_blocks (void)
{
  assert_offsets (LOOP, "paddle-release-memory",
                  "0 256 0 512 768 512 768 512 1024 1280 1536 1280 1536 of 1792\n"
                  "delete_var block 0 index 1: x\n"
                  "delete_var block 0 index 3: a\n"
                  "delete_var block 1 index 2: s\n"
                  "delete_var block 1 index 4: t\n"
                  "delete_var block 1 index 6: u\n"
                  "delete_var block 2 index 2: gs\n"
                  "delete_var block 2 index 4: gt");
}

/* ---- 8.4 */

static char *
run_pass (const char *text, const PaddleOptimizePass *settings)
{
  g_autoptr (GememGraph) graph = test_paddle_program (text);
  g_autoptr (PaddleProgram) program = gemem_paddle_program_new (graph);
  g_autoptr (PaddleRewrite) rewrite = gemem_paddle_optimize_pass (program, settings);

  return test_paddle_rewrite_text (program, rewrite);
}

static void
test_pass_sizes (void)
{
  static const char program[] =
      "x[512] a[512] b[16,32] c[255] d[255] e[-1,512] f[512]:int32 g[2,256]\n"
      "op x -> a c\nop a c -> b d\nop b -> e f\nop d e f -> g\n";
  const PaddleOptimizePass gpu = { PADDLE_PLACE_GPU, FALSE, 256 },
                           cpu = { PADDLE_PLACE_CPU, FALSE, 256 };
  g_autofree char *text = run_pass (program, &gpu), *nothing = run_pass (program, &cpu);

  /* b: x and a have its bytes though not its shape; not renamed: c and d (below 256), e (batch),
   * f (type) */
  assert_lines (text, "rename ", "1 b x 0 1\n3 g a 0 2");
  assert_lines (text, "print ",
                "!!! 0,  b[16,32] => x[512], cache idx 0, pool size 1\n!!! 1,  g[2,256] => a[512], "
                "cache idx 0, pool size 2");
  assert_lines (nothing, "rename ", "");
}

/* A new entry is inserted after equal entries at the front: the pool is not sorted. */
static void
test_pass_order (void)
{
  static const char program[] =
      "a[300] b[400] c[300] d[500] e[-1,300] f[-1,400] z[1]\n"
      "op a -> z\nop b -> z\nop c -> z\nop d -> z\nop e -> z\nop f -> z\n";
  const PaddleOptimizePass gpu = { PADDLE_PLACE_GPU, FALSE, 256 };
  g_autofree char *text = run_pass (program, &gpu);

  assert_lines (text, "pool ", "f -1 400\ne -1 300\nd 500\nc 300\nb 400\na 300");
}

static void
test_pass_skips (void)
{
  static const char roles[] = "x[512] g[512] a[512] b[512] p[512]!\nop x -> a\nop a -> g\nsgd g -> "
                              "p optimize=p,g\nop a -> b\n";
  static const char sent[] = "x[512] a[512] b[512] c[512]\nop x -> a\nsend a -> b\nop b -> c\n";
  static const char loop[] =
      "x[512] a[512] b[512] c[512] d[512]\nop x -> a\nwhile a -> b\n{\nop a -> d\n}\nop b -> c\n";
  const PaddleOptimizePass gpu = { PADDLE_PLACE_GPU, FALSE, 256 },
                           subgraph = { PADDLE_PLACE_GPU, TRUE, 256 };
  g_autofree char *with_roles = run_pass (roles, &gpu), *with_send = run_pass (sent, &gpu);
  g_autofree char *with_loop = run_pass (loop, &gpu), *optimized = run_pass (loop, &subgraph);

  assert_lines (with_roles, "rename ", "3 b x 0 2"); /* g provides memory, but does not reuse any */
  assert_lines (with_send, "rename ", "2 c x 0 2");
  assert_lines (with_loop, "rename ", "2 c x 0 1"); /* the loop uses a: it is in no pool */
  assert_lines (optimized, "rename ", "2 c x 0 1");
}

static void
test_node_size (void)
{
  const gint64 large[] = { 65536, 65536 }, negative[] = { 65536, 49152 }, dynamic[] = { -1, 300 };
  PaddleVariable variable = { .dims = large, .n_dims = 2, .dtype = gemem_dtype_find ("float32") };

  g_assert_cmpuint (gemem_paddle_node_size (&variable), ==, 0); /* 2^32 elements */
  variable.dims = negative;
  g_assert_cmpuint (gemem_paddle_node_size (&variable), ==,
                    (G_GUINT64_CONSTANT (4294967296) - 3221225472) * 4);
  variable.dims = dynamic;
  g_assert_cmpuint (gemem_paddle_node_size (&variable), ==, 1200);
}

/* ---- 7 */

static void
test_inplace_versions (void)
{
  /* relu is on the whitelist, "act" has a rule of its own, "op" has none */
  static const char program[] = "x[64,64] a[64,64] b[64,64] c[64,64]\n"
                                "op x -> a\nrelu a -> b\nact b -> c pairs=0,0\n";

  assert_offsets (program, "paddle-inplace-pass:version=1.4", "0 0 0 of 16384");
  assert_offsets (program, "paddle-inplace-pass:version=1.4,enable_inplace_whitelist=yes",
                  "0 0 16384 of 32768");
  assert_offsets (program, "paddle-inplace-pass:version=1.5", "0 0 0 of 16384");
  assert_offsets (program, "paddle-inplace-pass:version=1.5,enable_inplace_whitelist=yes",
                  "0 16384 16384 of 32768");
  assert_offsets (program, "paddle-inplace-pass:version=1.6", "0 0 0 of 16384");
  /* documented: listed operators are left out in every version */
  for (guint i = 0; i < 3; i++)
    {
      static const char *const versions[] = { "1.4", "1.5", "1.6" };
      g_autofree char *planner = g_strdup_printf ("paddle-inplace-pass:version=%s,rules=documented,"
                                                  "enable_inplace_whitelist=yes",
                                                  versions[i]);
      assert_offsets (program, planner, "0 16384 16384 of 32768");
    }
  assert_offsets (program, "paddle-inplace-pass:version=1.6,enable_inplace_whitelist=yes",
                  "0 0 0 of 16384");
  assert_offsets (program, "paddle-inplace-pass:memory_optimize_debug=b", "0 16384 16384 of 32768");
  assert_offsets (program, "paddle-inplace-pass:version=1.5,place=cpu", "0 0 0 of 16384");
}

static void
test_inplace_conditions (void)
{
  /* a is read later; the sizes differ (but reshape2 may); c is twice an input; w persists; too
   * small */
  assert_offsets ("x[300] a[300] b[300] c[300]\nop x -> a\nrelu a -> b\nop a b -> c\n",
                  "paddle-inplace-pass", "0 1280 2560 of 3840");
  assert_offsets ("x[300] a[300] b[400]\nop x -> a\nact a -> b pairs=0,0\n", "paddle-inplace-pass",
                  "0 1280 of 3072");
  assert_offsets ("x[300] a[300] b[400]\nop x -> a\nreshape2 a -> b pairs=0,0\n",
                  "paddle-inplace-pass", "0 0 of 1792");
  assert_offsets ("x[300] a[300] b[300]\nop x -> a\nsum a a -> b\n", "paddle-inplace-pass",
                  "0 1280 of 2560");
  assert_offsets ("x[300] w[300]! b[300]\nrelu w -> b\n", "paddle-inplace-pass", "0 of 1280");
  assert_offsets ("x[8] a[8] b[8]\nop x -> a\nrelu a -> b\n", "paddle-inplace-pass",
                  "0 256 of 512");
  assert_offsets ("x[8] a[8] b[8]\nop x -> a\nrelu a -> b\n", "paddle-inplace-pass:version=1.6",
                  "0 0 of 256");
  assert_offsets ("x[300] a[300] b[300]\nop x -> a\nrelu a -> b pairs=9,9,0,7\n",
                  "paddle-inplace-pass", "0 1280 of 2560");
}

static guint64
reused (const char *text, const char *spec)
{
  g_autoptr (GememGraph) graph = test_paddle_program (text);
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) result = plan (graph, spec, &error);

  g_assert_no_error (error);
  return result->reused;
}

/* The manual's example: m takes x, which is fed.  Plan and log tell the same, though the arena has
 * no x to save. */
static void
test_fed (void)
{
  assert_offsets (
      "x[8] y[8] z[8] m[8]\nsum x y -> z\nmatmul y z -> m\n",
      "paddle-memory-optimize:rules=documented,print_log=yes",
      "0 256 of 512\n!!! 0,  m[8] => x[8], cache idx 0, pool size 1\n"
      "gemem: 'm' lies in 'x', which is fed: the arena holds what operators write, so it "
      "is no smaller; --rewrite and replay show what is saved");
  g_assert_cmpuint (reused ("x[8] y[8] z[8] m[8]\nsum x y -> z\nmatmul y z -> m\n",
                            "paddle-memory-optimize:rules=documented"),
                    ==, 1);
  g_assert_cmpuint (
      reused ("x[8] y[8] z[8] m[8]\nsum x y -> z\nmatmul y z -> m\n", "paddle-memory-optimize"), ==,
      0);
  g_assert_cmpuint (reused ("x[8] a[8] b[8] c[8]\nop x -> a\nop a -> b\nop b -> c\n",
                            "paddle-memory-optimize:rules=documented"),
                    ==, 2); /* b in x, c in a */
}

/* ---- 8.5 */

static void
test_buffer_shared (void)
{
  /* Newest first: d takes b (dead at op2), not x; element types do not count; the size does. */
  static const char program[] = "x[8] a[8] b[8] c[16] d[8]:int32 e[16]\n"
                                "op x -> a\nop a -> b\nop b -> c\nop c -> d\nop d -> e\n";
  /* Breadth first: op0, op2, op1, op3. c takes x; b does not take y, which is dead by then but
   * read after op1 runs; d takes b, which has no reader. */
  static const char branches[] =
      "x[8] y[8] a[8] b[8] c[8] d[8]\nop x -> a\nop a -> b\nop y -> c\nop c -> d\n";

  assert_offsets (program, "paddle-buffer-shared-pass", "0 256 512 256 512 of 768");
  assert_offsets (program, "paddle-buffer-shared-pass:memory_optimize=no",
                  "0 256 512 768 1024 of 1280");
  assert_offsets (branches, "paddle-buffer-shared-pass", "0 256 512 256 of 768");
}

/* ---- random programs against the pseudo-code */

static char *
ours (const PaddleProgram *program, TestPaddleKind kind, guint level, int place)
{
  const PaddleMemoryOptimize settings = { .level = level,
                                          .print_log = TRUE,
                                          .era = kind == TEST_PADDLE_1_2 ? PADDLE_ERA_1_2
                                                                         : PADDLE_ERA_1_3 };
  const PaddleMemoryOptimize quiet = { .level = level, .era = settings.era };
  const PaddleOptimizePass pass = { .place = place };
  g_autoptr (PaddleRewrite) rewrite = kind == TEST_PADDLE_PASS
                                          ? gemem_paddle_optimize_pass (program, &pass)
                                          : gemem_paddle_memory_optimize (program, &settings, NULL);
  g_autoptr (PaddleRewrite) again = kind == TEST_PADDLE_PASS
                                        ? NULL
                                        : gemem_paddle_memory_optimize (program, &quiet, NULL);

  if (again != NULL) /* without printing, entries are skipped */
    {
      g_assert_cmpuint (again->renames->len, ==, rewrite->renames->len);
      g_assert_cmpmem (again->renames->data, sizeof (PaddleRename) * again->renames->len,
                       rewrite->renames->data, sizeof (PaddleRename) * rewrite->renames->len);
    }
  return test_paddle_rewrite_text (program, rewrite);
}

static void
check_against_naive (const char *text, TestPaddleKind last)
{
  g_autoptr (GememGraph) graph = test_paddle_program (text);
  g_autoptr (PaddleProgram) program = gemem_paddle_program_new (graph);

  for (guint kind = TEST_PADDLE_1_3; kind <= (guint) last; kind++)
    for (guint level = 0; level <= 1; level++)
      {
        const guint least = level == 0 ? 256 : 4096; /* of the pass, which has no levels */
        g_autofree char *a = ours (program, (TestPaddleKind) kind, level,
                                   level == 0 ? PADDLE_PLACE_GPU : PADDLE_PLACE_CPU);
        g_autofree char *b = test_paddle_naive (graph, (TestPaddleKind) kind, level, least);

        if (strcmp (a, b) != 0)
          g_test_message ("kind %u level %u\n%s", kind, level, text);
        g_assert_cmpstr (a, ==, b);
      }
}

static guint
rounds (guint n)
{
  return g_getenv ("GEMEM_QUICK") != NULL ? n / 10 : n;
}

static void
test_naive (void)
{
  for (guint seed = 1; seed <= rounds (700); seed++)
    {
      g_autofree char *text = test_paddle_random (seed, 4 + seed % 40, 4 + seed % 50,
                                                  seed % 2 == 0);

      check_against_naive (text, seed % 2 == 0 ? TEST_PADDLE_1_2 : TEST_PADDLE_PASS);
    }
}

static const char *const specs[] = {
  "paddle-memory-optimize:level=0",
  "paddle-memory-optimize:level=1",
  "paddle-memory-optimize:level=1,era=1.2",
  "paddle-memory-optimize-pass",
  "paddle-memory-optimize-pass:place=cpu",
  "paddle-release-memory",
  "paddle-buffer-shared-pass",
  "paddle-inplace-pass:version=1.4",
  "paddle-inplace-pass:version=1.6",
};

/* Plans of programs with names are safe, also where the renames are not; and where no dead name
 * is written again, the plans equal the renames. */
static void
test_plans (void)
{
  for (guint seed = 1; seed <= rounds (700); seed++)
    {
      const gboolean again = seed % 2 == 0;
      g_autofree char *text = test_paddle_random (seed, 4 + seed % 40, 4 + seed % 50, again);
      g_autoptr (GememGraph) graph = test_paddle_program (text);

      for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (GememPlan) result = plan (graph, specs[i], &error);

          if (error != NULL)
            g_test_message ("%s\n%s", specs[i], text);
          g_assert_no_error (error);
          for (guint k = 0; k < result->log->len && !again; k++)
            g_assert_null (strstr (result->log->pdata[k], "gets memory of its own"));
        }
    }
}

/* Resolves names as the real system does. */
static void
test_meaning (void)
{
  for (guint seed = 1; seed <= rounds (700); seed++)
    {
      g_autofree char *text = test_paddle_random (seed, 4 + seed % 40, 4 + seed % 50, FALSE);
      g_autoptr (GememGraph) graph = test_paddle_program (text);
      g_autoptr (PaddleProgram) program = gemem_paddle_program_new (graph);
      const PaddleMemoryOptimize settings = { .level = seed % 3 % 2, .era = seed % 5 % 2 };
      const PaddleOptimizePass pass = { .place = PADDLE_PLACE_GPU };
      const PaddleBufferShared shared = { TRUE, TRUE, 1 };
      g_autoptr (PaddleRewrite) a = gemem_paddle_memory_optimize (program, &settings, NULL);
      g_autoptr (PaddleRewrite) b = gemem_paddle_optimize_pass (program, &pass);
      g_autoptr (PaddleRewrite) c = gemem_paddle_buffer_shared (program, &shared);

      g_assert_true (test_paddle_keeps_meaning (program, a)
                     && test_paddle_keeps_meaning (program, b)
                     && test_paddle_keeps_meaning (program, c));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle/memory-optimize/e18", test_e18);
  g_test_add_func ("/paddle/memory-optimize/e18-plan", test_e18_plan);
  g_test_add_func ("/paddle/memory-optimize/skip", test_skip);
  g_test_add_func ("/paddle/memory-optimize/skip-by-attribute", test_skip_by_attribute);
  g_test_add_func ("/paddle/memory-optimize/printed", test_printed);
  g_test_add_func ("/paddle/memory-optimize/batch-classes", test_batch_classes);
  g_test_add_func ("/paddle/memory-optimize/blocks", test_blocks);
  g_test_add_func ("/paddle/memory-optimize/moved", test_moved);
  g_test_add_func ("/paddle/memory-optimize/order-of-deaths", test_order_of_deaths);
  g_test_add_func ("/paddle/memory-optimize/untyped", test_untyped);
  g_test_add_func ("/paddle/memory-optimize/recurrent", test_recurrent);
  g_test_add_func ("/paddle/memory-optimize/order-of-pairs", test_order_of_pairs);
  g_test_add_func ("/paddle/memory-optimize/declaring-blocks", test_declaring_blocks);
  g_test_add_func ("/paddle/memory-optimize/blocks-of-gradients", test_blocks_of_gradients);
  g_test_add_func ("/paddle/memory-optimize/skip-grads", test_skip_grads);
  g_test_add_func ("/paddle/release-memory/line", test_release);
  g_test_add_func ("/paddle/release-memory/blocks", test_release_blocks);
  g_test_add_func ("/paddle/pass/sizes", test_pass_sizes);
  g_test_add_func ("/paddle/pass/order", test_pass_order);
  g_test_add_func ("/paddle/pass/skips", test_pass_skips);
  g_test_add_func ("/paddle/pass/node-size", test_node_size);
  g_test_add_func ("/paddle/inplace/versions", test_inplace_versions);
  g_test_add_func ("/paddle/inplace/conditions", test_inplace_conditions);
  g_test_add_func ("/paddle/fed", test_fed);
  g_test_add_func ("/paddle/buffer-shared", test_buffer_shared);
  g_test_add_func ("/paddle/random/naive", test_naive);
  g_test_add_func ("/paddle/random/plans", test_plans);
  g_test_add_func ("/paddle/random/meaning", test_meaning);
  return g_test_run ();
}
