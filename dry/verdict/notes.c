/* report.c - reads what the libraries of a dry run noted (GEMEM_DRY_REPORT), one fact a line:
 *
 *   missing NAME LIBRARY        a function that does not exist here was called, and failed
 *   failed NAME CALLS           how often, at the end of a process
 *   harmless NAME CALLS         calls of functions whose success without effect is harmless
 *   value WHAT                  a place where the program read a value from the device
 *   number WHAT                 the same, an integer, or what may be one, which the program itself looks at
 *   truth WHAT                  the same, a truth value, or what may be one
 *   sized WHAT                  the same, by an operator whose result has that size
 *   last TIMES WHAT             the place that read last, and how often it did
 *   assumed WHAT                the same, of a value that came from other ranks, as if these held the same
 *   buffers WHAT                memory that a library takes for itself: how much is not known
 *   workspace NAME 0..MOST      a size that only the real library knows; it was taken as 0
 *   installed SONAME            a library of NVIDIA's that ran by itself
 *   told WHAT                   what a program was told that a GPU may answer otherwise
 *   refused PID DEVICE          NCCL asked for memory that the device did not have
 *   nccl PID DEVICE BYTES WHERE what NCCL held, on that machine (gemem_dry_notes_process())
 *   visible PID DEVICE GPU      which GPU of the machine a device of the process is, by $CUDA_VISIBLE_DEVICES
 *   host WHERE                  a tensor of random numbers that was read on the host, as zeros
 *   pools WHAT                  what a memory pool keeps unused is not known
 *   managed BYTES               an allocation of managed memory, which is not counted
 *   python, kernel, image, variable, version, misuse, fault   what else is not known, or went wrong
 *   more ...                    there were further lines
 *   times COUNT WORD TEXT       an earlier line of the same process came so often
 *
 * Other words are of no interest here.  The order of lines is that of several processes.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"

/* Adds @count to the entry called @name. */
static void
add_count (GPtrArray *counts, const char *name, guint64 count)
{
  for (guint i = 0; i < counts->len; i++)
    {
      DryCount *entry = counts->pdata[i];
      if (strcmp (entry->name, name) == 0)
        {
          entry->count += count;
          return;
        }
    }
  DryCount *entry = g_new0 (DryCount, 1);
  entry->name = g_strdup (name);
  entry->count = count;
  g_ptr_array_add (counts, entry);
}

/* The number at the end of @text, which is cut off; 1 if there is none. */
static guint64
take_number (char *text)
{
  char *space = strrchr (text, ' ');
  guint64 number = 1;

  if (space != NULL && g_ascii_string_to_unsigned (space + 1, 10, 0, G_MAXUINT64, &number, NULL))
    *space = '\0';
  return number;
}

/* Adds the calls of function @name, of which one is counted, to what the entry of the function says. */
static void
add_failed (GPtrArray *missing, const char *name, guint64 calls)
{
  const gsize n = strlen (name);

  for (guint i = 0; i < missing->len; i++)
    {
      DryCount *entry = missing->pdata[i];
      if (strncmp (entry->name, name, n) == 0 && entry->name[n] == ' ')
        entry->count += calls > 0 ? calls - 1 : 0;
    }
}

/* Where the lines that begin with @word go; NULL: nowhere.  *@whole: with the word. */
static GPtrArray *
list_of (DryVerdict *verdict, const char *word, gboolean *whole)
{
  const struct
  {
    const char *word;
    GPtrArray *list;
    gboolean whole;
  } rows[] = {
    { "assumed", verdict->assumed, FALSE }, { "told", verdict->notes, FALSE },
    { "buffers", verdict->unknown, TRUE },  { "missing", verdict->missing, FALSE },
    { "value", verdict->values, FALSE },    { "sized", verdict->sizes, FALSE },
    { "number", verdict->numbers, FALSE },  { "managed", verdict->managed, FALSE },
    { "truth", verdict->truths, FALSE },    { "workspace", verdict->workspaces, FALSE },
    { "host", verdict->host, FALSE },       { "kernel", verdict->unknown, TRUE },
    { "image", verdict->unknown, TRUE },    { "variable", verdict->unknown, TRUE },
    { "version", verdict->unknown, TRUE },  { "misuse", verdict->unknown, TRUE },
    { "fault", verdict->unknown, TRUE },    { "more", verdict->unknown, TRUE },
    { "pools", verdict->unknown, TRUE },    { "installed", verdict->installed, FALSE },
    { "python", verdict->unknown, TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (rows[i].word, word) == 0)
      {
        *whole = rows[i].whole;
        return rows[i].list;
      }
  return NULL;
}

static void
read_line (DryVerdict *verdict, char *line, guint64 times)
{
  char *text = strchr (line, ' ');
  gboolean whole = FALSE;

  if (text == NULL)
    return;
  *text++ = '\0';
  GPtrArray *list = list_of (verdict, line, &whole);
  if (strcmp (line, "times") == 0)
    {
      guint64 count = g_ascii_strtoull (text, &text, 10);
      if (*text == ' ' && count > 1 && !g_str_has_prefix (text, " times")) /* never nested */
        read_line (verdict, text + 1, count - 1);                          /* one was told before */
    }
  else if (strcmp (line, "last") == 0)
    {
      guint64 count = g_ascii_strtoull (text, &text, 10);
      if (*text == ' ' && count > verdict->last_times)
        {
          g_free (verdict->last_value);
          verdict->last_value = g_strdup (text + 1);
          verdict->last_times = count;
        }
    }
  else if (strcmp (line, "harmless") == 0 || strcmp (line, "failed") == 0)
    {
      guint64 number = take_number (text);
      if (*line == 'f')
        add_failed (verdict->missing, text, number);
      else
        add_count (verdict->harmless, text, number);
    }
  else if (list != NULL)
    {
      const gboolean bytes = strspn (text, "0123456789") == strlen (text);
      g_autofree char *what = g_strconcat (whole ? line : "", whole ? " " : "", text,
                                           bytes ? " bytes" : "", NULL);
      add_count (list, what, times);
    }
}

static gint
compare_counts (gconstpointer a, gconstpointer b)
{
  const DryCount *x = *(DryCount *const *) a, *y = *(DryCount *const *) b;
  return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                              : strcmp (x->name, y->name);
}

void
gemem_dry_notes_read (const DryRun *run, DryVerdict *verdict)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (run->report, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    read_line (verdict, lines[i], 1);
  g_ptr_array_sort (verdict->harmless, compare_counts);
  g_ptr_array_sort (verdict->missing, compare_counts);
  g_ptr_array_sort (verdict->values, compare_counts);
  g_ptr_array_sort (verdict->numbers, compare_counts);
  g_ptr_array_sort (verdict->truths, compare_counts);
  g_ptr_array_sort (verdict->sizes, compare_counts);
}

void
gemem_dry_notes_process (const DryRun *run, DryFinding *found)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (run->report, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *start = g_strdup_printf ("nccl %" G_GINT64_FORMAT " %d ", found->pid,
                                            found->device);
  g_autofree char *refused = g_strdup_printf ("refused %" G_GINT64_FORMAT " %d", found->pid,
                                              found->device);
  g_autofree char *visible = g_strdup_printf ("visible %" G_GINT64_FORMAT " %d ", found->pid,
                                              found->device);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strcmp (lines[i], refused) == 0)
      found->nccl_refused = TRUE;
    else if (g_str_has_prefix (lines[i], visible))
      found->gpu = atoi (lines[i] + strlen (visible));
    else if (g_str_has_prefix (lines[i], start))
      {
        char *on;
        found->nccl = g_ascii_strtoull (lines[i] + strlen (start), &on, 10);
        g_free (found->nccl_on);
        found->nccl_on = g_strdup (g_strstrip (on));
      }
}

/* ---- the lists */

static void
count_free (gpointer data)
{
  DryCount *count = data;
  g_free (count->name);
  g_free (count);
}

void
gemem_dry_counts_init (DryVerdict *verdict)
{
#define LIST(name) verdict->name = g_ptr_array_new_with_free_func (count_free);
  DRY_COUNTS (LIST)
#undef LIST
}

void
gemem_dry_counts_clear (DryVerdict *verdict)
{
#define LIST(name) g_clear_pointer (&verdict->name, g_ptr_array_unref);
  DRY_COUNTS (LIST)
#undef LIST
  g_clear_pointer (&verdict->last_value, g_free);
}
