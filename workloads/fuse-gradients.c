/* fuse-gradients.c - groups and layout of fused gradients; see fuse-gradients.h.
 *
 * A group is a GArray of gradient numbers.  Grouping builds a GPtrArray of groups: by layer, then
 * layers merged, then, from 1.6 on, split by element type; the layout follows the version's order
 * of groups.  Origin: paddle.md 6.1, 6.2.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "workloads/fuse-gradients.h"

#define LIMIT (G_GUINT64_CONSTANT (1) << 62)

typedef struct
{
  const GememGradient *gradients;
  guint n;
  const GememFuseOptions *options;
} Fuse;

GememFuseOptions
gemem_fuse_options_default (GememFuseVersion version)
{
  const gboolean first = version == GEMEM_FUSE_1_4;

  return (GememFuseOptions){ .version = version,
                             .memory_size = first ? 0 : -1,
                             .groups_size = first ? 3 : 1,
                             .gpu = TRUE,
                             .n_places = version == GEMEM_FUSE_1_6 ? 2 : 1 };
}

void
gemem_fuse_options_document (GememFuseOptions *options)
{
  options->documented = TRUE;
  options->memory_size = -1;
  options->groups_size = 3;
}

/* ---- grouping */

static GArray *
new_group (GPtrArray *groups)
{
  GArray *group = g_array_new (FALSE, FALSE, sizeof (guint));

  g_ptr_array_add (groups, group);
  return group;
}

static GPtrArray *
new_groups (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
}

/* The part of the name before the first dot.  Names without a dot: the whole name; in 1.4 one layer
 * for all of them, called "." because no part of a name is. */
static char *
layer_name (const Fuse *fuse, const char *param)
{
  const char *dot = strchr (param, '.');

  if (dot != NULL)
    return g_strndup (param, (gsize) (dot - param));
  return g_strdup (fuse->options->version == GEMEM_FUSE_1_4 ? "." : param);
}

static GPtrArray *
group_by_layer (const Fuse *fuse, const GArray *fused)
{
  /* name -> group */
  g_autoptr (GHashTable) layers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *groups = new_groups ();

  for (guint i = 0; i < fused->len; i++)
    {
      const guint gradient = g_array_index (fused, guint, i);
      char *layer = layer_name (fuse, fuse->gradients[gradient].param);
      GArray *group = g_hash_table_lookup (layers, layer);

      if (group == NULL)
        g_hash_table_insert (layers, g_strdup (layer), group = new_group (groups));
      g_array_append_val (group, gradient);
      g_free (layer);
    }
  return groups;
}

static guint64
gradient_bytes (const GememGradient *gradient)
{
  return gradient->elements * (gemem_dtype_bits (gradient->dtype) / 8);
}

/* Bytes that the version counts towards memory_size. */
static guint64
counted_bytes (const Fuse *fuse, const GArray *group)
{
  guint64 bytes = 0;

  for (guint i = 0; i < group->len; i++)
    {
      const GememGradient *gradient = &fuse->gradients[g_array_index (group, guint, i)];
      const gboolean param = fuse->options->version != GEMEM_FUSE_1_6 && gradient->param_bytes != 0;

      bytes += param ? gradient->param_bytes : gradient_bytes (gradient);
    }
  return bytes;
}

/* Adds whole layers until a limit is reached or exceeded. */
static GPtrArray *
merge_by_size (const Fuse *fuse, GPtrArray *layers)
{
  const GememFuseOptions *options = fuse->options;
  const gboolean by_bytes = options->version == GEMEM_FUSE_1_4;
  const double limit = by_bytes ? options->memory_size : options->memory_size * (double) GEMEM_MIB;
  GPtrArray *groups = new_groups ();

  for (guint i = 0; i < layers->len;)
    {
      GArray *group = new_group (groups);
      guint64 bytes = 0;
      gboolean full = FALSE;

      while (i < layers->len && !full)
        {
          const GArray *layer = g_ptr_array_index (layers, i++);

          g_array_append_vals (group, layer->data, layer->len);
          bytes += counted_bytes (fuse, layer);
          full = (double) bytes >= limit
                 || (!by_bytes && options->groups_size > 1 && group->len > options->groups_size);
        }
    }
  g_ptr_array_unref (layers);
  return groups;
}

/* 1.4: merges groups_size groups into one; -1: all. */
static GPtrArray *
merge_by_count (const Fuse *fuse, GPtrArray *parts)
{
  const guint size = fuse->options->groups_size == -1
                         ? parts->len
                         : (guint) MIN (fuse->options->groups_size, G_MAXUINT);
  GPtrArray *groups = new_groups ();
  GArray *group = NULL;

  for (guint i = 0; i < parts->len; i++)
    {
      const GArray *part = g_ptr_array_index (parts, i);

      if (i % size == 0)
        group = new_group (groups);
      g_array_append_vals (group, part->data, part->len);
    }
  g_ptr_array_unref (parts);
  return groups;
}

/* The manual's groups: closed when full, by number or by size. */
static GPtrArray *
group_as_documented (const Fuse *fuse, const GArray *fused)
{
  const GememFuseOptions *options = fuse->options;
  const double limit = options->memory_size * (double) GEMEM_MIB;
  GPtrArray *groups = new_groups ();
  GArray *group = NULL;
  guint64 bytes = 0;

  for (guint i = 0; i < fused->len; i++)
    {
      const guint gradient = g_array_index (fused, guint, i);
      const guint64 more = gradient_bytes (&fuse->gradients[gradient]);

      if (group == NULL || (options->groups_size > 0 && group->len >= options->groups_size)
          || (limit >= 0 && (double) (bytes + more) > limit))
        {
          group = new_group (groups);
          bytes = 0;
        }
      g_array_append_val (group, gradient);
      bytes += more;
    }
  return groups;
}

static gint
by_names (gconstpointer a, gconstpointer b, gpointer gradients)
{
  const GememGradient *x = (const GememGradient *) gradients + *(const guint *) a,
                      *y = (const GememGradient *) gradients + *(const guint *) b;
  const int params = strcmp (x->param, y->param);

  return params != 0 ? params : strcmp (x->grad, y->grad);
}

/* Splits each group by element type, in order of first occurrence. */
static GPtrArray *
split_by_dtype (const Fuse *fuse, GPtrArray *mixed)
{
  GPtrArray *groups = new_groups ();

  for (guint i = 0; i < mixed->len; i++)
    {
      const GArray *group = g_ptr_array_index (mixed, i);
      GArray *parts[G_MAXUINT8 + 1] = { NULL };

      for (guint k = 0; k < group->len; k++)
        {
          const guint gradient = g_array_index (group, guint, k);
          GArray **part = &parts[fuse->gradients[gradient].dtype];

          if (*part == NULL)
            *part = new_group (groups);
          g_array_append_val (*part, gradient);
        }
    }
  g_ptr_array_unref (mixed);
  return groups;
}

static gboolean
one_dtype (const Fuse *fuse, const GArray *fused)
{
  for (guint i = 1; i < fused->len; i++)
    if (fuse->gradients[g_array_index (fused, guint, i)].dtype
        != fuse->gradients[g_array_index (fused, guint, 0)].dtype)
      return FALSE;
  return TRUE;
}

static GPtrArray *
make_groups (const Fuse *fuse, GArray *fused, gboolean split)
{
  const GememFuseOptions *options = fuse->options;
  GPtrArray *groups;

  if (options->documented)
    groups = group_as_documented (fuse, fused);
  else if (options->version == GEMEM_FUSE_1_6 && options->memory_size == 0 && fused->len > 0)
    {
      groups = new_groups ();
      g_array_append_vals (new_group (groups), fused->data, fused->len);
      g_array_sort_with_data (g_ptr_array_index (groups, 0), by_names, (gpointer) fuse->gradients);
    }
  else
    groups = group_by_layer (fuse, fused);
  if (!options->documented && options->memory_size > 0)
    groups = merge_by_size (fuse, groups);
  if (!options->documented && options->version == GEMEM_FUSE_1_4 && options->groups_size != 1)
    groups = merge_by_count (fuse, groups);
  return split ? split_by_dtype (fuse, groups) : groups;
}

/* ---- layout */

/* Elements of a gradient with its padding. */
static guint64
padded (const Fuse *fuse, const GememGradient *gradient)
{
  const gboolean gpu = fuse->options->gpu;
  const guint64 size = gemem_dtype_bits (gradient->dtype) / 8;
  const guint64 elements = gpu ? 256 : 16384, bytes = gpu ? 256 : 4096;

  if (fuse->options->version == GEMEM_FUSE_1_4)
    return gemem_round_up (gradient->elements, elements);
  return gemem_round_up (gradient->elements * size, bytes) / size;
}

static void
lay_out_group (const Fuse *fuse, const GArray *group, guint number, gboolean new_buffer,
               GememFusion *fusion)
{
  GememFuseGroup *sum = &g_array_index (fusion->groups, GememFuseGroup, number);

  *sum = (GememFuseGroup){ .n = group->len,
                           .first = g_array_index (group, guint, 0),
                           .last = g_array_index (group, guint, group->len - 1) };
  for (guint i = 0; i < group->len; i++)
    {
      const guint index = g_array_index (group, guint, i);
      const GememGradient *gradient = &fuse->gradients[index];
      GememFuseBuffer *buffer;

      if (fusion->buffers->len == 0 || (new_buffer && i == 0))
        {
          const GememFuseBuffer empty = { .dtype = gradient->dtype };

          g_array_append_val (fusion->buffers, empty);
        }
      buffer = &g_array_index (fusion->buffers, GememFuseBuffer, fusion->buffers->len - 1);
      const GememFuseMember member = { index, number, fusion->buffers->len - 1, buffer->elements };
      g_array_append_val (fusion->members, member);
      buffer->elements += padded (fuse, gradient);
      buffer->bytes = buffer->elements * (gemem_dtype_bits (gradient->dtype) / 8);
      sum->bytes += gradient_bytes (gradient);
      sum->padded += padded (fuse, gradient) * (gemem_dtype_bits (gradient->dtype) / 8);
    }
}

/* ---- accepted gradients */

static gboolean
check_options (const GememFuseOptions *options, GError **error)
{
  const gboolean first = options->version == GEMEM_FUSE_1_4 && !options->documented;

  if (first
      && !(options->memory_size >= 0 && options->memory_size <= G_MAXUINT32
           && trunc (options->memory_size) == options->memory_size))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "fuse_parameter_memory_size: not a number of bytes of 32 bits; give 0 (off) to %u",
                 G_MAXUINT32);
  else if (!isfinite (options->memory_size))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "fuse_parameter_memory_size: not a number of MiB; give a finite one");
  else if ((first || options->documented)
           && (options->groups_size == 0 || options->groups_size < -1))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "fuse_parameter_groups_size: %" G_GINT64_FORMAT
                 " is no %s; give -1 (one group), 1 or more",
                 options->groups_size,
                 first ? "number of groups to merge" : "number of gradients in a group");
  else
    return TRUE;
  return FALSE;
}

/* Sums of sizes, with padding, stay under 2^62: the functions above need no overflow checks. */
static gboolean
check_sizes (const Fuse *fuse, GError **error)
{
  guint64 total = 0;

  for (guint i = 0; i < fuse->n; i++)
    {
      const GememGradient *gradient = &fuse->gradients[i];
      const guint bits = gemem_dtype_bits (gradient->dtype);
      const char *problem = NULL;

      if (gradient->sparse && fuse->options->version == GEMEM_FUSE_1_6)
        continue;
      if (gradient->sparse)
        problem = "it is not a dense tensor, which this version does not fuse; take version 1.6 or "
                  "leave it out";
      else if (bits == 0 || bits % 8 != 0)
        problem = "its element type has no whole bytes; give another dtype";
      else if (gradient->elements > LIMIT / bits || gradient->param_bytes > LIMIT
               || (total += MAX (gradient->elements * (bits / 8), gradient->param_bytes)
                            + 16384 * (bits / 8))
                      > LIMIT)
        problem = "sizes do not fit in 62 bits; correct the number of elements";
      else if (fuse->options->version != GEMEM_FUSE_1_6
               && gradient->dtype != fuse->gradients[0].dtype)
        problem = "gradients are of several element types, which this version does not fuse; take "
                  "version 1.6";
      if (problem != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "gradient '%s': %s", gradient->grad,
                       problem);
          return FALSE;
        }
    }
  return TRUE;
}

GememFusion *
gemem_fuse_gradients (const GememGradient *gradients, guint n, const GememFuseOptions *options,
                      GError **error)
{
  const Fuse fuse = { gradients, n, options };
  g_autoptr (GArray) fused = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GPtrArray) groups = NULL;
  GememFusion *fusion;
  gboolean split;

  if (!check_options (options, error) || !check_sizes (&fuse, error))
    return NULL;
  fusion = g_new0 (GememFusion, 1);
  fusion->members = g_array_new (FALSE, FALSE, sizeof (GememFuseMember));
  fusion->buffers = g_array_new (FALSE, FALSE, sizeof (GememFuseBuffer));
  fusion->left_out = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < n; i++)
    {
      const gboolean out = options->version == GEMEM_FUSE_1_6
                           && (options->n_places < 2 || gradients[i].sparse);

      g_array_append_val (out ? fusion->left_out : fused, i);
    }
  split = !one_dtype (&fuse, fused);
  groups = make_groups (&fuse, fused, split);
  fusion->groups = g_array_new (FALSE, TRUE, sizeof (GememFuseGroup));
  g_array_set_size (fusion->groups, groups->len);
  for (guint i = 0; i < groups->len; i++)
    {
      const gboolean forward = options->documented || options->version == GEMEM_FUSE_1_6;
      const guint number = forward ? i : groups->len - 1 - i;

      lay_out_group (&fuse, g_ptr_array_index (groups, number), number, split, fusion);
    }
  return fusion;
}

void
gemem_fusion_free (GememFusion *fusion)
{
  if (fusion == NULL)
    return;
  g_array_unref (fusion->members);
  g_array_unref (fusion->buffers);
  g_array_unref (fusion->left_out);
  g_array_unref (fusion->groups);
  g_free (fusion);
}

/* ---- the report */

void
gemem_fusion_report (const GememFusion *fusion, const GememGradient *gradients, GPtrArray *report)
{
  const guint n = fusion->members->len, n_groups = fusion->groups->len,
              n_buffers = fusion->buffers->len;
  guint64 bytes = 0;

  for (guint i = 0; i < n_buffers; i++)
    bytes += g_array_index (fusion->buffers, GememFuseBuffer, i).bytes;
  g_ptr_array_add (report,
                   g_strdup_printf ("fused gradients: %u of %u in %u group%s, in %u buffer%s "
                                    "of %" G_GUINT64_FORMAT " bytes",
                                    n, n + fusion->left_out->len, n_groups, gemem_plural (n_groups),
                                    n_buffers, gemem_plural (n_buffers), bytes));
  for (guint i = 0; i < n_groups; i++)
    {
      const GememFuseGroup *group = &g_array_index (fusion->groups, GememFuseGroup, i);

      g_ptr_array_add (report,
                       g_strdup_printf ("fused group %u: %u parameter%s, %" G_GUINT64_FORMAT
                                        " bytes, %" G_GUINT64_FORMAT " with padding: %s%s%s",
                                        i + 1, group->n, gemem_plural (group->n), group->bytes,
                                        group->padded, gradients[group->first].param,
                                        group->n == 1   ? ""
                                        : group->n == 2 ? ", "
                                                        : " ... ",
                                        group->n == 1 ? "" : gradients[group->last].param));
    }
}
