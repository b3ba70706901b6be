/* gpus.c - the table of GPUs, gpus.def, and how a user's name finds a row. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/units.h"
#include "devices/gpus.h"

#define NEAREST 3 /* names that an error names */

/* The macro GEMEM_SM_* is several arguments, which are separated only when GEMEM_GPU expands a
 * second time. */
#define ROW(its_name, its_model, the_major, the_minor, threads, blocks, shared, per_block, \
            processors, cache, clock, memory_clock, bus, mib, peers, from, ...) \
  { .name = its_name, \
    .model = its_model, \
    .major = the_major, \
    .minor = the_minor, \
    .multiprocessors = processors, \
    .threads_per_multiprocessor = threads, \
    .blocks_per_multiprocessor = blocks, \
    .shared_per_multiprocessor = (shared) *1024, \
    .shared_per_block = 48 * 1024, \
    .shared_per_block_optin = (per_block) *1024, \
    .l2 = (cache) *1024, \
    .clock_khz = (clock) *1000, \
    .memory_clock_khz = (memory_clock) *1000, \
    .bus_bits = bus, \
    .memory = (guint64) (mib) *GEMEM_MIB, \
    .nvlinks = peers, \
    .summary = its_model ", " #processors " multiprocessors, " #mib " MiB", \
    .source = from, \
    __VA_ARGS__ },
#define GEMEM_GPU(...) ROW (__VA_ARGS__, )
#define GEMEM_OTHER_GPU(its_name, its_model, units, mib, from) \
  { .name = its_name, \
    .model = its_model, \
    .multiprocessors = units, \
    .memory = (guint64) (mib) *GEMEM_MIB, \
    .nvlinks = -1, \
    .summary = its_model ", " #units " compute units, " #mib " MiB", \
    .source = from },

static const GememGpu gpus[] = {
#include "devices/gpus.def"
  { .name = NULL }
};

const GememGpu *
gemem_gpus (void)
{
  return gpus;
}

/* How many characters at the beginning of both are the same. */
static guint
common (const char *a, const char *b)
{
  guint n = 0;
  while (a[n] != '\0' && g_ascii_tolower (a[n]) == g_ascii_tolower (b[n]))
    n++;
  return n;
}

/* @name in small letters and digits alone: "rtx4090" of "RTX 4090". */
static char *
letters_of (const char *name)
{
  GString *out = g_string_new (NULL);

  for (; *name != '\0'; name++)
    if (g_ascii_isalnum (*name))
      g_string_append_c (out, g_ascii_tolower (*name));
  return g_string_free (out, FALSE);
}

/* TRUE if the letters of one name are a part of those of the other, as in "NVIDIA
 * GeForce RTX 4090". */
static gboolean
is_part (const char *name, const char *gpu)
{
  g_autofree char *one = letters_of (name), *other = letters_of (gpu);
  return *one != '\0' && (strstr (one, other) != NULL || strstr (other, one) != NULL);
}

/* The names that @name may have meant: those of which it is a part, or which are a part of
 * it; without one those with the longest common beginning, then that with the fewest
 * changed letters. */
static char *
nearest (const char *name)
{
  const char *names[G_N_ELEMENTS (gpus)] = { NULL };
  g_autoptr (GPtrArray) near = g_ptr_array_new ();
  guint longest = 1;

  for (guint i = 0; gpus[i].name != NULL; i++)
    {
      names[i] = gpus[i].name;
      longest = MAX (longest, common (name, gpus[i].name));
    }
  for (guint i = 0; names[i] != NULL && near->len < NEAREST; i++)
    if (is_part (name, names[i]))
      g_ptr_array_add (near, (gpointer) names[i]);
  const guint parts = near->len;
  for (guint i = 0; names[i] != NULL && near->len < NEAREST && parts == 0; i++)
    if (common (name, names[i]) == longest)
      g_ptr_array_add (near, (gpointer) names[i]);
  const char *similar = gemem_suggest (name, names);
  if (parts == 0 && similar != NULL && near->len < NEAREST
      && !g_ptr_array_find (near, similar, NULL))
    g_ptr_array_add (near, (gpointer) similar);
  g_ptr_array_add (near, NULL);
  return g_strjoinv (", ", (char **) near->pdata);
}

/* The row that @name names by its letters and digits: "rtx-4090", "4090", "A100-SXM4-80GB". */
static const GememGpu *
find_by_letters (const char *name)
{
  g_autofree char *letters = letters_of (name);
  g_autofree char *short_of = g_strdup (letters), *rtx = NULL;

  if (g_str_has_suffix (short_of, "gb"))
    short_of[strlen (short_of) - 2] = '\0';
  rtx = g_strconcat ("rtx", short_of, NULL);
  for (const GememGpu *gpu = gpus; gpu->name != NULL; gpu++)
    {
      g_autofree char *row = letters_of (gpu->name), *model = letters_of (gpu->model);

      if (strcmp (row, letters) == 0 || strcmp (row, short_of) == 0 || strcmp (row, rtx) == 0
          || (strlen (letters) > 5 && g_str_has_suffix (model, letters)))
        return gpu;
    }
  return NULL;
}

/* "a100-40 (39.38 GiB), a100-80 (79.15 GiB)": the rows that are @name of different sizes, which is how
 * they are called; NULL: there are none. */
static char *
sizes_of (const char *name)
{
  g_autofree char *letters = letters_of (name);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  char size[GEMEM_FORMAT_MAX];

  for (const GememGpu *gpu = gpus; gpu->name != NULL; gpu++)
    {
      const char *dash = strrchr (gpu->name, '-');
      g_autofree char *family = dash != NULL && g_ascii_isdigit (dash[1])
                                    ? g_strndup (gpu->name, (gsize) (dash - gpu->name))
                                    : NULL;
      if (family != NULL && strcmp (family, letters) == 0)
        g_ptr_array_add (
            rows, g_strdup_printf ("%s (%s)", gpu->name, gemem_format_size (size, gpu->memory)));
    }
  if (rows->len < 2)
    return NULL;
  g_ptr_array_add (rows, NULL);
  return g_strjoinv (", ", (char **) rows->pdata);
}

const GememGpu *
gemem_gpu_find (const char *name, GError **error)
{
  for (const GememGpu *gpu = gpus; gpu->name != NULL; gpu++)
    if (gemem_name_equal (gpu->name, name))
      return gpu;
  const GememGpu *found = find_by_letters (name);
  if (found != NULL)
    return found;
  g_autofree char *sizes = sizes_of (name);
  if (sizes != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "'%s' is made in several sizes: %s; choose one", name, sizes);
      return NULL;
    }
  g_autofree char *near = nearest (name);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "no GPU is called '%s'; %s%s%s'gemem-sim list gpus' shows all", name,
               *near != '\0' ? "nearest: " : "", near, *near != '\0' ? "; " : "");
  return NULL;
}

const GememGpu *
gemem_gpu_find_cuda (const char *name, GError **error)
{
  const GememGpu *gpu = gemem_gpu_find (name, error);

  if (gpu == NULL || gpu->major > 0)
    return gpu;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: not a CUDA GPU, and a dry run stands for one; name one of NVIDIA's and add "
               "--capacity=%" G_GUINT64_FORMAT "MiB",
               name, gpu->memory / GEMEM_MIB);
  return NULL;
}

gboolean
gemem_gpu_set_gpcs (GememGpu *gpu, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ",", -1);
  guint64 number = 0, sum = 0;
  guint n = 0;

  memset (gpu->gpcs, 0, sizeof gpu->gpcs);
  for (; words[n] != NULL && n < GEMEM_GPCS_MAX; n++)
    {
      if (!gemem_parse_uint (words[n], &number, NULL) || number < 1 || number > G_MAXUINT8)
        break;
      gpu->gpcs[n] = (guint8) number;
      sum += number;
    }
  if (words[n] == NULL && sum == (guint64) gpu->multiprocessors)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--gpcs=%s: write how many of the %d multiprocessors of %s each GPC has, as in "
               "18,18,16 (at most %d GPCs)",
               text, gpu->multiprocessors, gpu->name, GEMEM_GPCS_MAX);
  return FALSE;
}
