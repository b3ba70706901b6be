/* streams.h - the streams of a resource, numbered in the order of their first use, which is the
 * order in which RMM's resources look into the lists of other streams.
 *
 * Cost: O(1); nothing but a comparison where a stream asks repeatedly.
 */
#pragma once

#include "allocators/rmm/upstream.h"
#include "base/idmap.h"

typedef struct
{
  GememIdMap *numbers;
  guint64 count;
  guint64 recent, number; /* the stream that was asked for last, and its number */
} GememRmmStreams;

static inline void
gemem_rmm_streams_init (GememRmmStreams *self)
{
  *self = (GememRmmStreams){ .numbers = gemem_idmap_new (sizeof (guint64)) };
}

static inline void
gemem_rmm_streams_clear (GememRmmStreams *self)
{
  gemem_idmap_free (self->numbers);
}

/* The number of @stream, which gets the next one if it is new. */
static inline guint64
gemem_rmm_streams_number_exactly (GememRmmStreams *self, guint64 stream)
{
  gboolean existed;
  guint64 *number;

  if (self->count > 0 && stream == self->recent)
    return self->number;
  number = gemem_idmap_insert (self->numbers, stream, &existed);
  if (!existed)
    *number = self->count++;
  self->recent = stream;
  return self->number = *number;
}

/* The same, where the default stream is one by both of its names. */
static inline guint64
gemem_rmm_streams_number (GememRmmStreams *self, guint64 stream)
{
  return gemem_rmm_streams_number_exactly (self, stream == GEMEM_RMM_LEGACY ? 0 : stream);
}
