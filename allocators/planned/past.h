/* past.h - what a program asked for and gave back, in its order: what a plan for its next steps
 * is made from.
 *
 * It comes from the running program, a call at a time, or from a recording.  Requests of private pools
 * are aside: memory that a graph captured keeps its addresses, and cannot be planned.
 *
 * Invariants: `live` of a request is the sum of the sizes of those before it that were not released
 * by then.  Cost: 32 bytes a request, O(1) each.
 */
#pragma once

#include <glib.h>

#define GEMEM_NEVER G_MAXUINT32

/* A hash of @hash, of what came before, and @value. */
static inline guint64
gemem_past_mix (guint64 hash, guint64 value)
{
  hash = (hash ^ value) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

typedef struct
{
  guint64 size; /* bytes as requested */
  guint64 stream;
  guint64 live;     /* bytes, just before it */
  guint32 released; /* how many requests came before its release; GEMEM_NEVER: none is known */
} GememPastRequest;

/* A request of a private pool; of 0 bytes: the program released the pool, or emptied the cache (pool 0). */
typedef struct
{
  guint64 size, stream;
  guint32 pool;
  guint32 at;       /* how many requests of no pool came before it */
  guint32 released; /* the same of its release; GEMEM_NEVER: none is known */
} GememPastAside;

/* A moment that the recording names: a step or phase begins, or a phase ends. */
typedef struct
{
  guint32 request; /* the first after it */
  guint32 name;    /* equal for moments of one name and kind; GEMEM_MARK_STEP */
} GememPastMark;

#define GEMEM_MARK_STEP 0

typedef struct
{
  GArray *requests; /* GememPastRequest */
  GArray *aside;    /* GememPastAside */
  GArray *marks;    /* GememPastMark, of recordings */
  guint64 live;     /* bytes, now */
  /* of recordings, of requests that are too small to count: bytes, now and at most */
  guint64 small, small_peak;
} GememPast;

/* Most requests of a past; asking for more is not allowed. */
#define GEMEM_MOST_PAST (1u << 24)

GememPast *gemem_past_new (void);
/* @past may be NULL. */
void gemem_past_free (GememPast *past);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememPast, gemem_past_free)

/* Appends a request of @size bytes on @stream, and returns its number. */
guint32 gemem_past_ask (GememPast *past, guint64 size, guint64 stream);
/* Request @number, which was not released before, is released. */
void gemem_past_release (GememPast *past, guint32 number);
/* The same of private pool @pool; @size 0: as GememPastAside has it. */
guint32 gemem_past_ask_aside (GememPast *past, guint64 size, guint64 stream, guint32 pool);
void gemem_past_release_aside (GememPast *past, guint32 number);

#define gemem_past_get(past, i) (&g_array_index ((past)->requests, GememPastRequest, (i)))

/* The past of the recording in @path, of any format: of the device of its first request, without those of
 * @small bytes and fewer.  GEMEM_ERROR_INPUT: it cannot be read, or has no request. */
GememPast *gemem_past_read (const char *path, guint64 small, GError **error);
