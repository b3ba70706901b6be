/* dry-images.c - prints what dry reads of every kernel in a file with fat binaries, for
 * tests/dry/long-dry-images.sh.
 *
 *   dry-images FILE   a shared library, an object file or a fat binary
 *
 * One line per kernel of each entry with machine code: architecture, name, registers, stack, shared
 * memory; the figures that `cuobjdump --dump-resource-usage` prints. Each entry is read alone, as a
 * fat binary that has no other one.
 */
#include "config.h"

#include <string.h>

#include "dry/images/images-private.h"

static guint64
number (const guint8 *bytes, guint size)
{
  guint64 value = 0;

  for (guint i = 0; i < size; i++)
    value |= (guint64) bytes[i] << 8 * i;
  return value;
}

static void
print_entry (const guint8 *entry, gsize size)
{
  const guint sm = number (entry + 28, 4);
  guint8 *alone = g_malloc (16 + size);
  const GememDryImage *image;
  GHashTableIter iter;
  gpointer name, value;

  memcpy (alone, "\x50\xed\x55\xba\x01\0\x10\0", 8);
  for (guint i = 0; i < 8; i++)
    alone[8 + i] = size >> 8 * i;
  memcpy (alone + 16, entry, size);
  image = gemem_dry_image_load (alone, 16 + size, sm);
  if (image->state != GEMEM_DRY_IMAGE_READ)
    g_print ("sm_%u: %s\n", sm, image->problem);
  g_hash_table_iter_init (&iter, image->kernels);
  while (g_hash_table_iter_next (&iter, &name, &value))
    {
      const GememDryKernel *kernel = value;
      g_print ("sm_%u %s %d %d %d\n", sm, (const char *) name, kernel->registers, kernel->local,
               kernel->static_shared + kernel->reserved_shared);
    }
  gemem_dry_image_forget (image);
  g_free (alone);
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  GMappedFile *file = argc == 2 ? g_mapped_file_new (argv[1], FALSE, &error) : NULL;
  const guint8 *bytes;
  gsize size;

  if (file == NULL)
    {
      g_printerr ("dry-images: %s\n", error != NULL ? error->message : "give one file");
      return 2;
    }
  bytes = (const guint8 *) g_mapped_file_get_contents (file);
  size = g_mapped_file_get_length (file);
  for (gsize at = 0; at + 16 <= size; at += 8)
    {
      gsize end;
      if (number (bytes + at, 8) != G_GUINT64_CONSTANT (0x00100001ba55ed50)
          || (end = number (bytes + at + 8, 8)) > size - at - 16)
        continue;
      end += at + 16;
      for (at += 16; at < end;)
        {
          const gsize length = number (bytes + at + 4, 4) + number (bytes + at + 8, 8);
          if (number (bytes + at, 2) == 2)
            print_entry (bytes + at, length);
          at += length;
        }
      at -= 8;
    }
  g_mapped_file_unref (file);
  return 0;
}
