/* test-fuse-random.c - fused gradients of random lists, against the steps of paddle.md 6 written
 * a second time, over small arrays and without the data structures of
 * workloads/fuse-gradients.c. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "workloads/fuse-gradients.h"

#define MOST 14

typedef struct
{
  guint item[MOST], n;
} Group;

typedef struct
{
  const GememGradient *list;
  const GememFuseOptions *options;
  Group groups[MOST];
  guint n;
} Naive;

static guint
bytes_of (GememDtype dtype)
{
  return gemem_dtype_bits (dtype) / 8;
}

/* ---- 6.1 */

static char *
key (const Naive *naive, guint i)
{
  const char *name = naive->list[i].param;

  if (strchr (name, '.') != NULL)
    return g_strndup (name, strcspn (name, "."));
  /* "a" and "a.w" are of one layer since 1.5 */
  return g_strdup (naive->options->version == GEMEM_FUSE_1_4 ? "without a dot" : name);
}

static void
layers (Naive *naive, const Group *dense)
{
  for (guint i = 0; i < dense->n; i++)
    {
      g_autofree char *mine = key (naive, dense->item[i]);
      guint g = 0;

      for (; g < naive->n; g++)
        {
          g_autofree char *its = key (naive, naive->groups[g].item[0]);
          if (strcmp (its, mine) == 0)
            break;
        }
      if (g == naive->n)
        naive->groups[naive->n++].n = 0;
      naive->groups[g].item[naive->groups[g].n++] = dense->item[i];
    }
}

static void
append (Group *to, const Group *from)
{
  memcpy (&to->item[to->n], from->item, from->n * sizeof (guint));
  to->n += from->n;
}

static guint64
size_of (const Naive *naive, guint i)
{
  const GememGradient *gradient = &naive->list[i];

  return naive->options->version == GEMEM_FUSE_1_6 ? gradient->elements * bytes_of (gradient->dtype)
                                                   : gradient->param_bytes;
}

static void
by_size (Naive *naive)
{
  const GememFuseOptions *options = naive->options;
  Group merged[MOST];
  guint n = 0, j = 0;

  while (j < naive->n)
    {
      guint64 sum = 0;

      merged[n].n = 0;
      while (j < naive->n)
        {
          const Group *layer = &naive->groups[j++];

          append (&merged[n], layer);
          for (guint i = 0; i < layer->n; i++)
            sum += size_of (naive, layer->item[i]);
          if (options->version != GEMEM_FUSE_1_4 && options->groups_size > 1
              && merged[n].n > options->groups_size)
            break;
          if (options->version == GEMEM_FUSE_1_4 ? sum >= (guint64) options->memory_size
                                                 : (double) sum / 1048576.0 >= options->memory_size)
            break;
        }
      n++;
    }
  memcpy (naive->groups, merged, sizeof merged);
  naive->n = n;
}

static void
by_count (Naive *naive)
{
  const guint each = naive->options->groups_size < 0 ? MOST : (guint) naive->options->groups_size;
  guint n = 0;

  for (guint g = 0; g < naive->n; g++)
    if (g % each == 0)
      naive->groups[n++] = naive->groups[g];
    else
      append (&naive->groups[n - 1], &naive->groups[g]);
  naive->n = n;
}

/* The manual's groups: from each beginning the longest run that is allowed. */
static void
as_documented (Naive *naive, const Group *dense)
{
  const GememFuseOptions *options = naive->options;

  for (guint begin = 0, length; begin < dense->n; begin += length)
    {
      for (length = dense->n - begin; length > 1; length--)
        {
          guint64 sum = 0;

          for (guint i = begin; i < begin + length; i++)
            sum += naive->list[dense->item[i]].elements
                   * bytes_of (naive->list[dense->item[i]].dtype);
          if ((options->groups_size == -1 || length <= options->groups_size)
              && (options->memory_size < 0 || (double) sum / 1048576.0 <= options->memory_size))
            break;
        }
      naive->groups[naive->n].n = length;
      memcpy (naive->groups[naive->n++].item, &dense->item[begin], length * sizeof (guint));
    }
}

/* One group, sorted by exchanging neighbours. */
static void
by_name (Naive *naive, const Group *dense)
{
  Group *all = &naive->groups[0];

  *all = *dense;
  naive->n = dense->n > 0;
  for (guint round = 0; round < all->n; round++)
    for (guint i = 1; i < all->n; i++)
      {
        const GememGradient *a = &naive->list[all->item[i - 1]], *b = &naive->list[all->item[i]];
        const guint second = all->item[i];

        if (strcmp (a->param, b->param) < 0
            || (strcmp (a->param, b->param) == 0 && strcmp (a->grad, b->grad) <= 0))
          continue;
        all->item[i] = all->item[i - 1];
        all->item[i - 1] = second;
      }
}

/* Regroups every group by type: repeatedly takes out all members of the first remaining one's
 * type. */
static void
by_dtype (Naive *naive)
{
  Group split[MOST];
  guint n = 0;

  for (guint g = 0; g < naive->n; g++)
    for (guint first = 0; first < naive->groups[g].n; first++)
      {
        const Group *group = &naive->groups[g];
        gboolean seen = FALSE;

        for (guint i = 0; i < first; i++)
          seen |= naive->list[group->item[i]].dtype == naive->list[group->item[first]].dtype;
        if (seen)
          continue;
        split[n].n = 0;
        for (guint i = first; i < group->n; i++)
          if (naive->list[group->item[i]].dtype == naive->list[group->item[first]].dtype)
            split[n].item[split[n].n++] = group->item[i];
        n++;
      }
  memcpy (naive->groups, split, sizeof split);
  naive->n = n;
}

/* ---- 6.2 */

static guint64
padded (const Naive *naive, guint i)
{
  const gboolean gpu = naive->options->gpu;
  const guint64 size = bytes_of (naive->list[i].dtype);
  guint64 count = naive->list[i].elements;

  if (naive->options->version == GEMEM_FUSE_1_4)
    while (count % (gpu ? 256 : 16384) != 0)
      count++;
  else
    while (count * size % (gpu ? 256 : 4096) != 0)
      count++;
  return count;
}

/* "GRADIENT@OFFSET ", "|" after a group, "= BYTES\n" after a buffer. */
static char *
naive_layout (Naive *naive, guint n)
{
  const gboolean new = naive->options->version == GEMEM_FUSE_1_6,
                 documented = naive->options->documented, forward = new || documented;
  GString *text = g_string_new (NULL);
  Group dense = { .n = 0 };
  gboolean mixed = FALSE;
  guint64 offset = 0;

  for (guint i = 0; i < n; i++)
    if (!new || (naive->options->n_places > 1 && !naive->list[i].sparse))
      {
        dense.item[dense.n++] = i;
        mixed |= naive->list[i].dtype != naive->list[dense.item[0]].dtype;
      }
  if (documented)
    as_documented (naive, &dense);
  else if (new && naive->options->memory_size == 0)
    by_name (naive, &dense);
  else
    layers (naive, &dense);
  if (!documented && naive->options->memory_size > 0)
    by_size (naive);
  if (!documented && naive->options->version == GEMEM_FUSE_1_4 && naive->options->groups_size != 1)
    by_count (naive);
  if (mixed)
    by_dtype (naive);
  for (guint k = 0; k < naive->n; k++)
    {
      const Group *group = &naive->groups[forward ? k : naive->n - 1 - k];

      for (guint i = 0; i < group->n; offset += padded (naive, group->item[i++]))
        g_string_append_printf (text, "%u@%" G_GUINT64_FORMAT " ", group->item[i], offset);
      g_string_append_c (text, '|');
      if (!mixed && k + 1 < naive->n)
        continue;
      g_string_append_printf (text, "= %" G_GUINT64_FORMAT "\n",
                              offset * bytes_of (naive->list[group->item[0]].dtype));
      offset = 0;
    }
  return g_string_free (text, FALSE);
}

/* ---- the implementation's result */

static char *
layout (const GememFusion *fusion)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < fusion->members->len; i++)
    {
      const GememFuseMember *member = &g_array_index (fusion->members, GememFuseMember, i);
      const gboolean last = i + 1 == fusion->members->len;

      g_string_append_printf (text, "%u@%" G_GUINT64_FORMAT " ", member->gradient, member->offset);
      if (last || member[1].group != member->group)
        g_string_append_c (text, '|');
      if (last || member[1].buffer != member->buffer)
        g_string_append_printf (
            text, "= %" G_GUINT64_FORMAT "\n",
            g_array_index (fusion->buffers, GememFuseBuffer, member->buffer).bytes);
    }
  return g_string_free (text, FALSE);
}

static void
trial (guint64 seed)
{
  static const char *const params[] = { "a.w", "a.b", "b.w",  "b.x.y", "c",
                                        "d",   ".e",  "aa.w", "a",     "" };
  static const char *const types[] = { "float32", "float16", "float64" };
  static const double sizes_old[] = { 0, 1, 4000, 4001, 20000, 1e6 },
                      sizes_new[] = { -1, -0.5, 0, 1e-9, 0.003814697265625, 0.01, 0.2, 9 };
  static const gint64 counts_old[] = { -1, 1, 2, 3, 100 },
                      counts_new[] = { -1, 0, 1, 2, 3, 5, 100 },
                      counts_documented[] = { -1, 1, 2, 3, 100 };
  GememGradient list[MOST];
  char grads[MOST][8];
  g_autoptr (GError) error = NULL;
  g_autoptr (GememFusion) fusion = NULL;
  GememRng rng;

  gemem_rng_init (&rng, seed, "fuse");
#define BELOW(n) ((guint) gemem_rng_below (&rng, n))
  const guint n = BELOW (MOST + 1), several = BELOW (2);
  const GememFuseVersion version = (GememFuseVersion) BELOW (3);
  const gboolean documented = BELOW (4) == 0, new = version == GEMEM_FUSE_1_6,
                 first = version == GEMEM_FUSE_1_4 && !documented;
  const GememFuseOptions options = { .version = version,
                                     .gpu = BELOW (4) > 0,
                                     .n_places = BELOW (8) > 0 ? 2 : 1,
                                     .memory_size = first ? sizes_old[BELOW (6)]
                                                          : sizes_new[BELOW (8)],
                                     .groups_size = first        ? counts_old[BELOW (5)]
                                                    : documented ? counts_documented[BELOW (5)]
                                                                 : counts_new[BELOW (7)],
                                     .documented = documented };
  for (guint i = 0; i < n; i++)
    {
      g_snprintf (grads[i], sizeof grads[i], "g%u", BELOW (1000));
      list[i] = (GememGradient){ .param = params[BELOW (10)],
                                 .grad = grads[i],
                                 .elements = BELOW (2) ? 1000 : BELOW (3000),
                                 .dtype = gemem_dtype_find (
                                     types[new &&several ? BELOW (3) : several]),
                                 .sparse = new &&BELOW (6) == 0 };
      list[i].param_bytes = 4 * list[i].elements + 4; /* not those of the gradient */
    }
#undef BELOW
  Naive naive = { .list = list, .options = &options };
  g_autofree char *expected = naive_layout (&naive, n), *got = NULL;

  fusion = gemem_fuse_gradients (list, n, &options, &error);
  g_assert_no_error (error);
  got = layout (fusion);
  if (strcmp (got, expected) != 0)
    g_error ("seed %" G_GUINT64_FORMAT
             ", version %u, documented %d, memory_size %g, groups_size %" G_GINT64_FORMAT
             ": got\n%sexpected\n%s",
             seed, (guint) version, documented, options.memory_size, options.groups_size, got,
             expected);
}

static void
test_random (void)
{
  const guint trials = g_getenv ("GEMEM_QUICK") != NULL ? 2000 : 40000;

  for (guint seed = 1; seed <= trials; seed++)
    trial (seed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fuse-random", test_random);
  return g_test_run ();
}
