/* versions.c - which versions of NVIDIA's libraries a Python program was built for (launch.h).
 *
 * The libraries themselves are not needed for a dry run. What they would say of their versions
 * stands in the metadata of packages: that of an installed library
 * (nvidia_cudnn_cu12-9.1.0.70.dist-info), else what an installed package requires ("Requires-Dist:
 * nvidia-cudnn-cu12 (==9.1.0.70)", "cuda-toolkit[...]==13.0.2"), else the least that one takes
 * ("nvidia-cudnn-cu12<10.0,>=9.8").
 */
#include "config.h"

#include <string.h>

#include "dry/launch/launch.h"
#include "dry/protocol/protocol.h"

#define LARGEST_METADATA (1 << 20)

/* "nvidia-cuda-runtime-cu12" -> "CUDART", "nvidia-cudnn-cu12" -> "CUDNN"; NULL: another package. */
static char *
variable_of (const char *package)
{
  if (strcmp (package, "cuda-toolkit") == 0)
    return g_strdup ("CUDART");
  if (!g_str_has_prefix (package, "nvidia-"))
    return NULL;
  g_autofree char *name = g_strdup (package + strlen ("nvidia-"));
  char *suffix = g_strrstr (name, "-cu");
  if (suffix != NULL && (g_ascii_isdigit (suffix[3]) || suffix[3] == '\0'))
    *suffix = '\0';
  if (strcmp (name, "cuda-runtime") == 0)
    return g_strdup ("CUDART");
  const char *bare = g_str_has_prefix (name, "cuda-") ? name + strlen ("cuda-") : name;
  for (const char *at = bare; *at != '\0'; at++)
    if (!g_ascii_isalnum (*at))
      return NULL;
  return *bare != '\0' ? g_ascii_strup (bare, -1) : NULL;
}

/* Adds GEMEM_ENV_DRY_CUDNN -> @version unless it is known. */
static void
add (GHashTable *versions, const char *package, const char *version)
{
  g_autofree char *name = variable_of (package);
  if (name == NULL || !g_ascii_isdigit (*version))
    return;
  char *variable = g_strconcat (GEMEM_ENV_DRY_VERSION_OF, name, NULL);
  gsize n = strspn (version, "0123456789.");
  n -= version[n - 1] == '.'; /* of "9.1.0.70.dist-info" */
  if (g_hash_table_contains (versions, variable))
    g_free (variable);
  else
    g_hash_table_insert (versions, variable, g_strndup (version, n));
}

/* One requirement: "nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == ..." */
static void
read_requirement (GHashTable *versions, const char *line, const char *relation)
{
  const char *version = strstr (line, relation), *marker = strchr (line, ';');
  const gsize n = strcspn (line, " [(=<>!~;");

  if (version == NULL || (marker != NULL && marker < version))
    return;
  g_autofree char *package = g_strndup (line, n);
  add (versions, package, version + 2);
}

static void
read_metadata (GHashTable *versions, const char *path, const char *relation)
{
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, NULL);
  static const char key[] = "Requires-Dist: ";

  if (file == NULL || g_mapped_file_get_length (file) > LARGEST_METADATA)
    return;
  g_autofree char *text = g_strndup (g_mapped_file_get_contents (file),
                                     g_mapped_file_get_length (file));
  g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
  for (char **line = lines; *line != NULL && **line != '\0'; line++) /* the header ends there */
    if (g_str_has_prefix (*line, key))
      read_requirement (versions, *line + strlen (key), relation);
}

/* Names of the folders "*.dist-info" in @root, sorted. */
static GPtrArray *
packages (const char *root)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (root, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".dist-info"))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, gemem_dry_compare_names);
  return names;
}

char **
gemem_dry_versions (const char *const *roots)
{
  g_autoptr (GHashTable) versions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  GPtrArray *result = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer name, version;

  for (const char *const *root = roots; *root != NULL; root++)
    {
      g_autoptr (GPtrArray) names = packages (*root);
      for (guint i = 0; i < names->len; i++) /* installed libraries first */
        {
          g_auto (GStrv) parts = g_strsplit (names->pdata[i], "-", 3);
          if (g_strv_length (parts) >= 2)
            add (versions, g_strdelimit (parts[0], "_", '-'), parts[1]);
        }
      for (guint i = 0; i < 2 * names->len; i++) /* all that say one version, then the others */
        {
          g_autofree char *path = g_build_filename (*root, names->pdata[i % names->len], "METADATA",
                                                    NULL);
          read_metadata (versions, path, i < names->len ? "==" : ">=");
        }
    }
  g_hash_table_iter_init (&iter, versions);
  while (g_hash_table_iter_next (&iter, &name, &version))
    g_ptr_array_add (result, g_strconcat (name, "=", version, NULL));
  g_ptr_array_sort (result, gemem_dry_compare_names);
  g_ptr_array_add (result, NULL);
  return (char **) g_ptr_array_free (result, FALSE);
}
