/* test-dry-protocol.c - the lists of notes and environment variables (dry/protocol, record/variables.def) say who writes, sets and
 * reads each; that is held against the files, the manual pages and the tables of dry/protocol/README.md.
 */
#include "config.h"

#include <string.h>

#include "dry/protocol/protocol.h"
#include "tests/util/testutil.h"

typedef struct
{
  const char *name, *word, *fields, *writers, *readers, *means;
  gboolean counted; /* by verdict/notes.c, which names no word for it */
} Note;

static const Note notes[] = {
#define GEMEM_DRY_NOTE(name, word, fields, list, writers, readers, means) \
  { #name, word, fields, writers, readers, means, strcmp (#list, "none") != 0 },
#include "dry/protocol/notes.def"
#undef GEMEM_DRY_NOTE
};

typedef struct
{
  const char *name, *standard, *setters, *readers, *means;
} Variable;

#define GEMEM_VARIABLE(name, standard, setters, readers, means) \
  { #name, standard, setters, readers, means },
static const Variable variables[] = {
#include "dry/protocol/variables.def"
#include "record/variables.def"
};
#undef GEMEM_VARIABLE
#define N_OF_DRY (G_N_ELEMENTS (variables) - 2) /* the others are the recorder's */

/* ---- files */

static char *
contents (const char *path)
{
  g_autofree char *full = test_source_path (path);
  g_autoptr (GError) error = NULL;
  char *text = NULL;

  g_file_get_contents (full, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

/* The files in @folder of the source and below it whose names end with @suffix. */
static void
add_files (GPtrArray *files, const char *folder, const char *suffix)
{
  g_autofree char *full = test_source_path (folder);
  g_autoptr (GDir) dir = g_dir_open (full, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      add_files (files, path, suffix);
      if (g_str_has_suffix (name, suffix))
        g_ptr_array_add (files, g_steal_pointer (&path));
    }
}

static gboolean
lists (const char *list, const char *file)
{
  g_auto (GStrv) each = g_strsplit (list, " ", -1);
  return g_strv_contains ((const char *const *) each, file);
}

static gboolean
is_python (const char *file)
{
  return g_str_has_suffix (file, ".py");
}

/* Calls @check with the name and each match of the first group of @pattern in the files of @folder. */
static void
find_in (const char *folder, const char *suffix, const char *pattern,
         void (*check) (const char *file, const char *found))
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) regex = g_regex_new (pattern, 0, 0, NULL);

  add_files (files, folder, suffix);
  g_assert_cmpuint (files->len, >, 0);
  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = contents (files->pdata[i]);
      g_autoptr (GMatchInfo) match = NULL;
      for (g_regex_match (regex, text, 0, &match); g_match_info_matches (match);
           g_match_info_next (match, NULL))
        {
          g_autofree char *found = g_match_info_fetch (match, 1);
          check (files->pdata[i], found);
        }
    }
}

/* ---- notes */

static void
assert_names_note (const Note *note, const char *files)
{
  g_auto (GStrv) each = g_strsplit (files, " ", -1);

  for (guint i = 0; each[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename ("dry", each[i], NULL), *text = contents (path);
      g_autofree char *name = is_python (path) ? g_strdup_printf ("\"%s\"", note->word)
                                               : g_strconcat ("GEMEM_DRY_NOTE_", note->name, NULL);
      if (strstr (text, name) == NULL
          && !(note->counted && strcmp (each[i], "verdict/notes.c") == 0))
        g_error ("notes.def: %s has no %s", path, name);
    }
}

/* A file of dry names a note by its constant, or in Python by its word. */
static void
check_note (const char *file, const char *found)
{
  const char *inner = file + strlen ("dry/");
  gboolean known = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (notes); i++)
    if (strcmp (found, is_python (file) ? notes[i].word : notes[i].name) == 0)
      known |= lists (notes[i].writers, inner) || lists (notes[i].readers, inner);
  if (!known)
    g_error ("%s: the note %s is not in dry/protocol/notes.def, or not of this file", file, found);
}

static void
test_notes (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (notes); i++)
    {
      assert_names_note (&notes[i], notes[i].writers);
      assert_names_note (&notes[i], notes[i].readers);
    }
  find_in ("dry", ".c", "GEMEM_DRY_NOTE_([A-Z]+)", check_note);
  find_in ("dry/python", ".py", "(?:note|count)\\(\"([^\"]*)\"", check_note);
}

/* ---- variables */

static const Variable *
find_variable (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    if (strcmp (variables[i].name, name) == 0)
      return &variables[i];
  return NULL;
}

static void
check_variable (const char *file, const char *found)
{
  const Variable *variable = find_variable (found);

  if (strcmp (found, "DRY_VERSION_OF") != 0
      && (variable == NULL
          || !(lists (variable->setters, file) || lists (variable->readers, file))))
    g_error ("%s: GEMEM_%s is not in variables.def, or not of this file", file, found);
}

/* What people read names no other. */
static void
check_named (const char *file, const char *found)
{
  if (*found != '\0' && find_variable (found) == NULL)
    g_error ("%s: GEMEM_%s is not in variables.def", file, found);
}

static void
check_literal (const char *file, const char *found)
{
  if (find_variable (found) != NULL)
    g_error ("%s: \"GEMEM_%s\": write GEMEM_ENV_%s", file, found, found);
}

static void
assert_names_variable (const Variable *variable, const char *files)
{
  g_auto (GStrv) each = g_strsplit (files, " ", -1);

  for (guint i = 0; each[i] != NULL; i++)
    if (strchr (each[i], '/') != NULL)
      {
        g_autofree char *text = contents (each[i]);
        g_autofree char *name = g_strconcat (is_python (each[i]) ? "\"GEMEM_" : "GEMEM_ENV_",
                                             variable->name, NULL);
        if (strstr (text, name) == NULL && strstr (text, "GEMEM_ENV_DRY_VERSION_OF") == NULL)
          g_error ("variables.def: %s has no %s", each[i], name);
      }
    else
      g_assert_true (strcmp (each[i], "user") == 0 || strcmp (each[i], "tests") == 0);
}

static void
test_variables (void)
{
  static const char names[] =
      "GEMEM_((?:DRY|DRIVER)(?:_[A-Z_]*[A-Z])?|RECORD_[A-Z_]*[A-Z]|JOURNALS)\\b";

  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    {
      assert_names_variable (&variables[i], variables[i].setters);
      assert_names_variable (&variables[i], variables[i].readers);
    }
  find_in ("dry", ".c", "GEMEM_ENV_([A-Z_]+)", check_variable);
  find_in ("record", ".c", "GEMEM_ENV_([A-Z_]+)", check_variable);
  find_in ("dry", ".c", "\"GEMEM_([A-Z_]+)\"", check_literal);
  find_in ("record", ".c", "\"GEMEM_([A-Z_]+)\"", check_literal);
  find_in ("dry/python", ".py", "\"GEMEM_([A-Z_]+)\"", check_variable);
  find_in ("dry", ".py", names, check_named);
  find_in ("doc", ".md", names, check_named);
  find_in ("man", ".1", names, check_named);
}

/* ---- the manual pages */

/* The text below each heading of @page that names a variable. */
static void
check_page (const char *page, guint from, guint to)
{
  g_autofree char *text = contents (page);
  g_auto (GStrv) parts = g_strsplit (text, "\\-", -1);
  g_autofree char *plain = g_strjoinv ("-", parts);
  g_auto (GStrv) items = g_strsplit (plain, "\n.TP\n", -1);
  guint headings = 0, documented = 0;

  for (guint i = 1; items[i] != NULL; i++)
    {
      g_auto (GStrv) lines = g_strsplit (items[i], "\n", 2);
      g_auto (GStrv) names = g_strsplit (lines[0], ", ", -1);
      for (guint n = 0; names[n] != NULL && g_str_has_prefix (names[n], "GEMEM_"); n++)
        {
          const Variable *variable = find_variable (names[n] + strlen ("GEMEM_"));
          headings++;
          if (variable == NULL || !lists (variable->setters, "user")
              || !g_str_has_prefix (lines[1], variable->means))
            g_error ("%s: %s: not as in variables.def", page, names[n]);
        }
    }
  for (guint i = from; i < to; i++)
    documented += lists (variables[i].setters, "user");
  g_assert_cmpuint (headings, ==, documented);
}

static void
test_pages (void)
{
  check_page ("man/gemem-dry-run.1", 0, N_OF_DRY);
  check_page ("man/gemem-record.1", N_OF_DRY, G_N_ELEMENTS (variables));
}

/* ---- the tables */

static void
test_tables (void)
{
  g_autofree char *readme = contents ("dry/protocol/README.md");
  g_autoptr (GString) words = g_string_new ("| word | fields | written by | read by | means |\n"
                                            "| --- | --- | --- | --- | --- |\n");
  g_autoptr (GString) settings = g_string_new ("| GEMEM_ | default | set by | read by | means |\n"
                                               "| --- | --- | --- | --- | --- |\n");

  for (guint i = 0; i < G_N_ELEMENTS (notes); i++)
    g_string_append_printf (words, "| %s | %s | %s | %s | %s |\n", notes[i].word, notes[i].fields,
                            notes[i].writers, notes[i].readers, notes[i].means);
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    g_string_append_printf (settings, "| %s | %s | %s | %s | %s |\n", variables[i].name,
                            variables[i].standard, variables[i].setters, variables[i].readers,
                            variables[i].means);
  if (strstr (readme, words->str) == NULL || strstr (readme, settings->str) == NULL)
    g_error ("dry/protocol/README.md: its tables should be\n\n%s\n%s", words->str, settings->str);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/protocol/notes", test_notes);
  g_test_add_func ("/protocol/variables", test_variables);
  g_test_add_func ("/protocol/pages", test_pages);
  g_test_add_func ("/protocol/tables", test_tables);
  return g_test_run ();
}
