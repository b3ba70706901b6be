/* notes.c - dry runs: whether this is one, of which GPU, and the notes of what the program met, a
 * line each in the file $GEMEM_DRY_NOTES (dry/protocol/notes.def).
 *
 * Invariants: a line is written at once, and once.  The first 1000 different lines are kept.
 */
#include "config.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "dry/driver/driver.h"
#include "dry/protocol/protocol.h"

#define LINES_MAX 1000

const char *const gemem_dry_note_words[] = {
#define GEMEM_DRY_NOTE(name, word, ...) word,
#include "dry/protocol/notes.def"
#undef GEMEM_DRY_NOTE
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *seen; /* line -> how often */
static GPtrArray *order; /* the same lines, as they came */
static gboolean more;    /* than are kept */

gboolean
gemem_dry_mode (void)
{
  static gint known; /* 1: no, 2: yes */

  if (g_atomic_int_get (&known) == 0)
    g_atomic_int_set (&known, g_strcmp0 (g_getenv (GEMEM_ENV_DRY), "1") == 0 ? 2 : 1);
  return g_atomic_int_get (&known) == 2;
}

const GememGpu *
gemem_dry_gpu (void)
{
  static gsize gpu;

  if (g_once_init_enter (&gpu))
    {
      const char *name = g_getenv (GEMEM_ENV_DRY_GPU);
      g_autoptr (GError) error = NULL;
      const GememGpu *found = gemem_gpu_find_cuda (name != NULL && *name != '\0' ? name : "h100",
                                                   &error);

      const char *gpcs = g_getenv (GEMEM_ENV_DRY_GPCS);
      static GememGpu chosen;

      if (found == NULL)
        {
          g_printerr ("gemem-dry: GEMEM_DRY_GPU: %s\n", error->message);
          found = gemem_gpus ();
        }
      chosen = *found;
      if (gpcs != NULL && *gpcs != '\0') /* which the launcher has checked */
        gemem_gpu_set_gpcs (&chosen, gpcs, NULL);
      g_once_init_leave (&gpu, (gsize) &chosen);
    }
  return (const GememGpu *) gpu;
}

/* g_free(). */
static char *
line_of (GememDryNote word, const char *text)
{
  return g_strdup_printf ("%s %s\n", gemem_dry_note_words[word], text);
}

static void
write_line (const char *line)
{
  const char *name = g_getenv (GEMEM_ENV_DRY_NOTES);
  int file;

  if (name == NULL || *name == '\0')
    return;
  file = open (name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write (file, line, strlen (line)) != (gssize) strlen (line))
    {
      static gint said = FALSE;
      if (g_atomic_int_compare_and_exchange (&said, FALSE, TRUE))
        g_printerr (
            "gemem-dry: %s: cannot be written, so the verdict lacks what process %d does; did "
            "gemem-dry-run end before it?\n",
            name, (int) getpid ());
    }
  if (file >= 0)
    close (file);
}

void
gemem_dry_note (GememDryNote word, const char *text)
{
  char *line = line_of (word, text);
  gsize times;

  pthread_mutex_lock (&mutex);
  if (seen == NULL)
    {
      seen = g_hash_table_new (g_str_hash, g_str_equal);
      order = g_ptr_array_new ();
    }
  times = GPOINTER_TO_SIZE (g_hash_table_lookup (seen, line));
  if (times == 0 && order->len < LINES_MAX)
    {
      write_line (line);
      g_ptr_array_add (order, line);
      g_hash_table_insert (seen, line, GSIZE_TO_POINTER (1));
    }
  else
    {
      if (times > 0)
        g_hash_table_insert (seen, line, GSIZE_TO_POINTER (times + 1)); /* keeps the first key */
      else if (!more)
        {
          g_autofree char *last = line_of (GEMEM_DRY_NOTE_MORE, "lines than are kept");
          write_line (last);
        }
      more |= times == 0;
      g_free (line);
    }
  pthread_mutex_unlock (&mutex);
}

void
gemem_dry_note_rank (void)
{
  const char *rank = g_getenv ("RANK");
  char text[64];

  if (rank == NULL || !g_ascii_isdigit (*rank) || strlen (rank) > 9)
    return;
  g_snprintf (text, sizeof text, "%d %s", (int) getpid (), rank);
  gemem_dry_note (GEMEM_DRY_NOTE_RANK, text);
}

void
gemem_dry_note_visible (void)
{
  for (guint i = 0; i < gemem_driver.n_devices; i++)
    if (gemem_driver.devices[i].place != i)
      {
        g_autofree char *text = g_strdup_printf ("%d %u %u", (int) getpid (), i,
                                                 gemem_driver.devices[i].place);
        gemem_dry_note (GEMEM_DRY_NOTE_VISIBLE, text);
      }
}

/* ---- values */

typedef struct
{
  gpointer to;
  gsize size;
  GememDryValue value;
  guint64 from;
} Value;

#define LOOKED_AT 16    /* copies of so few bytes to the host are values, not data */
#define LISTS (1 << 20) /* so many may be a list, which Python can tell */

static GememDryValueFunc on_value;
static GHashTable *callers; /* a place in the code -> whether it is one of is_check_of_xla() */

void
gemem_dry_on_value (GememDryValueFunc func)
{
  g_atomic_pointer_set (&on_value, func);
}

static void
tell_value (gpointer data)
{
  Value *value = data;
  GememDryValueFunc func = g_atomic_pointer_get (&on_value);

  if (func != NULL)
    func (value->to, value->size, value->value, value->from);
  g_free (value);
}

/* What a Python program's sitecustomize.py sets is that of this process alone. */
static void __attribute__ ((constructor)) forget_python (void)
{
  g_unsetenv (GEMEM_ENV_DRY_PYTHON);
}

/* TRUE if this is a Python that did not run sitecustomize.py. */
static gboolean
is_python_alone (void)
{
  int (*is_initialised) (void) = (int (*) (void)) dlsym (RTLD_DEFAULT, "Py_IsInitialized");

  return is_initialised != NULL && is_initialised () && g_getenv (GEMEM_ENV_DRY_PYTHON) == NULL;
}

/* The name of the file in which @frame lies; NULL: unknown, or one that passes calls on: the recorder, or CUDA, the dry run's or NVIDIA's. */
static const char *
library_of (gconstpointer frame)
{
  static const char *const own[] = { "libgemem-dry", "libgemem-record", "libcudart.", "libcuda." };
  Dl_info info;

  if (dladdr (frame, &info) == 0 || info.dli_fname == NULL)
    return NULL;
  const char *slash = strrchr (info.dli_fname, '/'),
             *name = slash != NULL ? slash + 1 : info.dli_fname;
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    if (g_str_has_prefix (name, own[i]))
      return NULL;
  return name;
}

void
gemem_dry_note_caller (GememDryNote word)
{
  gpointer frames[8];
  const int n = backtrace (frames, G_N_ELEMENTS (frames));

  for (int i = 0; i < n; i++)
    {
      const char *name = library_of (frames[i]);
      if (name == NULL)
        continue;
      gemem_dry_note (word, name);
      return;
    }
}

/* Whether XLA asks here, when it measures kernels, whether they wrote what they should: zero errors, which is no fact of the program. */
static gboolean
is_check_of_xla (void)
{
  static const char *const checks[] = { "RedzoneAllocator", "BufferComparator" };
  gpointer frames[24];
  gboolean found = FALSE;
  const int n = backtrace (frames, G_N_ELEMENTS (frames));

  pthread_mutex_lock (&mutex);
  if (callers == NULL)
    callers = g_hash_table_new (NULL, NULL);
  for (int i = 0; i < n && !found; i++)
    {
      gpointer known;
      Dl_info info;
      if (!g_hash_table_lookup_extended (callers, frames[i], NULL, &known))
        {
          const gboolean named = dladdr (frames[i], &info) != 0 && info.dli_sname != NULL;
          known = GINT_TO_POINTER (named
                                   && (strstr (info.dli_sname, checks[0]) != NULL
                                       || strstr (info.dli_sname, checks[1]) != NULL));
          g_hash_table_insert (callers, frames[i], known);
        }
      found = GPOINTER_TO_INT (known);
    }
  pthread_mutex_unlock (&mutex);
  return found;
}

/* What a program without Python read, of @size: 4 and 8 bytes may be an integer (17 as a real number is as good as zero), one a truth
 * value.  They read what a second run chose (dry/verdict/trial.c). */
static GememDryNote
read_without_python (gpointer to, gsize size, const char *place)
{
  const char *number = g_getenv (GEMEM_ENV_DRY_NUMBERS), *truths = g_getenv (GEMEM_ENV_DRY_TRUTHS);

  if (size == 1)
    {
      *(guint8 *) to = g_strcmp0 (truths, GEMEM_DRY_EVERYWHERE) == 0
                       || g_strcmp0 (truths, place) == 0;
      return GEMEM_DRY_NOTE_TRUTH;
    }
  if ((size != sizeof (guint32) && size != sizeof (guint64)) || is_check_of_xla ())
    return GEMEM_DRY_NOTE_VALUE;
  if (number != NULL && strcmp (number, "0") != 0)
    *(guint8 *) to = (guint8) atoi (number);
  return GEMEM_DRY_NOTE_NUMBER;
}

void
gemem_driver_note_value (gpointer to, gsize size, GememDryValue known, guint64 from)
{
  const gboolean heard = g_atomic_pointer_get (&on_value) != NULL;
  static gint told;
  char place[32];

  if (size > (heard && known == GEMEM_DRY_UNKNOWN ? LISTS : LOOKED_AT)
      && known != GEMEM_DRY_ASSUMED)
    return;
  if (heard)
    {
      Value *value = g_new (Value, 1);
      *value = (Value){ .to = to, .size = size, .value = known, .from = from };
      gemem_driver_call_later ((DriverCallback){ .function = tell_value, .data = value });
      return;
    }
  g_snprintf (place, sizeof place, "%" G_GSIZE_FORMAT " bytes", size);
  if (known == GEMEM_DRY_ASSUMED)
    gemem_dry_note (GEMEM_DRY_NOTE_ASSUMED, place);
  if (known != GEMEM_DRY_UNKNOWN)
    return;
  gemem_dry_note (read_without_python (to, size, place), place);
  if (is_python_alone () && g_atomic_int_add (&told, 1) == 0)
    gemem_dry_note (GEMEM_DRY_NOTE_PYTHON,
                    "ran without what gemem adds to it (options -I, -E, -S, another "
                    "$PYTHONPATH): values that were read, as zero, may be sizes");
}

/* Which of the libraries of $GEMEM_DRY_INSTALLED, "A:B", this process has loaded. */
static void
note_installed (void)
{
  const char *names = g_getenv (GEMEM_ENV_DRY_INSTALLED);
  g_auto (GStrv) sonames = g_strsplit (names != NULL ? names : "", ":", -1);

  for (char **soname = sonames; *soname != NULL; soname++)
    {
      gpointer loaded = dlopen (*soname, RTLD_LAZY | RTLD_NOLOAD);
      if (loaded != NULL)
        {
          gemem_dry_note (GEMEM_DRY_NOTE_INSTALLED, *soname);
          dlclose (loaded);
        }
    }
}

static gint64 taken[DRIVER_DEVICES_MAX], taken_most[DRIVER_DEVICES_MAX];
static const char *taken_on; /* the machine */
static gboolean taken_given;

void
gemem_dry_took (guint device, gint64 bytes, const char *machine, gboolean given)
{
  pthread_mutex_lock (&mutex);
  taken[device] += bytes;
  taken_most[device] = MAX (taken_most[device], taken[device]);
  taken_on = machine;
  taken_given = given;
  pthread_mutex_unlock (&mutex);
}

static void G_GNUC_PRINTF (3, 4)
    append_note (GString *text, GememDryNote word, const char *format, ...)
{
  va_list arguments;

  g_string_append_printf (text, "%s ", gemem_dry_note_words[word]);
  va_start (arguments, format);
  g_string_append_vprintf (text, format, arguments);
  va_end (arguments);
}

void
gemem_driver_notes_end (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  note_installed ();
  pthread_mutex_lock (&mutex);
  for (guint i = 0; order != NULL && i < order->len; i++)
    {
      const char *line = order->pdata[i];
      gsize times = GPOINTER_TO_SIZE (g_hash_table_lookup (seen, line));
      if (times > 1)
        append_note (text, GEMEM_DRY_NOTE_TIMES, "%" G_GSIZE_FORMAT " %s", times, line);
    }
  for (guint i = 0; i < gemem_driver.n_devices; i++)
    if (gemem_driver.devices[i].memory != NULL && gemem_driver.devices[i].memory->peak_held > 0)
      append_note (text, GEMEM_DRY_NOTE_HELD, "%d %u %" G_GUINT64_FORMAT "\n", (int) getpid (), i,
                   gemem_driver.devices[i].memory->peak_held);
  for (guint i = 0; i < gemem_driver.n_devices && taken_on != NULL; i++)
    if (taken_most[i] > 0)
      append_note (text, GEMEM_DRY_NOTE_NCCL, "%d %u %" G_GINT64_FORMAT " %d %s\n", (int) getpid (),
                   i, taken_most[i], taken_given, taken_on);
  if (text->len > 0)
    write_line (text->str);
  pthread_mutex_unlock (&mutex);
}
