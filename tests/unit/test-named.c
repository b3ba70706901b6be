/* test-named.c - "NAME[:key=value,...]" over a test registry: names, globs, value lists, labels,
 * defaults; each error with its message. */
#include "config.h"

#include "base/error.h"
#include "base/named.h"

typedef struct
{
  guint64 size, count;
  gboolean eager;
  char *text;
} Params;

static const GememParam params[] = { { .name = "chunk_size",
                                       .type = GEMEM_PARAM_SIZE,
                                       .default_text = "64MiB",
                                       .offset = G_STRUCT_OFFSET (Params, size),
                                       .aliases = "chunk" },
                                     { .name = "count",
                                       .type = GEMEM_PARAM_UINT,
                                       .default_text = "3",
                                       .max = "9",
                                       .conflicts = "eager",
                                       .offset = G_STRUCT_OFFSET (Params, count) },
                                     { .name = "eager",
                                       .type = GEMEM_PARAM_BOOL,
                                       .default_text = "no",
                                       .offset = G_STRUCT_OFFSET (Params, eager) },
                                     { .name = "text",
                                       .type = GEMEM_PARAM_STRING,
                                       .default_text = "none",
                                       .offset = G_STRUCT_OFFSET (Params, text) },
                                     { NULL } };

static const GememNamed best_fit = {
  "best-fit", "best|bf", "Best", "test", params, sizeof (Params)
};
static const GememNamed best_area = { "best-area", NULL, "Area", "test", params, sizeof (Params) };
static const GememNamed plain = { "plain", NULL, "Plain", "test", NULL, 0 };
static const GememNamed *const list[] = { &best_fit, &best_area, &plain, NULL };

static GPtrArray *
parse (const char *text, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);

  if (gemem_named_parse (list, "thing", text, choices, error))
    return g_steal_pointer (&choices);
  g_assert_cmpuint (choices->len, ==, 0); /* all or nothing */
  return NULL;
}

/* Checks that @text expands to these labels, and each label to itself. */
static void
assert_labels (const char *text, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) choices = parse (text, &error);
  g_autoptr (GString) labels = g_string_new (NULL);

  g_assert_no_error (error);
  for (guint i = 0; i < choices->len; i++)
    {
      const GememChoice *choice = g_ptr_array_index (choices, i);
      g_autoptr (GPtrArray) again = parse (choice->label, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (again->len, ==, 1);
      g_assert_true (((GememChoice *) again->pdata[0])->named == choice->named);
      g_assert_cmpuint (((GememChoice *) again->pdata[0])->settings->len, ==,
                        choice->settings->len);
      g_string_append_printf (labels, "%s%s", i > 0 ? ";" : "", choice->label);
    }
  g_assert_cmpstr (labels->str, ==, expected);
}

static void
assert_refused (const char *text, const char *message)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (parse (text, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==, message);
}

static void
test_find (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_named_find (list, "thing", "BEST_FIT", NULL) == &best_fit);
  g_assert_true (gemem_named_find (list, "thing", "bf", NULL) == &best_fit);
  g_assert_null (gemem_named_find (list, "thing", "best-fti", &error));
  g_assert_cmpstr (error->message, ==, "unknown thing 'best-fti'; did you mean 'best-fit'?");
  g_clear_error (&error);
  g_assert_null (gemem_named_find (list, "thing", "xyzzy", &error));
  g_assert_cmpstr (error->message, ==,
                   "unknown thing 'xyzzy'; there are best-fit, best-area, plain");
}

static void
test_labels (void)
{
  assert_labels ("plain", "plain");
  assert_labels ("bf:chunk=1", "bf:chunk=1");
  assert_labels (" plain ", " plain ");
  assert_labels ("*", "best-fit;best-area;plain");
  assert_labels ("BEST_*", "best-fit;best-area");
  assert_labels ("pl?in", "plain");
  assert_labels ("best-*:count=5", "best-fit:count=5;best-area:count=5");
  assert_labels ("bf:chunk=1|2,count=3|4",
                 "bf:chunk=1,count=3;bf:chunk=1,count=4;bf:chunk=2,count=3;bf:chunk=2,count=4");
  assert_labels ("bf:text=[a|b]|\"c,d\"", "bf:text=[a|b];bf:text=\"c,d\"");
}

static void
test_refused (void)
{
  assert_refused ("", "thing '': no name before the colon; write NAME:key=value");
  assert_refused (":a=b", "thing ':a=b': no name before the colon; write NAME:key=value");
  assert_refused ("z*", "thing 'z*': matches nothing; `gemem-sim list things` shows all");
  assert_refused ("bf:cuont=1", "thing best-fit: unknown parameter 'cuont'; did you mean 'count'?");
  assert_refused ("bf:count=1|10", "thing best-fit: count='10': too large; use at most 9");
  /* every match must know every key */
  assert_refused ("*:count=1", "thing plain: unknown parameter 'count'; it takes no parameters");
  assert_refused ("bf:count=1|2|3|4|5|6|7|8|9|1|2,chunk=1|2|3|4|5|6|7|8|9|1,text=1|2|3|4|5|6|7|8|9|"
                  "1,eager=0|0|0|0|0|0|0|0|0|0",
                  "eager: the value lists give more than 10000 combinations; shorten them");
}

static void
test_choose (void)
{
  g_autoptr (GError) error = NULL;
  GememChoice *choice = gemem_named_choose (list, "thing", "plain", &error);

  g_assert_no_error (error);
  g_assert_true (choice->named == &plain);
  gemem_choice_free (choice);
  g_assert_null (gemem_named_choose (list, "thing", "best-*", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==, "thing 'best-*': stands for 2 of them; name one");
}

/* Defaults apply where the choice is silent; keys that the table lacks or the choice excludes
 * are left out. */
static void
test_params (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) defaults = gemem_settings_parse ("chunk-size=2,count=7,unknown=1", &error);
  GememChoice *choice = gemem_named_choose (list, "thing", "bf:eager=yes,chunk=5", &error);
  Params *filled = gemem_choice_params (choice, "thing", defaults, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (filled->size, ==, 5);
  g_assert_cmpuint (filled->count, ==, 3);
  g_assert_true (filled->eager);
  g_assert_cmpstr (filled->text, ==, "none");
  gemem_choice_params_free (choice, filled);
  gemem_choice_free (choice);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/named/find", test_find);
  g_test_add_func ("/named/labels", test_labels);
  g_test_add_func ("/named/refused", test_refused);
  g_test_add_func ("/named/choose", test_choose);
  g_test_add_func ("/named/params", test_params);
  return g_test_run ();
}
