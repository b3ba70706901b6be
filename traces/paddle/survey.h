/* survey.h - the first pass over a log of Paddle's allocators, which finds the logging
 * allocators and the failed requests.
 *
 * A request without a block failed, unless the next request of its thread has the same size: then
 * the program retried it.
 * Memory: the threads with a pending request, and the lines of failed requests.
 * Origin: paddle.md 9.
 */
#pragma once

#include "base/idmap.h"
#include "base/io/input.h"
#include "traces/paddle/line.h"

#define PADDLE_LINE_LONGEST ((gsize) 8 << 20)

enum
{
  PADDLE_ASKS_NOTHING,
  PADDLE_ASKS_GROWTH,
  PADDLE_ASKS_BUDDY,
};

/* The pending request of a thread; kept until the request ends. */
typedef struct
{
  guint64 asks;                     /* PADDLE_ASKS_* */
  guint64 size, block, line;        /* of that request: size, block size, line number */
  guint64 place, place_size;        /* request to a place: 1 + device, 0 when served; bytes */
  guint64 got, got_size, got_block; /* last block of auto growth: address, size, block size */
} PaddleThread;

/* The results of the pass. */
typedef struct
{
  guint64 known, first_time;
  guint64 growth, growth_frees, streams, buddy; /* numbers of lines */
  guint64 places;                               /* lines of requests to a place */
  guint64 chunks, hidden; /* chunk lines; signs of chunks that are not logged */
  guint64 bare_chunks;    /* chunk lines without an address, as until 2.0 */
  gboolean timeless;
  GArray *failed;       /* guint64: lines of requests, ascending */
  GArray *failed_buddy; /* of buddies, moved at the end of the pass */
} PaddleSurvey;

/* Reads @input to its end, or to damage, which the second pass reports, and rewinds it.  The caller
 * frees survey->failed even after an error. */
gboolean gemem_paddle_survey_read (PaddleSurvey *survey, GememInput *input, GError **error);
