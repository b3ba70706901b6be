/* names.c - which of NVIDIA's libraries a name belongs to (launch.h): the rows of libraries.def. */
#include "config.h"

#include <string.h>

#include "dry/launch/launch.h"

gint
gemem_dry_compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

#define GEMEM_DRY_BESIDE "" /* no module */

static const struct
{
  const char *soname, *prefixes, *module;
} rows[] = {
#define GEMEM_DRY_LIBRARY(soname, prefixes, unsupported, name, module) { soname, prefixes, module },
#include "dry/libraries/libraries.def"
#undef GEMEM_DRY_LIBRARY
};

#define MARK 8 /* digits */

/* Where the mark begins that a wheel has put into the name of a library that it brings along, as auditwheel does:
 * "libcudart-c64a25f3.so.12.3.101", "libcudart.faf08d9a.so.13".  NULL: there is none. */
static const char *
mark_in (const char *soname)
{
  const char *end = strstr (soname, ".so");

  if (end == NULL || end - soname <= MARK + 1 || strchr ("-.", end[-MARK - 1]) == NULL)
    return NULL;
  for (const char *digit = end - MARK; digit < end; digit++)
    if (!g_ascii_isxdigit (*digit))
      return NULL;
  return end - MARK - 1;
}

gboolean
gemem_dry_soname_is_marked (const char *soname)
{
  return mark_in (soname) != NULL;
}

guint
gemem_dry_row_of_soname (const char *soname)
{
  g_autofree char *plain = NULL;
  const char *mark;

  if (!g_str_has_prefix (soname, "libcu") && !g_str_has_prefix (soname, "libn"))
    return GEMEM_DRY_NO_ROW;
  mark = mark_in (soname);
  if (mark != NULL)
    plain = g_strdup_printf ("%.*s%s", (int) (mark - soname), soname, mark + 1 + MARK);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_pattern_match_simple (rows[i].soname, plain != NULL ? plain : soname))
      return i;
  return GEMEM_DRY_NO_ROW;
}

/* The length of the longest of @prefixes that @name has; 0: none. */
static gsize
prefix_length (const char *prefixes, const char *name)
{
  gsize best = 0;

  for (const char *at = prefixes; *at != '\0';)
    {
      const gsize n = strcspn (at, " ");
      if (n > best && strncmp (name, at, n) == 0 && name[n] != '\0' && !g_ascii_islower (name[n]))
        best = n;
      at += n + strspn (at + n, " ");
    }
  return best;
}

static gboolean
is_identifier (const char *name)
{
  while (g_ascii_isalnum (*name) || *name == '_')
    name++;
  return *name == '\0';
}

guint
gemem_dry_row_of_function (const char *name)
{
  guint row = GEMEM_DRY_NO_ROW;
  gsize best = 0;

  if (strchr ("cnp_", *name) == NULL) /* the first letters of all prefixes */
    return GEMEM_DRY_NO_ROW;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const gsize n = prefix_length (rows[i].prefixes, name);
      if (n > 0 && n >= best) /* of rows with the same, the last is for any version */
        {
          best = n;
          row = i;
        }
    }
  return row != GEMEM_DRY_NO_ROW && is_identifier (name) ? row : GEMEM_DRY_NO_ROW;
}

const char *
gemem_dry_row_pattern (guint row)
{
  return rows[row].soname;
}

static gboolean
has_module (guint row)
{
  return row != GEMEM_DRY_NO_ROW && rows[row].module != NULL && *rows[row].module != '\0';
}

const char *
gemem_dry_row_module (guint row)
{
  return has_module (row) ? rows[row].module : NULL;
}

guint
gemem_dry_n_rows (void)
{
  return G_N_ELEMENTS (rows);
}

gboolean
gemem_dry_row_is_beside (guint row)
{
  return row != GEMEM_DRY_NO_ROW && rows[row].module != NULL && *rows[row].module == '\0';
}

char **
gemem_dry_modules (void)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (has_module (i)
        && !g_ptr_array_find_with_equal_func (names, rows[i].module, g_str_equal, NULL))
      g_ptr_array_add (names, g_strdup (rows[i].module));
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

gboolean
gemem_dry_row_holds (guint row, const char *soname)
{
  const guint its = gemem_dry_row_of_soname (soname);
  return its != GEMEM_DRY_NO_ROW && strcmp (rows[its].prefixes, rows[row].prefixes) == 0;
}

char *
gemem_dry_row_soname (guint row)
{
  g_auto (GStrv) parts = g_strsplit (rows[row].soname, "*", -1);
  return g_strjoinv (NULL, parts);
}
