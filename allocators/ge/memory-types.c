/* memory-types.c - see memory-types.h. */
#include "config.h"

#include <string.h>

#include "allocators/ge/memory-types.h"
#include "base/compare.h"
#include "base/units.h"

static const char *const names[] = { "hbm", "p2p", "host", "variable", "weight", "rdma", NULL };

G_STATIC_ASSERT (G_N_ELEMENTS (names) == GE_MEMORY_TYPES + 1);

const char *
gemem_ge_memory_type_name (GeMemoryType type)
{
  return names[type];
}

/* The items between the brackets, which may be left out. */
static char **
split_list (const char *text)
{
  g_autofree char *inner = g_strstrip (g_strdup (text != NULL ? text : ""));
  const gsize length = strlen (inner);
  const gboolean bracketed = length >= 2 && inner[0] == '[' && inner[length - 1] == ']';

  if (bracketed)
    inner[length - 1] = '\0';
  return g_strsplit (inner + bracketed, ",", -1);
}

static gboolean
parse_pool (const char *text, GePoolType *pool)
{
  g_auto (GStrv) sides = g_strsplit (text, "=", 2);
  guint64 number;

  if (g_strv_length (sides) != 2 || !gemem_parse_uint (sides[0], &number, NULL)
      || number > G_MAXUINT32)
    return FALSE;
  pool->pool = (guint32) number;
  for (pool->type = 0; pool->type < GE_MEMORY_TYPES; pool->type++)
    if (g_ascii_strcasecmp (names[pool->type], sides[1]) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
add_pool (GArray *types, const char *text)
{
  GePoolType pool;

  if (!parse_pool (text, &pool))
    return FALSE;
  for (guint i = 0; i < types->len; i++)
    if (g_array_index (types, GePoolType, i).pool == pool.pool)
      return FALSE;
  g_array_append_val (types, pool);
  return TRUE;
}

GArray *
gemem_ge_memory_types_parse (const char *text, const char *what, GError **error)
{
  g_autoptr (GArray) types = g_array_new (FALSE, FALSE, sizeof (GePoolType));
  g_auto (GStrv) items = split_list (text);

  for (guint i = 0; items[i] != NULL; i++)
    if (!add_pool (types, g_strstrip (items[i])))
      {
        g_autofree char *known = g_strjoinv (", ", (char **) names);

        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s: memory_types='%s': '%s' is not POOL=TYPE, or names a pool again; write "
                     "[1=p2p,2=host], the types are %s",
                     what, text, items[i], known);
        return NULL;
      }
  return g_steal_pointer (&types);
}

GeMemoryType
gemem_ge_memory_type_of (const GArray *types, guint32 pool)
{
  for (guint i = 0; i < types->len; i++)
    if (g_array_index (types, GePoolType, i).pool == pool)
      return g_array_index (types, GePoolType, i).type;
  return GE_MEMORY_HBM;
}

gboolean
gemem_ge_memory_types_have (const GArray *types, GeMemoryType type)
{
  for (guint i = 0; i < types->len; i++)
    if (g_array_index (types, GePoolType, i).type == type)
      return TRUE;
  return FALSE;
}

/* ---- ids of graphs */

GArray *
gemem_ge_ids_parse (const char *text, const char *name, const char *what, GError **error)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_auto (GStrv) items = split_list (text);

  for (guint i = 0; items[i] != NULL; i++)
    {
      guint64 id;

      if (!gemem_parse_uint (g_strstrip (items[i]), &id, NULL))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s: %s='%s': '%s' is not the number of a graph; write [3,7]", what, name,
                       text, items[i]);
          return NULL;
        }
      g_array_append_val (ids, id);
    }
  g_array_sort (ids, gemem_compare_uint64);
  return g_steal_pointer (&ids);
}

gboolean
gemem_ge_ids_have (const GArray *ids, guint64 id)
{
  return g_array_binary_search ((GArray *) ids, &id, gemem_compare_uint64, NULL);
}
