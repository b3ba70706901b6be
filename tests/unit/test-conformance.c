/* test-conformance.c - how the figure of a documented sentence is read, and that a wrong one is
 * seen: rows with examples that a shell script answers instead of gemem-sim. */
#include "config.h"

#include <glib/gstdio.h>

/* The program's own objects are in no library. */
#include "sim/manuals/run.c"

/* Answers as gemem-sim would: prints its arguments, then its standard input. */
static const char script[] = "#!/bin/sh\n"
                             "case $1 in\n"
                             "words) shift; for word; do echo \"<$word>\"; done;;\n"
                             "input) cat;;\n"
                             "variables) env | sort;;\n"
                             "messages) echo one; echo 'peak two' >&2; echo 'peak three' >&2;;\n"
                             "fails) echo 'no such thing' >&2; exit 3;;\n"
                             "killed) kill -9 $$;;\n"
                             "esac\n";
static char *program;

/* Runs one row; free with gemem_shown_free (, 1). */
static GememShown *
shown_of (const GememSentence *sentence)
{
  return gemem_sentences_run (program, &sentence, 1);
}

static void
check (const char *input, const char *example, const char *figure, const char *documented,
       const char *built)
{
  const GememSentence s = GEMEM_SENTENCE ("id", "text", input, example, figure, "", documented,
                                          built, "why");
  GememShown *shown = shown_of (&s);

  g_assert_cmpstr (shown->documented, ==, documented);
  g_assert_cmpstr (shown->built, ==, built);
  g_assert_true (gemem_shown_as_written (shown));
  g_assert_cmpstr (gemem_shown_verdict (shown), ==,
                   g_str_equal (documented, built) ? "equal" : "differs");
  gemem_shown_free (shown, 1);
}

static void
test_figures (void)
{
  check ("{\"a\": [{\"b\": 18446744073709551}, {\"b\": \"x\"}]}", "input", "json $.a[*].b",
         "18446744073709551, x", "18446744073709551, x");
  check ("{\"a\": {\"b\": true}}", "input", "json $.a.b", "true", "true");
  check ("{\"a\": [[1, null], [2.50, 3]]}", "input", "json $.a[*][1]", "null, 3", "null, 3");
  check ("{\"a\": [[1, null], [2.50, 3]]}", "input", "json $.a[1][0]", "2.50", "2.50");
  check (NULL, "messages", "line ^peak (.*)$", "two", "two");
  check (NULL, "messages", "count ^peak", "2", "2");
  check (NULL, "messages", "count ^nothing", "0", "0");
  check (NULL, "fails", "status", "3", "3");
  check (NULL, "words a:{rules},b 'c d'", "line <a:rules=(.*),b>", "documented", "as-built");
  check (NULL, "words {graphs}/x", "line (graphs).*/x>", "graphs", "graphs");
  check (NULL, "FLAGS_x=5 GE_Y='a b' variables", "line ^FLAGS_x=(.*)$", "5", "5");
  check (NULL, "FLAGS_x=5 GE_Y='a b' variables", "line ^GE_Y=(.*)$", "a b", "a b");
}

/* A program that ends without reading does not end this one. */
static void
test_unread (void)
{
  g_autofree char *input = g_strnfill (1 << 20, 'x');

  for (guint i = 0; i < 20; i++)
    check (input, "fails", "status", "3", "3");
}

/* What the user has set is not seen by the examples. */
static void
test_environment (void)
{
  check (NULL, "variables", "count FLAGS_of_the_user", "0", "0");
}

/* A row whose figure is not the one written down, or cannot be read, is "changed". */
static void
test_changed (void)
{
  static const GememSentence rows[] = {
    GEMEM_SENTENCE ("1", "", "{\"a\": 1}", "input", "json $.a", "B", "1", "2", ""),
    GEMEM_SENTENCE ("2", "", "{\"a\": 1}", "input", "json $.a", "B", "2", "1", ""),
    GEMEM_SENTENCE ("3", "", "{\"a\": 1}", "input", "json $.b", "B", "1", "1", ""),
    GEMEM_SENTENCE ("4", "", "{\"a\": ", "input", "json $.a", "B", "1", "1", ""),
    GEMEM_SENTENCE ("5", "", NULL, "fails", "line ^peak (.*)$", "B", "1", "1", ""),
    GEMEM_SENTENCE ("6", "", NULL, "killed", "status", "", "0", "0", ""),
    GEMEM_SENTENCE ("7", "", "{\"a\": [1]}", "input", "json $.a", "B", "1", "1", ""),
    GEMEM_SENTENCE ("8", "", "{\"a\": [1]}", "input", "json $.a[-1]", "B", "1", "1", ""),
    GEMEM_SENTENCE ("9", "", "{\"a\": [1]}", "input", "json $..b", "B", "1", "1", ""),
  };
  static const char *const errors[] = {
    NULL,
    NULL,
    "nothing at $.b",
    "standard output:1: the JSON text ends too early",
    "no line like '^peak (.*)$'; it said: no such thing",
    NULL,
    "standard output: a: holds values; the path must go on",
    "'[-1]' is no path of .NAME, [N] and [*]",
    "'..b' is no path of .NAME, [N] and [*]",
  };
  const GememSentence *pointers[G_N_ELEMENTS (rows)];
  GememShown *shown;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    pointers[i] = &rows[i];
  shown = gemem_sentences_run (program, pointers, G_N_ELEMENTS (rows));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_false (gemem_shown_as_written (&shown[i]));
      g_assert_cmpstr (gemem_shown_verdict (&shown[i]), ==, "changed");
      g_assert_true (shown[i].sentence == &rows[i]);
      if (errors[i] == NULL)
        g_assert_null (shown[i].built_error);
      else
        g_assert_nonnull (strstr (shown[i].built_error, errors[i]));
    }
  g_assert_cmpstr (shown[0].built, ==, "1");
  gemem_shown_free (shown, G_N_ELEMENTS (rows));
}

static void
test_unseen (void)
{
  static const GememSentence s = GEMEM_UNSEEN ("id", "text", "nobody can");
  GememShown *shown = shown_of (&s);

  g_assert_cmpstr (gemem_shown_verdict (shown), ==, "not observable");
  g_assert_null (shown->built);
  gemem_shown_free (shown, 1);
}

/* The command that is shown can be pasted into a shell. */
static void
test_command (void)
{
  static const GememSentence s = GEMEM_SENTENCE (
      "id", "text", "a 1 2\n", "X='1 2' plan - -p ge:{rules} 'it''s'", "status", "", "0", "0", "");
  g_autofree char *without = gemem_sentence_command (&s, TRUE, FALSE);
  g_autofree char *with = gemem_sentence_command (&s, FALSE, TRUE);

  g_assert_cmpstr (without, ==, "'X=1 2' gemem-sim plan - -p ge:rules=documented its");
  g_assert_true (g_str_has_suffix (with, "rules=as-built its <<'EOF'\na 1 2\nEOF"));
}

int
main (int argc, char **argv)
{
  int status;
  g_setenv ("FLAGS_of_the_user", "1", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_autofree char *folder = g_dir_make_tmp ("gemem-conformance-XXXXXX", NULL);

  program = g_build_filename (folder, "program", NULL);
  g_assert_true (g_file_set_contents (program, script, -1, NULL));
  g_assert_cmpint (g_chmod (program, 0700), ==, 0);
  g_test_add_func ("/conformance/figures", test_figures);
  g_test_add_func ("/conformance/unread", test_unread);
  g_test_add_func ("/conformance/environment", test_environment);
  g_test_add_func ("/conformance/changed", test_changed);
  g_test_add_func ("/conformance/unseen", test_unseen);
  g_test_add_func ("/conformance/command", test_command);
  status = g_test_run ();
  g_unlink (program);
  g_rmdir (folder);
  g_free (program);
  return status;
}
