/* test-ge-settings.c - `ge`: the policy that follows from two settings (the table of ge-runtime.md
 * 7.1), and the settings that are refused.
 */
#include "config.h"

#include "planners/ge/policy.h"
#include "tests/util/ge-graphs.h"

/* The message with which creation is refused. */
static char *
refusal_of (const char *text)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);

  if (gemem_allocator_spec_parse (text, specs, &error))
    g_assert_null (gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  gemem_device_destroy (device);
  return g_strdup (error->message);
}

static void
assert_refused (const char *text, const char *pattern)
{
  g_autofree char *message = refusal_of (text);

  g_test_message ("%s", message);
  g_assert_true (g_pattern_match_simple (pattern, message));
}

/* Every cell of the table, and invalid policies. */
static void
test_policy (void)
{
  static const char *const texts[] = { "0", "1",  "2",  "3",  "4",      "",
                                       "5", " 2", "02", "-1", "static", "unset" };
  /* [E][O]: 0, 1 or 2, 3, 4 */
  static const guint rows[4][4] = {
    { 0, 2, 3, 4 }, { 2, 2, 4, 4 }, { 3, 4, 3, 4 }, { 4, 4, 4, 4 }
  };
  static const guint column[] = { 0, 1, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0 };

  for (guint e = 0; e < G_N_ELEMENTS (texts); e++)
    for (guint o = 0; o < G_N_ELEMENTS (texts); o++)
      {
        g_autofree char *spec = g_strdup_printf (
            "ge:as-built=yes,GE_USE_STATIC_MEMORY='%s',ge.exec.staticMemoryPolicy='%s'", texts[e],
            texts[o]);
        GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");

        g_assert_cmpuint (gemem_ge_policy (texts[e], texts[o]), ==, rows[column[e]][column[o]]);
        g_assert_cmpuint (stat_of (a, "static_memory_policy"), ==, rows[column[e]][column[o]]);
        test_allocator_destroy (a);
      }
}

static void
test_refused_settings (void)
{
  assert_refused ("ge:static_memory_policy=5",
                  "allocator ge: static_memory_policy='5': not one of 0, 1, 2, 3, 4; *as_built*");
  assert_refused ("ge:static_memory_policy=", "*static_memory_policy='': not one of*");
  assert_refused ("ge:rules=documented,GE_USE_STATIC_MEMORY=yes",
                  "*GE_USE_STATIC_MEMORY='yes': not one of*rules=as-built*");
  assert_refused ("ge:strict=yes,GE_USE_STATIC_MEMORY=2,static_memory_policy=0",
                  "*GE_USE_STATIC_MEMORY=2 and static_memory_policy=0 conflict*forbids*strict=no*");
  assert_refused ("ge:rules=documented,GE_USE_STATIC_MEMORY=2,static_memory_policy=3",
                  "*GE_USE_STATIC_MEMORY=2 and static_memory_policy=3 conflict*forbids*set "
                  "static_memory_policy alone*rules=as-built*");
  assert_refused ("ge:rules=documented,as_built=yes", "*contradict each other; leave one out");
  assert_refused ("ge:rules=manual", "*rules='manual'*as-built*documented*");
  assert_refused ("ge:atomic_clean_policy=2", "*atomic_clean_policy*'2'*");
  assert_refused ("ge:memory_types=[1=p2p,1=host]", "*memory_types*'1=host'*");
  assert_refused ("ge:memory_types=[1=disk]", "*'1=disk' is not POOL=TYPE*hbm, p2p, host*");
  assert_refused ("ge:memory_types=p2p", "*'p2p' is not POOL=TYPE*");
  assert_refused ("ge:hccl_graphs=[3,x]",
                  "*hccl_graphs='?3,x?': 'x' is not the number of a graph*");
  assert_refused ("ge:huge_page_mem_size=1000", "*huge_page_mem_size*");
  assert_refused ("ge:variable_use_1g_huge_page=3", "*variable_use_1g_huge_page*");
  /* one of the two, or both without strict, is accepted */
  test_allocator_destroy (test_allocator_new ("ge:strict=yes,GE_USE_STATIC_MEMORY=2", "sim"));
  test_allocator_destroy (test_allocator_new (
      "ge:strict=yes,static_memory_policy=4,atomic_clean_policy=1", "sim:capacity=64GiB"));
  test_allocator_destroy (test_allocator_new ("ge:GE_USE_STATIC_MEMORY=1,static_memory_policy=3",
                                              "sim:capacity=64GiB"));
}

/* Values that the manual does not list: the option is refused under both rules; the variable counts
 * as 0 as built (7.1, to the letter) and is refused as documented. */
static void
test_wrong_values (void)
{
  static const char *const values[] = { "5", "02", "", "two", "2.5", " 2", "-1", "22" };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autofree char *option = g_strdup_printf ("static_memory_policy='%s'", values[i]),
                      *variable = g_strdup_printf ("GE_USE_STATIC_MEMORY='%s'", values[i]),
                      *built = g_strconcat ("ge:", variable, NULL),
                      *documented = g_strconcat ("ge:rules=documented,", variable, NULL),
                      *either = g_strconcat ("ge:", option, NULL),
                      *manual = g_strconcat ("ge:rules=documented,", option, NULL);
      GememAllocator *a = test_allocator_new (built, "sim:capacity=64GiB");

      g_assert_cmpuint (stat_of (a, "static_memory_policy"), ==, 0);
      test_allocator_destroy (a);
      assert_refused (documented, "*GE_USE_STATIC_MEMORY='*': not one of 0, 1, 2, 3, 4*; *");
      assert_refused (either, "*static_memory_policy='*': not one of 0, 1, 2, 3, 4; *");
      assert_refused (manual, "*static_memory_policy='*': not one of 0, 1, 2, 3, 4; *");
    }
}

static void
collect (const char *note, gpointer to)
{
  g_string_append_printf (to, "%s\n", note);
}

/* What is to be said of the settings @text matches @pattern. */
static void
assert_said (const char *text, const char *pattern)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GString) said = g_string_new (NULL);

  g_assert_true (gemem_allocator_spec_parse (text, specs, NULL));
  gemem_allocator_spec_notes (g_ptr_array_index (specs, 0), NULL, collect, said);
  g_test_message ("%s: %s", text, said->str);
  g_assert_true (g_pattern_match_simple (pattern, said->str));
}

static void
test_notes (void)
{
  assert_said ("ge", "");
  assert_said ("ge:static_memory_policy=2", "");
  assert_said ("ge:GE_USE_STATIC_MEMORY=1,page_mem_size_total_threshold=50%",
               "allocator ge: GE_USE_STATIC_MEMORY is deprecated; use static_memory_policy\n");
  assert_said ("ge:GE_USE_STATIC_MEMORY=2,static_memory_policy=3",
               "*are merged to policy 4*; the manual forbids both*\n*is deprecated;*\n");
  assert_said ("ge:GE_USE_STATIC_MEMORY=02", "*GE_USE_STATIC_MEMORY='02' counts as 0*\n*");
  assert_said ("ge:atomic_clean_policy=0", "*atomic_clean_policy has no effect*; *zero-clear*\n");
  assert_said ("ge:atomic_clean_policy=1", "*atomic_clean_policy has no effect*; *plan -p*\n");
  /* what is refused is not commented */
  assert_said ("ge:strict=yes,GE_USE_STATIC_MEMORY=2,static_memory_policy=3", "");
  assert_said ("direct", "");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/policy", test_policy);
  g_test_add_func ("/ge/refused-settings", test_refused_settings);
  g_test_add_func ("/ge/wrong-values", test_wrong_values);
  g_test_add_func ("/ge/notes", test_notes);
  return g_test_run ();
}
