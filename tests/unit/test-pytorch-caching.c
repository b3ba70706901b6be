/* test-pytorch-caching.c - `pytorch-caching` against the worked examples of peers.md 3.1 (P1 to P6,
 * P13, P14, P7 without its expandable block; P9 to P12: test-pytorch-expandable.c), the configuration check values of 1a.11, and behaviour
 * that no recording shows: streams, events, private pools, adopted states.
 *
 * Addresses are written as in the specification: "S1+512" is 512 bytes into the second segment that
 * the device returned.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"
#include "base/rng.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

typedef struct
{
  GememAllocator *a;
  GArray *segments; /* guint64: address of each device allocation, in order */
  GememDeviceObserver observer;
  GString *calls; /* "+S0:SIZE -S0:SIZE !SIZE", since the last expect_calls() */
} Fixture;

static char *
place (const Fixture *f, guint64 address, guint64 slack)
{
  for (guint i = f->segments->len; i-- > 0;)
    {
      const guint64 start = g_array_index (f->segments, guint64, i);

      if (address >= start && address - start < slack)
        return g_strdup_printf ("S%u+%" G_GUINT64_FORMAT, i, address - start);
    }
  return g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", address);
}

static void
observe (gpointer data, const GememDeviceNote *note)
{
  const GememDeviceCall call = note->call;
  const guint64 address = note->address, size = note->size;
  const gboolean ok = note->ok;
  Fixture *f = data;

  if (call == GEMEM_CALL_MALLOC && ok)
    {
      g_array_append_val (f->segments, address);
      g_string_append_printf (f->calls, "+S%u:%" G_GUINT64_FORMAT " ", f->segments->len - 1, size);
    }
  else if (call == GEMEM_CALL_MALLOC)
    g_string_append_printf (f->calls, "!%" G_GUINT64_FORMAT " ", size);
  else if (call == GEMEM_CALL_FREE)
    {
      g_autofree char *where = place (f, address, 1);

      where[strcspn (where, "+")] = '\0';
      g_string_append_printf (f->calls, "-%s:%" G_GUINT64_FORMAT " ", where, size);
    }
}

static Fixture *
setup (const char *spec, const char *device)
{
  Fixture *f = g_new0 (Fixture, 1);

  f->a = test_allocator_new (spec, device);
  f->segments = g_array_new (FALSE, FALSE, sizeof (guint64));
  f->calls = g_string_new (NULL);
  f->observer = (GememDeviceObserver){ .func = observe, .data = f };
  gemem_device_add_observer (f->a->device, &f->observer);
  return f;
}

static void
teardown (Fixture *f)
{
  GError *error = NULL;

  f->a->klass->check (f->a, &error);
  g_assert_no_error (error);
  gemem_device_remove_observer (f->a->device, &f->observer);
  test_allocator_destroy (f->a);
  g_array_unref (f->segments);
  g_string_free (f->calls, TRUE);
  g_free (f);
}

/* Allocates a block, which must be @expected ("OOM": the request must fail), and returns it. */
static GememBlock
get_full (Fixture *f, guint64 size, guint64 stream, guint32 pool, const char *expected)
{
  const GememRequest request = { size, stream, pool };
  GememBlock block = { 0 };
  const gboolean ok = f->a->klass->alloc (f->a, &request, &block);
  g_autofree char *where = ok ? place (f, block.address, G_GUINT64_CONSTANT (1) << 40)
                              : g_strdup ("OOM");
  g_autofree char *got = ok ? g_strdup_printf ("%s:%" G_GUINT64_FORMAT, where, block.size)
                            : g_strdup (where);
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (got, ==, expected);
  f->a->klass->check (f->a, &error);
  g_assert_no_error (error);
  return block;
}

static GememBlock
get (Fixture *f, guint64 size, const char *expected)
{
  return get_full (f, size, 0, 0, expected);
}

static void
put (Fixture *f, GememBlock block)
{
  g_autoptr (GError) error = NULL;

  f->a->klass->free (f->a, &block, FALSE);
  f->a->klass->check (f->a, &error);
  g_assert_no_error (error);
}

static void
trim (Fixture *f)
{
  f->a->klass->trim (f->a);
}

/* Compares the device calls since the last time. */
static void
expect_calls (Fixture *f, const char *expected)
{
  g_autofree char *got = g_strstrip (g_strdup (f->calls->str));

  g_string_truncate (f->calls, 0);
  g_assert_cmpstr (got, ==, expected);
}

typedef struct
{
  Fixture *f;
  GString *text;
  GememSpanState state;
} SpanText;

static void
add_span (const GememSpan *span, gpointer data)
{
  SpanText *t = data;
  g_autofree char *where = place (t->f, span->address, G_GUINT64_CONSTANT (1) << 40);

  if (span->state == t->state)
    g_string_append_printf (t->text, "%s%s:%" G_GUINT64_FORMAT, t->text->len > 0 ? " " : "", where,
                            span->size);
}

static void
expect_spans (Fixture *f, GememSpanState state, const char *expected)
{
  SpanText text = { f, g_string_new (NULL), state };

  f->a->klass->walk (f->a, add_span, &text);
  g_assert_cmpstr (text.text->str, ==, expected);
  g_string_free (text.text, TRUE);
}

static void
expect_free (Fixture *f, const char *expected)
{
  expect_spans (f, GEMEM_SPAN_FREE, expected);
}

typedef struct
{
  const char *name;
  guint64 value;
  gboolean found;
} StatQuery;

static void
match_stat (const char *name, guint64 value, const char *unit, gpointer data)
{
  StatQuery *query = data;

  if (g_str_equal (name, query->name))
    {
      g_assert_false (query->found);
      query->value = value;
      query->found = TRUE;
    }
}

static guint64
stat_of (Fixture *f, const char *name)
{
  StatQuery query = { name, 0, FALSE };

  f->a->klass->report.stats (f->a, match_stat, &query);
  if (!query.found)
    g_error ("no statistic %s", name);
  return query.value;
}

/* ---- worked examples */

static void
test_p1_small_pool (void)
{
  Fixture *f = setup ("pytorch-caching", "sim:capacity=1GiB");
  GememBlock one, two, three, four, five, six;

  one = get (f, 1, "S0+0:512");
  expect_calls (f, "+S0:2097152");
  two = get (f, 512, "S0+512:512");
  three = get (f, 513, "S0+1024:1024");
  four = get (f, 1048576, "S0+2048:1048576");
  expect_free (f, "S0+1050624:1046528");
  five = get (f, 1048576, "S1+0:1048576");
  expect_calls (f, "+S1:2097152");
  expect_free (f, "S0+1050624:1046528 S1+1048576:1048576");
  put (f, two);
  put (f, one);
  expect_free (f, "S0+0:1024 S0+1050624:1046528 S1+1048576:1048576");
  six = get (f, 1024, "S0+0:1024");
  put (f, three);
  put (f, four);
  put (f, five);
  put (f, six);
  expect_free (f, "S0+0:2097152 S1+0:2097152");
  trim (f);
  expect_calls (f, "-S0:2097152 -S1:2097152");
  g_assert_cmpuint (f->a->device->held, ==, 0);
  teardown (f);
}

static void
test_p2_large_buffer (void)
{
  Fixture *f = setup ("pytorch-caching", "sim:capacity=1GiB");
  GememBlock third;

  get (f, 1048577, "S0+0:1049088");
  get (f, 5 * MIB, "S0+1049088:5242880");
  third = get (f, 10 * MIB - 512, "S0+6291968:10485248");
  expect_free (f, "S0+16777216:4194304");
  get (f, 10 * MIB, "S1+0:10485760");
  get (f, 10 * MIB + 1, "S2+0:10486272");
  expect_calls (f, "+S0:20971520 +S1:10485760 +S2:12582912");
  expect_free (f, "S0+16777216:4194304 S2+10486272:2096640");
  put (f, third);
  expect_free (f, "S0+6291968:14679552 S2+10486272:2096640");
  get (f, 4 * MIB, "S0+6291968:4194304");
  expect_free (f, "S0+10486272:10485248 S2+10486272:2096640");
  teardown (f);
}

static void
test_p3_unsplit_tail (void)
{
  Fixture *f = setup ("pytorch-caching", "sim:capacity=1GiB");

  put (f, get (f, 20 * MIB, "S0+0:20971520"));
  put (f, get (f, 19 * MIB, "S0+0:20971520"));
  get (f, 19 * MIB - 512, "S0+0:19922432");
  expect_free (f, "S0+19922432:1049088");
  teardown (f);
}

static void
test_p4_best_fit (void)
{
  Fixture *f = setup ("pytorch-caching", "sim:capacity=1GiB");
  GememBlock a = get (f, 12 * MIB, "S0+0:12582912");
  GememBlock b = get (f, 12 * MIB, "S1+0:12582912");
  GememBlock c = get (f, 14 * MIB, "S2+0:14680064");

  put (f, b);
  put (f, a);
  put (f, c);
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 0), ==, 14 * MIB);
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 7), ==, 0);
  get (f, 11 * MIB, "S0+0:12582912");
  get (f, 11 * MIB, "S1+0:12582912");
  get (f, 11 * MIB, "S2+0:11534336");
  expect_free (f, "S2+11534336:3145728");
  get_full (f, 12 * MIB, 7, 0, "S3+0:12582912");
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 0), ==, 3 * MIB);
  teardown (f);
}

static void
test_p5_garbage_collection (void)
{
  Fixture *f = setup ("pytorch-caching:memory_limit=120MiB,garbage_collection_threshold=0.5",
                      "sim:capacity=1GiB");
  GememBlock a = get (f, 40 * MIB, "S0+0:41943040");
  GememBlock b = get (f, 40 * MIB, "S1+0:41943040");

  put (f, a);
  a = get (f, 30 * MIB, "S0+0:31457280");
  put (f, a);
  put (f, b);
  expect_calls (f, "+S0:41943040 +S1:41943040");
  get (f, 50 * MIB, "S2+0:52428800");
  expect_calls (f, "-S0:41943040 -S1:41943040 +S2:52428800");
  g_assert_cmpuint (f->a->retries, ==, 0); /* garbage collection is not a retry */
  teardown (f);
}

/* Ages differ: only blocks at least as old as the average are released; a second round follows
 * only if that was not enough. */
static void
test_gc_rounds (void)
{
  static const struct
  {
    const char *spec, *calls;
  } cases[] = {
    /* 86 MiB reserved, 36 to release: the first round releases the older 32 MiB, the second the
     * other block */
    { "pytorch-caching:memory_limit=200MiB,garbage_collection_threshold=0.25",
      "-S1:33554432 -S2:35651584 +S4:41943040" },
    /* 26 to release: the older one is enough */
    { "pytorch-caching:memory_limit=200MiB,garbage_collection_threshold=0.3",
      "-S1:33554432 +S4:41943040" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture *f = setup (cases[i].spec, "sim:capacity=1GiB");
      GememBlock a = get (f, 30 * MIB, "S0+0:31457280");
      GememBlock b = get (f, 32 * MIB, "S1+0:33554432");
      GememBlock c = get (f, 34 * MIB, "S2+0:35651584");

      put (f, a); /* its age counts from search 3 */
      /* above the threshold: S0, the only candidate, is released */
      get_full (f, 2 * MIB, 5, 0, "S3+0:2097152");
      expect_calls (f, "+S0:31457280 +S1:33554432 +S2:35651584 -S0:31457280 +S3:20971520");
      put (f, b); /* from search 4 */
      put (f, get_full (f, 2 * MIB, 5, 0, "S3+2097152:2097152"));
      put (f, c);                         /* from search 5 */
      get (f, 40 * MIB, "S4+0:41943040"); /* search 6: ages 2 and 1, average 1.5 */
      expect_calls (f, cases[i].calls);
      teardown (f);
    }
}

static void
test_p6_max_split_size (void)
{
  Fixture *f = setup ("pytorch-caching:max_split_size_mb=40", "sim:capacity=1GiB");

  put (f, get (f, 100 * MIB, "S0+0:104857600"));
  get (f, 30 * MIB, "S1+0:31457280");
  put (f, get (f, 85 * MIB, "S0+0:104857600"));
  get (f, 79 * MIB, "S2+0:83886080");
  expect_calls (f, "+S0:104857600 +S1:31457280 +S2:83886080");
  get (f, 80 * MIB, "S3+0:83886080"); /* exactly 20 MiB more is too much */
  get (f, 80 * MIB + 512, "S0+0:104857600");
  expect_calls (f, "+S3:83886080");
  g_assert_cmpuint (stat_of (f, "oversize_allocations.current"), ==, 3);
  g_assert_cmpuint (stat_of (f, "oversize_allocations.allocated"), ==, 5);
  g_assert_cmpuint (stat_of (f, "oversize_segments.current"), ==, 3);
  teardown (f);
}

/* P7 without its expandable block: the walk down from the largest releases 80 MiB of the wanted
 * 120, and reports failure; then the whole cache is released. */
static void
test_p7_release_available_fails (void)
{
  Fixture *f = setup ("pytorch-caching:max_split_size_mb=40,memory_limit=120MiB",
                      "sim:capacity=1GiB");
  GememBlock a = get (f, 40 * MIB, "S0+0:41943040");
  GememBlock c = get (f, 40 * MIB, "S1+0:41943040");
  GememBlock small = get (f, 1, "S2+0:512");

  get (f, 40 * MIB, "OOM");
  g_assert_cmpuint (stat_of (f, "num_ooms"), ==, 1);
  g_assert_cmpuint (stat_of (f, "num_alloc_retries"), ==, 1);
  g_assert_cmpuint (f->a->retries, ==, 0); /* there was nothing to release */
  put (f, a);
  put (f, c);
  put (f, small);
  get (f, 120 * MIB, "S3+0:125829120");
  expect_calls (
      f,
      "+S0:41943040 +S1:41943040 +S2:2097152 -S1:41943040 -S0:41943040 -S2:2097152 +S3:125829120");
  g_assert_cmpuint (f->a->retries, ==, 1);
  teardown (f);
}

static void
test_release_available (void)
{
  Fixture *f = setup ("pytorch-caching:max_split_size_mb=40", "sim:capacity=160MiB");
  GememBlock a = get (f, 40 * MIB, "S0+0:41943040");
  GememBlock b = get (f, 50 * MIB, "S1+0:52428800");
  GememBlock c = get (f, 60 * MIB, "S2+0:62914560");
  GememBlock d;

  put (f, a);
  put (f, b);
  put (f, c);
  /* 100: no block is as large; blocks are released from the largest down to a sum of 100 MiB, so
   * S0 stays. */
  d = get (f, 100 * MIB, "S3+0:104857600");
  expect_calls (
      f,
      "+S0:41943040 +S1:52428800 +S2:62914560 !104857600 -S2:62914560 -S1:52428800 +S3:104857600");
  g_assert_cmpuint (f->a->retries, ==, 1);
  g_assert_cmpuint (stat_of (f, "num_alloc_retries"), ==, 0);
  put (f, d);
  /* A block that suffices is released alone: a request of another stream for 120 MiB finds no
   * such block there, and empties the cache. */
  get_full (f, 60 * MIB, 9, 0, "S4+0:62914560");
  expect_calls (f, "!62914560 -S0:41943040 -S3:104857600 +S4:62914560");
  put (f, get (f, 90 * MIB, "S5+0:94371840"));
  /* 90 is more than 60 + 20: not used; the device refuses; the only block of at least 60 is
   * released. */
  get (f, 60 * MIB, "S6+0:62914560");
  expect_calls (f, "+S5:94371840 !62914560 -S5:94371840 +S6:62914560");
  teardown (f);
}

/* ---- settings */

static guint64
rounded (const char *divisions, guint64 size)
{
  CachingSettings settings = { .has_divisions = TRUE };
  g_autoptr (GError) error = NULL;

  gemem_caching_divisions_parse (&gemem_caching_versions[CACHING_2_15], divisions,
                                 settings.divisions, &error);
  g_assert_no_error (error);
  return gemem_caching_round (&settings, size);
}

static void
test_p13_roundings (void)
{
  g_assert_cmpuint (rounded ("4", 84 * MIB), ==, 96 * MIB);
  g_assert_cmpuint (rounded ("8", 84 * MIB), ==, 88 * MIB);
  g_assert_cmpuint (rounded ("2", 400 * MIB), ==, 512 * MIB);
  g_assert_cmpuint (rounded ("4", 1200), ==, 1536);
  g_assert_cmpuint (rounded ("4", 3000), ==, 3072);
  g_assert_cmpuint (rounded ("8", 1048577), ==, 1179648);
  g_assert_cmpuint (rounded ("8", 4097), ==, 4608);
  /* values around the special cases */
  g_assert_cmpuint (rounded ("0", 4097), ==, 4608);
  g_assert_cmpuint (rounded ("1", 84 * MIB + 1), ==, 84 * MIB + 512);
  g_assert_cmpuint (rounded ("4", 0), ==, 512);
  g_assert_cmpuint (rounded ("4", 511), ==, 512);
  g_assert_cmpuint (rounded ("4", 2048), ==, 2048);
  g_assert_cmpuint (rounded ("4", 2049), ==, 2560);
  g_assert_cmpuint (rounded ("4", 64 * MIB), ==, 64 * MIB);
  g_assert_cmpuint (rounded ("4", 64 * MIB + 1), ==, 80 * MIB);
  g_assert_cmpuint (rounded ("4", 128 * MIB - 1), ==, 128 * MIB);
  g_assert_cmpuint (rounded ("[1:1,2:4]", 2 * MIB - 1), ==, 2 * MIB); /* slot 0 below 2 MiB */
  g_assert_cmpuint (rounded ("[1:1,2:4]", 2 * MIB + 1), ==, 2 * MIB + MIB / 2);
}

static void
assert_slot (const char *divisions, guint64 mib, guint32 expected)
{
  guint64 slots[CACHING_DIVISION_SLOTS];
  guint slot = 0;

  g_assert_true (gemem_caching_divisions_parse (&gemem_caching_versions[CACHING_2_15], divisions,
                                                slots, NULL));
  while ((mib >>= 1) != 0)
    slot++;
  g_assert_cmpuint (slots[MIN (slot, CACHING_DIVISION_SLOTS - 1)], ==, expected);
}

static void
test_config_check_values (void)
{
  const char *first = "[64:8,128:2,256:4,512:2,1024:4,>:1]",
             *second = "[128:8,256:16,512:1,2048:8,>:2]";
  static const char *const wrong[] = { "",      "3",          "-1",
                                       "x",     "[]",         "[64:8",
                                       "[64]",  "[64:3]",     "[65:2]",
                                       "[0:2]", "[>:1,64:2]", "[64:8,]",
                                       "[a:b]", "[64:8:2]",   "18446744073709551616" };
  guint64 slots[CACHING_DIVISION_SLOTS];

  assert_slot (first, 32, 8);
  assert_slot (first, 64, 8);
  assert_slot (first, 128, 2);
  assert_slot (first, 256, 4);
  assert_slot (first, 512, 2);
  assert_slot (first, 1024, 4);
  assert_slot (first, 2048, 1);
  assert_slot (first, 8192, 1);
  assert_slot (second, 64, 8);
  assert_slot (second, 128, 8);
  assert_slot (second, 256, 16);
  assert_slot (second, 512, 1);
  assert_slot (second, 1024, 0);
  assert_slot (second, 2048, 8);
  assert_slot (second, 4096, 2);
  assert_slot ("[ 64 : 8 , > : 1 ]", 32, 8);
  assert_slot ("[65536:4]", 1 << 15, 4); /* beyond the last slot: clamped */
  assert_slot ("16", 1, 16);
  assert_slot ("16", 32768, 16);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      if (gemem_caching_divisions_parse (&gemem_caching_versions[CACHING_2_15], wrong[i], slots,
                                         &error))
        g_error ("'%s' was accepted", wrong[i]);
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
    }
}

/* Checks that @spec is refused, when the allocator is created at the latest; @part is in the
 * message. */
static void
assert_refused (const char *spec, const char *device_spec, const char *part)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememDevice *device = gemem_device_new (device_spec, NULL, 0, NULL);
  g_autoptr (GError) error = NULL;
  GememAllocator *a = NULL;

  if (gemem_allocator_spec_parse (spec, specs, &error))
    a = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, &error);
  g_assert_null (a);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, part) == NULL)
    g_error ("%s: '%s', without '%s'", spec, error->message, part);
  gemem_device_destroy (device);
}

static void
test_settings (void)
{
  Fixture *f = setup ("pytorch:per_process_memory_fraction=0.3", "sim:capacity=1000MiB");

  g_assert_cmpuint (((Caching *) f->a)->settings.limit, ==, 300 * MIB);
  get (f, 298 * MIB, "S0+0:312475648");
  get (f, 2 * MIB, "OOM"); /* wants 20 */
  get (f, 1, "S1+0:512");
  get (f, 2 * MIB, "OOM");
  expect_calls (f, "+S0:312475648 +S1:2097152"); /* the limit refuses before the device is asked */
  teardown (f);

  f = setup ("pytorch:conf=\"max_split_size_mb:200, garbage_collection_threshold : "
             "0.6,roundup_power2_divisions:[64:8,>:2],"
             "per_process_memory_fraction:0.5,expandable_segments:False\"",
             "sim:capacity=1000MiB");
  g_assert_cmpuint (((Caching *) f->a)->settings.max_split_size, ==, 200 * MIB);
  g_assert_cmpuint (((Caching *) f->a)->settings.limit, ==, 500 * MIB);
  g_assert_cmpuint (((Caching *) f->a)->settings.gc_trigger, ==, 300 * MIB);
  g_assert_cmpuint (((Caching *) f->a)->settings.divisions[6], ==, 8);
  g_assert_cmpuint (((Caching *) f->a)->settings.divisions[7], ==, 2);
  teardown (f);

  /* a part of what the device reports, or is said to have */
  f = setup ("pytorch:per_process_memory_fraction=0.5", "sim:capacity=100MiB,total=180MiB");
  g_assert_cmpuint (((Caching *) f->a)->settings.limit, ==, 90 * MIB);
  teardown (f);
  f = setup ("pytorch:per_process_memory_fraction=0.5,total=60MiB", "sim:capacity=100MiB");
  g_assert_cmpuint (((Caching *) f->a)->settings.limit, ==, 30 * MIB);
  teardown (f);

  f = setup ("pytorch:garbage_collection_threshold=0.6,large_segment_size_mb=32,release_lock_on_"
             "cudamalloc=yes",
             "sim:capacity=1000MiB");
  g_assert_false (((Caching *) f->a)->settings.gc); /* without a limit */
  get (f, 2 * MIB, "S0+0:2097152");
  expect_calls (f, "+S0:33554432");
  teardown (f);

  assert_refused ("pytorch:max_split_size_mb=19", "sim", "too small");
  assert_refused ("pytorch:max_split_size_mb=24,large_segment_size_mb=32", "sim",
                  "smaller than large_segment_size_mb");
  assert_refused ("pytorch:max_non_split_rounding_mb=1", "sim", "too small");
  assert_refused ("pytorch:max_non_split_rounding_mb=24,large_segment_size_mb=32", "sim",
                  "below large_segment_size_mb");
  assert_refused ("pytorch:garbage_collection_threshold=1", "sim", "below 1");
  assert_refused ("pytorch:garbage_collection_threshold=1.5", "sim", "too large");
  assert_refused ("pytorch:roundup_power2_divisions=3", "sim", "power of two");
  assert_refused ("pytorch:backend=cudaMallocAsync", "sim:virtual_memory=no",
                  "backend=cudaMallocAsync: this is a device without virtual memory");
  assert_refused ("pytorch:use_on_oom=yes", "sim", "use_on_oom");
  assert_refused ("pytorch:no_split=yes", "sim", "no_split");
  assert_refused ("pytorch:version=two", "sim", "version");
  assert_refused ("pytorch:version=2.10,large_segment_size_mb=32", "sim",
                  "PyTorch 2.10 does not have it");
  assert_refused ("pytorch:version=2.11,throw_on_cudamalloc_oom=yes", "sim", "version=2.12.1");
  assert_refused ("pytorch:version=2.13,expandable_segments_reserve=1G", "sim", "version=2.15");
  assert_refused ("pytorch:expandable_segments_reserve=1M", "sim", "40G");
  assert_refused ("pytorch:version=2.6,max_split_size_mb=20", "sim", "above 20");
  assert_refused ("pytorch:large_segment_size_mb=10", "sim", "above 10");
  assert_refused ("pytorch:version=two", "sim", "not one of the choices; use 2.6, ");
  assert_refused ("pytorch:version=2.9,alloc_conf=max_split_size_mb:30", "sim",
                  "is read since version=2.10; use PYTORCH_CUDA_ALLOC_CONF");
  assert_refused ("pytorch:conf=max_split_size_mb:30,alloc_conf=max_split_size_mb:30", "sim",
                  "exclude each other");
  assert_refused ("pytorch:conf=max_split_size:200", "sim", "unknown key max_split_size");
  assert_refused ("pytorch:conf=memory_limit:200", "sim", "unknown key memory_limit");
  assert_refused ("pytorch:conf=max_split_size_mb", "sim", "KEY:VALUE");
  assert_refused ("pytorch:conf=backend:native,max_split_size_mb=200", "sim", "exclude each other");
}

/* D1: the size of large segments is also how much an oversize block may waste. */
static void
test_rounding_follows_segments (void)
{
  Fixture *f = setup ("pytorch:max_split_size_mb=32,large_segment_size_mb=32", "sim:capacity=1GiB");

  put (f, get (f, 66060288, "S0+0:67108864"));
  get (f, 36337976, "S0+0:67108864");
  teardown (f);
  f = setup ("pytorch:max_split_size_mb=32", "sim:capacity=1GiB");
  put (f, get (f, 66060288, "S0+0:67108864"));
  get (f, 36337976, "S1+0:37748736");
  teardown (f);
}

/* D2: '>' alone fills every slot but the lowest. */
static void
test_above_alone (void)
{
  Fixture *f = setup ("pytorch:roundup_power2_divisions=[>:4]", "sim:capacity=1GiB");

  get (f, 2052608, "S0+0:2052608");
  get (f, 3 * MIB - 512, "S0+2052608:3145728");
  teardown (f);
}

/* D3: bytes are requested until the free is complete. */
static void
test_requested_until_complete (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=1GiB,event_latency=1s");
  GememBlock a = get (f, 1000, "S0+0:1024");

  f->a->klass->streams.use (f->a, &a, 3);
  put (f, a);
  g_assert_cmpuint (stat_of (f, "requested_bytes.all.current"), ==, 1000);
  f->a->device->now += 2000000000;
  get (f, 1, "S0+0:512");
  g_assert_cmpuint (stat_of (f, "requested_bytes.all.current"), ==, 1);
  teardown (f);
}

/* ---- streams and events */

static void
test_events (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=1GiB,event_latency=1s");
  GememBlock a = get (f, 1000, "S0+0:1024");
  GememBlock b = get (f, 1000, "S0+1024:1024");

  f->a->klass->streams.use (f->a, &a, 0); /* its own stream does not count */
  put (f, a);
  expect_spans (f, GEMEM_SPAN_PENDING, "");
  a = get (f, 1000, "S0+0:1024");
  f->a->klass->streams.use (f->a, &a, 3);
  f->a->klass->streams.use (f->a, &a, 4);
  f->a->klass->streams.use (f->a, &a, 3);
  put (f, a);
  g_assert_cmpuint (f->a->device->calls[GEMEM_CALL_EVENT_RECORD], ==, 2);
  expect_spans (f, GEMEM_SPAN_PENDING, "S0+0:1024");
  g_assert_cmpuint (stat_of (f, "allocated_bytes.all.current"), ==, 1024);
  g_assert_cmpuint (stat_of (f, "active_bytes.all.current"), ==, 2048);
  get (f, 1000, "S0+2048:1024"); /* not reusable yet */
  put (f, b);
  expect_free (f, "S0+1024:1024 S0+3072:2094080"); /* nor mergeable */
  f->a->device->now += 2000000000;
  get_full (f, 1000, 0, 1, "S1+0:1024"); /* a private pool does not poll events */
  expect_spans (f, GEMEM_SPAN_PENDING, "S0+0:1024");
  get (f, 2000, "S0+0:2048");
  expect_spans (f, GEMEM_SPAN_PENDING, "");
  teardown (f);
}

/* Emptying the cache waits for events, so that the segment can be released. */
static void
test_events_and_trim (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=1GiB,event_latency=1ms");
  GememBlock a = get (f, 1000, "S0+0:1024");

  f->a->klass->streams.use (f->a, &a, 3);
  put (f, a);
  trim (f);
  g_assert_cmpuint (f->a->device->calls[GEMEM_CALL_EVENT_SYNC], ==, 1);
  expect_calls (f, "+S0:2097152 -S0:2097152");
  a = get (f, 12 * MIB, "S1+0:12582912");
  f->a->klass->streams.use (f->a, &a, 3);
  teardown (f); /* live, with a stream recorded: all memory is released */
}

static void
test_completion (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=64MiB");
  GememBlock a = get (f, 20 * MIB, "S0+0:20971520");
  GememBlock b = get (f, 20 * MIB, "S1+0:20971520");
  GememBlock c = get (f, 1000, "S2+0:1024");

  f->a->klass->free (f->a, &c, TRUE);
  expect_spans (f, GEMEM_SPAN_PENDING, "S2+0:1024");
  get (f, 1000, "S2+1024:1024");
  f->a->klass->streams.complete (f->a, &c);
  expect_free (f, "S2+0:1024 S2+2048:2095104");

  f->a->klass->free (f->a, &a, TRUE);
  f->a->klass->free (f->a, &b, TRUE);
  /* Out of memory: the ladder waits for all events, before complete() is called. */
  get (f, 40 * MIB, "S3+0:41943040");
  expect_calls (
      f, "+S0:20971520 +S1:20971520 +S2:2097152 !41943040 -S0:20971520 -S1:20971520 +S3:41943040");
  g_assert_cmpuint (f->a->retries, ==, 1);
  /* New blocks may reuse structs and bytes of the old ones; a late complete() has no effect on
   * them. */
  c = get (f, 1000, "S2+0:1024");
  f->a->klass->free (f->a, &c, TRUE);
  f->a->klass->streams.complete (f->a, &b);
  f->a->klass->streams.complete (f->a, &a);
  expect_spans (f, GEMEM_SPAN_PENDING, "S2+0:1024");
  f->a->klass->streams.complete (f->a, &c);
  expect_free (f, "S2+0:1024 S2+2048:2095104");
  teardown (f);
}

/* ---- private pools */

static void
test_private_pools (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=1GiB");
  GememBlock a = get_full (f, 1000, 0, 2, "S0+0:1024");
  GememBlock b = get_full (f, 1000, 0, 1, "S1+0:1024");

  get (f, 1000, "S2+0:1024");
  put (f, a);
  get (f, 1000, "S2+1024:1024");
  get_full (f, 1000, 0, 2, "S0+0:1024");
  put (f, b);
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 0), ==, MIB); /* the default pools only */
  trim (f);
  expect_calls (f, "+S0:2097152 +S1:2097152 +S2:2097152"); /* private pools keep theirs */
  teardown (f);

  f = setup ("pytorch:release_private_pools=yes", "sim:capacity=1GiB");
  a = get_full (f, 12 * MIB, 0, 2, "S0+0:12582912");
  b = get_full (f, 1000, 0, 1, "S1+0:1024");
  put (f, get_full (f, 1000, 0, 2, "S2+0:1024"));
  put (f, a);
  put (f, get (f, 1000, "S3+0:1024"));
  trim (f);
  expect_calls (
      f, "+S0:12582912 +S1:2097152 +S2:2097152 +S3:2097152 -S3:2097152 -S2:2097152 -S0:12582912");
  teardown (f);

  /* A pool released by the program releases its memory at the next trim, or (TRUE) at once
   * without the others; its live blocks later. */
  f = setup ("pytorch", "sim:capacity=1GiB");
  a = get_full (f, 1000, 0, 1, "S0+0:1024");
  put (f, get_full (f, 12 * MIB, 0, 1, "S1+0:12582912"));
  put (f, get_full (f, 1000, 0, 2, "S2+0:1024"));
  put (f, get (f, 1000, "S3+0:1024"));
  f->a->klass->release_pool (f->a, 1, FALSE);
  expect_calls (f, "+S0:2097152 +S1:12582912 +S2:2097152 +S3:2097152");
  trim (f);
  expect_calls (f, "-S3:2097152 -S1:12582912");
  put (f, a);
  trim (f);
  put (f, get (f, 1000, "S4+0:1024"));
  f->a->klass->release_pool (f->a, 2, TRUE);
  f->a->klass->release_pool (f->a, 77, TRUE); /* never used */
  expect_calls (f, "-S0:2097152 +S4:2097152 -S2:2097152");
  teardown (f);

  /* While requests are redirected to a private pool, the cache is not emptied for it. */
  f = setup ("pytorch", "sim:capacity=64MiB");
  put (f, get (f, 40 * MIB, "S0+0:41943040"));
  get_full (f, 40 * MIB, 0, 1, "OOM");
  expect_calls (f, "+S0:41943040 !41943040");
  get_full (f, 20 * MIB, 0, 1, "S1+0:20971520");
  teardown (f);
}

/* P14: "b = a.clone(); 5 times b = b.clone() + 1" in a private pool. */
static void
test_p14_graph_growth (void)
{
  static const struct
  {
    guint64 size;
    const char *calls;
  } cases[] = {
    { 512, "+S0:2097152" },
    { MIB, "+S0:2097152 +S1:2097152" },
    { MIB + 512, "+S0:20971520" },
    { 10 * MIB - 512, "+S0:20971520 +S1:20971520" },
    { 10 * MIB + 512, "+S0:12582912 +S1:12582912 +S2:12582912" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture *f = setup ("pytorch", "sim:capacity=1GiB");
      const GememRequest request = { cases[i].size, 0, 1 };
      GememBlock b, clone, sum;

      g_assert_true (f->a->klass->alloc (f->a, &request, &b));
      for (guint step = 0; step < 5; step++)
        {
          g_assert_true (f->a->klass->alloc (f->a, &request, &clone));
          g_assert_true (f->a->klass->alloc (f->a, &request, &sum));
          put (f, clone);
          put (f, b);
          b = sum;
        }
      expect_calls (f, cases[i].calls);
      teardown (f);
    }
}

/* ---- limits, failures, statistics */

static void
test_hostile_sizes (void)
{
  Fixture *f = setup ("pytorch:roundup_power2_divisions=4", "sim:capacity=1GiB");

  get (f, G_GUINT64_CONSTANT (1) << 60, "OOM");
  get (f, G_MAXUINT64, "OOM");
  expect_calls (f, ""); /* not even tried */
  get (f, (G_GUINT64_CONSTANT (1) << 60) - 1, "OOM");
  expect_calls (f, "!1152921504606846976 !1152921504606846976");
  get (f, 0, "S0+0:512");
  g_assert_cmpuint (stat_of (f, "num_ooms"), ==, 1); /* of what was tried */
  g_assert_cmpuint (f->a->retries, ==, 0);
  teardown (f);
}

static void
test_largest_free (void)
{
  Fixture *f = setup ("pytorch:roundup_power2_divisions=[1:1,16:4]", "sim:capacity=1GiB");
  GememBlock a = get (f, 18 * MIB, "S0+0:20971520"); /* 16 to 32 MiB in steps of 4 */

  get (f, MIB - 512, "S1+0:1048064");
  /* not the whole rest: 1 MiB is the largest request for the small pool */
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 0), ==, MIB);
  put (f, a);
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 0), ==, 20 * MIB);
  put (f, get (f, 22 * MIB, "S2+0:25165824"));
  get (f, 1200 << 10, "S0+0:1228800");
  get (f, 20 * MIB + 1, "S2+0:25165824");
  /* of 19742720 bytes: 16 MiB + 1 would need 20 */
  g_assert_cmpuint (f->a->klass->largest_free (f->a, 0), ==, 16 * MIB);
  get (f, 16 * MIB, "S0+1228800:16777216");
  teardown (f);
}

static void
test_statistics (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=1GiB");
  GememBlock a = get (f, 1000, "S0+0:1024");
  GememBlock b = get (f, 3000000, "S1+0:3000320");

  put (f, a);
  a = get (f, 100, "S0+0:512");
  g_assert_cmpuint (stat_of (f, "allocated_bytes.all.current"), ==, 512 + 3000320);
  g_assert_cmpuint (stat_of (f, "allocated_bytes.all.peak"), ==, 1024 + 3000320);
  g_assert_cmpuint (stat_of (f, "allocated_bytes.small_pool.allocated"), ==, 1536);
  g_assert_cmpuint (stat_of (f, "allocated_bytes.small_pool.freed"), ==, 1024);
  g_assert_cmpuint (stat_of (f, "requested_bytes.all.current"), ==, 3000100);
  g_assert_cmpuint (stat_of (f, "requested_bytes.large_pool.current"), ==, 3000000);
  g_assert_cmpuint (stat_of (f, "allocation.all.allocated"), ==, 3);
  g_assert_cmpuint (stat_of (f, "reserved_bytes.all.current"), ==, 22 * MIB);
  g_assert_cmpuint (stat_of (f, "segment.small_pool.current"), ==, 1);
  g_assert_cmpuint (stat_of (f, "segment.all.peak"), ==, 2);
  g_assert_cmpuint (stat_of (f, "inactive_split_bytes.all.current"), ==, 22 * MIB - 512 - 3000320);
  g_assert_cmpuint (stat_of (f, "inactive_split.all.current"), ==, 2);
  put (f, a);
  put (f, b);
  g_assert_cmpuint (stat_of (f, "inactive_split_bytes.all.current"), ==, 0);
  trim (f);
  g_assert_cmpuint (stat_of (f, "reserved_bytes.all.freed"), ==, 22 * MIB);
  g_assert_cmpuint (stat_of (f, "num_device_alloc"), ==, 2);
  g_assert_cmpuint (stat_of (f, "num_device_free"), ==, 2);
  g_assert_cmpuint (stat_of (f, "num_alloc_retries"), ==, 0);
  teardown (f);
}

/* ---- adopted states */

static void
test_adopt (void)
{
  Fixture *f = setup ("pytorch", "sim:capacity=1GiB");
  const GememAdopt small = {
    .address = 0x7f0000000000, .size = 2 * MIB, .stream = 5, .small = TRUE
  };
  const GememAdopt large = { .address = 0x7f0000200000, .size = 20 * MIB, .stream = 5 };
  const GememAdopt first = {
    .address = 0x7f0000000400, .size = 1024, .requested = 1000, .stream = 5, .small = TRUE
  };
  const GememAdopt second = {
    .address = 0x7f0000000800, .size = 512, .requested = 512, .stream = 5, .small = TRUE
  };
  const GememAdopt whole = {
    .address = 0x7f0000200000, .size = 20 * MIB, .requested = 19 * MIB, .stream = 5
  };
  const GememAdopt outside = { .address = 0x7f0001600000, .size = 512, .stream = 5 };
  const GememAdopt overlap = { .address = 0x7f0000000600, .size = 512, .stream = 5 };
  const GememAdopt across = { .address = 0x7f00001ffe00, .size = 1024, .stream = 5 };
  GememBlock a, b, c;

  g_assert_true (f->a->klass->adopt.segment (f->a, &small));
  g_assert_true (f->a->klass->adopt.segment (f->a, &large));
  g_assert_true (f->a->klass->adopt.block (f->a, &first, &a));
  g_assert_true (f->a->klass->adopt.block (f->a, &second, &b));
  g_assert_true (f->a->klass->adopt.block (f->a, &whole, &c));
  g_assert_false (f->a->klass->adopt.block (f->a, &outside, &(GememBlock){ 0 }));
  g_assert_false (f->a->klass->adopt.block (f->a, &overlap, &(GememBlock){ 0 }));
  g_assert_false (f->a->klass->adopt.block (f->a, &across, &(GememBlock){ 0 }));
  f->a->klass->adopt.done (f->a);
  g_assert_cmpuint (f->a->device->held, ==, 22 * MIB);
  expect_free (f, "0x7f0000000000:1024 0x7f0000000a00:2094592");
  expect_spans (f, GEMEM_SPAN_LIVE,
                "0x7f0000000400:1024 0x7f0000000800:512 0x7f0000200000:20971520");
  get_full (f, 513, 5, 0, "0x7f0000000000:1024");
  put (f, a);
  put (f, b);
  expect_free (f, "0x7f0000000400:2096128");
  put (f, c);
  get_full (f, 15 * MIB, 5, 0, "0x7f0000200000:15728640");
  g_assert_cmpuint (f->segments->len, ==, 0); /* the device was never asked */
  teardown (f);
}

/* A split block of at least max_split_size can only come from a state recorded with other
 * settings: it must not be released. */
static void
test_adopt_split_oversize (void)
{
  Fixture *f = setup ("pytorch:max_split_size_mb=40", "sim:capacity=120MiB");
  const GememAdopt segment = { .address = 0x7f0000000000, .size = 100 * MIB };
  const GememAdopt block = { .address = 0x7f0000000000, .size = 2 * MIB, .requested = 2 * MIB };
  GememBlock a;

  g_assert_true (f->a->klass->adopt.segment (f->a, &segment));
  g_assert_true (f->a->klass->adopt.block (f->a, &block, &a));
  f->a->klass->adopt.done (f->a);
  /* 98 is too large for it by the rounding rule, and cannot be released */
  get (f, 60 * MIB, "OOM");
  g_assert_cmpuint (f->a->device->held, ==, 100 * MIB);
  put (f, a);
  get (f, 60 * MIB, "S0+0:62914560");
  teardown (f);
}

/* ---- everything at once */

typedef struct
{
  GememBlock block;
  gboolean live, owed;
} Slot;

static void
random_step (Fixture *f, GememRng *rng, Slot *slots, guint n)
{
  Slot *slot = &slots[gemem_rng_below (rng, n)];
  const guint64 dice = gemem_rng_below (rng, 100);

  if (dice == 0)
    f->a->klass->trim (f->a);
  else if (slot->owed)
    {
      f->a->klass->streams.complete (f->a, &slot->block);
      slot->owed = FALSE;
    }
  else if (slot->live && dice < 20)
    f->a->klass->streams.use (f->a, &slot->block, gemem_rng_below (rng, 3));
  else if (slot->live)
    {
      slot->owed = dice < 40;
      slot->live = FALSE;
      f->a->klass->free (f->a, &slot->block, slot->owed);
    }
  else
    {
      const guint64 size = gemem_rng_log_uniform (rng, 1, 64 * MIB);
      const GememRequest request = { size, gemem_rng_below (rng, 3),
                                     dice < 10 ? (guint32) dice % 3 : 0 };

      slot->live = f->a->klass->alloc (f->a, &request, &slot->block);
    }
  f->a->device->now += gemem_rng_below (rng, 1000);
}

/* Random requests on streams and pools with little memory, for each kind of setting; all
 * invariants after every step. */
static void
test_random (gconstpointer spec)
{
  Fixture *f = setup (spec, "sim:capacity=300MiB,address=first-fit,event_latency=50us");
  Slot slots[48] = { 0 };
  GememRng rng;

  gemem_rng_init (&rng, 20, "test-pytorch-caching");
  for (guint i = 0; i < 8000; i++)
    {
      guint64 live = 0, bytes = 0;

      random_step (f, &rng, slots, G_N_ELEMENTS (slots));
      for (guint k = 0; k < G_N_ELEMENTS (slots); k++)
        if (slots[k].live)
          {
            live++;
            bytes += slots[k].block.size;
          }
      g_assert_true (test_allocator_verify (f->a, live, bytes));
    }
  g_assert_cmpuint (stat_of (f, "num_ooms"), >, 10);
  g_assert_cmpuint (f->a->retries, >, 10);
  teardown (f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-caching/P1-small-pool", test_p1_small_pool);
  g_test_add_func ("/pytorch-caching/P2-large-buffer", test_p2_large_buffer);
  g_test_add_func ("/pytorch-caching/P3-unsplit-tail", test_p3_unsplit_tail);
  g_test_add_func ("/pytorch-caching/P4-best-fit", test_p4_best_fit);
  g_test_add_func ("/pytorch-caching/P5-garbage-collection", test_p5_garbage_collection);
  g_test_add_func ("/pytorch-caching/garbage-collection-rounds", test_gc_rounds);
  g_test_add_func ("/pytorch-caching/P6-max-split-size", test_p6_max_split_size);
  g_test_add_func ("/pytorch-caching/P7-release-available-fails", test_p7_release_available_fails);
  g_test_add_func ("/pytorch-caching/release-available", test_release_available);
  g_test_add_func ("/pytorch-caching/P13-roundings", test_p13_roundings);
  g_test_add_func ("/pytorch-caching/P14-graph-growth", test_p14_graph_growth);
  g_test_add_func ("/pytorch-caching/config-check-values", test_config_check_values);
  g_test_add_func ("/pytorch-caching/settings", test_settings);
  g_test_add_func ("/pytorch-caching/D1", test_rounding_follows_segments);
  g_test_add_func ("/pytorch-caching/D2", test_above_alone);
  g_test_add_func ("/pytorch-caching/D3", test_requested_until_complete);
  g_test_add_func ("/pytorch-caching/events", test_events);
  g_test_add_func ("/pytorch-caching/events-and-trim", test_events_and_trim);
  g_test_add_func ("/pytorch-caching/completion", test_completion);
  g_test_add_func ("/pytorch-caching/private-pools", test_private_pools);
  g_test_add_func ("/pytorch-caching/hostile-sizes", test_hostile_sizes);
  g_test_add_func ("/pytorch-caching/largest-free", test_largest_free);
  g_test_add_func ("/pytorch-caching/statistics", test_statistics);
  g_test_add_func ("/pytorch-caching/adopt", test_adopt);
  g_test_add_func ("/pytorch-caching/adopt-split-oversize", test_adopt_split_oversize);
  g_test_add_data_func ("/pytorch-caching/random/defaults", "pytorch", test_random);
  g_test_add_data_func ("/pytorch-caching/random/split",
                        "pytorch:max_split_size_mb=20,roundup_power2_divisions=4", test_random);
  g_test_add_data_func (
      "/pytorch-caching/random/gc",
      "pytorch:memory_limit=200MiB,garbage_collection_threshold=0.6,release_private_pools=yes",
      test_random);
  return g_test_run ();
}
