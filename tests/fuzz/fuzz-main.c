/* fuzz-main.c - the program `fuzz`: one target under libFuzzer.  GEMEM_FUZZ_TARGET names it.
 *
 *   fuzz --list          prints the names of all targets
 *   fuzz --seeds FOLDER  writes the seeds of the target into FOLDER
 *   fuzz ARGUMENT...     libFuzzer's own: folders of inputs, or single inputs, and -OPTION=VALUE
 *
 * Built by run-fuzz, with clang; `make` alone cannot link it.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize (int *argc, char ***argv);
int LLVMFuzzerTestOneInput (const guint8 *data, size_t size);
size_t LLVMFuzzerMutate (guint8 *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator (guint8 *data, size_t size, size_t most, unsigned seed);

static const FuzzTarget *target;

static void
write_seeds (const char *folder)
{
  g_autoptr (GPtrArray) seeds = fuzz_seeds (target);

  for (guint i = 0; i < seeds->len; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/seed-%u", folder, i);
      gsize size;
      const char *data = g_bytes_get_data (seeds->pdata[i], &size);
      if (!g_file_set_contents (path, data, (gssize) size, NULL))
        exit (1);
    }
}

/* GLib ends a process by a trap, which libFuzzer does not take for a finding. */
static GLogWriterOutput
abort_on_message (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
  g_log_writer_standard_streams (level, fields, n, data);
  if ((level & (G_LOG_FLAG_FATAL | G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
      != 0)
    abort ();
  return G_LOG_WRITER_HANDLED;
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  const char *name = g_getenv ("GEMEM_FUZZ_TARGET");

  g_log_set_writer_func (abort_on_message, NULL, NULL);
  if (*argc > 1 && strcmp ((*argv)[1], "--list") == 0)
    {
      for (guint i = 0; i < fuzz_targets ()->len; i++)
        puts (((const FuzzTarget *) fuzz_targets ()->pdata[i])->name);
      exit (0);
    }
  target = name != NULL ? fuzz_target_find (name) : NULL;
  if (target == NULL)
    {
      fputs ("fuzz: GEMEM_FUZZ_TARGET names no target; `fuzz --list' shows all\n", stderr);
      exit (2);
    }
  if (*argc > 2 && strcmp ((*argv)[1], "--seeds") == 0)
    {
      write_seeds ((*argv)[2]);
      exit (0);
    }
  return 0;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  target->kind->run (target->member, data, size); /* in a buffer of that size already */
  return 0;
}

size_t
LLVMFuzzerCustomMutator (guint8 *data, size_t size, size_t most, unsigned seed)
{
  size = LLVMFuzzerMutate (data, size, most);
  if (target->kind->repair != NULL)
    target->kind->repair (target->member, data, size, seed);
  return size;
}
