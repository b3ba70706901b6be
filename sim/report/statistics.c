/* statistics.c - the allocator's own counters, for people: of zero ones only their number, of many streams
 * the largest ones and a sum.
 *
 * An allocator may have a pool for each stream, with a dozen counters each, and a program ten thousand
 * streams; who wants all of them asks for JSON.  Counters of a stream are those whose name ends in
 * "streamN.COUNTER"; its size is its first one.
 *
 * Invariants: O(n log n) in the number of counters; their order stays.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/report/report-private.h"
#include "sim/report/report.h"

#define SHOWN 10 /* streams */

/* The pool of one stream. */
typedef struct
{
  guint first, count; /* its counters */
  guint64 size;
  gboolean shown;
} Pool;

/* The length of "stream7." in @key, with what is before it; 0: it is no counter of a stream. */
static gsize
pool_length (const char *key)
{
  const char *dot = strrchr (key, '.'), *at = dot;

  while (at != NULL && at > key && g_ascii_isdigit (at[-1]))
    at--;
  return at != dot && at - key >= 6 && strncmp (at - 6, "stream", 6) == 0 ? (gsize) (dot + 1 - key)
                                                                          : 0;
}

/* The number that @stat is, 0 where it is none ("100.00 %"). */
static guint64
number_of (const GememSetting *stat)
{
  guint64 number;

  return stat->value != NULL && gemem_parse_uint (stat->value, &number, NULL) ? number : 0;
}

/* The pools of @stats in their order: array of Pool. */
static GArray *
find_pools (const GPtrArray *stats)
{
  GArray *pools = g_array_new (FALSE, FALSE, sizeof (Pool));
  const char *last = "";

  for (guint i = 0; i < stats->len; i++)
    {
      const GememSetting *stat = stats->pdata[i];
      const gsize length = pool_length (stat->key);
      const Pool pool = { .first = i, .size = number_of (stat) };
      if (length > 0 && strncmp (last, stat->key, length) != 0)
        g_array_append_val (pools, pool);
      last = length > 0 ? stat->key : "";
      if (length > 0)
        g_array_index (pools, Pool, pools->len - 1).count++;
    }
  return pools;
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  const Pool *x = *(Pool *const *) a, *y = *(Pool *const *) b;

  return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                            : (x->first > y->first) - (x->first < y->first);
}

/* Which of the @n statistics are of @pools that are not shown.  g_free(). */
static gboolean *
choose_pools (GArray *pools, guint n)
{
  g_autoptr (GPtrArray) by_size = g_ptr_array_new ();
  gboolean *hidden = g_new0 (gboolean, n);

  for (guint i = 0; i < pools->len; i++)
    g_ptr_array_add (by_size, &g_array_index (pools, Pool, i));
  g_ptr_array_sort (by_size, compare_sizes);
  for (guint i = 0; i < by_size->len; i++)
    {
      Pool *pool = by_size->pdata[i];
      pool->shown = i < SHOWN;
      for (guint j = 0; j < pool->count; j++)
        hidden[pool->first + j] = !pool->shown;
    }
  return hidden;
}

static int
widest_key (const GPtrArray *settings)
{
  gsize width = 20;
  for (guint i = 0; i < settings->len; i++)
    width = MAX (width, strlen (((const GememSetting *) settings->pdata[i])->key));
  return (int) width;
}

/* One counter; FALSE: it is zero, and not shown. */
static gboolean
append_stat (GString *out, int width, const char *key, const char *value)
{
  if (g_strcmp0 (value, "0") == 0)
    return FALSE;
  g_string_append_printf (out, "  %-*s  %20s\n", width, key, value != NULL ? value : "none");
  return TRUE;
}

/* A row per counter for the @pools of @stats that are not shown: their sum. */
static void
append_sums (GString *out, int width, const GPtrArray *stats, const GArray *pools)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GHashTable) sums = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  const guint others = pools->len - MIN (pools->len, SHOWN);

  for (guint i = 0; i < pools->len; i++)
    {
      const Pool *pool = &g_array_index (pools, Pool, i);
      for (guint j = 0; j < pool->count && !pool->shown; j++)
        {
          const GememSetting *stat = stats->pdata[pool->first + j];
          const char *name = stat->key + pool_length (stat->key);
          guint64 *sum = g_hash_table_lookup (sums, name);
          if (sum == NULL)
            {
              sum = g_new0 (guint64, 1);
              g_hash_table_insert (sums, (gpointer) name, sum);
              g_ptr_array_add (names, (gpointer) name);
            }
          *sum += number_of (stat);
        }
    }
  for (guint i = 0; i < names->len; i++)
    {
      const guint64 *sum = g_hash_table_lookup (sums, names->pdata[i]);
      g_autofree char *key = g_strdup_printf ("%u others.%s", others, (char *) names->pdata[i]);
      g_autofree char *value = g_strdup_printf ("%" G_GUINT64_FORMAT, *sum);
      append_stat (out, width, key, value);
    }
}

void
gemem_report_settings (GString *out, const char *title, const GPtrArray *settings)
{
  if (settings == NULL || settings->len == 0)
    return;
  const int width = widest_key (settings);
  g_string_append_printf (out, "\n%s\n", title);
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      const char *value = setting->value == NULL      ? "none"
                          : setting->value[0] == '\0' ? "''"
                                                      : setting->value;
      g_autofree char *key = gemem_text_line (setting->key), *line = gemem_text_line (value);
      g_string_append_printf (out, "  %-*s  %s\n", width, key, line);
    }
}

void
gemem_report_statistics (GString *out, const GPtrArray *stats)
{
  if (stats == NULL || stats->len == 0)
    return;
  g_autoptr (GArray) pools = find_pools (stats);
  g_autofree gboolean *hidden = choose_pools (pools, stats->len);
  const int width = widest_key (stats);
  guint zeros = 0;

  g_string_append (out, "\nstatistics as the system names them\n");
  for (guint i = 0; i < stats->len; i++)
    {
      const GememSetting *stat = stats->pdata[i];
      zeros += !hidden[i] && !append_stat (out, width, stat->key, stat->value);
    }
  append_sums (out, width, stats, pools);
  if (zeros > 0)
    g_string_append_printf (out, "  and %u that are 0\n", zeros);
}
