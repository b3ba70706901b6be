/* checksum.c - XXH64 (see checksum.h): four lanes of 8 bytes, then the remainder in steps of 8, 4
 * and 1, then the final mix.  Values are read little-endian on every machine, since the result is
 * part of the file format (doc/trace-formats.md).
 */
#include "config.h"

#include <string.h>

#include "base/io/checksum.h"

#define PRIME1 G_GUINT64_CONSTANT (0x9E3779B185EBCA87)
#define PRIME2 G_GUINT64_CONSTANT (0xC2B2AE3D27D4EB4F)
#define PRIME3 G_GUINT64_CONSTANT (0x165667B19E3779F9)
#define PRIME4 G_GUINT64_CONSTANT (0x85EBCA77C2B2AE63)
#define PRIME5 G_GUINT64_CONSTANT (0x27D4EB2F165667C5)

static inline guint64
load64 (const guint8 *p)
{
  guint64 value;
  memcpy (&value, p, sizeof value);
  return GUINT64_FROM_LE (value);
}

static inline guint64
load32 (const guint8 *p)
{
  guint32 value;
  memcpy (&value, p, sizeof value);
  return GUINT32_FROM_LE (value);
}

static inline guint64
rotate (guint64 value, guint bits)
{
  return value << bits | value >> (64 - bits);
}

static inline guint64
mix (guint64 lane, guint64 input)
{
  return rotate (lane + input * PRIME2, 31) * PRIME1;
}

static inline guint64
merge (guint64 hash, guint64 lane)
{
  return (hash ^ mix (0, lane)) * PRIME1 + PRIME4;
}

guint64
gemem_checksum (gconstpointer data, gsize size, guint64 seed)
{
  const guint8 *p = data;
  const guint8 *end = p + size;
  guint64 hash = seed + PRIME5;

  if (size >= 32)
    {
      guint64 a = seed + PRIME1 + PRIME2, b = seed + PRIME2, c = seed, d = seed - PRIME1;
      for (; end - p >= 32; p += 32)
        {
          a = mix (a, load64 (p));
          b = mix (b, load64 (p + 8));
          c = mix (c, load64 (p + 16));
          d = mix (d, load64 (p + 24));
        }
      hash = rotate (a, 1) + rotate (b, 7) + rotate (c, 12) + rotate (d, 18);
      hash = merge (merge (merge (merge (hash, a), b), c), d);
    }
  hash += size;
  for (; end - p >= 8; p += 8)
    hash = rotate (hash ^ mix (0, load64 (p)), 27) * PRIME1 + PRIME4;
  for (; end - p >= 4; p += 4)
    hash = rotate (hash ^ (load32 (p) * PRIME1), 23) * PRIME2 + PRIME3;
  for (; p < end; p++)
    hash = rotate (hash ^ (*p * PRIME5), 11) * PRIME1;
  hash = (hash ^ hash >> 33) * PRIME2;
  hash = (hash ^ hash >> 29) * PRIME3;
  return hash ^ hash >> 32;
}
