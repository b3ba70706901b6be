/* scenarios.c - see scenarios.h. */
#include "config.h"

#include <string.h>

#include "tests/util/scenarios.h"
#include "tests/util/testutil.h"

static void
set (const char *name, const char *value)
{
  if (value != NULL)
    g_setenv (name, value, TRUE);
  else
    g_unsetenv (name);
}

static void
check_notes (const char *path, const char *expected)
{
  g_auto (GStrv) lines = g_strsplit (expected, "\n", 0);
  g_autofree char *notes = NULL;

  if (!g_file_get_contents (path, &notes, NULL, NULL))
    notes = g_strdup ("");
  for (char **line = lines; *line != NULL; line++)
    if (**line == '!' ? strstr (notes, *line + 1) != NULL : strstr (notes, *line) == NULL)
      g_error ("'%s' is not so of the notes:\n%s", *line, notes);
}

static void
test_scenario (gconstpointer data)
{
  const TestScenario *scenario = data;
  g_autofree char *path = NULL;

  if (g_test_subprocess ())
    {
      scenario->run ();
      return;
    }
  path = g_build_filename (test_tmpdir (), scenario->name, NULL);
  set ("GEMEM_DRY", "1");
  set ("GEMEM_DRY_GPU", scenario->gpu);
  set ("GEMEM_DRIVER_DEVICES", scenario->devices);
  set ("GEMEM_DRY_NOTES", path);
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
  if (scenario->notes != NULL)
    check_notes (path, scenario->notes);
}

void
test_add_scenarios (const char *prefix, const TestScenario *scenarios, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("/%s/%s", prefix, scenarios[i].name);

      g_test_add_data_func (path, &scenarios[i], test_scenario);
    }
}
