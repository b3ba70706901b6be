/* events-log.c - see events-log.h.  About 40 ns a row: numbers are formatted by hand, a write per MiB. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/engine/events-log.h"

#define BUFFER_SIZE (1 << 20)
#define ROW_MAX 256
#define ADVICE "free some space or give another file"

struct _GememEventsLog
{
  char *path, *temporary; /* temporary NULL: written in place */
  int fd, error;
  gsize used;
  char buffer[BUFFER_SIZE];
};

static void
flush_rows (GememEventsLog *log)
{
  gsize done = 0;

  while (done < log->used && log->error == 0)
    {
      gssize n = write (log->fd, log->buffer + done, log->used - done);
      if (n > 0)
        done += (gsize) n;
      else if (errno != EINTR)
        log->error = errno;
    }
  log->used = 0;
}

static int
open_temporary (GememEventsLog *log, const char *path)
{
  struct stat info;

  if (stat (path, &info) == 0 && !S_ISREG (info.st_mode))
    return open (path, O_WRONLY | O_CLOEXEC);
  log->temporary = g_strdup_printf ("%s.XXXXXX", path);
  return g_mkstemp_full (log->temporary, O_RDWR | O_CLOEXEC, 0666);
}

GememEventsLog *
gemem_events_log_open (const char *path, GError **error)
{
  static const char header[] = "seq,kind,id,size,address,block,reserved\n";
  GememEventsLog *log = g_new (GememEventsLog, 1);

  log->path = g_strdup (path);
  log->temporary = NULL;
  log->error = 0;
  log->used = sizeof header - 1;
  memcpy (log->buffer, header, sizeof header - 1);
  log->fd = open_temporary (log, path);
  if (log->fd >= 0)
    return log;
  gemem_error_set_errno (error, errno, path, "give a file that can be written");
  g_free (log->path);
  g_free (log->temporary);
  g_free (log);
  return NULL;
}

static char *
put_number (char *at, guint64 value)
{
  char digits[20];
  int n = 0;

  do
    digits[n++] = (char) ('0' + value % 10);
  while ((value /= 10) != 0);
  while (n > 0)
    *at++ = digits[--n];
  return at;
}

static char *
put_address (char *at, guint64 address)
{
  int shift = address == 0 ? 0 : (63 - __builtin_clzll (address)) & ~3;

  *at++ = '0';
  *at++ = 'x';
  for (; shift >= 0; shift -= 4)
    *at++ = "0123456789abcdef"[(address >> shift) & 15];
  return at;
}

gboolean
gemem_events_log_row (GememEventsLog *log, const GememEventsRow *row)
{
  char *at;

  if (log->used > BUFFER_SIZE - ROW_MAX)
    flush_rows (log);
  at = put_number (log->buffer + log->used, row->seq);
  *at++ = ',';
  at = g_stpcpy (at, gemem_event_kind_name (row->kind));
  *at++ = ',';
  at = row->has_id ? put_number (at, row->id) : at;
  *at++ = ',';
  at = row->has_id ? put_number (at, row->size) : at;
  *at++ = ',';
  at = row->block != NULL ? put_address (at, row->block->address) : at;
  *at++ = ',';
  at = row->block != NULL ? put_number (at, row->block->size) : at;
  *at++ = ',';
  at = put_number (at, row->reserved);
  *at++ = '\n';
  log->used = (gsize) (at - log->buffer);
  return log->error == 0;
}

static void
free_log (GememEventsLog *log)
{
  g_free (log->path);
  g_free (log->temporary);
  g_free (log);
}

gboolean
gemem_events_log_close (GememEventsLog *log, gboolean partial, GError **error)
{
  g_autofree char *path = partial && log->temporary != NULL ? g_strconcat (log->path, ".partial", NULL) : g_strdup (log->path);
  int failed;

  flush_rows (log);
  if (close (log->fd) < 0 && log->error == 0)
    log->error = errno;
  if (log->error == 0 && log->temporary != NULL && g_rename (log->temporary, path) < 0)
    log->error = errno;
  failed = log->error;
  if (failed != 0)
    {
      gemem_error_set_errno (error, failed, log->path, ADVICE);
      if (log->temporary != NULL)
        g_unlink (log->temporary);
    }
  free_log (log);
  return failed == 0;
}

void
gemem_events_log_discard (GememEventsLog *log)
{
  if (log == NULL)
    return;
  close (log->fd);
  if (log->temporary != NULL)
    g_unlink (log->temporary);
  free_log (log);
}
