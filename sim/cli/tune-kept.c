/* tune-kept.c - see tune-kept.h. */
#include "config.h"

#include <string.h>

#include "sim/cli/tune-kept.h"
#include "sim/cli/write-pace.h"

struct _GememTuneKept
{
  GememDatabase *database;
  GPtrArray *names; /* of each recording, ends with NULL */
  GArray *waiting;  /* GememSearched, not written yet */
  GememWritePace pace;
  GememTuneKeeper keeper;
};

/* ---- rows */

/* FALSE: it is not what gemem writes. */
static gboolean
take_alike (const char *alike, guint n, GememTuneReplay *replay)
{
  if (alike == NULL)
    return TRUE;
  if (strlen (alike) != n || strspn (alike, "01") != n)
    return FALSE;
  replay->alike = g_new (gboolean, n);
  for (guint i = 0; i < n; i++)
    replay->alike[i] = alike[i] == '1';
  return TRUE;
}

/* FALSE: it is not what gemem writes, and will be made anew. */
static gboolean
take (const GememSearched *row, guint n, GememTuneReplay *replay)
{
  guint end = 0;

  while (end < GEMEM_TUNE_UNTRIED && g_strcmp0 (row->ended, gemem_tune_ends[end]) != 0)
    end++;
  if (end == GEMEM_TUNE_UNTRIED || (end == GEMEM_TUNE_REFUSED) != (row->why != NULL)
      || row->passes == 0 || row->passes > G_MAXINT || !take_alike (row->alike, n, replay))
    return FALSE;
  replay->cell.end = (GememTuneEnd) end;
  memcpy (replay->cell.values, row->values, sizeof row->values);
  replay->passes = (guint) row->passes;
  if (row->why != NULL)
    replay->refusal = g_error_new_literal (GEMEM_ERROR, GEMEM_ERROR_USAGE, row->why);
  return TRUE;
}

static gboolean
find (gpointer data, const char *key, GememTuneReplay *replay, guint n, gboolean *found,
      GError **error)
{
  GememTuneKept *kept = data;
  GememSearched row;

  if (!gemem_database_find_searched (kept->database, key, &row, found, error))
    return FALSE;
  *found = *found && take (&row, n, replay);
  gemem_searched_clear (&row);
  return TRUE;
}

static gboolean
keep (gpointer data, const char *key, const GememTuneReplay *replay, guint n, GError **error)
{
  GememTuneKept *kept = data;
  GememSearched row = { .key = g_strdup (key),
                        .ended = g_strdup (gemem_tune_ends[replay->cell.end]),
                        .passes = replay->passes };

  G_STATIC_ASSERT (sizeof row.values == sizeof replay->cell.values);
  memcpy (row.values, replay->cell.values, sizeof row.values);
  if (replay->refusal != NULL)
    row.why = g_strdup (replay->refusal->message);
  if (replay->alike != NULL)
    {
      row.alike = g_malloc0 (n + 1);
      for (guint i = 0; i < n; i++)
        row.alike[i] = replay->alike[i] ? '1' : '0';
    }
  g_array_append_val (kept->waiting, row);
  return !gemem_write_is_due (&kept->pace) || gemem_tune_kept_write (kept, error);
}

gboolean
gemem_tune_kept_write (GememTuneKept *kept, GError **error)
{
  const gint64 begin = g_get_monotonic_time ();
  const gboolean ok = kept->waiting->len == 0
                      || gemem_database_keep_searched (kept->database,
                                                       (GememSearched *) kept->waiting->data,
                                                       kept->waiting->len, error);

  g_array_set_size (kept->waiting, 0);
  gemem_write_took (&kept->pace, begin);
  return ok;
}

/* ---- opening */

static void
clear_row (gpointer row)
{
  gemem_searched_clear (row);
}

/* FALSE with @error: @file cannot be read twice, so that nobody knows whether it is the same again. */
static gboolean
add_name (GPtrArray *names, GememSourceFile *file, GError **error)
{
  char *name = gemem_source_identity (file);

  if (name != NULL)
    g_ptr_array_add (names, name);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s: cannot be read twice; --database needs files", file->path);
  return name != NULL;
}

GememTuneKept *
gemem_tune_kept_new (const char *path, const GPtrArray *files, GError **error)
{
  g_autoptr (GememTuneKept) kept = g_new0 (GememTuneKept, 1);

  kept->names = g_ptr_array_new_with_free_func (g_free);
  kept->waiting = g_array_new (FALSE, FALSE, sizeof (GememSearched));
  g_array_set_clear_func (kept->waiting, clear_row);
  for (guint i = 0; i < files->len; i++)
    if (!add_name (kept->names, files->pdata[i], error))
      return NULL;
  kept->database = gemem_database_open (path, error);
  if (kept->database == NULL)
    return NULL;
  g_ptr_array_add (kept->names, NULL);
  kept->keeper = (GememTuneKeeper){ kept, (const char *const *) kept->names->pdata, find, keep };
  return g_steal_pointer (&kept);
}

const GememTuneKeeper *
gemem_tune_kept_keeper (const GememTuneKept *kept)
{
  return &kept->keeper;
}

void
gemem_tune_kept_free (GememTuneKept *kept)
{
  if (kept == NULL)
    return;
  g_array_unref (kept->waiting);
  g_ptr_array_unref (kept->names);
  gemem_database_close (kept->database);
  g_free (kept);
}
