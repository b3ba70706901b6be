/* test-params.c - base/params.h: settings text, parameter tables, their messages, and "did you
 * mean". */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/units.h"
#include "tests/util/testutil.h"

typedef struct
{
  gboolean free_idle;
  guint64 max_split, chunk, threads, wait;
  gint64 offset;
  double fraction;
  int policy;
  char *label;
} Params;

static const GememParam table[] = {
  { .name = "free_idle",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "free-idle-chunk|release",
    .offset = G_STRUCT_OFFSET (Params, free_idle),
    .help = "Release idle chunks." },
  { .name = "max_split_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "none",
    .min = "20",
    .unit = "MiB",
    .special = "none=18446744073709551615|default=0",
    .offset = G_STRUCT_OFFSET (Params, max_split),
    .help = "Largest block that may be split." },
  { .name = "initial_gpu_memory_in_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "64KiB",
    .min = "1KiB",
    .max = "50%",
    .unit = "MiB",
    .aliases = "chunk",
    .conflicts = "fraction",
    .offset = G_STRUCT_OFFSET (Params, chunk),
    .help = "Size of a chunk." },
  { .name = "threads",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .min = "1",
    .max = "64",
    .offset = G_STRUCT_OFFSET (Params, threads),
    .help = "Threads." },
  { .name = "wait",
    .type = GEMEM_PARAM_TIME,
    .default_text = "5",
    .unit = "ms",
    .offset = G_STRUCT_OFFSET (Params, wait),
    .help = "Wait." },
  { .name = "offset",
    .type = GEMEM_PARAM_INT,
    .default_text = "-3",
    .min = "-10",
    .max = "10",
    .offset = G_STRUCT_OFFSET (Params, offset),
    .help = "Offset." },
  { .name = "fraction",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0.92",
    .min = "0",
    .max = "1",
    .offset = G_STRUCT_OFFSET (Params, fraction),
    .help = "Fraction." },
  { .name = "policy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "first-fit",
    .choices = "bump|lowest=first-fit|first-fit|recorded|yes=bump",
    .offset = G_STRUCT_OFFSET (Params, policy),
    .help = "Where addresses come from." },
  { .name = "label",
    .type = GEMEM_PARAM_STRING,
    .offset = G_STRUCT_OFFSET (Params, label),
    .help = "Label." },
  { NULL },
};

static const GememParamContext context = { .capacity = 80 * GEMEM_GIB };

static void
assert_usage (GError **error, const char *message)
{
  g_assert_error (*error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr ((*error)->message, ==, message);
  g_clear_error (error);
}

static void
apply (Params *params, const char *text, GError **error)
{
  g_autoptr (GPtrArray) settings = gemem_settings_parse (text, error);
  if (settings != NULL)
    gemem_params_apply (table, params, &context, "allocator x", settings, error);
}

static void
apply_fails (const char *text, const char *message)
{
  g_autoptr (GError) error = NULL;
  Params params;
  apply (&params, text, &error);
  assert_usage (&error, message);
}

static void
test_settings (void)
{
  static const struct
  {
    const char *text, *pairs; /* keys and values, separated by '|' */
  } good[] = {
    { "", "" },
    { "  ", "" },
    { "a=1", "a|1|" },
    { "a=1,b=2", "a|1|b|2|" },
    { " a = 1 , b =2 ", "a|1|b|2|" },
    { "a=,b=", "a||b||" },
    { "a=[256:1,512:2],b=3", "a|[256:1,512:2]|b|3|" },
    { "a=[1,[2,3]],b=3", "a|[1,[2,3]]|b|3|" },
    { "a=\"1,2\",b='3,4'", "a|1,2|b|3,4|" },
    { "a=1\\,2,b=3", "a|1,2|b|3|" },
    { "a=\"it's\",b='say \"x\"'", "a|it's|b|say \"x\"|" },
    { "a=\" x \"", "a| x |" },
    { "a='\\'", "a|\\|" },
    { "a=\"\\\"\"", "a|\"|" },
    { "a=b=c", "a|b=c|" },
    { "a=\"]\"", "a|]|" },
    { "a=\\]", "a|]|" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GString) pairs = g_string_new (NULL);
      g_autoptr (GPtrArray) settings = gemem_settings_parse (good[i].text, &error);
      g_assert_no_error (error);
      for (guint j = 0; j < settings->len; j++)
        {
          const GememSetting *setting = settings->pdata[j];
          g_string_append_printf (pairs, "%s|%s|", setting->key, setting->value);
        }
      g_assert_cmpstr (pairs->str, ==, good[i].pairs);
    }
}

static void
test_settings_bad (void)
{
  static const struct
  {
    const char *text, *message;
  } bad[] = {
    { "a", "'a': setting 1: a setting without '='; write NAME=VALUE, in quotes if the value has "
           "commas" },
    { "a=1,b", "'a=1,b': setting 2: a setting without '='; write NAME=VALUE, in quotes if the "
               "value has commas" },
    { "a=1,,b=2", "'a=1,,b=2': setting 2: an empty setting; remove the ','" },
    { "a=1,", "'a=1,': setting 2: an empty setting; remove the ','" },
    { ",", "',': setting 1: an empty setting; remove the ','" },
    { "=1", "'=1': setting 1: no name before '='; write NAME=VALUE" },
    { "a=[1,2", "'a=[1,2': setting 1: '[' is not closed; add ']'" },
    { "a=1]", "'a=1]': setting 1: ']' without '['; put quotes around the value" },
    { "a=\"1", "'a=\"1': setting 1: a quote is not closed; add the second one" },
    { "a='1,b=2", "'a='1,b=2': setting 1: a quote is not closed; add the second one" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (gemem_settings_parse (bad[i].text, &error));
      assert_usage (&error, bad[i].message);
    }
}

/* Quoting and parsing restore any value. */
static void
test_settings_quote (void)
{
  static const char alphabet[] = "a,[]\"'\\= -";
  const guint n = sizeof alphabet - 1;
  char text[6];

  for (guint code = 0; code < n * n * n * n * n; code++)
    {
      guint rest = code;
      for (guint i = 0; i < 5; i++, rest /= n)
        text[i] = alphabet[rest % n];
      text[5] = '\0';
      g_autofree char *quoted = gemem_settings_quote (text + code % 3); /* 3 to 5 characters */
      g_autofree char *setting = g_strdup_printf ("k=%s,l=m", quoted);
      g_autoptr (GPtrArray) settings = gemem_settings_parse (setting, NULL);
      g_assert_nonnull (settings);
      g_assert_cmpuint (settings->len, ==, 2);
      g_assert_cmpstr (((GememSetting *) settings->pdata[0])->value, ==, text + code % 3);
    }
}

static void
test_defaults (void)
{
  Params params;

  memset (&params, 0xA5, sizeof params); /* as if uninitialised */
  gemem_params_set_defaults (table, &params);
  g_assert_cmpint (params.free_idle, ==, FALSE);
  g_assert_cmpuint (params.max_split, ==, G_MAXUINT64);
  g_assert_cmpuint (params.chunk, ==, 64 * GEMEM_KIB);
  g_assert_cmpuint (params.threads, ==, 1);
  g_assert_cmpuint (params.wait, ==, 5000000);
  g_assert_cmpint (params.offset, ==, -3);
  g_assert_true (params.fraction == 0.92);
  g_assert_cmpint (params.policy, ==, 1);
  g_assert_null (params.label);
  g_autofree char *text = gemem_params_describe (table, &params);
  g_assert_cmpstr (text, ==, "");
}

static void
test_apply (void)
{
  g_autoptr (GError) error = NULL;
  Params params;

  apply (&params,
         "Release=True,FLAGS_initial-gpu-memory-in-mb=512,MAX-SPLIT-SIZE-MB=20,threads=0x40,wait=2,"
         "offset=-10,policy=LOWEST,label=\"a,b\"",
         &error);
  g_assert_no_error (error);
  g_assert_cmpint (params.free_idle, ==, TRUE);
  g_assert_cmpuint (params.chunk, ==, 512 * GEMEM_MIB);
  g_assert_cmpuint (params.max_split, ==, 20 * GEMEM_MIB);
  g_assert_cmpuint (params.threads, ==, 64);
  g_assert_cmpuint (params.wait, ==, 2000000);
  g_assert_cmpint (params.offset, ==, -10);
  g_assert_cmpint (params.policy, ==, 1);
  g_assert_cmpstr (params.label, ==, "a,b");
  g_autofree char *text = gemem_params_describe (table, &params);
  g_assert_cmpstr (text, ==,
                   "free_idle=yes,max_split_size_mb=20MiB,initial_gpu_memory_in_mb=512MiB,threads="
                   "64,wait=2ms,offset=-10,label=\"a,b\"");
  gemem_params_clear (table, &params);
  g_assert_null (params.label);

  /* Special words pass the bounds; the parameter's unit does not scale them; "%" refers to the
   * capacity. */
  apply (&params, "max_split_size_mb=default,chunk=12.5%,policy=yes,free_idle=0", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (params.max_split, ==, 0);
  g_assert_cmpuint (params.chunk, ==, 10 * GEMEM_GIB);
  g_assert_cmpint (params.policy, ==, 0);
  g_assert_cmpint (params.free_idle, ==, FALSE);
  apply (&params, "free_idle=1,fraction=1e-1", &error);
  g_assert_no_error (error);
  g_assert_cmpint (params.free_idle, ==, TRUE);
  g_assert_true (params.fraction == 0.1);
}

static void
test_errors (void)
{
  apply_fails ("thraeds=2", "allocator x: unknown parameter 'thraeds'; did you mean 'threads'?");
  apply_fails ("FLAGS_fractoin=2",
               "allocator x: unknown parameter 'FLAGS_fractoin'; did you mean 'fraction'?");
  apply_fails ("free-idle-chnk=1",
               "allocator x: unknown parameter 'free-idle-chnk'; did you mean 'free-idle-chunk'?");
  apply_fails ("zzz=2", "allocator x: unknown parameter 'zzz'; known are free_idle, "
                        "max_split_size_mb, initial_gpu_memory_in_mb, threads, "
                        "wait, offset, fraction, policy, label");
  apply_fails ("threads=0", "allocator x: threads='0': too small; use 1 to 64");
  apply_fails ("threads=65", "allocator x: threads='65': too large; use 1 to 64");
  apply_fails ("threads=two", "allocator x: threads='two': not a whole number; write decimal "
                              "digits, or 0x and hexadecimal digits");
  apply_fails ("offset=-11", "allocator x: offset='-11': too small; use -10 to 10");
  apply_fails ("fraction=1.5", "allocator x: fraction='1.5': too large; use 0 to 1");
  apply_fails (
      "max_split_size_mb=19",
      "allocator x: max_split_size_mb='19': too small; use at least 20, bare numbers count MiB");
  apply_fails ("chunk=41GiB",
               "allocator x: chunk='41GiB': too large; use 1KiB to 50%, bare numbers count MiB");
  apply_fails ("free_idle=maybe", "allocator x: free_idle='maybe': neither yes nor no; use yes or "
                                  "no (true/false, on/off, 1/0)");
  apply_fails (
      "policy=bmup",
      "allocator x: policy='bmup': not one of bump, first-fit, recorded; did you mean 'bump'?");
  apply_fails (
      "policy=zzzzz",
      "allocator x: policy='zzzzz': not one of the choices; use bump, first-fit, recorded");
  apply_fails ("wait=1day",
               "allocator x: wait='1day': unknown unit 'day'; use ns, us, ms, s, min or h");
  apply_fails (
      "threads=2,threads=2",
      "allocator x: 'threads' and 'threads' set the same parameter twice; keep one of them");
  apply_fails (
      "free_idle=1,label=x,release=1",
      "allocator x: 'free_idle' and 'release' set the same parameter twice; keep one of them");
  apply_fails ("fraction=0.5,chunk=1",
               "allocator x: 'chunk' and 'fraction' exclude each other; keep one of them");
}

static void
test_no_context (void)
{
  g_autoptr (GError) error = NULL;
  const GememParam none[] = { { NULL } };
  Params params;

  gemem_params_set_defaults (table, &params);
  g_assert_false (gemem_params_set (table, &params, NULL, "device", "chunk", "10%", &error));
  assert_usage (
      &error,
      "device: chunk='10%': a percentage has no whole to be a part of here; give a size in bytes");
  /* "50%" of an unknown quantity */
  g_assert_true (gemem_params_set (table, &params, NULL, "device", "chunk", "41GiB", &error));
  g_assert_cmpuint (params.chunk, ==, 41 * GEMEM_GIB);
  g_assert_false (gemem_params_set (none, &params, NULL, "device", "chunk", "1", &error));
  assert_usage (&error, "device: unknown parameter 'chunk'; it takes no parameters");
  g_assert_true (gemem_params_apply (none, &params, NULL, "device", NULL, &error));
}

/* A failed apply leaves nothing to free (the leak checker would report it); set replaces
 * strings, also by themselves. */
static void
test_strings (void)
{
  g_autoptr (GError) error = NULL;
  Params params;

  apply (&params, "label=long-enough-to-be-on-the-heap,threads=0", &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_null (params.label);

  gemem_params_set_defaults (table, &params);
  g_assert_true (gemem_params_set (table, &params, NULL, "x", "label", "one", &error));
  g_assert_true (gemem_params_set (table, &params, NULL, "x", "label", params.label, &error));
  g_assert_cmpstr (params.label, ==, "one");
  gemem_params_clear (table, &params);
  gemem_params_clear (table, &params);
}

/* What is printed parses back to the same value, for every parameter and many values. */
static void
test_round_trip (void)
{
  static const char *const values[] = {
    "free_idle=yes",
    "max_split_size_mb=none",
    "max_split_size_mb=default",
    "max_split_size_mb=20971521B",
    "max_split_size_mb=1.5GiB",
    "chunk=1025B",
    "chunk=1000kB",
    "wait=0",
    "wait=1ns",
    "wait=1001us",
    "wait=3h",
    "offset=-10",
    "offset=10",
    "fraction=0.1",
    "fraction=0.30000000000000004",
    "fraction=1e-300",
    "fraction=0.3333333333333333",
    "policy=recorded",
    "label=x y",
  };
  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autoptr (GError) error = NULL;
      Params first, second;
      apply (&first, values[i], &error);
      g_assert_no_error (error);
      g_autofree char *text = gemem_params_describe (table, &first);
      apply (&second, text, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (first.label, ==, second.label);
      gemem_params_clear (table, &first);
      gemem_params_clear (table, &second);
      for (const GememParam *param = table; param->name != NULL; param++)
        {
          g_autofree char *a = gemem_param_value_text (param, &first);
          g_autofree char *b = gemem_param_value_text (param, &second);
          g_assert_cmpstr (a, ==, b);
        }
      g_assert_true (first.fraction == second.fraction);
      g_assert_cmpuint (first.max_split, ==, second.max_split);
      g_assert_cmpuint (first.chunk, ==, second.chunk);
      g_assert_cmpuint (first.wait, ==, second.wait);
      g_assert_cmpint (first.offset, ==, second.offset);
    }
}

/* Tables with a programmer's mistake; each must abort the program at its first use. */
static const GememParam unsound[][2] = {
  { { .name = "a", .type = GEMEM_PARAM_UINT }, { NULL } },
  { { .name = "a", .type = GEMEM_PARAM_UINT, .default_text = "5", .max = "4" }, { NULL } },
  { { .name = "a", .type = GEMEM_PARAM_UINT, .default_text = "5", .max = "x" }, { NULL } },
};

static void
unsound_subprocess (gconstpointer data)
{
  Params params;
  gemem_params_set_defaults (data, &params);
}

static void
test_unsound (void)
{
  static const char *const messages[] = {
    "*row 'a': unsound default: none given*",
    "*row 'a': unsound default: '5': too large; use at most 4*",
    "*row 'a': unsound bound: 'x': not a whole number;*"
  };
  for (guint i = 0; i < G_N_ELEMENTS (unsound); i++)
    {
      g_autofree char *path = g_strdup_printf ("/params/unsound/subprocess/%u", i);
      g_test_trap_subprocess (path, 0, 0);
      g_test_trap_assert_failed ();
      g_test_trap_assert_stderr (messages[i]);
    }
}

/* Every name with the prefix of an environment variable is one. */
static void
test_variables (void)
{
  static const GememParam rows[] = { { .name = "times",
                                       .aliases = "excess|FLAGS_times|FLAGS_old_times" },
                                     { .name = "plain" },
                                     { .name = "GE_SWITCH" },
                                     { .name = "conf", .aliases = "MY_CONF|OLD_CONF|Conf_A|CONF" },
                                     { NULL } };
  g_auto (GStrv) two = gemem_param_variables (&rows[0]), none = gemem_param_variables (&rows[1]);

  g_assert_cmpuint (g_strv_length (two), ==, 2);
  g_assert_cmpstr (two[1], ==, "FLAGS_old_times");
  g_assert_cmpuint (g_strv_length (none), ==, 0);
  g_assert_true (gemem_params_find_variable (rows, "FLAGS_times") == &rows[0]);
  g_assert_true (gemem_params_find_variable (rows, "FLAGS_old_times") == &rows[0]);
  g_assert_true (gemem_params_find_variable (rows, "GE_SWITCH") == &rows[2]);
  g_assert_true (gemem_params_find_variable (rows, "OLD_CONF") == &rows[3]);
  g_assert_null (gemem_params_find_variable (rows, "Conf_A"));
  g_assert_null (gemem_params_find_variable (rows, "CONF"));
  g_assert_null (gemem_params_find_variable (rows, "excess"));
  g_assert_null (gemem_params_find_variable (rows, "FLAGS_Times"));

  /* of several names of one row the first counts, but flags of Paddle stand side by side */
  g_autoptr (GPtrArray) set = gemem_settings_new (), own = gemem_settings_new ();
  gemem_settings_add (set, "FLAGS_old_times", "1");
  gemem_settings_add (set, "FLAGS_times", "2");
  gemem_settings_add (set, "MY_CONF", "");
  gemem_settings_add (set, "OLD_CONF", "b");
  g_autoptr (GPtrArray) taken = gemem_settings_from_variables (rows, set, own);
  g_assert_cmpuint (taken->len, ==, 3);
  g_assert_cmpstr (((const GememSetting *) taken->pdata[2])->key, ==, "MY_CONF");
}

static void
test_names (void)
{
  g_assert_true (gemem_name_equal ("a-B_c", "A_b-C"));
  g_assert_true (gemem_name_equal ("", ""));
  g_assert_false (gemem_name_equal ("a", "ab"));
  g_assert_false (gemem_name_equal ("ab", "a"));
  g_assert_false (gemem_name_equal ("a.b", "a-b"));
  g_assert_true (gemem_params_find (table, "FLAGS_threads") == &table[3]);
  g_assert_true (gemem_params_find (table, "flags-Release") == &table[0]);
  g_assert_null (gemem_params_find (table, "FLAGS_"));
  g_assert_null (gemem_params_find (table, ""));
}

/* Amounts of memory, and numbers that a real system reads itself. */
static void
test_units (void)
{
  typedef struct
  {
    guint64 memory, alignment, split;
  } Sizes;
  static const GememParam rows[] = { { .name = "memory",
                                       .type = GEMEM_PARAM_SIZE,
                                       .flags = GEMEM_PARAM_MEMORY,
                                       .default_text = "16",
                                       .aliases = "bytes",
                                       .offset = G_STRUCT_OFFSET (Sizes, memory) },
                                     { .name = "alignment",
                                       .type = GEMEM_PARAM_SIZE,
                                       .default_text = "1",
                                       .offset = G_STRUCT_OFFSET (Sizes, alignment) },
                                     { .name = "split_mb",
                                       .type = GEMEM_PARAM_SIZE,
                                       .default_text = "0",
                                       .unit = "MiB",
                                       .special = "never=0",
                                       .offset = G_STRUCT_OFFSET (Sizes, split) },
                                     { NULL } };
  static const struct
  {
    const char *value, *message; /* NULL: a real system accepts it */
  } native[] = { { "20", NULL },
                 { "20.5", "x: split_mb='20.5': not a whole number of MiB, which the real system "
                           "reads here; write digits only" },
                 { "20MiB", "x: split_mb='20MiB': not a whole number of MiB, *" },
                 { "never", "x: split_mb='never': not a whole number of MiB, *" } };
  const GememParamContext theirs = { .native = TRUE };
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  Sizes sizes;

  for (gsize i = 0; i < G_N_ELEMENTS (native); i++)
    {
      const gboolean ok = gemem_params_set (rows, &sizes, &theirs, "x", "split_mb", native[i].value,
                                            &error);

      g_assert_true (ok == (native[i].message == NULL));
      if (ok)
        continue;
      g_assert_true (g_pattern_match_simple (native[i].message, error->message));
      g_clear_error (&error);
    }
  /* our own spelling: units, words, and what is left of a byte dropped */
  g_assert_true (gemem_params_set (rows, &sizes, NULL, "x", "split_mb", "20.51MiB", &error));
  g_assert_cmpuint (sizes.split, ==, 21506293);
  g_assert_true (gemem_params_set (rows, &sizes, NULL, "x", "split_mb", "never", &error));
  g_assert_false (gemem_params_set (rows, &sizes, NULL, "x", "split_mb", "20.5", &error));
  g_assert_cmpstr (error->message, ==,
                   "x: split_mb='20.5': a fraction needs a unit; write 20.5MiB, or a whole number");
  g_clear_error (&error);

  g_assert_true (gemem_params_check_unit (rows, "x", "alignment", "16", &error));
  g_assert_true (gemem_params_check_unit (rows, "x", "nothing", "16", &error));
  g_assert_true (gemem_params_check_unit (NULL, "x", "memory", "16", &error));
  g_assert_true (gemem_params_check_unit (rows, "x", "memory", "16B", &error));
  g_assert_true (gemem_params_check_unit (rows, "x", "memory", "0", &error));
  g_assert_no_error (error);
  g_assert_false (gemem_params_check_unit (rows, "x", "bytes", "16", &error));
  g_assert_cmpstr (error->message, ==,
                   "x: bytes=16: 16 bytes? write 16GiB, or 16B if so few are meant");
  /* what a program writes is not refused when it is read again */
  gemem_params_set_defaults (rows, &sizes);
  g_assert_cmpuint (sizes.memory, ==, 16);
  sizes.memory = 17;
  text = gemem_params_describe (rows, &sizes);
  g_assert_cmpstr (text, ==, "memory=17B");
}

static void
test_suggest (void)
{
  static const char *const words[] = {
    "pytorch-caching", "paddle-buddy", "paddle-auto-growth", "ge-scalable", "direct", "x", NULL
  };

  g_assert_cmpstr (gemem_suggest ("pytorch-cacheing", words), ==, "pytorch-caching");
  g_assert_cmpstr (gemem_suggest ("PyTorch_Caching", words), ==, "pytorch-caching");
  g_assert_cmpstr (gemem_suggest ("driect", words), ==, "direct"); /* a swap is one mistake */
  g_assert_cmpstr (gemem_suggest ("pytorch", words), ==, "pytorch-caching");
  g_assert_cmpstr (gemem_suggest ("paddle", words), ==, "paddle-buddy"); /* a tie: the first */
  g_assert_cmpstr (gemem_suggest ("scalable", words), ==, "ge-scalable");
  g_assert_cmpstr (gemem_suggest ("rmm-pool", words), ==, NULL);
  g_assert_cmpstr (gemem_suggest ("y", words), ==, NULL); /* no letter of the word would be left */
  g_assert_cmpstr (gemem_suggest ("", words), ==, NULL);
  g_autofree char *endless = g_strnfill (100000, 'd');
  g_assert_cmpstr (gemem_suggest (endless, words), ==, NULL);
  g_assert_cmpstr (gemem_suggest ("direct", words + 6), ==, NULL);
}

/* Long names by a part of them. */
static void
test_suggest_parts (void)
{
  static const char *const names[] = { "max_split_size_mb",
                                       "max_non_split_rounding_mb",
                                       "auto_growth_chunk_size_in_mb",
                                       "FLAGS_small_pool_size_in_mb",
                                       "eager_delete_tensor_gb",
                                       "limit",
                                       NULL };
  static const struct
  {
    const char *word, *name;
  } pairs[] = {
    { "chunk_size_in_mb", "auto_growth_chunk_size_in_mb" },
    { "chunk-size", "auto_growth_chunk_size_in_mb" },
    { "growth_chunk", "auto_growth_chunk_size_in_mb" },
    { "chunk_size_mb", "auto_growth_chunk_size_in_mb" }, /* not neighbours */
    { "chnuk_size_in_mb", "auto_growth_chunk_size_in_mb" },
    { "split_size", "max_split_size_mb" },
    { "split_mb", "max_split_size_mb" },
    { "spilt_size", "max_split_size_mb" },
    { "rounding", "max_non_split_rounding_mb" },
    { "small_pool_size_in_mb", "FLAGS_small_pool_size_in_mb" },
    { "tensor", "eager_delete_tensor_gb" },
    { "limt", "limit" },
    { "mb", NULL },            /* of nearly every name */
    { "plit_siz", NULL },      /* too many slips for so short a part */
    { "mb_size_split", NULL }, /* another order */
    { "chunks_of_memory", NULL },
    { "split_chunk", NULL }, /* words of two names */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    g_assert_cmpstr (gemem_suggest (pairs[i].word, names), ==, pairs[i].name);
}

static void
test_locale (void)
{
  g_autoptr (GError) error = NULL;
  Params params;

  if (!test_use_comma_locale ())
    return;
  apply (&params, "fraction=0.25,FREE_IDLE=TRUE", &error);
  g_assert_no_error (error);
  g_autofree char *text = gemem_params_describe (table, &params);
  g_assert_cmpstr (text, ==, "free_idle=yes,fraction=0.25");
  setlocale (LC_ALL, "C");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/params/settings", test_settings);
  g_test_add_func ("/params/settings/bad", test_settings_bad);
  g_test_add_func ("/params/settings/quote", test_settings_quote);
  g_test_add_func ("/params/defaults", test_defaults);
  g_test_add_func ("/params/apply", test_apply);
  g_test_add_func ("/params/errors", test_errors);
  g_test_add_func ("/params/no-context", test_no_context);
  g_test_add_func ("/params/strings", test_strings);
  g_test_add_func ("/params/round-trip", test_round_trip);
  g_test_add_func ("/params/unsound", test_unsound);
  for (guint i = 0; i < G_N_ELEMENTS (unsound); i++)
    {
      g_autofree char *path = g_strdup_printf ("/params/unsound/subprocess/%u", i);
      g_test_add_data_func (path, unsound[i], unsound_subprocess);
    }
  g_test_add_func ("/params/names", test_names);
  g_test_add_func ("/params/variables", test_variables);
  g_test_add_func ("/params/suggest", test_suggest);
  g_test_add_func ("/params/suggest-parts", test_suggest_parts);
  g_test_add_func ("/params/units", test_units);
  g_test_add_func ("/params/locale", test_locale);
  return g_test_run ();
}
