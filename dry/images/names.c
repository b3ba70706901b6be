/* names.c - the names that an image defines, as the readers find them: a table of kernels, one of variables.
 *
 * Invariant: all names together have no more bytes than the image, so that a damaged one cannot fill memory.
 */
#include "config.h"

#include "dry/images/images-private.h"

static gboolean
allow (GememDryImage *image, gsize length)
{
  if (length >= image->allowance)
    return FALSE;
  image->allowance -= length + 1;
  return TRUE;
}

GememDryKernel *
gemem_dry_image_add (GememDryImage *image, const char *name, gsize length)
{
  char *key = allow (image, length) ? g_strndup (name, length) : NULL;
  GememDryKernel *kernel = key != NULL ? g_hash_table_lookup (image->kernels, key) : NULL;

  if (key == NULL || kernel != NULL)
    {
      g_free (key);
      return kernel;
    }
  kernel = g_new0 (GememDryKernel, 1);
  g_hash_table_insert (image->kernels, key, kernel);
  return kernel;
}

gboolean
gemem_dry_image_add_symbol (GememDryImage *image, const char *name, gsize length, guint64 size)
{
  guint64 *value;

  if (!allow (image, length))
    return FALSE;
  value = g_new (guint64, 1);
  *value = size;
  g_hash_table_replace (image->symbols, g_strndup (name, length), value);
  return TRUE;
}
