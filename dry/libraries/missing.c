/* missing.c - the functions that are not written: which of them succeed without effect
 * (harmless.def), and which fail by their name.
 *
 * Written functions that do nothing but launch work are counted with the harmless ones (gemem_dry_launched()).
 *
 * A harmless function returns 0, every library's success. Every other one returns its library's
 * status for what it does not support (libraries.def), and, but for those of which that is known to
 * change nothing, is named once, on stderr and in the
 * notes, because what the program does next may no longer be what it does on a GPU.
 *
 * Invariants: a generated function asks once; its further calls do not come here. Callable from any
 * thread, also while the process ends.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dry/driver/notes.h"
#include "dry/libraries/missing.h"

typedef struct
{
  const char *pattern; /* of sonames, or of functions */
  int result;
  const char *result_name;
} Row;

static const Row libraries[] = {
#define GEMEM_DRY_LIBRARY(soname, prefixes, unsupported, name, module) \
  { soname, unsupported, name },
#include "dry/libraries/libraries.def"
#undef GEMEM_DRY_LIBRARY
};

/* What a harmless function does with device memory on a GPU. */
typedef enum
{
  NOTHING,
  WORK,
  COPY,
} Does;

typedef struct
{
  const char *pattern;
  Does does;
} Harmless;

static const Harmless harmless[] = {
#define GEMEM_DRY_HARMLESS(pattern, does, why) { pattern, does },
#include "dry/libraries/harmless.def"
};

static const char *const refused[] = {
#define GEMEM_DRY_REFUSED(name, why) name,
#include "dry/libraries/harmless.def"
  NULL
};

typedef struct
{
  const char *name;
  GememDryStub *stub;
  gboolean harmless;
  gboolean works, told; /* works: on device memory; told: it says what it writes */
} Called;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *exact;    /* pattern -> row, of harmless */
static GArray *patterns;     /* guint: those of harmless with '*' or '?' */
static GHashTable *failures; /* names that were reported */
static GArray *called;       /* Called, in the order of first calls */

static gboolean
is_pattern (const char *text)
{
  return strpbrk (text, "*?") != NULL;
}

static void
make_tables (void)
{
  exact = g_hash_table_new (g_str_hash, g_str_equal);
  patterns = g_array_new (FALSE, FALSE, sizeof (guint));
  failures = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  called = g_array_new (FALSE, FALSE, sizeof (Called));
  for (guint i = 0; i < G_N_ELEMENTS (harmless); i++)
    if (is_pattern (harmless[i].pattern))
      g_array_append_val (patterns, i);
    else
      g_hash_table_insert (exact, (gpointer) harmless[i].pattern, (gpointer) &harmless[i]);
}

/* The row that says that success of @name without effect is harmless; NULL: it is not. */
static const Harmless *
harmless_row (const char *name)
{
  const Harmless *row = g_hash_table_lookup (exact, name);

  for (guint i = 0; i < patterns->len && row == NULL; i++)
    {
      const Harmless *one = &harmless[g_array_index (patterns, guint, i)];
      if (g_pattern_match_simple (one->pattern, name))
        row = one;
    }
  return row;
}

static const Row *
library_row (const char *soname)
{
  static const Row unknown = { "", -1, "-1" };

  for (guint i = 0; i < G_N_ELEMENTS (libraries); i++)
    if (g_pattern_match_simple (libraries[i].pattern, soname))
      return &libraries[i];
  return &unknown;
}

/* Names a function that fails; the caller holds the mutex. */
static void
say_missing (const char *name, const char *library, const Row *row)
{
  g_autofree char *line = NULL, *text = NULL;

  if (!g_hash_table_add (failures, g_strdup (name)))
    return;
  line = g_strdup_printf ("gemem: %s (%s) is not written for dry runs; it returns %s\n", name,
                          library, row->result_name);
  if (write (STDERR_FILENO, line, strlen (line)) < 0)
    return; /* the program closed it: the notes say it */
  text = g_strdup_printf ("%s %s", name, library);
  gemem_dry_note (GEMEM_DRY_NOTE_MISSING, text);
}

/* The caller holds the mutex. */
static void
add_called (Called one)
{
  g_array_append_val (called, one);
  __atomic_store_n (&one.stub->known, 1, __ATOMIC_RELEASE);
}

int __attribute__ ((visibility ("default")))
gemem_dry_stub (const char *name, const char *library, GememDryStub *stub)
{
  const Row *row = library_row (library);
  int result = 0;

  pthread_mutex_lock (&mutex);
  if (exact == NULL)
    make_tables ();
  const Harmless *fine = harmless_row (name);
  if (fine == NULL)
    result = row->result;
  if (fine == NULL && !g_strv_contains (refused, name))
    say_missing (name, library, row);
  if (stub != NULL && !stub->known)
    {
      stub->result = result;
      add_called (
          (Called){ name, stub, fine != NULL, fine != NULL && fine->does != NOTHING, FALSE });
    }
  pthread_mutex_unlock (&mutex);
  return result;
}

int
gemem_dry_missing (const char *name, const char *library)
{
  return gemem_dry_stub (name, library, NULL);
}

void
gemem_dry_launched (const char *name, GememDryStub *stub)
{
  __atomic_fetch_add (&stub->calls, 1, __ATOMIC_RELAXED);
  if (__atomic_load_n (&stub->known, __ATOMIC_ACQUIRE) != 0)
    return;
  pthread_mutex_lock (&mutex);
  if (exact == NULL)
    make_tables ();
  if (!stub->known)
    add_called ((Called){ name, stub, TRUE, TRUE, TRUE });
  pthread_mutex_unlock (&mutex);
}

guint64
gemem_dry_work (gboolean told)
{
  guint64 work = 0;

  pthread_mutex_lock (&mutex);
  for (guint i = 0; called != NULL && i < called->len; i++)
    {
      const Called *one = &g_array_index (called, Called, i);
      if (one->works && (told || !one->told))
        work += __atomic_load_n (&one->stub->calls, __ATOMIC_RELAXED);
    }
  pthread_mutex_unlock (&mutex);
  return work;
}

/* How often each was called, when the process ends. */
__attribute__ ((destructor)) static void
report_calls (void)
{
  pthread_mutex_lock (&mutex);
  for (guint i = 0; called != NULL && i < called->len; i++)
    {
      const Called *one = &g_array_index (called, Called, i);
      g_autofree char *text = g_strdup_printf (
          "%" G_GUINT64_FORMAT " %s", __atomic_load_n (&one->stub->calls, __ATOMIC_RELAXED),
          one->name);
      gemem_dry_note (one->harmless ? GEMEM_DRY_NOTE_HARMLESS : GEMEM_DRY_NOTE_FAILED, text);
    }
  pthread_mutex_unlock (&mutex);
}
