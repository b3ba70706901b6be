/* rows.c - see rows.h. */
#include "config.h"

#include <string.h>

#include "base/io/output.h"
#include "sim/engine/rows.h"

#define BUFFER_SIZE (1 << 20)
#define ROW_MAX 256

struct _GememRows
{
  GememOutput *output;
  GError *failure; /* the first; nothing is written after it */
  gsize used;
  char buffer[BUFFER_SIZE];
};

static void
flush_rows (GememRows *rows)
{
  if (rows->failure == NULL)
    gemem_output_write (rows->output, rows->buffer, rows->used, &rows->failure);
  rows->used = 0;
}

GememRows *
gemem_rows_open (const char *path, const char *header, GError **error)
{
  GememOutput *output = gemem_output_create (path, error);
  if (output == NULL)
    return NULL;
  GememRows *rows = g_new (GememRows, 1);
  rows->output = output;
  rows->failure = NULL;
  rows->used = strlen (header);
  memcpy (rows->buffer, header, rows->used);
  return rows;
}

char *
gemem_rows_begin (GememRows *rows)
{
  if (rows->used > BUFFER_SIZE - ROW_MAX)
    flush_rows (rows);
  return rows->buffer + rows->used;
}

gboolean
gemem_rows_end (GememRows *rows, char *end)
{
  *end++ = '\n';
  rows->used = (gsize) (end - rows->buffer);
  return rows->failure == NULL;
}

gboolean
gemem_rows_close (GememRows *rows, gboolean partial, GError **error)
{
  flush_rows (rows);
  if (rows->failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&rows->failure));
      gemem_rows_discard (rows);
      return FALSE;
    }
  if (partial)
    gemem_output_add_ending (rows->output, ".partial");
  const gboolean done = gemem_output_finish (rows->output, error);
  g_free (rows);
  return done;
}

void
gemem_rows_discard (GememRows *rows)
{
  if (rows == NULL)
    return;
  gemem_output_discard (rows->output);
  g_clear_error (&rows->failure);
  g_free (rows);
}
