/* nvidia-smi.c - see nvidia-smi.h.
 *
 * A table has a row "1552MiB / 16384MiB" for each GPU, and one for each process; -q has a block for
 * each; CSV names its columns in its first line, in any order.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "traces/messages/nvidia-smi.h"

#define MIB "(\\d{1,9}) ?MiB"

/* ---- what was found */

/* @total 0: not known. */
static void
take_device (GememMessage *message, guint64 used, guint64 total)
{
  GememFigure *most = &message->figures[GEMEM_FIGURE_USED],
              *of = &message->figures[GEMEM_FIGURE_TOTAL];
  const double share = (double) used / (double) MAX (total, 1),
               before = (double) most->bytes / (double) MAX (of->bytes, 1);

  if (most->known && share <= before)
    return;
  *most = (GememFigure){ TRUE, used, GEMEM_MIB };
  *of = (GememFigure){ total > 0, total, GEMEM_MIB };
}

/* Keeps it if it is one of the largest. */
static void
take_process (GememMessage *message, const char *name, guint64 pid, guint64 bytes)
{
  guint at = MIN (message->n_processes, GEMEM_MESSAGE_PROCESSES);
  GememMessageProcess *processes = message->processes;
  const char *base = strrchr (name, '/');

  message->n_processes++;
  while (at > 0 && processes[at - 1].bytes < bytes)
    at--;
  if (at == GEMEM_MESSAGE_PROCESSES)
    return;
  memmove (&processes[at + 1], &processes[at],
           (GEMEM_MESSAGE_PROCESSES - at - 1) * sizeof *processes);
  processes[at] = (GememMessageProcess){ .pid = pid, .bytes = bytes };
  g_strlcpy (processes[at].name, base != NULL && base[1] != '\0' ? base + 1 : name,
             sizeof processes[at].name);
  for (char *c = processes[at].name; *c != '\0'; c++) /* whatever a program calls itself */
    *c = g_ascii_isprint (*c) ? *c : '?';
}

/* ---- the table, and -q */

static guint64
number_in (const GMatchInfo *match, gint i)
{
  g_autofree char *text = g_match_info_fetch (match, i);

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : 0;
}

typedef void (*Take) (GememMessage *message, const GMatchInfo *match);

static void
take_row (GememMessage *message, const GMatchInfo *match)
{
  take_device (message, number_in (match, 1) * GEMEM_MIB, number_in (match, 2) * GEMEM_MIB);
}

static void
take_block (GememMessage *message, const GMatchInfo *match)
{
  const guint64 total = number_in (match, 1), free = number_in (match, 2);

  take_device (message, (total - MIN (free, total)) * GEMEM_MIB, total * GEMEM_MIB);
}

/* "1234 C python 1552MiB" and the block of -q */
static void
take_named (GememMessage *message, const GMatchInfo *match)
{
  g_autofree char *name = g_match_info_fetch (match, 2);

  take_process (message, g_strstrip (name), number_in (match, 1), number_in (match, 3) * GEMEM_MIB);
}

static void
take_all (GememMessage *message, const char *text, gsize size, const char *pattern, Take take)
{
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_RAW, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  for (gboolean found = g_regex_match_full (regex, text, (gssize) size, 0, 0, &match, NULL); found;
       found = g_match_info_next (match, NULL))
    take (message, match);
}

/* ---- CSV */

typedef struct
{
  gint used, total, free, pid, name, of_process; /* columns; -1: there is none */
} Columns;

static const Columns none = { -1, -1, -1, -1, -1, -1 };

static gboolean
is_column (const char *title, const char *name)
{
  const gsize length = strlen (name);

  return g_str_has_prefix (title, name) && (title[length] == '\0' || title[length] == ' ');
}

/* FALSE: @line is no first line of such a table. */
static gboolean
read_titles (char **titles, Columns *columns)
{
  *columns = none;
  for (gint i = 0; titles[i] != NULL; i++)
    {
      const char *title = g_strstrip (titles[i]);

      if (is_column (title, "memory.used"))
        columns->used = i;
      else if (is_column (title, "memory.total"))
        columns->total = i;
      else if (is_column (title, "memory.free"))
        columns->free = i;
      else if (is_column (title, "pid"))
        columns->pid = i;
      else if (is_column (title, "process_name") || is_column (title, "name"))
        columns->name = i;
      else if (is_column (title, "used_gpu_memory") || is_column (title, "used_memory"))
        columns->of_process = i;
    }
  return columns->of_process >= 0 || columns->used >= 0 || columns->free >= 0;
}

/* FALSE: it is not there, or no number ("[N/A]"). */
static gboolean
read_cell (char **cells, gint column, guint64 *number)
{
  g_autofree char *digits = NULL;

  if (column < 0 || column >= (gint) g_strv_length (cells))
    return FALSE;
  g_strstrip (cells[column]);
  digits = g_strndup (cells[column], strspn (cells[column], "0123456789"));
  if (strlen (digits) == 0 || strlen (digits) > 9)
    return FALSE;
  *number = g_ascii_strtoull (digits, NULL, 10);
  return TRUE;
}

static void
read_csv_row (GememMessage *message, const Columns *columns, char **cells)
{
  guint64 used, total, pid = 0; /* the first two in MiB */

  if (read_cell (cells, columns->of_process, &used))
    {
      const gboolean named = columns->name >= 0 && columns->name < (gint) g_strv_length (cells);

      read_cell (cells, columns->pid, &pid);
      take_process (message, named ? g_strstrip (cells[columns->name]) : "", pid, used * GEMEM_MIB);
    }
  if (!read_cell (cells, columns->total, &total))
    total = 0;
  if (total > 0 && read_cell (cells, columns->free, &used)) /* what the driver keeps is not free */
    take_device (message, (total - MIN (used, total)) * GEMEM_MIB, total * GEMEM_MIB);
  else if (read_cell (cells, columns->used, &used))
    take_device (message, used * GEMEM_MIB, total * GEMEM_MIB);
}

static void
read_csv (GememMessage *message, const char *text, gsize size)
{
  g_autofree char *copy = g_strndup (text, size);
  g_auto (GStrv) lines = g_strsplit (copy, "\n", -1);
  Columns columns = none, found;

  for (char **line = lines; *line != NULL; line++)
    {
      g_auto (GStrv) cells = g_strsplit (*line, ",", -1);

      if (read_titles (cells, &found))
        columns = found;
      else
        read_csv_row (message, &columns, cells);
    }
}

void
gemem_nvidia_smi_read (const char *text, gsize size, GememMessage *message)
{
  take_all (message, text, size, MIB " / +" MIB, take_row);
  take_all (message, text, size,
            "FB Memory Usage\\s+Total\\s+: " MIB
            "\\s+(?:Reserved\\s+: [^\\n]*\\s+)?Used\\s+: [^\\n]*\\s+Free\\s+: " MIB,
            take_block);
  take_all (message, text, size,
            "\\| +\\d+ (?: +\\S+ +\\S+)? +(\\d{1,9}) +(?:C|G|M|C\\+G|M\\+C) +([^|\\n]*?) +" MIB
            " *\\|",
            take_named);
  take_all (message, text, size,
            "Process ID\\s+: (\\d{1,9})\\s+Type\\s+: \\S+\\s+Name\\s+: ([^\\n]*)\\s+"
            "Used GPU Memory\\s+: " MIB,
            take_named);
  read_csv (message, text, size);
}
