/* dims.c - see dims.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "graphs/dims.h"

#define MOST (G_GINT64_CONSTANT (1) << 40)

typedef struct
{
  char *name;
  gint64 value;
  gboolean used;
} Dim;

struct _GememGraphDims
{
  GArray *dims; /* Dim */
};

static void
clear_dim (gpointer data)
{
  g_free (((Dim *) data)->name);
}

static Dim *
find (const GememGraphDims *dims, const char *name)
{
  for (guint i = 0; dims != NULL && i < dims->dims->len; i++)
    {
      Dim *dim = &g_array_index (dims->dims, Dim, i);
      if (strcmp (dim->name, name) == 0)
        return dim;
    }
  return NULL;
}

static gboolean
add (GememGraphDims *dims, const char *text, GError **error)
{
  const char *equals = strrchr (text, '=');
  guint64 value = 0;

  if (equals == NULL || equals == text || !gemem_parse_digits (equals + 1, 10, 0, MOST, &value))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--dim=%s: write NAME=N, as batch=8, or -1=8 for those of PaddlePaddle", text);
      return FALSE;
    }
  const Dim dim = { .name = g_strndup (text, (gsize) (equals - text)), .value = (gint64) value };
  const gboolean twice = find (dims, dim.name) != NULL;
  g_array_append_val (dims->dims, dim);
  if (twice)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--dim=%s: '%s' has a number already", text,
                 dim.name);
  return !twice;
}

GememGraphDims *
gemem_graph_dims_new (char **texts, GError **error)
{
  g_autoptr (GememGraphDims) dims = g_new0 (GememGraphDims, 1);

  dims->dims = g_array_new (FALSE, FALSE, sizeof (Dim));
  g_array_set_clear_func (dims->dims, clear_dim);
  for (char **text = texts; *text != NULL; text++)
    if (!add (dims, *text, error))
      return NULL;
  return g_steal_pointer (&dims);
}

void
gemem_graph_dims_free (GememGraphDims *dims)
{
  if (dims == NULL)
    return;
  g_array_unref (dims->dims);
  g_free (dims);
}

gboolean
gemem_graph_dims_find (GememGraphDims *dims, const char *name, gint64 *value)
{
  Dim *dim = find (dims, name);

  if (dim == NULL)
    return FALSE;
  dim->used = TRUE;
  *value = dim->value;
  return TRUE;
}

gboolean
gemem_graph_dims_check (GememGraphDims *dims, const char *path, GError **error)
{
  const char *unused = NULL;

  for (guint i = 0; dims != NULL && i < dims->dims->len; i++)
    {
      Dim *dim = &g_array_index (dims->dims, Dim, i);
      unused = unused == NULL && !dim->used ? dim->name : unused;
      dim->used = FALSE;
    }
  if (unused != NULL)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "--dim: no dimension of %s that is open is called '%s'; leave it out, or correct the name",
        path, unused);
  return unused == NULL;
}
