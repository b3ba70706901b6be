/* naive-ge-kinds.c - memory of ge outside the pools of streams: variables (ge-runtime.md 7.4),
 * weights and blocks of external allocators (7.2), the RDMA pool (6.2) and host memory (2.8);
 * see naive-ge-static.h. */
#include "config.h"

#include "tests/util/naive-ge-static.h"

#define RDMA_BASE \
  G_GUINT64_CONSTANT ( \
      0x100000000000) /* the base address at which the model of the RDMA pool places its memory */

typedef struct
{
  guint32 id;
  NaiveKind kind;
  guint64 address, size; /* of the device's block, of a variable's piece, or as the pool returned */
  guint64 stream;
  gboolean plain; /* allocated by a device call of its own */
} Piece;

void
naive_kinds_init (NaiveKinds *k, NaiveDevice *device, guint64 variable_page)
{
  k->device = device;
  k->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  k->kept = g_array_new (FALSE, FALSE, sizeof (Piece));
  k->private = naive_pages_new (device, variable_page);
  k->private->fresh = TRUE;
  naive_session_init (&k->variables);
  k->variables.pages = k->private;
  k->host = GEMEM_HOST_ADDRESS;
}

void
naive_kinds_clear (NaiveKinds *k)
{
  naive_session_clear (&k->variables);
  naive_pages_destroy (k->private);
  naive_free (k->rdma);
  g_array_unref (k->pieces);
  g_array_unref (k->kept);
}

/* 7.4: the visible address is the piece's address plus 512 bytes. */
static gboolean
take_variable (NaiveKinds *k, Piece *piece, guint64 bytes)
{
  if (bytes > G_MAXUINT64 - 2048)
    return FALSE;
  piece->size = (bytes + 511) / 512 * 512 + 1024;
  piece->address = naive_session_append (&k->variables, piece->size);
  piece->plain = piece->address == 0 && k->variables.unsupported;
  if (piece->plain)
    piece->address = naive_device_malloc (k->device, piece->size);
  k->ranged += piece->address != 0 && !piece->plain;
  return piece->address != 0;
}

/* 6.2: the first request allocates the pool's one block. */
static gboolean
take_rdma (NaiveKinds *k, Piece *piece, guint64 bytes)
{
  const NaiveRequest request = { bytes, 0, 0 };

  if (k->rdma == NULL)
    {
      k->rdma_base = naive_device_malloc (k->device, NAIVE_RDMA_SIZE);
      if (k->rdma_base == 0)
        return FALSE;
      k->rdma = naive_new (&naive_ge_rdma, G_MAXUINT64, FALSE);
    }
  if (!naive_ge_rdma.alloc (k->rdma, piece->id, &request, &piece->address, &piece->size))
    return FALSE;
  piece->address += k->rdma_base - RDMA_BASE;
  return TRUE;
}

/* GE defines no addresses for host memory; these are this project's. */
static gboolean
take_host (NaiveKinds *k, Piece *piece, guint64 bytes)
{
  if (bytes >> 48 != 0)
    return FALSE;
  piece->address = k->host;
  piece->size = bytes;
  k->host += (bytes / 65536 + 1) * 65536;
  return TRUE;
}

static gboolean
take_plain (NaiveKinds *k, Piece *piece, guint64 bytes)
{
  piece->address = naive_device_malloc (k->device, bytes);
  piece->size = bytes;
  piece->plain = TRUE;
  return piece->address != 0;
}

void
naive_kinds_trim (NaiveKinds *k)
{
  for (guint i = 0; i < k->kept->len; i++)
    naive_device_free (k->device, g_array_index (k->kept, Piece, i).address);
  g_array_set_size (k->kept, 0);
}

/* The kept piece of the stream and size with the lowest address. */
static gboolean
take_kept (NaiveKinds *k, Piece *piece, guint64 bytes)
{
  guint found = k->kept->len;

  for (guint i = 0; i < k->kept->len; i++)
    {
      const Piece *kept = &g_array_index (k->kept, Piece, i);

      if (kept->stream == k->stream && kept->size == bytes
          && (found == k->kept->len
              || kept->address < g_array_index (k->kept, Piece, found).address))
        found = i;
    }
  if (found == k->kept->len)
    return FALSE;
  piece->address = g_array_index (k->kept, Piece, found).address;
  piece->size = bytes;
  piece->plain = TRUE;
  g_array_remove_index (k->kept, found);
  return TRUE;
}

static gboolean
take_hbm (NaiveKinds *k, Piece *piece, guint64 bytes)
{
  if (take_kept (k, piece, bytes) || take_plain (k, piece, bytes))
    return TRUE;
  if (k->kept->len == 0)
    return FALSE;
  naive_kinds_trim (k);
  return take_plain (k, piece, bytes);
}

gboolean
naive_kinds_alloc (NaiveKinds *k, guint32 id, NaiveKind kind, guint64 bytes, guint64 *address,
                   guint64 *size)
{
  gboolean (*const take[]) (NaiveKinds *, Piece *, guint64) = { [NAIVE_HBM] = take_hbm,
                                                                [NAIVE_HOST] = take_host,
                                                                [NAIVE_VARIABLE] = take_variable,
                                                                [NAIVE_WEIGHT] = take_plain,
                                                                [NAIVE_RDMA] = take_rdma };
  Piece piece = { .id = id, .kind = kind, .stream = k->stream };

  if (!take[kind](k, &piece, bytes))
    return FALSE;
  g_array_append_val (k->pieces, piece);
  k->bytes[kind] += piece.size;
  *address = piece.address + (kind == NAIVE_VARIABLE ? 512 : 0);
  *size = piece.size;
  return TRUE;
}

static guint
find (const NaiveKinds *k, guint32 id)
{
  guint i = 0;

  while (i < k->pieces->len && g_array_index (k->pieces, Piece, i).id != id)
    i++;
  return i;
}

guint64
naive_kinds_size (const NaiveKinds *k, guint32 id)
{
  return g_array_index (k->pieces, Piece, find (k, id)).size;
}

gboolean
naive_kinds_free (NaiveKinds *k, guint32 id)
{
  const guint i = find (k, id);
  Piece piece;

  if (i == k->pieces->len)
    return FALSE;
  piece = g_array_index (k->pieces, Piece, i);
  g_array_remove_index (k->pieces, i);
  k->bytes[piece.kind] -= piece.size;
  if (piece.kind == NAIVE_HBM && k->keeps)
    g_array_append_val (k->kept, piece);
  else if (piece.plain)
    naive_device_free (k->device, piece.address);
  else if (piece.kind == NAIVE_RDMA)
    naive_ge_rdma.free (k->rdma, id, FALSE);
  else if (piece.kind == NAIVE_VARIABLE
           && --k->ranged == 0) /* the last variable releases the whole range */
    naive_session_reset (&k->variables);
  return TRUE;
}

gboolean
naive_kinds_figure (const NaiveKinds *k, const char *name, guint64 *value)
{
  static const char *const names[] = {
    [NAIVE_HBM] = "hbm.bytes",       [NAIVE_P2P] = "",
    [NAIVE_HOST] = "host.bytes",     [NAIVE_VARIABLE] = "variable.bytes",
    [NAIVE_WEIGHT] = "weight.bytes", [NAIVE_RDMA] = "rdma.bytes"
  };

  for (guint kind = 0; kind < NAIVE_KINDS; kind++)
    if (g_str_equal (names[kind], name))
      {
        *value = k->bytes[kind];
        return TRUE;
      }
  return FALSE;
}
