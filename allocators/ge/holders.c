/* holders.c - see holders.h. */
#include "config.h"

#include <string.h>

#include "allocators/ge/holders.h"

#define COLUMN G_GUINT64_CONSTANT (0x0101010101010101) /* bit 0 of every row */

static inline guint64
bit (guint stream)
{
  return G_GUINT64_CONSTANT (1) << stream;
}

void
gemem_ge_holders_reset (GeHolders *holders, GememSlab *wide)
{
  if (holders->wide != NULL)
    gemem_slab_free (wide, holders->wide);
  memset (holders, 0, sizeof *holders);
}

/* A stream that the narrow form has no row for was never told anything: its row is `touched`. */
static void
widen (GeHolders *holders, GememSlab *slab)
{
  GeWideHolders *wide = gemem_slab_alloc (slab);

  for (guint s = 0; s < GE_STREAMS_MAX; s++)
    wide->rows[s] = gemem_ge_holders_row (holders, s);
  memcpy (wide->counts, holders->counts, sizeof holders->counts);
  holders->wide = wide;
}

void
gemem_ge_holders_access (GeHolders *holders, guint stream, GememSlab *wide)
{
  if (G_UNLIKELY (stream >= GE_STREAMS_NARROW && holders->wide == NULL))
    widen (holders, wide);
  holders->holding |= bit (stream);
  holders->touched |= bit (stream);
  holders->total++;
  if (G_LIKELY (holders->wide == NULL))
    {
      holders->matrix |= COLUMN << stream;
      holders->counts[stream]++;
      return;
    }
  for (guint s = 0; s < GE_STREAMS_MAX; s++)
    holders->wide->rows[s] |= bit (stream);
  holders->wide->counts[stream]++;
}

static inline guint32 *
count_at (GeHolders *holders, guint stream)
{
  return G_UNLIKELY (holders->wide != NULL) ? &holders->wide->counts[stream]
                                            : &holders->counts[stream];
}

void
gemem_ge_holders_release_all (GeHolders *holders, guint stream)
{
  guint32 *count = count_at (holders, stream);

  holders->total -= *count;
  *count = 0;
  holders->holding &= ~bit (stream);
  if (G_LIKELY (holders->wide == NULL))
    holders->matrix &= ~(bit (stream) << (8 * stream));
  else
    holders->wide->rows[stream] &= ~bit (stream);
}

gboolean
gemem_ge_holders_release (GeHolders *holders, guint stream)
{
  const guint32 count = gemem_ge_holders_count (holders, stream);

  if (count == 1)
    gemem_ge_holders_release_all (holders, stream);
  else if (count > 1)
    {
      --*count_at (holders, stream);
      holders->total--;
    }
  return count == 1;
}

void
gemem_ge_holders_tell (GeHolders *holders, guint from, guint to, GememSlab *wide)
{
  const guint64 known = gemem_ge_holders_row (holders, from);

  if (G_UNLIKELY (to >= GE_STREAMS_NARROW && holders->wide == NULL))
    widen (holders, wide);
  if (G_LIKELY (holders->wide == NULL))
    holders->matrix &= ~((~known & 0xff) << (8 * to));
  else
    holders->wide->rows[to] &= known;
}

void
gemem_ge_holders_tell_all (GeHolders *holders, guint to, GememSlab *wide)
{
  const guint streams = holders->wide != NULL ? GE_STREAMS_MAX : GE_STREAMS_NARROW;

  for (guint from = 0; from < streams; from++)
    gemem_ge_holders_tell (holders, from, to, wide);
}
