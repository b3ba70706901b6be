/* test-profile.c - cost profiles: the formula, the files of the project, the search path, and
 * the messages about bad profiles. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "devices/profile.h"
#include "tests/util/testutil.h"

/* A complete profile in which [malloc] is @malloc_group. */
static char *
profile_text (const char *device, const char *malloc_group)
{
  GString *text = g_string_new (device);
  g_string_append_printf (text, "[malloc]\n%s", malloc_group);
  g_string_append (text, "[allocator]\nhit_ns=7\nsource=guess: x\n");
  for (guint call = 1; call < GEMEM_CALL_COUNT; call++)
    g_string_append_printf (text, "[%s]\nbase_ns=%u\nsource=guess: x\n",
                            gemem_device_call_name (call), call);
  return g_string_free (text, FALSE);
}

#define DEVICE "[device]\nname=x\ncapacity=1GiB\ngranularity=2MiB\nsource=guess: x\n"
#define MALLOC "base_ns=100\nper_mib_ns=8\nsynchronises=yes\nsource=measured: here\n"

static void
test_formula (void)
{
  const GememCallCost cost = { .base_ns = 100, .per_mib_ns = 7, .per_page_ns = 30 },
                      huge = { .per_mib_ns = G_MAXUINT64 };
  const GememCallCost base = { .base_ns = 100 },
                      map = { .base_ns = 100, .set_access_ns = 20, .per_page_ns = 1 };

  g_assert_cmpuint (gemem_call_cost_ns (&base, G_MAXUINT64, 4096), ==, 100);
  g_assert_cmpuint (gemem_call_cost_ns (&map, 4 * GEMEM_MIB, 2 * GEMEM_MIB), ==, 122);
  g_assert_cmpuint (gemem_call_cost_ns (&cost, 0, 2 * GEMEM_MIB), ==, 100);
  /* a partial page counts as a whole one */
  g_assert_cmpuint (gemem_call_cost_ns (&cost, 1, 2 * GEMEM_MIB), ==, 130);
  g_assert_cmpuint (gemem_call_cost_ns (&cost, 2 * GEMEM_MIB, 2 * GEMEM_MIB), ==, 100 + 14 + 30);
  g_assert_cmpuint (gemem_call_cost_ns (&cost, 2 * GEMEM_MIB + 1, 2 * GEMEM_MIB), ==,
                    100 + 14 + 60);
  /* 10.5 rounded down */
  g_assert_cmpuint (gemem_call_cost_ns (&cost, 3 * GEMEM_MIB / 2, 2 * GEMEM_MIB), ==,
                    100 + 10 + 30);
  g_assert_cmpuint (gemem_call_cost_ns (&huge, G_MAXUINT64, 4096), ==, G_MAXUINT64);
}

/* Costs that are no line: the first below, a line between two, and on beyond the last two, unless
 * it falls. */
static void
test_sizes (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = profile_text (DEVICE, "sizes=2MiB:100 4MiB:300 1GiB:200\nshared_ns=5\n"
                                                "source=measured: here\n");
  g_autoptr (GememProfile) profile = gemem_profile_parse (text, strlen (text), "x.ini", &error);
  const GememCallCost *cost = profile != NULL ? &profile->calls[GEMEM_CALL_MALLOC] : NULL;
  const GememCallCost one = { .n_sizes = 1, .sizes = { { GEMEM_MIB, 7 } } },
                      rising = { .n_sizes = 2,
                                 .sizes = { { 2 * GEMEM_MIB, 10 }, { 4 * GEMEM_MIB, 30 } } },
                      steep = { .n_sizes = 2, .sizes = { { 1, 0 }, { 2, G_MAXINT64 } } };

  g_assert_no_error (error);
  g_assert_cmpuint (cost->shared_ns, ==, 5);
  g_assert_cmpuint (gemem_call_cost_ns (cost, 1, 4096), ==, 100);
  g_assert_cmpuint (gemem_call_cost_ns (cost, 2 * GEMEM_MIB, 4096), ==, 100);
  g_assert_cmpuint (gemem_call_cost_ns (cost, 3 * GEMEM_MIB, 4096), ==, 200);
  g_assert_cmpuint (gemem_call_cost_ns (cost, 4 * GEMEM_MIB, 4096), ==, 300);
  g_assert_cmpuint (gemem_call_cost_ns (cost, GEMEM_GIB, 4096), ==, 200);
  g_assert_cmpuint (gemem_call_cost_ns (cost, GEMEM_GIB + 1, 4096), ==, 200);
  g_assert_cmpuint (gemem_call_cost_ns (cost, G_MAXUINT64, 4096), ==, 200);
  g_assert_cmpuint (gemem_call_cost_ns (&rising, 6 * GEMEM_MIB, 4096), ==, 50);
  g_assert_cmpuint (gemem_call_cost_ns (&one, G_MAXUINT64, 4096), ==, 7);
  g_assert_cmpuint (gemem_call_cost_ns (&steep, G_MAXUINT64, 4096), ==, G_MAXINT64);
}

static void
test_parse (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = profile_text ("# a comment\n\n" DEVICE, MALLOC);
  g_autoptr (GememProfile) profile = gemem_profile_parse (text, strlen (text), "x.ini", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (profile->device_name, ==, "x");
  g_assert_cmpuint (profile->capacity, ==, GEMEM_GIB);
  g_assert_cmpuint (profile->granularity, ==, 2 * GEMEM_MIB);
  g_assert_cmpuint (profile->hit_ns, ==, 7);
  g_assert_cmpuint (profile->calls[GEMEM_CALL_MALLOC].base_ns, ==, 100);
  g_assert_cmpuint (profile->calls[GEMEM_CALL_MALLOC].per_mib_ns, ==, 8);
  g_assert_true (profile->calls[GEMEM_CALL_MALLOC].synchronises);
  g_assert_cmpuint (profile->calls[GEMEM_CALL_INFO].base_ns, ==, GEMEM_CALL_INFO);
  g_assert_false (profile->calls[GEMEM_CALL_INFO].synchronises);
  g_assert_cmpuint (profile->numbers, ==, 2 + 1 + 2 + GEMEM_CALL_COUNT - 1);
  g_assert_cmpuint (profile->guesses, ==, profile->numbers - 2); /* [malloc] was measured */
}

/* The project's profiles parse, mark their guesses, and are built in unchanged. */
static void
test_ours (void)
{
  static const struct
  {
    const char *name;
    guint64 capacity;
    guint facts; /* numbers that are no guesses */
    guint64 map; /* ns of a page, with its access rights */
  } ours[] = { { "a100", 80 * GEMEM_GIB, 2, 20000 + 1000 },
               { "ascend910b", 64 * GEMEM_GIB, 2, 20000 + 1000 },
               { "generic", 80 * GEMEM_GIB, 1, 20000 + 1000 },
               { "h100", 81079 * GEMEM_MIB, 21, 1427 + 32506 },
               { "h200", 143771 * GEMEM_MIB, 2, 20000 + 1000 } };
  g_auto (GStrv) names = gemem_profile_names ();

  g_assert_cmpuint (g_strv_length (names), ==, G_N_ELEMENTS (ours));
  for (guint i = 0; i < G_N_ELEMENTS (ours); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *relative = g_strdup_printf ("devices/profiles/%s.ini", ours[i].name);
      g_autofree char *path = test_source_path (relative);
      g_autoptr (GememProfile) file = gemem_profile_load (path, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (names[i], ==, ours[i].name);
      g_assert_cmpuint (file->capacity, ==, ours[i].capacity);
      g_assert_cmpuint (file->granularity, ==, 2 * GEMEM_MIB);
      g_assert_cmpuint (file->numbers - file->guesses, ==, ours[i].facts);
      g_assert_true (file->calls[GEMEM_CALL_FREE].synchronises);
      g_assert_false (file->calls[GEMEM_CALL_UNMAP].synchronises);
      g_assert_cmpuint (
          gemem_call_cost_ns (&file->calls[GEMEM_CALL_MAP], 2 * GEMEM_MIB, 2 * GEMEM_MIB), ==,
          ours[i].map);
      g_assert_cmpuint (file->hit_ns, >, 0);

      g_unsetenv ("GEMEM_PROFILES");
      g_autoptr (GememProfile) builtin = gemem_profile_load (ours[i].name, &error);
      g_assert_no_error (error);
      if (g_str_has_prefix (builtin->path, "built-in "))
        {
          g_assert_cmpstr (builtin->device_name, ==, file->device_name);
          g_assert_cmpmem (builtin->calls, sizeof builtin->calls, file->calls, sizeof file->calls);
        }
    }
}

static void
write_profile (const char *dir, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);
  g_autoptr (GError) error = NULL;
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

/* What was parsed is kept, but a file that changes is another one, however many there were. */
static void
test_changed (void)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "changed.ini", NULL);

  for (guint i = 0; i < 60; i++)
    {
      g_autofree char *capacity = g_strdup_printf ("capacity=%uGiB", 1 + i * i % 20);
      g_autofree char *text = profile_text (DEVICE, MALLOC);
      g_auto (GStrv) around = g_strsplit (text, "capacity=1GiB", 2);
      g_autofree char *changed = g_strjoinv (capacity, around);
      g_autoptr (GError) error = NULL;

      g_assert_nonnull (around[1]);
      write_profile (test_tmpdir (), "changed.ini", changed);
      for (guint again = 0; again < 2; again++)
        {
          g_autoptr (GememProfile) profile = gemem_profile_load (path, &error);
          g_assert_no_error (error);
          g_assert_cmpuint (profile->capacity, ==, (1 + i * i % 20) * GEMEM_GIB);
          g_assert_cmpstr (profile->path, ==, path);
        }
    }
}

static void
test_search (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = profile_text (DEVICE, MALLOC);
  g_autofree char *dirs = g_strconcat ("/nonexistent::", test_tmpdir (), NULL);
  g_autofree char *path = g_build_filename (test_tmpdir (), "mine.ini", NULL);

  write_profile (test_tmpdir (), "mine.ini", text);
  g_setenv ("GEMEM_PROFILES", dirs, TRUE);
  g_autoptr (GememProfile) by_name = gemem_profile_load ("mine", &error),
                           by_path = gemem_profile_load (path, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (by_name->path, ==, path);
  g_assert_cmpstr (by_path->path, ==, path);

  /* found before the installed and the built-in one */
  write_profile (test_tmpdir (), "generic.ini", text);
  g_autoptr (GememProfile) own = gemem_profile_load ("generic", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (own->capacity, ==, GEMEM_GIB);

  g_assert_null (gemem_profile_load ("h20", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==,
                   "profile 'h20': not found; did you mean 'h200'? known are a100, ascend910b, "
                   "generic, h100, h200, mine; "
                   "a path has a '/' or ends in .ini");
  g_clear_error (&error);
  g_assert_null (gemem_profile_load ("./nowhere.ini", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "nowhere.ini"));
  g_clear_error (&error);
  g_assert_null (gemem_profile_load (test_tmpdir (), &error)); /* a directory */
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_unsetenv ("GEMEM_PROFILES");
}

static void
assert_refused (const char *text, gsize length, const char *message)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (gemem_profile_parse (text, length, "x.ini", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==, message);
}

/* Line 6 of a complete profile is [malloc]. */
static void
test_bad (void)
{
  static const struct
  {
    const char *device, *malloc_group, *message;
  } cases[] = {
    { DEVICE, "base_ns=12us\nsource=guess: x\n",
      "x.ini:7: [malloc] base_ns: '12us' is not a whole number of nanoseconds" },
    { DEVICE, "base_ns=-1\nsource=guess: x\n",
      "x.ini:7: [malloc] base_ns: '-1' is not a whole number of nanoseconds" },
    { DEVICE, "base_ns=1\n",
      "x.ini:7: [malloc] base_ns: has no source; add 'base_ns_source=' with 'guess: ', 'fact: ' or "
      "'measured: ' and the reason" },
    { DEVICE, "base_ns=1\nbase_ns_source=guess: x\nper_mib_ns=1\n",
      "x.ini:9: [malloc] per_mib_ns: has no source; add 'per_mib_ns_source=' with 'guess: ', "
      "'fact: ' or 'measured: ' and the reason" },
    { DEVICE, "base_ns=1\nsource=I know\n",
      "x.ini:8: [malloc] source: 'I know' does not say what it is; begin with 'guess: ', 'fact: ' "
      "or 'measured: '" },
    { DEVICE, "base_ns=1\nsource=guess:\n",
      "x.ini:8: [malloc] source: 'guess:' does not say what it is; begin with 'guess: ', 'fact: ' "
      "or 'measured: '" },
    { DEVICE, "source=guess: x\n",
      "x.ini:6: [malloc]: has no base_ns; add it (0 if it costs nothing)" },
    { DEVICE, "base_ns=1\nper_mb_ns=1\nsource=guess: x\n",
      "x.ini:8: [malloc] per_mb_ns: unknown key; did you mean 'per_mib_ns'?" },
    { DEVICE, "base_ns=1\ncolour=1\nsource=guess: x\n",
      "x.ini:8: [malloc] colour: unknown key; known are base_ns, per_mib_ns, per_page_ns, sizes, "
      "synchronises, per_1000_live_ns, shared_ns, and their sources" },
    { DEVICE, "sizes=2MiB:1 2MiB:2\nsource=guess: x\n",
      "x.ini:7: [malloc] sizes: '2MiB:2' is no SIZE:NANOSECONDS with a larger size than the one "
      "before; at most 16 of them, as in 2MiB:40000 32MiB:50000" },
    { DEVICE,
      "sizes=1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:1 17:1\n"
      "source=guess: x\n",
      "x.ini:7: [malloc] sizes: '17:1' is no SIZE:NANOSECONDS with a larger size than the one "
      "before; at most 16 of them, as in 2MiB:40000 32MiB:50000" },
    { DEVICE, "sizes=2MiB\nsource=guess: x\n",
      "x.ini:7: [malloc] sizes: '2MiB' is no SIZE:NANOSECONDS with a larger size than the one "
      "before; at most 16 of them, as in 2MiB:40000 32MiB:50000" },
    { DEVICE, "sizes=2MiB:1\nper_mib_ns=1\nsource=guess: x\n",
      "x.ini:7: [malloc] sizes: stands for base_ns, per_mib_ns and per_page_ns; remove these" },
    { DEVICE, "sizes=2MiB:1\n",
      "x.ini:7: [malloc] sizes: has no source; add 'sizes_source=' with 'guess: ', 'fact: ' or "
      "'measured: ' and the reason" },
    { DEVICE, "base_ns=1\nset_access_ns=1\nsource=guess: x\n",
      "x.ini:8: [malloc] set_access_ns: unknown key; known are base_ns, per_mib_ns, per_page_ns, "
      "sizes, synchronises, per_1000_live_ns, shared_ns, and their sources" },
    { DEVICE, "base_ns=1\nsynchronises=perhaps\nsource=guess: x\n",
      "x.ini:8: [malloc] synchronises: 'perhaps' is neither yes nor no" },
    { DEVICE, "base_ns=1\nbase_ns=2\nsource=guess: x\n",
      "x.ini:8: 'base_ns=2' is given twice, first in line 7; keep one" },
    { DEVICE, "base_ns 1\n",
      "x.ini:7: 'base_ns 1' is no '[group]', 'key=value' or '# comment'; correct or remove the "
      "line" },
    { DEVICE, MALLOC "[maloc]\n", "x.ini:11: [maloc]: unknown group; did you mean [malloc]?" },
    { DEVICE, MALLOC "[malloc]\n",
      "x.ini:11: '[malloc]' is given twice, first in line 6; keep one" },
    { DEVICE, MALLOC "[stream_sync]\nsynchronises=yes\nbase_ns=1\nsource=guess: x\n",
      "x.ini:51: '[stream_sync]' is given twice, first in line 11; keep one" },
    { "a=1\n", MALLOC,
      "x.ini:1: 'a=1' is no '[group]', 'key=value' or '# comment'; keys come after a [group] "
      "line" },
    { "[device]\nname=x\ncapacity=1GB/s\ngranularity=2MiB\nsource=guess: x\n", MALLOC, NULL },
    { "[device]\nname=x\ncapacity=1GiB\ngranularity=3MiB\nsource=guess: x\n", MALLOC,
      "x.ini:4: [device] granularity: is not a power of two" },
    { "[device]\nname=x\ncapacity=1GiB\nsource=guess: x\n", MALLOC,
      "x.ini:1: [device]: has no granularity; add it (as in 2MiB)" },
    { "[device]\ncapacity=1GiB\ngranularity=2MiB\nsource=guess: x\n", MALLOC,
      "x.ini:1: [device]: has no name; add the name of the device as people know it" },
    { "", MALLOC,
      "x.ini: has no group [device]; add it (base_ns=0 for a call that costs nothing)" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = profile_text (cases[i].device, cases[i].malloc_group);
      if (cases[i].message != NULL)
        assert_refused (text, strlen (text), cases[i].message);
      else
        {
          g_autoptr (GError) error = NULL; /* the rest of the message belongs to units.c */
          g_assert_null (gemem_profile_parse (text, strlen (text), "x.ini", &error));
          g_assert_true (g_str_has_prefix (error->message, "x.ini:3: [device] capacity: "));
        }
    }
  assert_refused ("", 0,
                  "x.ini: has no group [device]; add it (base_ns=0 for a call that costs nothing)");
  assert_refused (
      "[device]\0", 9,
      "x.ini: not a text file in UTF-8; a profile is a key file (see profiles/generic.ini)");
  assert_refused (
      "\xff\xfe", 2,
      "x.ini: not a text file in UTF-8; a profile is a key file (see profiles/generic.ini)");
}

/* A wait call synchronises by its meaning: a profile may not say so or otherwise. */
static void
test_waits_wait (void)
{
  g_autofree char *text = profile_text (DEVICE, MALLOC), *broken;
  g_auto (GStrv) parts = g_strsplit (text, "[event_sync]\n", 2);
  broken = g_strconcat (parts[0], "[event_sync]\nsynchronises=no\n", parts[1], NULL);
  g_autoptr (GError) error = NULL;
  g_assert_null (gemem_profile_parse (broken, strlen (broken), "x.ini", &error));
  g_assert_nonnull (strstr (
      error->message, "[event_sync] synchronises: this call waits by its meaning; remove the key"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/profile/formula", test_formula);
  g_test_add_func ("/profile/parse", test_parse);
  g_test_add_func ("/profile/sizes", test_sizes);
  g_test_add_func ("/profile/ours", test_ours);
  g_test_add_func ("/profile/search", test_search);
  g_test_add_func ("/profile/changed", test_changed);
  g_test_add_func ("/profile/bad", test_bad);
  g_test_add_func ("/profile/waits-wait", test_waits_wait);
  return g_test_run ();
}
