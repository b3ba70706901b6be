/* paddle-survey.h - the first pass over a log of Paddle's allocators: which of them log, and which
 * requests failed.
 *
 * A request that gets no block is one that failed, unless its thread asks for as much again at
 * once: then it was a retry.
 * Memory: the threads that ask, and the lines of failed requests.  Origin: paddle.md 9.
 */
#pragma once

#include "base/idmap.h"
#include "base/io/input.h"
#include "traces/paddle-line.h"

#define PADDLE_LINE_LONGEST ((gsize) 8 << 20)

enum
{
  PADDLE_ASKS_NOTHING,
  PADDLE_ASKS_GROWTH,
  PADDLE_ASKS_BUDDY,
};

/* What a thread is about; kept as long as it is about something. */
typedef struct
{
  guint64 asks;              /* PADDLE_ASKS_* */
  guint64 size, block, line; /* thereof: as requested, as rounded; its number */
  guint64 place, place_size; /* 1 + device of the place that it asked, 0 when served; bytes */
  guint64 got, got_size, got_block; /* address of the block of auto growth that it got last */
} PaddleThread;

/* What the pass finds. */
typedef struct
{
  guint64 known, first_time;
  guint64 growth, growth_frees, streams, buddy; /* lines */
  guint64 chunks, hidden; /* chunks; what shows that they are not all there is */
  gboolean timeless;
  GArray *failed;       /* guint64: lines of requests, ascending */
  GArray *failed_buddy; /* of buddies, until the pass is over */
} PaddleSurvey;

/* Reads @input to its end, or to where it is damaged (the second pass will say so), and rewinds
 * it.  survey->failed is to be freed in any case. */
gboolean gemem_paddle_survey_read (PaddleSurvey *survey, GememInput *input, GError **error);
