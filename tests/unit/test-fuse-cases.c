/* test-fuse-cases.c - fused gradients of one program under each version's rules, computed by hand
 * (paddle.md 6): groups, order, offsets, and the resulting allocations of the lowering `paddle`.
 *
 * The program: six gradients in the order head.w, head.b, norm, conv.w, bias, head.c of 300, 10,
 * 65, 1000, 1 and 64 elements. Layers are
 *   1.4        {head.w head.b head.c} {norm bias} {conv.w}    of 1496, 264, 4000 bytes:
 *              names without a dot are one layer
 *   since 1.5  {head.w head.b head.c} {norm} {conv.w} {bias}  of 1496, 260, 4000, 4 bytes
 */
#include "config.h"

#include "tests/util/graphs.h"
#include "tests/util/lowered.h"
#include "workloads/fuse-gradients.h"

#define N 6

static const char *const names[N] = { "head.w", "head.b", "norm", "conv.w", "bias", "head.c" };
static const guint elements[N] = { 300, 10, 65, 1000, 1, 64 };

/* head.b and conv.w have type @dtype, and so have their gradients. */
static char *
program (const char *dtype)
{
  GString *json = g_string_new ("{\"name\":\"g\",\"variables\":[");

  for (guint i = 0; i < N; i++)
    {
      const char *own = i == 1 || i == 3 ? dtype : "float32";

      g_string_append_printf (json,
                              "%s{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":[%u]},{\"name\":\"%s@"
                              "GRAD\",\"dtype\":\"%s\",\"shape\":[%u]}",
                              i > 0 ? "," : "", names[i], own, elements[i], names[i], own,
                              elements[i]);
    }
  g_string_append (json, "],\"nodes\":[");
  for (guint i = 0; i < N; i++)
    g_string_append_printf (json,
                            "%s{\"name\":\"n%u\",\"type\":\"x\",\"role\":1,\"attributes\":{\"op_"
                            "role_var\":[\"%s\",\"%s@GRAD\"]},"
                            "\"outputs\":[{\"size\":%u,\"variable\":\"%s@GRAD\"}]}",
                            i > 0 ? "," : "", i, names[i], names[i], elements[i] * 2, names[i]);
  g_string_append (json, "]}");
  return g_string_free (json, FALSE);
}

/* "GRADIENT@OFFSET ...", "|" between groups, "||" between buffers. */
static char *
layout (GememGraph *graph, const GememFuseOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) gradients = gemem_fuse_collect (graph, &error);
  g_autoptr (GememFusion) fusion = NULL;
  GString *text = g_string_new (NULL);

  g_assert_no_error (error);
  fusion = gemem_fuse_gradients ((const GememGradient *) (gpointer) gradients->data, gradients->len,
                                 options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < fusion->members->len; i++)
    {
      const GememFuseMember *member = &g_array_index (fusion->members, GememFuseMember, i);

      if (i > 0)
        g_string_append (text, member->buffer != member[-1].buffer ? " || "
                               : member->group != member[-1].group ? " | "
                                                                   : " ");
      g_string_append_printf (text, "%u@%" G_GUINT64_FORMAT, member->gradient, member->offset);
    }
  return g_string_free (text, FALSE);
}

typedef struct
{
  const char *name;
  GememFuseVersion version;
  double memory_size;
  gint64 groups_size;
  gboolean cpu;
  const char *dtype; /* of two of the gradients */
  const char *layout;
  const char *lowering, *trace;
} Case;

#define PARALLEL "executor=parallel,fuse_all_reduce_ops=yes,fuse_parameter_memory_size="

static const Case cases[] = {
  /* 1496 + 264 >= 1600 closes the first group; in reverse; 1024 512 256 256 256 256 elements */
  { "1.4/size", GEMEM_FUSE_1_4, 1600, 1, FALSE, "float32",
    "3@0 | 0@1024 1@1536 5@1792 2@2048 4@2304",
    "paddle:preset=P14," PARALLEL "1600,fuse_parameter_groups_size=1", "a19:10240 S1 f19" },
  /* 1496 is reached, each layer is a group; two become one: {head, norm bias} {conv} */
  { "1.4/count", GEMEM_FUSE_1_4, 4, 2, FALSE, "float32", "3@0 | 0@1024 1@1536 5@1792 2@2048 4@2304",
    "paddle:preset=P14," PARALLEL "4,fuse_parameter_groups_size=2", "a19:10240 S1 f19" },
  { "1.4/cpu", GEMEM_FUSE_1_4, 1600, -1, TRUE, "float32",
    "0@0 1@16384 5@32768 2@49152 4@65536 3@81920",
    "paddle:place=cpu,preset=P14," PARALLEL "1600,fuse_parameter_groups_size=-1",
    "a19:393216 S1 f19" },
  /* 0.0015 MiB are 1572.9 bytes: head and norm, conv, bias; in bytes 256 | 4096 | 1280 256 256
   * 512 */
  { "1.5/size", GEMEM_FUSE_1_5, 0.0015, 1, FALSE, "float32",
    "4@0 | 3@64 | 0@1088 1@1408 5@1472 2@1536",
    "paddle:preset=P14,fuse_version=1.5," PARALLEL "0.0015", "a19:6656 S1 f19" },
  /* three parameters do not exceed three, four do */
  { "1.5/count", GEMEM_FUSE_1_5, 1, 3, FALSE, "float32", "3@0 4@1024 | 0@1088 1@1408 5@1472 2@1536",
    "paddle:preset=P14,fuse_version=1.5," PARALLEL "1,fuse_parameter_groups_size=3",
    "a19:6656 S1 f19" },
  /* 4096 bytes each */
  { "1.5/cpu", GEMEM_FUSE_1_5, -1, 1, TRUE, "float32",
    "4@0 | 3@1024 | 2@2048 | 0@3072 1@4096 5@5120",
    "paddle:place=cpu,preset=P14,fuse_version=1.5," PARALLEL "-1", "a19:24576 S1 f19" },
  /* all by name: bias conv.w head.b head.c head.w norm */
  { "1.6/names", GEMEM_FUSE_1_6, 0, 1, FALSE, "float32", "4@0 3@64 1@1088 5@1152 0@1216 2@1536",
    "paddle:" PARALLEL "0", "a19:6656 S1 f19" },
  /* gradients of 1200 + 20 + 256, 260 and 2000 bytes: 0.002 MiB are 2097.2 bytes, reached by the
   * third layer; 20 -> 256, 2000 -> 2048 bytes */
  { "1.6/dtypes", GEMEM_FUSE_1_6, 0.002, 1, FALSE, "float16", "0@0 5@320 2@384 || 1@0 3@128 || 4@0",
    "paddle:" PARALLEL "0.002", "a19:2048 a20:2304 a21:256 S1 f19 f20 f21" },
  { "1.6/cpu", GEMEM_FUSE_1_6, 0.002, 1, TRUE, "float16", "0@0 5@1024 2@2048 || 1@0 3@2048 || 4@0",
    "paddle:place=cpu," PARALLEL "0.002", "a19:12288 a20:8192 a21:4096 S1 f19 f20 f21" },
  { "1.6/count", GEMEM_FUSE_1_6, 1, 4, FALSE, "float32", "0@0 1@320 5@384 2@448 3@576 | 4@1600",
    "paddle:" PARALLEL "1,fuse_parameter_groups_size=4", "a19:6656 S1 f19" },
};

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autofree char *json = program (c->dtype), *got = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = test_graph_from_text (json, NULL, &error);
  GememFuseOptions options = gemem_fuse_options_default (c->version);

  g_assert_no_error (error);
  options.memory_size = c->memory_size;
  options.groups_size = c->groups_size;
  options.gpu = !c->cpu;
  got = layout (graph, &options);
  g_assert_cmpstr (got, ==, c->layout);
  test_lowered_check (json, c->lowering, c->trace);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/fuse-cases/", cases[i].name, NULL);
      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
