/* files.c - shortens the files of frames (anonymous-private.h).
 *
 * Invariant: what is shown of a file is what origin.h goes by, its base name, and a number for its
 * directory where two directories have a file of that name.
 */
#include "config.h"

#include "traces/anonymous/scan.h"

/* A file, taken apart: TEXT = directory + tail + a query of `cut` bytes that a URL may have. */
typedef struct
{
  const char *tail;
  gsize length;           /* of the tail */
  gsize cut;              /* bytes behind it */
  const char *marker;     /* what origin.h looks for and the tail lacks: "site-packages/"; or "" */
  gboolean has_directory; /* the number of the directory is always shown */
} FileParts;

/* The last @folder of @file that is a whole part of the path; NULL: there is none. */
static const char *
find_folder (const char *file, const char *folder)
{
  const gsize n = strlen (folder);
  const char *found = NULL;

  for (const char *p = strstr (file, folder); p != NULL; p = strstr (p + n, folder))
    if ((p == file || is_separator (p[-1])) && is_separator (p[n]))
      found = p;
  return found;
}

/* The last "lib/python3.11/" of @file. */
static const char *
find_standard_library (const char *file)
{
  static const char prefix[] = "/lib/python";
  const char *found = NULL;

  for (const char *p = strstr (file, prefix); p != NULL; p = strstr (p + 1, prefix))
    {
      const char *version = p + strlen (prefix);
      const gsize n = strspn (version, G_CSET_DIGITS ".");
      if (n > 0 && version[n] == '/')
        found = p + 1;
    }
  return found;
}

static void
take_apart (const char *file, FileParts *parts)
{
  static const char *const packages[] = { "site-packages", "dist-packages" };
  static const char *const markers[] = { "site-packages/", "dist-packages/" };
  gsize n = strlen (file);

  *parts = (FileParts){ .marker = "" };
  if (strstr (file, "://") != NULL)
    parts->cut = n - strcspn (file, "?#");
  n -= parts->cut;
  for (guint i = 0; i < G_N_ELEMENTS (packages) && parts->tail == NULL; i++)
    {
      parts->tail = find_folder (file, packages[i]);
      if (parts->tail == NULL && strstr (file, markers[i]) != NULL)
        parts->marker = markers[i];
    }
  if (parts->tail == NULL && *parts->marker == '\0' && strstr (file, "/lib/python") != NULL)
    {
      parts->tail = find_standard_library (file);
      parts->marker = parts->tail == NULL ? "lib/python/" : "";
      parts->has_directory = TRUE;
    }
  if (parts->tail == NULL || parts->tail >= file + n)
    parts->tail = gemem_path_base (file, n);
  parts->length = (gsize) (file + n - parts->tail);
  if (parts->length == 0 || (*parts->tail == '<' && *file != '<'))
    parts->has_directory = TRUE;
}

/* TRUE for "<string>" and what else is no path. */
static gboolean
is_no_path (const char *file)
{
  return *file == '<' || strpbrk (file, "/\\") == NULL;
}

void
gemem_redactor_learn_file (GememRedactor *redactor, const char *file)
{
  FileParts parts;
  gpointer known;

  if (*file == '<')
    gemem_redactor_learn (redactor, file, GEMEM_TEXT_FREE);
  else if (strstr (file, "://") != NULL)
    gemem_redactor_learn (redactor, file, GEMEM_TEXT_COMMAND);
  else
    gemem_redactor_learn_path (redactor, file, strlen (file));
  if (*file == '<')
    return;
  take_apart (file, &parts);
  g_autofree char *tail = g_strndup (parts.tail, parts.length);
  g_autofree char *directory = g_strndup (file, (gsize) (parts.tail - file));
  if (!g_hash_table_lookup_extended (redactor->tails, tail, NULL, &known))
    g_hash_table_insert (redactor->tails, g_steal_pointer (&tail), g_steal_pointer (&directory));
  else if (known != NULL && strcmp (known, directory) != 0)
    g_hash_table_insert (redactor->tails, g_steal_pointer (&tail), NULL);
}

void
gemem_redactor_append_file (GememRedactor *redactor, GString *out, const char *file)
{
  FileParts parts;

  if (is_no_path (file))
    {
      gemem_redactor_append (redactor, out, file, *file == '<' ? GEMEM_TEXT_FREE : GEMEM_TEXT_PART);
      return;
    }
  gemem_redactor_learn_file (redactor, file);
  take_apart (file, &parts);
  g_autofree char *tail = g_strndup (parts.tail, parts.length);
  if (parts.has_directory
      || (g_hash_table_lookup (redactor->tails, tail) == NULL && parts.tail > file))
    {
      gemem_redactor_append_directory (redactor, out, file, (gsize) (parts.tail - file));
      if (parts.length > 0 || *parts.marker != '\0')
        g_string_append_c (out, '/');
    }
  g_string_append (out, parts.marker);
  gemem_redactor_append (redactor, out, tail, GEMEM_TEXT_PART);
  if (parts.cut > 0)
    g_string_append_c (out, '?');
}

void
gemem_redactor_append_file_number (GString *out, const char *file, guint32 number)
{
  const char *base = gemem_path_base (file, strlen (file));
  const gsize n = strlen (base), extension = gemem_path_extension (base, n);

  if (*file == '<')
    {
      g_string_append_printf (out, "<file%u>", number);
      return;
    }
  if (strstr (file, "site-packages/") != NULL || strstr (file, "dist-packages/") != NULL)
    g_string_append (out, "site-packages/");
  else if (strstr (file, "/lib/python") != NULL)
    g_string_append (out, "/lib/python/");
  g_string_append_printf (out, "file%u%s", number, base + n - extension);
}
