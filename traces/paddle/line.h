/* line.h - parses one line of the log of PaddlePaddle's allocators (paddle.md 9).
 *
 * A line is recognised by its first mark that is followed by the fields of that mark.  The prefix
 * of glog ("Lmmdd hh:mm:ss.uuuuuu tid file.cc:N] ", or with the year) supplies time and thread; it
 * may be missing or follow other text.  Nothing is copied.  O(line).
 */
#pragma once

#include <glib.h>

typedef enum
{
  PADDLE_LINE_OTHER,          /* none of these */
  PADDLE_LINE_DAMAGED,        /* `field` is not a number */
  PADDLE_LINE_GROWTH_REQUEST, /* size                  Allocate N bytes, aligned to S */
  PADDLE_LINE_GROWTH_ALLOC,   /* block, address        Alloc S bytes, ptr = P */
  PADDLE_LINE_GROWTH_FREE,    /* block, address        Free S bytes, ptr = P */
  PADDLE_LINE_CHUNK,      /* size, address (or 0)  Not found and reallocate G(P), and remaining R */
  PADDLE_LINE_CHUNK_FREE, /* size                  Free chunk with size S */
  PADDLE_LINE_STREAM_ALLOC,  /* size, address, stream Allocate S bytes at address P  , stream: T */
  PADDLE_LINE_STREAM_FREE,   /* address               Try free allocation P */
  PADDLE_LINE_BUDDY_REQUEST, /* size, block           Allocate N bytes from chunk size S */
  PADDLE_LINE_BUDDY_ALLOC,   /* block, address        Left block (P, S) */
  PADDLE_LINE_BUDDY_HUGE,    /* address               Allocated P from system allocator */
  PADDLE_LINE_BUDDY_FREE,    /* address               Free from address P */
  PADDLE_LINE_RELEASE,       /*                       Release K chunks, Free B bytes */
  PADDLE_LINE_PLACE_REQUEST, /* size, device          Allocate N bytes on PLACE */
  PADDLE_LINE_PLACE_ALLOC,   /* address               pointer=U */
  PADDLE_LINE_PLACE_FREE,    /* address               Free pointer=U on PLACE */
} PaddleLineKind;

typedef struct
{
  PaddleLineKind kind;
  guint64 thread; /* 0: unknown */
  guint64 size, block, address, stream;
  guint16 device; /* GEMEM_DEVICE_HOST: CPU, pinned memory */
  gboolean has_time;
  guint64 time;      /* ns */
  const char *field; /* of a damaged line */
} PaddleLine;

/* The line [p, end). */
void gemem_paddle_line (const char *p, const char *end, PaddleLine *line);

/* TRUE if @head, the start of a file, has a line of such a log. */
gboolean gemem_paddle_probe (const guint8 *head, gsize size);
/* TRUE if a line of @head is one that glog writes of a file "NAME.cc", behind whatever containers and launchers write before
 * it: on standard error others come first, as its own warning. */
gboolean gemem_paddle_glog (const guint8 *head, gsize size);
