/* long-random-sequences.c - test-random-sequences.c with four million operations per class and
 * per model; GEMEM_SEED=N draws others. */
#include "config.h"

#include "tests/util/random-trials.h"
#include "tests/util/variants.h"

#define OPERATIONS 4000000
#define CAPACITY (G_GUINT64_CONSTANT (512) << 20)

/* Half of the operations for the defaults, half for the variants. */
static void
test_oracle (gconstpointer data)
{
  const GememAllocatorClass *klass = data;
  g_autoptr (GPtrArray) variants = test_variants (klass, CAPACITY);

  if (!test_random_oracle (klass, "", variants->len > 1 ? OPERATIONS / 2 : OPERATIONS, 5000))
    return;
  for (guint i = 1; i < variants->len; i++)
    if (!test_random_oracle (klass, g_ptr_array_index (variants, i),
                             OPERATIONS / 2 / (variants->len - 1) + 1, 2000))
      return;
}

static void
test_model (gconstpointer data)
{
  test_random_model (data, OPERATIONS, 10000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      g_autofree char *path = g_strconcat ("/random/oracle/", (*c)->name, NULL);

      g_test_add_data_func (path, *c, test_oracle);
    }
  for (guint i = 0; naive_classes[i] != NULL; i++)
    {
      g_autofree char *path = naive_path ("/random/model/", naive_classes[i]);

      g_test_add_data_func (path, naive_classes[i], test_model);
    }
  return g_test_run ();
}
