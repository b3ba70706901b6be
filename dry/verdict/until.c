/* until.c - --until: ends a program that does not end by itself when it has printed a text.
 *
 * Why: a server waits for requests for ever.  When it says that it is ready it has its weights, its cache and what it compiled, and the
 * verdict can be told; --fit has to end a dozen of them.
 *
 * Invariants: the program writes into two files that have no name, for a pipe would end what outlives it; what comes is passed on to
 * this process's own streams, but for a run aside.  The text is looked for in each stream, also where it was written piece by piece.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dry/verdict/verdict.h"

/* Writes @part to descriptor @to; FALSE: nobody reads it any more, which must not end this process. */
static gboolean
write_all (int to, const char *part, gsize n)
{
  const struct sigaction ignore = { .sa_handler = SIG_IGN };
  struct sigaction before;
  ssize_t written = 0;

  sigaction (SIGPIPE, &ignore, &before);
  for (; n > 0 && written >= 0; part += written, n -= (gsize) written)
    {
      written = write (to, part, n);
      if (written < 0 && errno == EINTR)
        written = 0;
      else if (written < 0)
        break;
    }
  sigaction (SIGPIPE, &before, NULL);
  return written >= 0;
}

/* Passes on what came since; TRUE if the text is in it. */
static gboolean
pass_on (DryUntil *until, DryStream *stream)
{
  const gsize length = strlen (until->text);
  char part[4096];
  gboolean found = FALSE;
  ssize_t n;

  while ((n = pread (fileno (stream->file), part, sizeof part, stream->seen)) > 0)
    {
      stream->seen += n;
      if (stream->to >= 0 && !write_all (stream->to, part, (gsize) n))
        stream->to = -1;
      g_string_append_len (stream->end, part, n);
      found |= memmem (stream->end->str, stream->end->len, until->text, length) != NULL;
      if (stream->end->len >= length)
        g_string_erase (stream->end, 0, (gssize) (stream->end->len - (length - 1)));
    }
  return found;
}

static gboolean
is_over (gpointer data)
{
  DryUntil *until = data;

  for (guint i = 0; i < G_N_ELEMENTS (until->streams); i++)
    until->found |= pass_on (until, &until->streams[i]);
  return until->found;
}

gboolean
gemem_library_until_begin (DryUntil *until, const char *text, GememLauncherWatch *watch,
                           GError **error)
{
  *until = (DryUntil){ .text = text };
  for (guint i = 0; i < G_N_ELEMENTS (until->streams); i++)
    {
      DryStream *stream = &until->streams[i];

      stream->file = tmpfile ();
      stream->to = watch->limit > 0 ? -1 : i == 0 ? STDOUT_FILENO : STDERR_FILENO;
      stream->end = g_string_new (NULL);
    }
  if (until->streams[0].file == NULL || until->streams[1].file == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "--until: no file can be made for what the program prints: %s",
                   g_strerror (errno));
      gemem_library_until_end (until);
      return FALSE;
    }
  fflush (stdout);
  watch->out = fileno (until->streams[0].file);
  watch->err = fileno (until->streams[1].file);
  watch->over = is_over;
  watch->data = until;
  return TRUE;
}

void
gemem_library_until_end (DryUntil *until)
{
  for (guint i = 0; i < G_N_ELEMENTS (until->streams); i++)
    {
      if (until->streams[i].file != NULL)
        fclose (until->streams[i].file);
      g_string_free (until->streams[i].end, TRUE);
    }
}
