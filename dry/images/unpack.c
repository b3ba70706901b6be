/* unpack.c - the two compressions of entries in fat binaries.
 *
 * Toolkits until 12 compress with LZ4 blocks, later ones with zstd frames. The LZ4 block is read
 * here: 40 lines, where the library would be one more that is loaded into every program.
 *
 * Origin: the public description of the LZ4 block format; that the blocks are such was found from
 * the bytes of the wheels of PyTorch 2.6.
 */
#include "config.h"

#include <string.h>
#include <zstd.h>

#include "dry/images/images-private.h"

#define LARGEST \
  ((gsize) 1 << 30) /* bytes of one unpacked entry: those of PyTorch have up to 14 MB */

/* Continues a length of 4 bits: while the bytes are 255, another one follows. */
static gboolean
lz4_length (GememBytes packed, gsize *at, gsize *length)
{
  if (*length < 15)
    return TRUE;
  for (guint8 byte = 255; byte == 255;)
    {
      if (*at >= packed.size)
        return FALSE;
      byte = packed.data[(*at)++];
      *length += byte;
    }
  return TRUE;
}

guint8 *
gemem_dry_unpack_lz4 (GememBytes packed, gsize size)
{
  gsize at = 0, made = 0;
  guint8 *out = size > 0 && size <= LARGEST && size / 255 <= packed.size ? g_try_malloc (size)
                                                                         : NULL;

  while (out != NULL && at < packed.size)
    {
      const guint8 token = packed.data[at++];
      gsize length = token >> 4, distance;

      if (!lz4_length (packed, &at, &length) || length > packed.size - at || length > size - made)
        break;
      memcpy (out + made, packed.data + at, length);
      at += length, made += length;
      if (at == packed.size && made == size) /* the last sequence has no match */
        return out;
      if (packed.size - at < 2)
        break;
      distance = packed.data[at] | packed.data[at + 1] << 8;
      at += 2;
      length = token & 15;
      if (!lz4_length (packed, &at, &length))
        break;
      length += 4;
      if (distance == 0 || distance > made || length > size - made)
        break;
      for (; length > 0; length--, made++) /* source and target may overlap */
        out[made] = out[made - distance];
    }
  g_free (out);
  return NULL;
}

guint8 *
gemem_dry_unpack_zstd (GememBytes packed, gsize size)
{
  guint8 *out = size > 0 && size <= LARGEST ? g_try_malloc (size) : NULL;

  if (out != NULL && ZSTD_decompress (out, size, packed.data, packed.size) != size)
    g_clear_pointer (&out, g_free);
  return out;
}
