/* test-fuse-gradients.c - workloads/fuse-gradients.h: groups and layout of fused gradients
 * (paddle.md 6), the figures of example E20 first. */
#include "config.h"

#include <math.h>

#include "workloads/fuse-gradients.h"

static GememDtype
f32 (void)
{
  return gemem_dtype_find ("float32");
}

static GememGradient
gradient (const char *param, const char *grad, guint64 elements, const char *dtype)
{
  return (GememGradient){
    .param = param, .grad = grad, .elements = elements, .dtype = gemem_dtype_find (dtype)
  };
}

#define N_E20 6
static void
fill_e20 (GememGradient *list)
{
  static const char *const names[N_E20][2] = {
    { "fc_0.w", "fc_0.w@GRAD" }, { "fc_0.b", "fc_0.b@GRAD" }, { "fc_1.w", "fc_1.w@GRAD" },
    { "fc_1.b", "fc_1.b@GRAD" }, { "fc_2.w", "fc_2.w@GRAD" }, { "fc_2.b", "fc_2.b@GRAD" }
  };

  for (guint i = 0; i < N_E20; i++)
    list[i] = gradient (names[i][0], names[i][1], i % 2 == 0 ? 1000000 : 1000, "float32");
}

/* "0 1|2": gradients in memory order, "|" between groups. */
static char *
order (const GememFusion *fusion)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < fusion->members->len; i++)
    {
      const GememFuseMember *member = &g_array_index (fusion->members, GememFuseMember, i);
      const gboolean same = i > 0 && member[-1].group == member->group;

      g_string_append_printf (text, "%s%u", i == 0 ? "" : same ? " " : "|", member->gradient);
    }
  return g_string_free (text, FALSE);
}

static GememFuseOptions
options_of (GememFuseVersion version, double memory_size, gint64 groups_size)
{
  GememFuseOptions options = gemem_fuse_options_default (version);

  options.memory_size = memory_size;
  options.groups_size = groups_size;
  return options;
}

static GememFusion *
fuse (const GememGradient *list, guint n, GememFuseOptions options)
{
  GError *error = NULL;
  GememFusion *fusion = gemem_fuse_gradients (list, n, &options, &error);

  g_assert_no_error (error);
  return fusion;
}

static void
expect_order (const GememGradient *list, guint n, GememFuseOptions options, const char *expected)
{
  g_autoptr (GememFusion) fusion = fuse (list, n, options);
  g_autofree char *text = order (fusion);

  g_assert_cmpstr (text, ==, expected);
}

static void
expect_offsets (GememFuseOptions options, const guint64 *offsets, guint64 elements)
{
  GememGradient list[N_E20];

  fill_e20 (list);
  g_autoptr (GememFusion) fusion = fuse (list, N_E20, options);
  const GememFuseBuffer *buffer = &g_array_index (fusion->buffers, GememFuseBuffer, 0);

  g_assert_cmpuint (fusion->buffers->len, ==, 1);
  g_assert_cmpuint (fusion->members->len, ==, N_E20);
  for (guint i = 0; i < N_E20; i++)
    g_assert_cmpuint (g_array_index (fusion->members, GememFuseMember, i).offset, ==, offsets[i]);
  g_assert_cmpuint (buffer->elements, ==, elements);
  g_assert_cmpuint (buffer->bytes, ==, elements * 4);
  g_assert_cmpuint (buffer->dtype, ==, f32 ());
}

static void
test_e20_groups (void)
{
  GememGradient list[N_E20];

  fill_e20 (list);
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_6, 4, 1), "0 1 2 3|4 5");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_6, 4, 3), "0 1 2 3|4 5");
  /* closed by the 4 parameters alone */
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_6, 1000, 3), "0 1 2 3|4 5");
  expect_order (list, N_E20, gemem_fuse_options_default (GEMEM_FUSE_1_4), "0 1 2 3 4 5");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 0, 2), "4 5|0 1 2 3");
}

static void
test_e20_layout (void)
{
  /* b is padded from 4000 to 4096 bytes: 1024 elements; a layer takes 4004096 bytes */
  static const guint64 bytes_gpu[] = { 0, 1000000, 1001024, 2001024, 2002048, 3002048 };
  static const guint64 elements_gpu[] = { 0, 1000192, 1001216, 2001408, 2002432, 3002624 };
  /* CPU: 4000000 -> 4001792 bytes (977 * 4096), 4000 -> 4096; in 1.4 1000000 -> 1015808 elements
   * (62 * 16384), 1000 -> 16384 */
  static const guint64 bytes_cpu[] = { 0, 1000448, 1001472, 2001920, 2002944, 3003392 };
  static const guint64 elements_cpu[] = { 0, 1015808, 1032192, 2048000, 2064384, 3080192 };
  GememFuseOptions old = options_of (GEMEM_FUSE_1_4, 0, 3), new = options_of (GEMEM_FUSE_1_6, 4, 1);

  g_assert_cmpuint (bytes_gpu[2] * 4, ==, 4004096);
  expect_offsets (new, bytes_gpu, 3003072);
  expect_offsets (options_of (GEMEM_FUSE_1_5, 4, 1), bytes_gpu, 3003072);
  expect_offsets (old, elements_gpu, 3003648);
  expect_offsets (options_of (GEMEM_FUSE_1_4, 0, 2), elements_gpu, 3003648);
  old.gpu = new.gpu = FALSE;
  expect_offsets (new, bytes_cpu, 3004416);
  expect_offsets (old, elements_cpu, 3096576);
}

/* The manual's groups: so many gradients, so many MiB, whatever the layers; in list order. */
static void
test_documented (void)
{
  static const struct
  {
    gint64 groups_size;
    double memory_size;
    const char *order;
  } cases[] = {
    { 3, -1, "0 1 2|3 4 5" },  /* the default */
    { 1, -1, "0|1|2|3|4|5" },  /* as many groups as gradients */
    { -1, -1, "0 1 2 3 4 5" }, /* one group */
    { 4, -1, "0 1 2 3|4 5" },
    { 100, -1, "0 1 2 3 4 5" },
    { -1, 4, "0 1|2 3|4 5" },   /* 4004000 bytes; another 4000000 would be over 4194304 */
    { -1, 8, "0 1 2 3|4 5" },   /* 8008000 of 8388608 */
    { -1, 7.6, "0 1|2 3|4 5" }, /* 8004000 are more than 7969177 */
    { 3, 4, "0 1|2 3|4 5" },
    { -1, 1, "0|1|2|3|4|5" }, /* one gradient is over the limit by itself */
    { -1, 0, "0|1|2|3|4|5" },
  };
  static const guint64 sums[] = { 8004000, 4008000 };
  static const guint64 padded[] = { 4000000 + 4096 + 4000000, 4096 + 4000000 + 4096 };

  for (guint version = GEMEM_FUSE_1_4; version <= GEMEM_FUSE_1_6; version++)
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
      {
        GememGradient list[N_E20];
        GememFuseOptions options = gemem_fuse_options_default ((GememFuseVersion) version);

        fill_e20 (list);
        gemem_fuse_options_document (&options);
        g_assert_cmpint (options.groups_size, ==, 3);
        g_assert_true (options.memory_size == -1);
        options.groups_size = cases[i].groups_size;
        options.memory_size = cases[i].memory_size;
        expect_order (list, N_E20, options, cases[i].order);
      }

  GememGradient list[N_E20];
  GememFuseOptions options = gemem_fuse_options_default (GEMEM_FUSE_1_6);
  g_autoptr (GPtrArray) report = g_ptr_array_new_with_free_func (g_free);

  fill_e20 (list);
  gemem_fuse_options_document (&options);
  g_autoptr (GememFusion) fusion = fuse (list, N_E20, options);
  g_assert_cmpuint (fusion->groups->len, ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      const GememFuseGroup *group = &g_array_index (fusion->groups, GememFuseGroup, i);

      g_assert_cmpuint (group->n, ==, 3);
      g_assert_cmpuint (group->bytes, ==, sums[i]);
      g_assert_cmpuint (group->padded, ==, padded[i]);
    }
  gemem_fusion_report (fusion, list, report);
  g_assert_cmpuint (report->len, ==, 3);
  g_assert_cmpstr (report->pdata[0], ==,
                   "fused gradients: 6 of 6 in 2 groups, in 1 buffer of 12012288 bytes");
  g_assert_cmpstr (report->pdata[2], ==,
                   "fused group 2: 3 parameters, 4008000 bytes, 4008192 with padding: fc_1.b ... "
                   "fc_2.b");
}

/* The same list under the three versions: forward in 1.6, reverse before, names sorted for
 * memory_size 0 of 1.6. */
static void
test_orders (void)
{
  GememGradient list[] = {
    gradient ("c.w", "g0", 10, "float32"),   gradient ("plain", "g1", 10, "float32"),
    gradient ("a.w", "g2", 10, "float32"),   gradient ("c.b", "g3", 10, "float32"),
    gradient ("other", "g4", 10, "float32"), gradient ("a.w", "a0", 10, "float32")
  };
  const guint n = G_N_ELEMENTS (list);

  /* names without a dot are one layer */
  expect_order (list, n, options_of (GEMEM_FUSE_1_4, 0, 1), "2 5|1 4|0 3");
  expect_order (list, n, options_of (GEMEM_FUSE_1_5, -1, 1), "4|2 5|1|0 3");
  expect_order (list, n, options_of (GEMEM_FUSE_1_5, 0, 1), "4|2 5|1|0 3");
  expect_order (list, n, options_of (GEMEM_FUSE_1_6, -1, 1), "0 3|1|2 5|4");
  expect_order (list, n, options_of (GEMEM_FUSE_1_6, 0, 1), "5 2 3 0 4 1");
  expect_order (list, 0, options_of (GEMEM_FUSE_1_6, 0, 1), "");
  expect_order (list, 0, options_of (GEMEM_FUSE_1_4, 0, -1), "");
}

static void
test_limits (void)
{
  GememGradient list[N_E20];

  fill_e20 (list);
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 0, 1), "4 5|2 3|0 1");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 0, -1), "0 1 2 3 4 5");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 0, G_MAXINT64), "0 1 2 3 4 5");
  /* memory_size in bytes: reached exactly, missed by one, exceeded; a group has one layer at
   * least */
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 4004000, 1), "4 5|2 3|0 1");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 4004001, 1), "4 5|0 1 2 3");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 1, 1), "4 5|2 3|0 1");
  /* then two groups become one */
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_4, 4004001, 2), "0 1 2 3 4 5");
  /* in MiB, with fractions; the count of parameters is strict, and 1 is no limit */
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_5, 3.8, 1), "4 5|2 3|0 1");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_5, 3.82, 1), "4 5|0 1 2 3");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_5, 1000, 2), "4 5|0 1 2 3");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_5, 1000, 4), "0 1 2 3 4 5");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_5, 1000, 1), "0 1 2 3 4 5");
}

/* 1.5 measures parameters, 1.6 gradients. */
static void
test_what_is_measured (void)
{
  GememGradient list[N_E20];

  fill_e20 (list);
  for (guint i = 0; i < N_E20; i++)
    list[i].param_bytes = 16 << 20;
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_5, 4, 1), "4 5|2 3|0 1");
  expect_order (list, N_E20, options_of (GEMEM_FUSE_1_6, 4, 1), "0 1 2 3|4 5");
}

static void
test_dtypes (void)
{
  GememGradient list[] = { gradient ("a.w", "g0", 100, "float16"),
                           gradient ("a.b", "g1", 100, "float32"),
                           gradient ("a.c", "g2", 100, "float16"),
                           gradient ("b.w", "g3", 100, "float32"),
                           gradient ("b.b", "g4", 100, "float32") };
  const guint n = G_N_ELEMENTS (list);
  g_autoptr (GememFusion) fusion = fuse (list, n, options_of (GEMEM_FUSE_1_6, -1, 1));
  g_autofree char *text = order (fusion);
  const GememFuseBuffer *buffers = (const GememFuseBuffer *) (gpointer) fusion->buffers->data;
  const GememFuseMember *members = (const GememFuseMember *) (gpointer) fusion->members->data;
  g_autoptr (GError) error = NULL;
  const GememFuseOptions older = gemem_fuse_options_default (GEMEM_FUSE_1_5);

  g_assert_cmpstr (text, ==, "0 2|1|3 4");
  g_assert_cmpuint (fusion->groups->len, ==, 3);
  g_assert_cmpuint (fusion->buffers->len, ==, 3);
  g_assert_cmpuint (buffers[0].dtype, ==, gemem_dtype_find ("float16"));
  g_assert_cmpuint (buffers[0].elements, ==, 256); /* 200 bytes -> 256 -> 128 elements, twice */
  g_assert_cmpuint (buffers[0].bytes, ==, 512);
  g_assert_cmpuint (buffers[2].bytes, ==, 1024);
  g_assert_cmpuint (members[1].offset, ==, 128);
  g_assert_cmpuint (members[2].offset, ==, 0);
  g_assert_cmpuint (members[4].buffer, ==, 2);
  g_assert_cmpuint (members[4].offset, ==, 128);
  g_assert_null (gemem_fuse_gradients (list, n, &older, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
}

static void
test_left_out (void)
{
  GememGradient list[N_E20];
  GememFuseOptions options = options_of (GEMEM_FUSE_1_6, -1, 1);

  fill_e20 (list);
  list[2].sparse = TRUE;
  /* its size is not needed, and it does not split the others */
  list[2].dtype = gemem_dtype_find ("string");
  g_autoptr (GememFusion) fusion = fuse (list, N_E20, options);
  g_autofree char *text = order (fusion);
  g_assert_cmpstr (text, ==, "0 1|3|4 5");
  g_assert_cmpuint (fusion->buffers->len, ==, 1);
  g_assert_cmpuint (fusion->left_out->len, ==, 1);
  g_assert_cmpuint (g_array_index (fusion->left_out, guint, 0), ==, 2);

  options.n_places = 1;
  g_autoptr (GememFusion) alone = fuse (list, N_E20, options);
  g_assert_cmpuint (alone->members->len, ==, 0);
  g_assert_cmpuint (alone->buffers->len, ==, 0);
  g_assert_cmpuint (alone->left_out->len, ==, N_E20);
}

static void
refuse (GememGradient one, GememFuseOptions options, GememError code, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gemem_fuse_gradients (&one, 1, &options, &error));
  g_assert_error (error, GEMEM_ERROR, (gint) code);
  g_assert_true (g_pattern_match_simple (pattern, error->message));
}

static void
test_refused (void)
{
  GememGradient good = gradient ("a.w", "g", 8, "float32"), sparse = good;

  sparse.sparse = TRUE;
  refuse (good, options_of (GEMEM_FUSE_1_4, 0, 0), GEMEM_ERROR_USAGE,
          "fuse_parameter_groups_size: 0 *; *");
  refuse (good, options_of (GEMEM_FUSE_1_4, 0, -2), GEMEM_ERROR_USAGE,
          "fuse_parameter_groups_size: -2 *; *");
  refuse (good, options_of (GEMEM_FUSE_1_4, -1, 3), GEMEM_ERROR_USAGE,
          "fuse_parameter_memory_size: *; *");
  refuse (good, options_of (GEMEM_FUSE_1_4, 0.5, 3), GEMEM_ERROR_USAGE,
          "fuse_parameter_memory_size: *; *");
  refuse (good, options_of (GEMEM_FUSE_1_6, (double) NAN, 3), GEMEM_ERROR_USAGE,
          "fuse_parameter_memory_size: *; *");
  refuse (sparse, options_of (GEMEM_FUSE_1_5, -1, 1), GEMEM_ERROR_INPUT,
          "gradient 'g': *dense*; *");
  refuse (gradient ("a", "g", 8, "string"), options_of (GEMEM_FUSE_1_6, -1, 1), GEMEM_ERROR_INPUT,
          "gradient 'g': *dtype*");
  refuse (gradient ("a", "g", 8, "int4"), options_of (GEMEM_FUSE_1_6, -1, 1), GEMEM_ERROR_INPUT,
          "gradient 'g': *dtype*");
  refuse (gradient ("a", "g", G_MAXUINT64 / 2, "float32"), options_of (GEMEM_FUSE_1_6, -1, 1),
          GEMEM_ERROR_INPUT, "gradient 'g': *62 bits*");
}

/* ---- from a graph */

/* A program of three nodes: only the backward ones' pairs count, each gradient once. */
static GememGraph *
program (const char *const *names, guint n_names, gboolean shape, GError **error)
{
  static const gint64 dims[] = { 1000, 1000 }, bias[] = { 1000 };
  static const char *const forward[] = { "w", "not.there" };
  static const char *const again[] = { "fc.w", "fc.w@GRAD", "fc.b", "fc.b@GRAD" };
  g_autoptr (GememGraph) graph = gemem_graph_new ("program");
  guint32 w, b, grad;

  w = gemem_graph_add_variable (graph, "fc.w", f32 (), dims, 2, TRUE);
  b = gemem_graph_add_variable (graph, "fc.b", f32 (), bias, 1, TRUE);
  grad = gemem_graph_add_variable (graph, "fc.w@GRAD", gemem_dtype_find ("float16"),
                                   shape ? dims : NULL, shape ? 2 : 0, FALSE);
  gemem_graph_edit_variable (graph, grad)->parameter = w;
  /* SelectedRows: the number of rows is unknown */
  grad = gemem_graph_add_variable (graph, "fc.b@GRAD", f32 (), NULL, 0, FALSE);
  gemem_graph_edit_variable (graph, grad)->parameter = b;
  gemem_graph_edit_variable (graph, grad)->is_tensor = FALSE;
  gemem_graph_add_node (graph, "forward", "mul");
  gemem_graph_add_attribute_texts (graph, GEMEM_ATTRIBUTE_OP_ROLE_VARS, forward, 2);
  gemem_graph_add_node (graph, "loss", "mean_grad");
  gemem_graph_edit_node (graph)->role = GEMEM_ROLE_BACKWARD | GEMEM_ROLE_LOSS;
  gemem_graph_add_attribute_texts (graph, GEMEM_ATTRIBUTE_OP_ROLE_VARS, names, n_names);
  gemem_graph_add_node (graph, "backward", "mul_grad");
  gemem_graph_edit_node (graph)->role = GEMEM_ROLE_BACKWARD;
  gemem_graph_add_attribute_texts (graph, GEMEM_ATTRIBUTE_OP_ROLE_VARS, again, 4);
  return gemem_graph_seal (graph, "test", error) ? g_steal_pointer (&graph) : NULL;
}

static void
test_graph (void)
{
  static const char *const pairs[] = { "fc.b", "fc.b@GRAD" };
  GError *error = NULL;
  g_autoptr (GememGraph) graph = program (pairs, 2, TRUE, &error);
  g_autoptr (GArray) list = NULL;

  g_assert_no_error (error);
  list = gemem_fuse_collect (graph, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 2);
  const GememGradient *bias = &g_array_index (list, GememGradient, 0), *weight = bias + 1;
  g_assert_cmpstr (bias->grad, ==, "fc.b@GRAD");
  g_assert_true (bias->sparse);
  g_assert_cmpstr (weight->param, ==, "fc.w");
  g_assert_cmpuint (weight->elements, ==, 1000000);
  g_assert_cmpuint (weight->param_bytes, ==, 4000000);
  g_assert_cmpuint (weight->dtype, ==, gemem_dtype_find ("float16"));
  g_assert_false (weight->sparse);
}

static void
refuse_graph (const char *const *names, guint n, gboolean shape, const char *pattern)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = program (names, n, shape, &error);

  g_assert_no_error (error);
  g_assert_null (gemem_fuse_collect (graph, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_true (g_pattern_match_simple (pattern, error->message));
}

static void
test_graph_refused (void)
{
  static const char *const odd[] = { "fc.w", "fc.w@GRAD", "fc.b" }, *const unknown[] = {
    "fc.w", "lost@GRAD"
  };
  static const char *const crossed[] = { "fc.b", "fc.w@GRAD" }, *const good[] = { "fc.w",
                                                                                  "fc.w@GRAD" };

  refuse_graph (odd, 3, TRUE, "program: node 'loss': op_role_var: 3 names *; *");
  refuse_graph (unknown, 2, TRUE, "program: node 'loss': op_role_var: no variable 'lost@GRAD'; *");
  refuse_graph (crossed, 2, TRUE,
                "program: node 'loss': op_role_var: 'fc.w@GRAD' is not the gradient of 'fc.b' but "
                "of 'fc.w'; *");
  refuse_graph (good, 2, FALSE, "program: variable 'fc.w@GRAD': *; give shape and dtype");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fuse-gradients/e20/groups", test_e20_groups);
  g_test_add_func ("/fuse-gradients/e20/layout", test_e20_layout);
  g_test_add_func ("/fuse-gradients/documented", test_documented);
  g_test_add_func ("/fuse-gradients/orders", test_orders);
  g_test_add_func ("/fuse-gradients/limits", test_limits);
  g_test_add_func ("/fuse-gradients/measured", test_what_is_measured);
  g_test_add_func ("/fuse-gradients/dtypes", test_dtypes);
  g_test_add_func ("/fuse-gradients/left-out", test_left_out);
  g_test_add_func ("/fuse-gradients/refused", test_refused);
  g_test_add_func ("/fuse-gradients/graph", test_graph);
  g_test_add_func ("/fuse-gradients/graph-refused", test_graph_refused);
  return g_test_run ();
}
