/* naive-stream-safe.h - freed blocks that wait for other streams (paddle.md 3.4), for the models
 * of Paddle's allocators, over two plain lists. */
#pragma once

#include "tests/util/naive.h"

typedef struct
{
  GArray *uses;    /* uses of blocks by other streams, the latest per stream */
  GArray *waiting; /* freed blocks, in the order of their frees */
} NaiveStreamSafe;

#define NAIVE_EVERY_STREAM G_MAXUINT64

void naive_stream_safe_init (NaiveStreamSafe *safe);
void naive_stream_safe_clear (NaiveStreamSafe *safe);
/* RecordStream of block @id for @stream, which is not its own. */
void naive_stream_safe_use (NaiveStreamSafe *safe, const NaiveDevice *device, guint32 id,
                            guint64 stream);
/* Block @id of @own stream is freed. TRUE: no other stream uses it; FALSE: it waits. */
gboolean naive_stream_safe_free (NaiveStreamSafe *safe, const NaiveDevice *device, guint32 id,
                                 guint64 own, gboolean completion_follows);
/* The completion of block @id: it waits no longer. */
void naive_stream_safe_complete (NaiveStreamSafe *safe, guint32 id);
/* Removes the first block of the @own stream, or of every stream, whose wait is over; FALSE:
 * there is none. */
gboolean naive_stream_safe_next (NaiveStreamSafe *safe, const NaiveDevice *device, guint64 own,
                                 guint32 *id);
