/* tally.c - the report of the stand-in driver, appended to the file $GEMEM_DRIVER_REPORT when the
 * process ends; tests read it.
 *
 *   call cuMemAlloc_v2 12             calls, by symbol
 *   leak allocation 2 4194304         obtained and not released: kind, how many, bytes (0 where a
 *                                     kind has none)
 *   misuse cuMemFree_v2: 0x1 is no allocation
 *   fault cuLaunchKernel: ...         work that failed, with which its context was lost
 *   end                               always the last line: without it the process was killed
 *
 * Objects destroyed with their context or with the process count as leaked. The first 100 lines of
 * misuse and faults are kept, the others counted ("more 7").
 */
#include "config.h"

#include <fcntl.h>
#include <unistd.h>

#include "dry/driver/areas.h"
#include "dry/driver/mode.h"
#include "dry/driver/pools.h"

#define LINES_MAX 100

static const char *const kind_names[KIND_COUNT] = {
  [KIND_CONTEXT] = "context",
  [KIND_STREAM] = "stream",
  [KIND_EVENT] = "event",
  [KIND_MODULE] = "module",
  [KIND_FUNCTION] = "function",
  [KIND_POOL] = "pool",
  [KIND_GRAPH] = "graph",
  [KIND_PAGE] = "page",
  [KIND_ALLOCATION] = "allocation",
  [KIND_MANAGED] = "managed",
  [KIND_HOST] = "host",
  [KIND_REGISTERED] = "registered",
  [KIND_POOLED] = "pooled",
  [KIND_MAPPING] = "mapping",
  [KIND_RANGE] = "range",
  [KIND_VARIABLE] = "variable",
  [KIND_NODE] = "node",
  [KIND_EXEC] = "executable graph",
  [KIND_USER_OBJECT] = "user object",
  [KIND_LINK] = "linker",
  [KIND_IMPORTED] = "imported",
};

static guint64 calls[ENTRY_COUNT];
static struct
{
  guint64 count, bytes;
} leaks[KIND_COUNT];
static GString *lines;
static guint n_lines;

void
gemem_driver_report_call (DriverEntry entry)
{
  calls[entry]++;
}

void
gemem_driver_report_line (GememDryNote word, const char *text)
{
  if (lines == NULL)
    lines = g_string_new (NULL);
  gemem_driver.mode->note (word, text);
  if (n_lines++ < LINES_MAX)
    g_string_append_printf (lines, "%s %s\n", gemem_dry_note_words[word], text);
}

CUresult
gemem_driver_misuse (CUresult code, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *text = g_strdup_printf ("%s: %s", gemem_driver_entry_name (gemem_driver.entry),
                                           what);
  gemem_driver_report_line (GEMEM_DRY_NOTE_MISUSE, text);
  return code;
}

void
gemem_driver_report_leak (DriverKind kind, guint64 bytes)
{
  leaks[kind].count++;
  leaks[kind].bytes += bytes;
}

/* Reports the objects that still exist. */
static void
count_remaining (void)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, gemem_driver.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const DriverObject *object = value;
      gboolean own = object->kind == KIND_POOL && ((const DriverPool *) value)->own;
      gboolean gone = object->kind == KIND_CONTEXT && !((const DriverContext *) value)->alive;
      if (own || gone || object->kind == KIND_FUNCTION || object->kind == KIND_NODE)
        continue;
      if (object->kind != KIND_PAGE)
        gemem_driver_report_leak (object->kind, 0);
      else if (((const DriverPage *) value)->owners > 0)
        gemem_driver_report_leak (KIND_PAGE, ((const DriverPage *) value)->size);
    }
  for (GememTreeNode *node = gemem_tree_first (&gemem_driver.areas); node != NULL;
       node = gemem_tree_next (node))
    {
      const DriverArea *area = GEMEM_TREE_ENTRY (node, const DriverArea, node);
      if (area->owned && area->kind != KIND_VARIABLE)
        gemem_driver_report_leak (area->kind, area->size);
    }
  for (GememTreeNode *node = gemem_tree_first (&gemem_driver.ranges); node != NULL;
       node = gemem_tree_next (node))
    gemem_driver_report_leak (KIND_RANGE, GEMEM_TREE_ENTRY (node, DriverRange, node)->size);
}

void
gemem_driver_report_write (void)
{
  const char *name = g_getenv (GEMEM_ENV_DRIVER_REPORT);
  g_autoptr (GString) text = g_string_new (NULL);
  int file;

  if (name == NULL || *name == '\0')
    return;
  count_remaining ();
  for (guint i = 0; i < ENTRY_COUNT; i++)
    if (calls[i] > 0)
      g_string_append_printf (text, "call %s %" G_GUINT64_FORMAT "\n", gemem_driver_entry_name (i),
                              calls[i]);
  for (guint kind = 0; kind < KIND_COUNT; kind++)
    if (leaks[kind].count > 0)
      g_string_append_printf (text, "leak %s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                              kind_names[kind], leaks[kind].count, leaks[kind].bytes);
  if (lines != NULL)
    g_string_append (text, lines->str);
  if (n_lines > LINES_MAX)
    g_string_append_printf (text, "more %u\n", n_lines - LINES_MAX);
  g_string_append (text, "end\n");
  file = open (name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write (file, text->str, text->len) != (gssize) text->len)
    g_printerr ("stand-in libcuda: %s=%s: cannot be written\n", GEMEM_ENV_DRIVER_REPORT, name);
  if (file >= 0)
    close (file);
}
