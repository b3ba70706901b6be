/* gate-file.c - baselines of gate.h as key files, which people read, merge and review:
 *
 *   [gemem-gate]
 *   version=1
 *
 *   [train.gmt]
 *   allocator=pytorch-caching
 *   histories=8
 *   peak_reserved=1300234240
 *   ...
 *   idle=streams 0, pools 0, returnable 211812352, ...
 *   line1=36 blocks, 1493172224 bytes: train.py:38 step
 *
 * Invariants: what is written is read back to the same; a file of a newer version, a missing or a wrong value is an
 * error that names it, never a baseline of 0.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "sim/report/json-fields.h"
#include "sim/search/gate.h"

#define HEAD "gemem-gate"
#define NEWEST 1
#define LINE "line"

/* ---- writing */

/* A name of a group has no brackets and no line ends. */
static char *
group_of (const char *name)
{
  g_autofree char *escaped = g_uri_escape_string (name, "/ !$&'()*+,:;=@", TRUE);
  return g_steal_pointer (&escaped);
}

static void
put_number (GKeyFile *file, const char *group, const char *key, guint64 number)
{
  g_key_file_set_uint64 (file, group, key, number);
}

static void
put_entry (GKeyFile *file, const GememGateEntry *entry)
{
  g_autofree char *group = group_of (entry->name);
  g_autoptr (GString) idle = g_string_new (NULL);

  g_key_file_set_string (file, group, "allocator", entry->allocator);
  if (entry->histories > 0)
    put_number (file, group, "histories", entry->histories);
  for (guint m = 0; m < GEMEM_GATE_COUNT; m++)
    put_number (file, group, gemem_gate_measures[m], entry->values[m]);
  for (guint i = 0; i < GEMEM_IDLE_CAUSES; i++)
    g_string_append_printf (idle, "%s%s %" G_GUINT64_FORMAT, i > 0 ? ", " : "",
                            gemem_json_causes[i], entry->idle[i]);
  g_key_file_set_string (file, group, "idle", idle->str);
  for (guint i = 0; i < entry->lines->len; i++)
    {
      const GememHolder *holder = entry->lines->pdata[i];
      g_autofree char *key = g_strdup_printf (LINE "%u", i + 1);
      g_autofree char *value = g_strdup_printf ("%" G_GUINT64_FORMAT " blocks, %" G_GUINT64_FORMAT
                                                " bytes: %s",
                                                holder->blocks, holder->bytes, holder->name);
      g_key_file_set_string (file, group, key, value);
    }
}

char *
gemem_gate_text (const GPtrArray *entries)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();

  g_key_file_set_integer (file, HEAD, "version", NEWEST);
  g_key_file_set_comment (
      file, HEAD, NULL,
      " What recordings may need: gemem-sim gate TRACE... --baseline FILE; --update "
      "writes it anew.",
      NULL);
  for (guint i = 0; i < entries->len; i++)
    put_entry (file, entries->pdata[i]);
  return g_key_file_to_data (file, NULL, NULL);
}

/* ---- reading */

static gboolean
wrong (GError **error, const char *path, const char *group, const char *key, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: [%s] %s: %s; make it anew with --update",
               path, group, key, what);
  return FALSE;
}

static gboolean
read_number (GKeyFile *file, const char *path, const char *group, const char *key, guint64 *number,
             GError **error)
{
  g_autofree char *text = g_key_file_get_string (file, group, key, NULL);

  if (text != NULL && gemem_parse_digits (text, 10, 0, G_MAXINT64, number))
    return TRUE;
  return wrong (error, path, group, key, text != NULL ? "no number" : "is missing");
}

/* "streams 0, pools 1048576": causes that a later version may know are left out. */
static gboolean
read_idle (GKeyFile *file, const char *path, const char *group, GememGateEntry *entry,
           GError **error)
{
  g_autofree char *text = g_key_file_get_string (file, group, "idle", NULL);
  g_auto (GStrv) parts = g_strsplit (text != NULL ? text : "", ", ", -1);

  for (char **part = parts; *part != NULL; part++)
    {
      const char *number = strchr (*part, ' ');
      guint64 bytes;

      if (number == NULL || !gemem_parse_digits (number + 1, 10, 0, G_MAXINT64, &bytes))
        return wrong (error, path, group, "idle", "not \"CAUSE BYTES, ...\"");
      for (guint i = 0; i < GEMEM_IDLE_CAUSES; i++)
        if (strncmp (gemem_json_causes[i], *part, (gsize) (number - *part)) == 0
            && gemem_json_causes[i][number - *part] == '\0')
          entry->idle[i] = bytes;
    }
  return text != NULL || wrong (error, path, group, "idle", "is missing");
}

static gboolean
read_line (const char *path, const char *group, const char *key, const char *text,
           GememGateEntry *entry, GError **error)
{
  char *end;
  const guint64 blocks = g_ascii_strtoull (text, &end, 10);
  guint64 bytes;

  if (end == text || !g_str_has_prefix (end, " blocks, "))
    return wrong (error, path, group, key, "not \"N blocks, N bytes: LINE\"");
  text = end + strlen (" blocks, ");
  bytes = g_ascii_strtoull (text, &end, 10);
  if (end == text || !g_str_has_prefix (end, " bytes: "))
    return wrong (error, path, group, key, "not \"N blocks, N bytes: LINE\"");
  gemem_gate_entry_add (entry, end + strlen (" bytes: "), bytes, blocks);
  return TRUE;
}

static gboolean
read_lines (GKeyFile *file, const char *path, const char *group, GememGateEntry *entry,
            GError **error)
{
  for (guint i = 1;; i++)
    {
      g_autofree char *key = g_strdup_printf (LINE "%u", i);
      g_autofree char *text = g_key_file_get_string (file, group, key, NULL);

      if (text == NULL)
        return TRUE;
      if (!read_line (path, group, key, text, entry, error))
        return FALSE;
    }
}

/* NULL with @error. */
static GememGateEntry *
read_entry (GKeyFile *file, const char *path, const char *group, GError **error)
{
  g_autofree char *name = g_uri_unescape_string (group, NULL);
  GememGateEntry *entry = gemem_gate_entry_empty (name != NULL ? name : group);
  guint64 histories;
  gboolean ok = TRUE;

  entry->allocator = g_key_file_get_string (file, group, "allocator", NULL);
  if (entry->allocator == NULL)
    ok = wrong (error, path, group, "allocator", "is missing");
  for (guint m = 0; ok && m < GEMEM_GATE_COUNT; m++)
    ok = read_number (file, path, group, gemem_gate_measures[m], &entry->values[m], error);
  if (ok && g_key_file_has_key (file, group, "histories", NULL))
    {
      ok = read_number (file, path, group, "histories", &histories, error);
      if (ok && histories > GEMEM_HISTORIES_MOST)
        ok = wrong (error, path, group, "histories", "more than there can be");
      entry->histories = (guint) histories;
    }
  if (ok && read_idle (file, path, group, entry, error)
      && read_lines (file, path, group, entry, error))
    return entry;
  gemem_gate_entry_free (entry);
  return NULL;
}

static gboolean
check_version (GKeyFile *file, const char *path, GError **error)
{
  guint64 version;

  if (!g_key_file_has_group (file, HEAD))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: no baseline, it has no [" HEAD "]; --update writes one", path);
      return FALSE;
    }
  if (!read_number (file, path, HEAD, "version", &version, error))
    return FALSE;
  if (version <= NEWEST)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: a baseline of version %" G_GUINT64_FORMAT
               ", and this gemem-sim reads up to %d; use a newer one",
               path, version, NEWEST);
  return FALSE;
}

GPtrArray *
gemem_gate_read (const char *path, GError **error)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (gemem_gate_entry_free);
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (GError) damage = NULL;

  if (!g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, &damage))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s%s", path, damage->message,
                   g_error_matches (damage, G_FILE_ERROR, G_FILE_ERROR_NOENT)
                       ? "; --update writes a first one"
                       : "");
      return NULL;
    }
  if (!check_version (file, path, error))
    return NULL;
  g_auto (GStrv) groups = g_key_file_get_groups (file, NULL);
  for (char **group = groups; *group != NULL; group++)
    {
      GememGateEntry *entry = strcmp (*group, HEAD) != 0 ? read_entry (file, path, *group, error)
                                                         : NULL;

      if (entry != NULL)
        g_ptr_array_add (entries, entry);
      else if (strcmp (*group, HEAD) != 0)
        return NULL;
    }
  return g_steal_pointer (&entries);
}
