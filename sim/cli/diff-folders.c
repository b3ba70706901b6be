/* diff-folders.c - see diff-folders.h. */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "base/error.h"
#include "sim/cli/diff-folders.h"

static void
file_clear (gpointer data)
{
  g_free (((GememRankFile *) data)->path);
}

static int
compare_files (gconstpointer a, gconstpointer b)
{
  const GememRankFile *x = a, *y = b;
  const int ranks = gemem_compare_uint64 (&x->rank, &y->rank);

  return ranks != 0 ? ranks : strcmp (x->path, y->path);
}

/* The number behind "rank", else the last one before the extension. */
static gboolean
rank_of (const char *name, guint64 *rank)
{
  static const char *const patterns[] = { "rank[-_.]?([0-9]{1,18})", "([0-9]{1,18})[^0-9]*$" };
  const char *dot = strrchr (name, '.');
  g_autofree char *stem = dot != NULL ? g_strndup (name, (gsize) (dot - name)) : g_strdup (name);

  for (guint i = 0; i < G_N_ELEMENTS (patterns); i++)
    {
      g_autoptr (GRegex)
          pattern = g_regex_new (patterns[i], G_REGEX_CASELESS | G_REGEX_RAW, 0, NULL);
      g_autoptr (GMatchInfo) match = NULL;

      if (g_regex_match (pattern, stem, 0, &match))
        {
          g_autofree char *number = g_match_info_fetch (match, 1);
          *rank = g_ascii_strtoull (number, NULL, 10);
          return TRUE;
        }
    }
  return FALSE;
}

/* Sorts @files and says what is wrong with them. */
static gboolean
check_files (GArray *files, const char *folder, GError **error)
{
  g_array_sort (files, compare_files);
  if (files->len == 0)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
        "%s: no recording of a rank is in it; their names end in numbers, as out.rank-0.gmt",
        folder);
  for (guint i = 1; i < files->len; i++)
    {
      const GememRankFile *one = &g_array_index (files, GememRankFile, i - 1), *other = one + 1;

      if (one->rank != other->rank)
        continue;
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s and %s are both of rank %" G_GUINT64_FORMAT "; leave one in the folder",
                   one->path, other->path, one->rank);
      return FALSE;
    }
  return files->len > 0;
}

GArray *
gemem_rank_files (const char *folder, GError **error)
{
  g_autoptr (GError) inner = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, &inner);
  g_autoptr (GArray) files = g_array_new (FALSE, TRUE, sizeof (GememRankFile));
  const char *name;

  g_array_set_clear_func (files, file_clear);
  if (dir == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: %s", folder, inner->message);
      return NULL;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      GememRankFile file = { 0 };

      if (name[0] == '.' || !rank_of (name, &file.rank))
        continue;
      file.path = g_build_filename (folder, name, NULL);
      if (!g_file_test (file.path, G_FILE_TEST_IS_REGULAR))
        g_free (file.path);
      else
        g_array_append_val (files, file);
    }
  return check_files (files, folder, error) ? g_steal_pointer (&files) : NULL;
}
