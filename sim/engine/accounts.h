/* accounts.h - the accounting of one replay: live, allocated and reserved bytes: now, their peaks
 * and averages, by stream and by size.
 *
 * All of this runs once per event: a few additions and comparisons, inline, without a call or an
 * allocation.  `reserved` is read from the device, never summed, so the accounts cannot drift from
 * it.
 *
 * Peaks are those of the current epoch; gemem_accounts_at_peak() returns TRUE when its caller is to
 * raise one.  The contents of each size class at the allocated peak are kept without copying the
 * table at every new peak: a class saves its value at the last peak when it changes afterwards
 * (`stamp`).
 *
 * Averages are 128-bit sums of value * weight; the weight is 1 after each event, or the ns for
 * which a state lasted.
 */
#pragma once

#include "sim/engine/result.h"

__extension__ typedef unsigned __int128 GememWide;

/* A sum of value * weight, in two words: gcc moves a GememWide through the stack or vectors. */
typedef struct
{
  guint64 low, high;
} GememWeighted;

#define GEMEM_SIZE_CLASSES 65

typedef struct
{
  guint64 allocs, live, internal;
  guint64 stamp, live_at_peak, internal_at_peak;
} GememClassAccount;

typedef struct
{
  guint64 live, allocated;
  GememStreamUse use;
} GememStreamAccount;

typedef struct
{
  guint64 live, allocated, reserved;
  guint64 graphs; /* of them and of `demand`: static memory that is no block */
  guint64 high;   /* largest reserved bytes during the last event */
  guint64 peak_live, peak_allocated, peak_reserved; /* of this epoch */
  guint64 demand, peak_demand;                      /* rounded requests, also failed ones */
  guint64 alignment_mask;
  guint64 peak_stamp; /* raised with the allocated peak of the whole run */
  GememWeighted live_sum, allocated_sum, reserved_sum;
  guint64 weight_sum;
  guint stream;    /* index used last */
  GArray *streams; /* GememStreamAccount */
  GememClassAccount classes[GEMEM_SIZE_CLASSES];
} GememAccounts;

/* @alignment: the allocator's; rounds the demand. */
void gemem_accounts_init (GememAccounts *accounts, guint64 alignment);
void gemem_accounts_clear (GememAccounts *accounts);
/* Index of the account of @stream, created if missing; O(streams). */
guint gemem_accounts_stream (GememAccounts *accounts, guint64 stream);
/* Starts an epoch, whose peaks begin at the present values. */
void gemem_accounts_epoch (GememAccounts *accounts);
/* Writes means, streams, classes and lower bound into @result. */
void gemem_accounts_finish (GememAccounts *accounts, gboolean time_weighted, GememResult *result);

/* Power-of-two class of a request: class c holds sizes in (2^(c-1), 2^c]. */
static inline guint
gemem_size_class (guint64 size)
{
  return size <= 1 ? 0 : 64 - (guint) __builtin_clzll (size - 1);
}

static inline guint64
gemem_accounts_round (const GememAccounts *accounts, guint64 size)
{
  guint64 rounded = (size + accounts->alignment_mask) & ~accounts->alignment_mask;
  return rounded < size ? G_MAXUINT64 : rounded;
}

static inline GememStreamAccount *
gemem_accounts_stream_at (GememAccounts *accounts, guint index)
{
  return &g_array_index (accounts->streams, GememStreamAccount, index);
}

/* A request of @size bytes was made; saturates instead of wrapping on hostile sizes. */
static inline void
gemem_accounts_demand (GememAccounts *accounts, guint64 size)
{
  guint64 rounded = gemem_accounts_round (accounts, size);
  accounts->demand = accounts->demand + rounded < rounded ? G_MAXUINT64
                                                          : accounts->demand + rounded;
  accounts->peak_demand = MAX (accounts->peak_demand, accounts->demand);
}

/* The request's id is freed. */
static inline void
gemem_accounts_end_demand (GememAccounts *accounts, guint64 size)
{
  accounts->demand -= MIN (accounts->demand, gemem_accounts_round (accounts, size));
}

static inline GememClassAccount *
gemem_accounts_touch_class (GememAccounts *accounts, guint64 size)
{
  GememClassAccount *class = &accounts->classes[gemem_size_class (size)];
  if (class->stamp != accounts->peak_stamp)
    {
      class->stamp = accounts->peak_stamp;
      class->live_at_peak = class->live;
      class->internal_at_peak = class->internal;
    }
  return class;
}

static inline guint
gemem_accounts_alloc (GememAccounts *accounts, guint64 stream, guint64 requested, guint64 block)
{
  guint index = accounts->stream;
  GememStreamAccount *use = gemem_accounts_stream_at (accounts, index);
  GememClassAccount *class = gemem_accounts_touch_class (accounts, requested);

  if (G_UNLIKELY (use->use.stream != stream))
    {
      index = gemem_accounts_stream (accounts, stream);
      use = gemem_accounts_stream_at (accounts, index);
    }
  accounts->live += requested;
  accounts->allocated += block;
  class->allocs++;
  class->live += requested;
  class->internal += block - requested;
  use->use.allocs++;
  use->live += requested;
  use->allocated += block;
  use->use.peak_live = MAX (use->use.peak_live, use->live);
  use->use.peak_allocated = MAX (use->use.peak_allocated, use->allocated);
  return index;
}

static inline void
gemem_accounts_release (GememAccounts *accounts, guint stream, guint64 requested, guint64 block)
{
  GememStreamAccount *use = gemem_accounts_stream_at (accounts, stream);
  GememClassAccount *class = gemem_accounts_touch_class (accounts, requested);

  accounts->live -= requested;
  accounts->allocated -= block;
  class->live -= requested;
  class->internal -= block - requested;
  use->live -= requested;
  use->allocated -= block;
}

/* A block that was released here is back (sleep.c): what it counted then was no request. */
static inline void
gemem_accounts_return (GememAccounts *accounts, guint stream, guint64 requested, guint64 block)
{
  gemem_accounts_alloc (accounts, gemem_accounts_stream_at (accounts, stream)->use.stream,
                        requested, block);
  gemem_accounts_touch_class (accounts, requested)->allocs--;
  gemem_accounts_stream_at (accounts, stream)->use.allocs--;
}

/* The graphs now need @need bytes of static memory that is no block.  The demand counts them
 * unrounded, since graphs are not rounded as requests are. */
static inline void
gemem_accounts_set_graphs (GememAccounts *accounts, guint64 need)
{
  accounts->live += need - accounts->graphs;
  accounts->allocated += need - accounts->graphs;
  accounts->demand -= MIN (accounts->demand, accounts->graphs);
  accounts->demand = accounts->demand + need < need ? G_MAXUINT64 : accounts->demand + need;
  accounts->peak_demand = MAX (accounts->peak_demand, accounts->demand);
  accounts->graphs = need;
}

static inline void
gemem_accounts_add (GememWeighted *sum, guint64 value, guint64 weight)
{
  const GememWide product = (GememWide) value * weight;

  sum->high += (guint64) (product >> 64)
               + __builtin_add_overflow (sum->low, (guint64) product, &sum->low);
}

/* The present state held for @weight (ns, or 1 per event). */
static inline void
gemem_accounts_weigh (GememAccounts *accounts, guint64 weight)
{
  gemem_accounts_add (&accounts->live_sum, accounts->live, weight);
  gemem_accounts_add (&accounts->allocated_sum, accounts->allocated, weight);
  gemem_accounts_add (&accounts->reserved_sum, accounts->reserved, weight);
  accounts->weight_sum += weight;
}

/* Samples the state after an event, and the most reserved meanwhile (an allocator may obtain memory
 * before it returns some). */
static inline void
gemem_accounts_sample (GememAccounts *accounts, guint64 reserved, guint64 high)
{
  accounts->reserved = reserved;
  accounts->high = high;
}

/* TRUE: the state sampled last raises a peak of this epoch. */
static inline gboolean
gemem_accounts_at_peak (const GememAccounts *accounts)
{
  return accounts->live > accounts->peak_live || accounts->allocated > accounts->peak_allocated
         || accounts->high > accounts->peak_reserved;
}
