/* event-source.h - the traces that the tests of the engine replay: held in an array, or in a file. */
#pragma once

#include "sim/engine/replay.h"

typedef struct
{
  const GememTraceEvent *events;
  gsize n;
  gsize batch;                             /* events per call of next(); 0: all */
  guint32 flags;                           /* GEMEM_TRACE_* */
  void (*describe) (GememTraceInfo *info); /* adds strings and call stacks; or NULL */
  const char *allocator, *settings, *device;
  gsize fail_at;   /* reading fails with GEMEM_ERROR_INPUT before this event; 0: never */
  gint *interrupt; /* set to 1 before this event is returned... */
  gsize interrupt_at;
  guint interrupt_opening; /* ...of this opening, counted from 1; 0: of any opening */
  gint opened;             /* how often it was opened; atomic */
} TestTrace;

/* GememTraceSource; data is a TestTrace. */
GememTraceReader *test_trace_open (gpointer data, GError **error);

/* Events, as designated initializers of an array. */
#define TEST_ALLOC(i, s) \
  { \
    .kind = GEMEM_EVENT_ALLOC, .id = (i), .size = (s) \
  }
#define TEST_FREE(i) \
  { \
    .kind = GEMEM_EVENT_FREE, .id = (i) \
  }
#define TEST_EVENT(k, i) \
  { \
    .kind = GEMEM_EVENT_##k, .id = (i) \
  }
#define TEST_ALLOC_AT(t, i, s) \
  { \
    .kind = GEMEM_EVENT_ALLOC, .id = (i), .size = (s), .time = (t) \
  }
#define TEST_FREE_AT(t, i) \
  { \
    .kind = GEMEM_EVENT_FREE, .id = (i), .time = (t) \
  }

#define TEST_TRACE(array) \
  { \
    .events = (array), .n = G_N_ELEMENTS (array) \
  }

/* Opens the file whose path @path is (GememJob.source), with the default options. */
GememTraceReader *test_open_path (gpointer path, GError **error);
