/* json.c - see json.h. */
#include "config.h"

#include <string.h>

#include "tests/util/json.h"

static GememJsonTree *
load (GememInput *input, GError *error)
{
  GememJsonTree *tree;

  g_assert_no_error (error);
  tree = gemem_json_tree_load (input, &error);
  g_assert_no_error (error);
  gemem_input_close (input);
  return tree;
}

GememJsonTree *
test_json_load (const char *path)
{
  GError *error = NULL;
  GememInput *input = gemem_input_open (path, &error);

  return load (input, error);
}

GememJsonTree *
test_json_parse (const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));

  return load (gemem_input_new_from_bytes (bytes, "expectations"), NULL);
}

guint32
test_json_member (const GememJsonTree *tree, guint32 object, const char *name)
{
  const guint32 entry = gemem_json_tree_find (tree, object, name);

  if (entry == 0)
    g_error ("no field '%s'", name);
  return entry;
}

gint64
test_json_value (const GememJsonTree *tree, guint32 entry)
{
  GError *error = NULL;
  gint64 value = 0;

  gemem_json_tree_int (tree, entry, G_MININT64, &value, &error);
  g_assert_no_error (error);
  return value;
}

gint64
test_json_int (const GememJsonTree *tree, guint32 object, const char *name)
{
  return test_json_value (tree, test_json_member (tree, object, name));
}

double
test_json_double (const GememJsonTree *tree, guint32 object, const char *name)
{
  const guint32 entry = test_json_member (tree, object, name);

  g_assert_cmpint (gemem_json_tree_token (tree, entry), ==, GEMEM_JSON_NUMBER);
  return g_ascii_strtod (gemem_json_tree_text (tree, entry), NULL);
}

gboolean
test_json_bool (const GememJsonTree *tree, guint32 object, const char *name)
{
  GError *error = NULL;
  gboolean value = FALSE;

  gemem_json_tree_bool (tree, test_json_member (tree, object, name), &value, &error);
  g_assert_no_error (error);
  return value;
}

const char *
test_json_text (const GememJsonTree *tree, guint32 object, const char *name)
{
  GError *error = NULL;
  const char *text = NULL;

  gemem_json_tree_string (tree, test_json_member (tree, object, name), &text, &error);
  g_assert_no_error (error);
  return text;
}

guint
test_json_count (const GememJsonTree *tree, guint32 parent)
{
  guint n = 0;

  for (guint32 i = gemem_json_tree_first (tree, parent); i != 0;
       i = gemem_json_tree_next (tree, parent, i))
    n++;
  return n;
}
