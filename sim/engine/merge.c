/* merge.c - one file for the logs (--events, --calls) of several runs.
 *
 * Why: a trace of several devices is one run for each, and its log is one file, whose rows stand in
 * the order of the trace; the column `device` tells them apart.
 * Invariants: the file is complete or absent; where a run ended early it is FILE.partial.
 *
 * Each row begins with the number of its event in the trace, and each part is in their order, so
 * the parts are merged line by line; rows of one number stand in the order of the jobs.
 */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/output.h"
#include "sim/engine/engine-private.h"
#include "sim/engine/rows.h"

typedef struct
{
  char *path; /* of the part: a temporary file */
  GememTemporary *temporary;
  guint job;
  FILE *file;
  char *line; /* the next one; of getline() */
  size_t held;
  gboolean ended;
  int problem; /* errno: it could not be read */
  guint64 seq;
} Part;

typedef struct
{
  char *path; /* of the whole */
  GArray *parts;
} Log;

struct _GememMerge
{
  GPtrArray *logs; /* Log */
};

static void
free_log (gpointer data)
{
  Log *log = data;

  for (guint i = 0; i < log->parts->len; i++)
    {
      Part *part = &g_array_index (log->parts, Part, i);
      g_autofree char *partial = g_strconcat (part->path, ".partial", NULL);
      if (part->file != NULL)
        fclose (part->file);
      g_unlink (part->path);
      g_unlink (partial);
      gemem_temporary_remove (part->temporary);
      g_free (part->temporary);
      g_free (part->path);
      free (part->line);
    }
  g_array_unref (log->parts);
  g_free (log->path);
  g_free (log);
}

static void
merge_free (GememMerge *merge)
{
  g_ptr_array_unref (merge->logs);
  g_free (merge);
}

/* ---- the parts */

static Log *
log_of (GememMerge *merge, const char *path)
{
  Log *log;

  for (guint i = 0; i < merge->logs->len; i++)
    if (strcmp (((Log *) merge->logs->pdata[i])->path, path) == 0)
      return merge->logs->pdata[i];
  log = g_new0 (Log, 1);
  log->path = g_strdup (path);
  log->parts = g_array_new (FALSE, TRUE, sizeof (Part));
  g_ptr_array_add (merge->logs, log);
  return log;
}

/* Gives *@path of job @number, which others have too, a file of its own. */
static gboolean
part (GememMerge *merge, const char **path, guint number, GError **error)
{
  g_autofree char *name = g_build_filename (g_get_tmp_dir (), "gemem-log-XXXXXX", NULL);
  g_autofree GememTemporary *temporary = g_new0 (GememTemporary, 1);
  Log *log = log_of (merge, *path);
  const int fd = gemem_temporary_open (temporary, name, 0600);

  if (fd < 0)
    {
      gemem_error_set_errno (error, errno, g_get_tmp_dir (),
                             "parts of a log are written there; set TMPDIR to another folder");
      return FALSE;
    }
  close (fd);
  const Part new = { .path = g_steal_pointer (&name),
                     .temporary = g_steal_pointer (&temporary),
                     .job = number };
  g_array_append_val (log->parts, new);
  *path = new.path;
  return TRUE;
}

GememMerge *
gemem_merge_begin (GememJob *jobs, guint n, GError **error)
{
  GememMerge *merge = g_new0 (GememMerge, 1);
  g_autofree const char **events = g_new0 (const char *, n), **calls = g_new0 (const char *, n);
  gboolean ok = TRUE;

  merge->logs = g_ptr_array_new_with_free_func (free_log);
  for (guint i = 0; i < n; i++)
    {
      events[i] = jobs[i].events_path;
      calls[i] = jobs[i].calls_path;
    }
  for (guint i = 0; i < n; i++)
    for (guint j = 0; ok && j < n; j++)
      {
        if (j != i && events[i] != NULL && g_strcmp0 (events[i], events[j]) == 0
            && jobs[i].events_path == events[i])
          ok = part (merge, &jobs[i].events_path, i, error);
        if (ok && j != i && calls[i] != NULL && g_strcmp0 (calls[i], calls[j]) == 0
            && jobs[i].calls_path == calls[i])
          ok = part (merge, &jobs[i].calls_path, i, error);
      }
  if (ok && merge->logs->len > 0)
    return merge;
  merge_free (merge);
  return NULL;
}

/* ---- the whole */

static gboolean
next_line (Part *part)
{
  const ssize_t length = part->file != NULL ? getline (&part->line, &part->held, part->file) : -1;

  if (part->file == NULL || ferror (part->file)) /* also behind the begin of a line */
    part->problem = errno;
  part->ended = length <= 0 || part->problem != 0;
  if (part->ended)
    return FALSE;
  part->line[length - 1] = '\0'; /* every row ends with a line end */
  part->seq = g_ascii_strtoull (part->line, NULL, 10);
  return TRUE;
}

/* The part whose row is next; NULL: none is left. */
static Part *
first (const Log *log)
{
  Part *found = NULL;

  for (guint i = 0; i < log->parts->len; i++)
    {
      Part *part = &g_array_index (log->parts, Part, i);
      if (!part->ended && (found == NULL || part->seq < found->seq))
        found = part;
    }
  return found;
}

/* FALSE with @error where a part could not be read to its end. */
static gboolean
all_read (const Log *log, GError **error)
{
  for (guint i = 0; i < log->parts->len; i++)
    {
      const Part *part = &g_array_index (log->parts, Part, i);
      if (part->problem == 0)
        continue;
      gemem_error_set_errno (error, part->problem, part->path,
                             "a part of the log that was written there cannot be read; set TMPDIR "
                             "to another folder");
      return FALSE;
    }
  return TRUE;
}

static gboolean
join (Log *log, GememResult *const *results, GError **error)
{
  GememRows *rows = NULL;
  gboolean partial = FALSE;

  for (guint i = 0; i < log->parts->len; i++)
    if (results[g_array_index (log->parts, Part, i).job] == NULL)
      return TRUE; /* as the log of one run that failed: none */
  for (guint i = 0; i < log->parts->len; i++)
    {
      Part *part = &g_array_index (log->parts, Part, i);
      g_autofree char *cut = g_strconcat (part->path, ".partial", NULL);
      partial |= results[part->job]->partial;
      part->file = fopen (g_file_test (cut, G_FILE_TEST_EXISTS) ? cut : part->path, "re");
      if (next_line (part) && rows == NULL)
        {
          g_autofree char *header = g_strconcat (part->line, "\n", NULL);
          if ((rows = gemem_rows_open (log->path, header, error)) == NULL)
            return FALSE;
        }
      next_line (part);
    }
  if (rows == NULL)
    return all_read (log, error);
  for (Part *part; (part = first (log)) != NULL; next_line (part))
    gemem_rows_end (rows, g_stpcpy (gemem_rows_begin (rows), part->line));
  if (!all_read (log, error))
    {
      gemem_rows_discard (rows);
      return FALSE;
    }
  return gemem_rows_close (rows, partial, error);
}

gboolean
gemem_merge_end (GememMerge *merge, GememResult *const *results, GError **error)
{
  gboolean ok = TRUE;

  if (merge == NULL)
    return TRUE;
  for (guint i = 0; ok && i < merge->logs->len; i++)
    ok = join (merge->logs->pdata[i], results, error);
  merge_free (merge);
  return ok;
}
