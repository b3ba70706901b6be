/* caching.h - what the files of `pytorch-caching` and of its variant for Ascend, `torch-npu`,
 * share: blocks, segments, pools, settings, counters.
 *
 * caching.c decides (malloc, free, the out-of-memory ladder), caching-adopt.c takes over a recorded
 * state, caching-blocks.c keeps segments, chains and free sets, caching-expandable.c maps pages
 * into expandable segments, caching-sleep.c has the pools whose memory can sleep, caching-events.c
 * knows the blocks that streams still use, caching-captures.c what waits for a capture or a private
 * pool to end, caching-report.c reads the state (walk, check, statistics), caching-settings.c knows
 * the options, caching-conf.c whole strings of them, caching-versions.c how releases differ.
 *
 * Invariants (checked by gemem_caching_check()): the blocks of a segment form one chain that covers
 * it; a block is in its pool's free set exactly when its state is FREE; no two FREE blocks are
 * neighbours; `reserved` is the sum of the plain segments and of what is mapped in the others.
 * Origin: peers.md section 1a.  Private to allocators/pytorch.
 */
#pragma once

#include <glib.h>

#include "allocators/allocator.h"
#include "allocators/questions.h"
#include "base/slab.h"
#include "base/tree.h"
#include "base/units.h"

typedef struct _Caching Caching;

#define CACHING_QUANTUM G_GUINT64_CONSTANT (512)
#define CACHING_SMALL GEMEM_MIB /* largest rounded size of the small pool */
#define CACHING_SMALL_SEGMENT (2 * GEMEM_MIB)
#define CACHING_MIN_LARGE (10 * GEMEM_MIB) /* from here on the segment size follows the request */
#define CACHING_ROUND_LARGE (2 * GEMEM_MIB)
#define CACHING_TOO_LARGE (G_GUINT64_CONSTANT (1) << 60) /* out of memory at once */
#define CACHING_DIVISION_SLOTS 16
#define CACHING_UNLIMITED G_MAXUINT64
#define CACHING_KEPT_ADDRESS (G_GUINT64_CONSTANT (1) << 61) /* where walk() shows kept pages */
#define CACHING_RANGE_MAX (G_GUINT64_CONSTANT (1) << 46)    /* of what a range is 9/8 */

/* ---- caching-versions.c */

typedef enum /* indices of gemem_caching_versions[] and of the choices of `version` */
{
  CACHING_2_6,
  CACHING_2_8,
  CACHING_2_9,
  CACHING_2_10,
  CACHING_2_11,
  CACHING_2_12_1,
  CACHING_2_13,
  CACHING_2_15,
  CACHING_RELEASES /* their number */
} CachingRelease;

typedef enum /* what decides among free blocks of equal size: the least of */
{
  CACHING_TIES_ADDRESS,
  CACHING_TIES_BLOCK,   /* the block's number, counted as blocks are made */
  CACHING_TIES_SEGMENT, /* the segment's number, then the address */
} CachingTies;

/* What a pool with an allocator of the program's own (torch.cuda.MemPool) is with expandable_segments. */
typedef enum
{
  CACHING_OWN_BYPASSED, /* PyTorch's own expandable segments; the program's allocator is not asked */
  CACHING_OWN_REFUSED,  /* an error of PyTorch */
  CACHING_OWN_KEPT,     /* plain segments, of the program's allocator */
} CachingOwn;

typedef struct
{
  const char *name;
  CachingTies ties;
  /* a private pool in use holds back events as the capture of a graph does */
  gboolean pool_holds;
  gboolean trim_refused;   /* emptying the cache fails while events are held back */
  gboolean rest_replaces;  /* `>` in a list of divisions includes the slot named last */
  gboolean range_suffices; /* a range that is shorter than the request is released */
  gboolean strict;         /* of settings strings: separators, white space and int as up to 2.9 */
  CachingOwn own;          /* of torch-npu, which knows no memory that sleeps: not looked at */
} CachingVersion;

extern const CachingVersion gemem_caching_versions[CACHING_RELEASES];

typedef enum /* why a request fails */
{
  CACHING_NO_MEMORY, /* only after everything was tried */
  CACHING_REJECTED,  /* at once: throw_on_cudamalloc_oom, or more than torch-npu may hold */
  CACHING_BROKEN     /* at once: an error of the driver or of the allocator's own, uncounted */
} CachingFailure;

/* ---- caching-settings.c */

/* What PyTorch and torch_npu both let the user set, as the user set it. */
typedef struct
{
  guint64 max_split_size, max_non_split_rounding, large_segment_size, memory_limit, total;
  double garbage_collection_threshold, memory_fraction;
  char *divisions, *conf, *alloc_conf;
  int version; /* CachingRelease; NpuRelease */
  gboolean expandable_segments, release_lock, release_private_pools, throw_on_oom;
} CachingCommon;

/* As the user set them. */
typedef struct
{
  CachingCommon common; /* first */
  char *reserve, *pinned;
  int backend;
  gboolean capture_reuse, use_on_oom, no_split, sleep_expandable;
} CachingParams;

enum /* CachingParams.backend */
{
  CACHING_BACKEND_NATIVE,
  CACHING_BACKEND_ASYNC,
};

/* The whole settings string, or NULL. */
static inline const char *
gemem_caching_conf_of (const CachingCommon *params)
{
  return params->conf != NULL ? params->conf : params->alloc_conf;
}

/* As the event path reads them. */
typedef struct
{
  const CachingVersion *version;
  guint64 max_split_size, max_non_split_rounding, large_segment_size;
  guint64 limit; /* CACHING_UNLIMITED: none */
  double gc_threshold;
  guint64 gc_trigger; /* floor (threshold * limit) */
  gboolean gc;        /* a limit and a threshold */
  gboolean expandable;
  gboolean throw_on_oom;
  guint64 total; /* bytes of the device, of which a range is 9/8 */
  /* of expandable_segments_reserve: a part of `total`, or bytes; 0: not set */
  double reserve_part, reserve_bytes;
  gboolean has_divisions;
  gboolean release_private_pools;
  gboolean sleep_expandable; /* the layer of memory that sleeps leaves `expandable` as it is */
  guint64 divisions[CACHING_DIVISION_SLOTS]; /* by floor (log2 size) - 20, clamped */
  guint64 page; /* of large expandable segments, before the device's granularity */
  /* of torch-npu; the same in every object of pytorch-caching (gemem_caching_settings_plain()) */
  guint64 pad;        /* added to each request */
  guint64 align;      /* blocks of at least align_from bytes begin at multiples of it */
  guint64 align_from; /* CACHING_UNLIMITED: none do */
  /* segments of large pools are multiples of it, and what is refused is asked for twice, in pages
   * of it and of 2 MiB; 0: 1a.3 */
  guint64 segment_unit;
  guint64 reject_above; /* reserved bytes above which a request is rejected; CACHING_UNLIMITED */
  guint64 small_range, stream_range; /* bytes of ranges of small pools, and of large pools of other
                                        streams than the default one; 0: as of all others */
  guint64 lazy_events;               /* outstanding events that a request leaves alone */
  gboolean eighth_down;              /* the eighth of the memory in a range is rounded down */
  gboolean sync_device;              /* releasing for a request waits for the device */
  gboolean unmap_waits;              /* unmapping waits for the device, not for one stream */
  gboolean uncached;                 /* a block is what the device gave for a request */
  gboolean async;                    /* the backend cudaMallocAsync; nothing else is set */
} CachingSettings;

extern const GememParam gemem_caching_params[];

typedef struct /* a setting that not all releases have */
{
  const char *key;
  int since; /* the first release that has it */
} CachingNews;

/* The first of the @n @news that came after the version in @params and is not by default there; NULL: none. */
const CachingNews *gemem_caching_too_new (const GememParam *table, const CachingCommon *params,
                                          const CachingNews *news, guint n);
/* The memory of which fractions are taken: `total`, or what the device reports. */
guint64 gemem_caching_memory_of (const CachingCommon *params, GememDevice *device);
/* From @threshold and the limit of @settings: whether, and from which size on, garbage is collected. */
void gemem_caching_set_collection (CachingSettings *settings, double threshold);
/* Carries @params, which were checked, over to @settings; @limit: CACHING_UNLIMITED, none;
 * @has_divisions: the divisions are in @settings already.  GEMEM_ERROR_USAGE: unsound divisions. */
gboolean gemem_caching_common_resolve (const CachingCommon *params, guint64 limit,
                                       gboolean has_divisions, CachingSettings *settings,
                                       GError **error);

/* Checks @params alone and together; @device: of whose memory a fraction is a part, or NULL. */
gboolean gemem_caching_settings_resolve (const CachingParams *params, GememDevice *device,
                                         CachingSettings *settings, GError **error);
/* What only torch-npu does otherwise, switched off. */
void gemem_caching_settings_plain (CachingSettings *settings);
/* The values of all slots as PyTorch reads them: "4", or "[1:4,2:4,...]".  g_free(). */
char *gemem_caching_divisions_text (const guint64 *divisions);
/* `unfold` of the class: @given is a CachingParams. */
void gemem_caching_settings_unfold (gpointer given);
/* The @settings that follow on @before when the program gives its allocator @text
 * (caching-configure.c). GEMEM_ERROR_USAGE: PyTorch refuses it. */
gboolean gemem_caching_settings_change (const CachingSettings *before, GememDevice *device,
                                        const char *text, CachingSettings *settings,
                                        GError **error);
/* Parses `roundup_power2_divisions` into one value per slot.  The message names no
 * allocator. */
gboolean gemem_caching_divisions_parse (const CachingVersion *version, const char *text,
                                        guint64 *slots, GError **error);
/* Sets @slot = @divisions in @slots.  @last: the slot named last, 0 before the first; @first: no
 * slot was named yet, so that the lower ones follow this one. */
void gemem_caching_divisions_set (guint64 *slots, guint64 key, guint64 divisions, guint *last,
                                  gboolean *first);
/* The same for `>`: all slots above the one named last. */
void gemem_caching_divisions_set_rest (const CachingVersion *version, guint64 *slots,
                                       guint64 divisions, guint last);
/* Parses `expandable_segments_reserve`; FALSE: it is no such value. */
gboolean gemem_caching_reserve_parse (const char *text, CachingSettings *settings);
/* Block size for a request of @size < CACHING_TOO_LARGE bytes (1a.3). */
guint64 gemem_caching_round_divided (const CachingSettings *settings, guint64 size);
/* The largest request not above @size whose block is not larger than @size; 0 if @size is below 512
 * bytes. */
guint64 gemem_caching_round_down (const CachingSettings *settings, guint64 size);

static inline guint64
gemem_caching_round (const CachingSettings *settings, guint64 size)
{
  if (size < CACHING_QUANTUM)
    return CACHING_QUANTUM;
  if (G_UNLIKELY (settings->has_divisions))
    return gemem_caching_round_divided (settings, size);
  return gemem_align_up (size, CACHING_QUANTUM);
}

/* ---- caching-watch.c: what settings decide, each a pure function of them and of one or two numbers */

typedef enum
{
  CACHING_ASK_ROUND,   /* a request of `a` bytes -> the size of its block */
  CACHING_ASK_FIT,     /* a request of `a` bytes, the best free block has `b` -> served by it */
  CACHING_ASK_SPLIT,   /* the same, where enough is left for a block -> split */
  CACHING_ASK_SEGMENT, /* a miss of `a` bytes -> size of the segment */
  CACHING_ASK_PAGE,    /* a page of a large expandable segment -> its bytes */
  CACHING_ASK_LIMIT,   /* a miss of `a` bytes while `b` are reserved -> more than the limit */
  CACHING_ASK_COLLECT, /* `a` bytes are reserved -> bytes to collect; 0: none */
  CACHING_ASK_RELEASE, /* a refusal -> what is released is at least so large */
} CachingAsked;

static inline gboolean
gemem_caching_fits (const CachingSettings *settings, guint64 size, guint64 block)
{
  return size < settings->max_split_size ? block < settings->max_split_size
                                         : block < size + settings->max_non_split_rounding;
}

static inline guint64
gemem_caching_segment_size (const CachingSettings *settings, guint64 size)
{
  if (size <= CACHING_SMALL)
    return CACHING_SMALL_SEGMENT;
  if (settings->segment_unit != 0)
    return gemem_round_up (size, settings->segment_unit);
  if (size < CACHING_MIN_LARGE)
    return settings->large_segment_size;
  return gemem_align_up (size, CACHING_ROUND_LARGE);
}

static inline gboolean
gemem_caching_is_above_limit (const CachingSettings *settings, guint64 size, guint64 reserved)
{
  return settings->limit != CACHING_UNLIMITED
         && (reserved > settings->limit
             || gemem_caching_segment_size (settings, size) > settings->limit - reserved);
}

static inline guint64
gemem_caching_answer (const CachingSettings *settings, CachingAsked asked, guint64 a, guint64 b)
{
  switch (asked)
    {
    case CACHING_ASK_ROUND:
      return gemem_caching_round (settings, a);
    case CACHING_ASK_FIT:
      return gemem_caching_fits (settings, a, b);
    case CACHING_ASK_SPLIT:
      return a < settings->max_split_size;
    case CACHING_ASK_SEGMENT:
      return gemem_caching_segment_size (settings, a);
    case CACHING_ASK_PAGE:
      return settings->page;
    case CACHING_ASK_LIMIT:
      return gemem_caching_is_above_limit (settings, a, b);
    case CACHING_ASK_COLLECT:
      return settings->gc && a > settings->gc_trigger ? a - settings->gc_trigger : 0;
    case CACHING_ASK_RELEASE:
    default:
      return settings->max_split_size;
    }
}

/* Notes that the settings are asked; once for each such question.  @caching->watch is set. */
void gemem_caching_note_question (Caching *caching, CachingAsked asked, guint64 a, guint64 b);
void gemem_caching_watch_begin (GememAllocator *allocator);
/* The settings were changed: from here on nothing is alike. */
void gemem_caching_watch_blind (Caching *caching);
void gemem_caching_watch_free (Caching *caching);
gboolean gemem_caching_watch_alike (const GememAllocator *allocator, const GememAllocator *other);

/* ---- caching-async.c */

/* The allocator with the backend cudaMallocAsync: GEMEM_ERROR_USAGE, a device without
 * virtual memory. */
GememAllocator *gemem_caching_async_new (GememDevice *device, GError **error);
/* Names settings that have no effect with that backend; GememAllocatorClass.notes. */
void gemem_caching_notes (gconstpointer given, GememNoteFunc func, gpointer data);

/* ---- caching-conf.c */

/* A settings string while it is read; what torch_npu's and PyTorch's have in common. */
typedef struct
{
  const char *text, *prefix, *system; /* prefix, system: of messages */
  const CachingVersion *version;
  CachingRelease release;
  CachingCommon *common;
  CachingParams *params; /* of PyTorch alone */
  CachingSettings *settings;
  gboolean has_divisions;
  GPtrArray *tokens; /* words and separators */
  GError **error;
} CachingConf;

/* @what: what is wrong and what to do; always FALSE. */
gboolean gemem_caching_conf_refuse (CachingConf *conf, const char *what, ...) G_GNUC_PRINTF (2, 3);
void gemem_caching_conf_tokenize (CachingConf *conf);
/* Word @i, or NULL after the end. */
const char *gemem_caching_conf_token (const CachingConf *conf, guint i);
gboolean gemem_caching_conf_is (const CachingConf *conf, guint i, const char *word);
/* Word @i is there, and is @word where separators are checked. */
gboolean gemem_caching_conf_separator (CachingConf *conf, guint i, const char *word);
/* The number that word @i begins with; @small: which strict releases read as an int. */
gboolean gemem_caching_conf_number (CachingConf *conf, guint i, gboolean small, guint64 *value);
/* Word @i as the value of the key @name: True or False. */
gboolean gemem_caching_conf_flag (CachingConf *conf, const char *name, guint i, gboolean *value);
/* Word @i as the value of the key @name: per_process_memory_fraction, or garbage_collection_threshold. */
gboolean gemem_caching_conf_part (CachingConf *conf, const char *name, gboolean fraction, guint i);
/* @value MiB in bytes, as far as they go. */
guint64 gemem_caching_conf_mebibytes (guint64 value);
/* TRUE if the release in @params (CachingParams) has @key in its string. */
gboolean gemem_caching_conf_reads (gconstpointer params, const char *key);
/* roundup_power2_divisions, from word *@i; leaves there the last one that it read. */
gboolean gemem_caching_conf_divisions (CachingConf *conf, guint *i);

/* Reads a whole settings string as @settings->version does, into @params and the divisions and
 * reserve of @settings; @found says whether it set divisions.  GEMEM_ERROR_USAGE: that version
 * refuses it. */
gboolean gemem_caching_conf_parse (const char *text, CachingParams *params,
                                   CachingSettings *settings, gboolean *has_divisions,
                                   GError **error);

/* ---- state */

typedef enum
{
  CACHING_FREE, /* in the free set */
  CACHING_LIVE,
  CACHING_PENDING,  /* freed by the program; waits for events, or for complete() */
  CACHING_GONE,     /* its bytes were freed before complete(); only the handle remains */
  CACHING_UNMAPPED, /* addresses of an expandable segment without memory */
} CachingState;

typedef struct _CachingBlock CachingBlock;
typedef struct _CachingSegment CachingSegment;
typedef struct _CachingUse CachingUse;
typedef struct _CachingRegion CachingRegion; /* these three: caching-sleep.c */
typedef struct _CachingSleeper CachingSleeper;
typedef struct _CachingSleep CachingSleep;

struct _CachingUse /* an extra stream of a block */
{
  CachingUse *next;
  guint64 stream;
};

struct _CachingBlock
{
  /* group: stream; size: valid in every state; address: its rank among equals while in a set */
  GememTreeNode node;
  guint64 address;
  CachingBlock *previous, *next; /* neighbours in the segment */
  CachingSegment *segment;
  guint64 requested;
  guint64 gc_base;                         /* the pool's search_count when the block became free */
  CachingUse *uses;                        /* oldest first */
  CachingBlock *owed_previous, *owed_next; /* PENDING with a complete() to come */
  guint64 number;                          /* of CACHING_TIES_BLOCK */
  guint32 events;                          /* outstanding */
  guint8 state;                            /* CachingState */
  guint8 owed, held; /* PENDING: complete() is to come; its events are held back */
};

typedef struct
{
  GememTree free;
  GememTree unmapped; /* of expandable segments */
  GArray *kept;       /* GememPage that are mapped nowhere, newest last; NULL: none yet */
  guint64 search_count;
  guint32 id; /* 0: the default pools */
  gboolean small;
  const CachingRegion *region; /* of new segments that can sleep; NULL: they cannot */
} CachingPool;

typedef struct
{
  CachingPool small, large;
  gint64 balance;     /* device calls that took memory for both, less those that returned some */
  gboolean released;  /* a private one: the program has released it */
  gboolean forgotten; /* and so has the allocator, which returns nothing of it any more */
} CachingPoolPair;

static inline CachingPoolPair *
gemem_caching_pair_of (CachingPool *pool)
{
  return pool->small ? G_STRUCT_MEMBER_P (pool, -(glong) G_STRUCT_OFFSET (CachingPoolPair, small))
                     : G_STRUCT_MEMBER_P (pool, -(glong) G_STRUCT_OFFSET (CachingPoolPair, large));
}

struct _CachingSegment
{
  CachingSegment *previous, *next; /* all segments; the order is irrelevant */
  CachingBlock *first;
  CachingPool *pool;
  guint64 address, size;
  guint64 bias;            /* rank of a free block = its address + bias; of CACHING_TIES_SEGMENT */
  guint64 page;            /* bytes of a page; 0: a plain segment */
  GArray *pages;           /* GememPage, of an expandable one */
  CachingSleeper *sleeper; /* NULL: it cannot sleep */
};

typedef struct
{
  guint64 current, peak, allocated; /* freed = allocated - current */
} CachingStat;

enum /* the statistics that the event path keeps; the names are in caching-report.c */
{
  CACHING_STAT_ALLOCATION,
  CACHING_STAT_SEGMENT,
  CACHING_STAT_ACTIVE,
  CACHING_STAT_ALLOCATED_BYTES,
  CACHING_STAT_RESERVED_BYTES,
  CACHING_STAT_ACTIVE_BYTES,
  CACHING_STAT_REQUESTED_BYTES,
  CACHING_STAT_COUNT
};

typedef struct _CachingEvent CachingEvent;
struct _CachingEvent
{
  CachingEvent *next;
  CachingBlock *block;
  GememDeviceEvent event;
};

typedef struct
{
  guint64 stream;
  CachingEvent *head, *tail;
} CachingQueue;

struct _Caching
{
  GememAllocator base;
  CachingSettings settings;
  CachingPoolPair pools;    /* the default ones */
  GPtrArray *private_pools; /* CachingPoolPair, by id; never removed */
  CachingPoolPair *last_private;
  CachingSegment *segments;
  CachingSegment *adopting; /* the segment of the block adopted last */
  CachingBlock *adopted;    /* that block, where the next search starts; NULL: none */
  gboolean adopted_odd;     /* another allocator's state, whose blocks are of any size */
  guint64 reserved;
  guint64 ranks, numbers; /* the next rank of a segment; the last number of a block */
  /* what caching-captures.c knows */
  GArray *redirections; /* CachingRedirection: begun and not ended */
  gboolean mixed;       /* segments may be of both kinds, for the setting was changed */
  gboolean by_number;   /* CACHING_TIES_BLOCK, for the event path */
  gboolean marked;      /* the trace says when private pools are in use */
  gboolean holding;     /* events are held back */
  GPtrArray *held;      /* blocks freed meanwhile */
  GHashTable *captured; /* CachingBlock -> GArray of guint64: streams of uses meanwhile; NULL: none;
                           * an entry ends with its block */
  /* of expandable segments: bytes of a range before rounding, of pages, alignment of ranges */
  guint64 range, small_page, large_page, granularity;
  guint64 total; /* bytes of the device */
  GememSlab block_slab, segment_slab, use_slab, event_slab;
  GArray *queues;      /* CachingQueue, in the order of first use */
  guint64 outstanding; /* events in all queues */
  CachingBlock *owed_first, *owed_last;
  CachingStat stats[CACHING_STAT_COUNT][2]; /* [small]: of large pools, of small pools */
  guint64 peaks[CACHING_STAT_COUNT];        /* of both together */
  CachingSleep *sleep;                      /* NULL: no pool can sleep */
  GememQuestions *watch;                    /* NULL: nobody wants to know what settings decide */
  CachingStat oversize_allocations, oversize_segments;
  guint64 num_alloc_retries, num_ooms, num_oom_rejections, num_device_alloc, num_device_free;
  guint64 num_sync_all_streams;
  /* called before everything is released; NULL: nothing to do */
  void (*before_release) (Caching *caching);
  gboolean keeps_pages;   /* what is being unmapped goes to the pool's `kept` */
  CachingFailure failure; /* of the present request or release; CACHING_BROKEN: it ends here */
};

static inline CachingBlock *
gemem_caching_block (GememTreeNode *node)
{
  return node != NULL ? GEMEM_TREE_ENTRY (node, CachingBlock, node) : NULL;
}

static inline gboolean
gemem_caching_is_split (const CachingBlock *block)
{
  return block->previous != NULL || block->next != NULL;
}

/* The length of @block in any state. */
static inline guint64
gemem_caching_extent (const CachingBlock *block)
{
  return (block->next != NULL ? block->next->address
                              : block->segment->address + block->segment->size)
         - block->address;
}

static inline gboolean
gemem_caching_is_oversize (const Caching *caching, guint64 size)
{
  return size >= caching->settings.max_split_size
         && caching->settings.max_split_size != CACHING_UNLIMITED;
}

static inline void
gemem_caching_stat_raise (CachingStat *stat, guint64 n)
{
  stat->current += n;
  stat->allocated += n;
  if (stat->current > stat->peak)
    stat->peak = stat->current;
}

static inline void
gemem_caching_stat_add (Caching *caching, guint which, gboolean small, guint64 n)
{
  CachingStat *stats = caching->stats[which];
  const guint64 both = stats[0].current + stats[1].current + n;

  gemem_caching_stat_raise (&stats[small], n);
  if (both > caching->peaks[which])
    caching->peaks[which] = both;
}

static inline void
gemem_caching_stat_subtract (Caching *caching, guint which, gboolean small, guint64 n)
{
  caching->stats[which][small].current -= n;
}

/* ---- caching.c */

/* Whether no request is served from free block @node: expandable segments serve none while
 * expandable_segments is off. */
static inline gboolean
gemem_caching_passed_over (const Caching *caching, const GememTreeNode *node)
{
  return caching->mixed && !caching->settings.expandable
         && gemem_caching_block ((GememTreeNode *) node)->segment->page != 0;
}

/* A new allocator with @settings on @device, whose class the caller has set in no field yet; @what
 * names it in messages.  NULL: the settings need what the device lacks (GEMEM_ERROR_USAGE). */
Caching *gemem_caching_new (gsize size, const CachingSettings *settings, GememDevice *device,
                            const char *what, GError **error);
/* The small or the large pool of the default pair (@id 0) or of a private one,
 * created if it is new. */
CachingPool *gemem_caching_pool (Caching *caching, guint32 id, gboolean small);
/* @block, which is in no set, becomes LIVE. */
void gemem_caching_hand_out (Caching *caching, CachingBlock *block, guint64 requested,
                             GememBlock *out);

/* Functions of the classes. */
gboolean gemem_caching_alloc (GememAllocator *allocator, const GememRequest *request,
                              GememBlock *out);
void gemem_caching_free (GememAllocator *allocator, const GememBlock *handle,
                         gboolean completion_follows);
void gemem_caching_prefetch (GememAllocator *allocator, const GememBlock *live);
void gemem_caching_completed (GememAllocator *allocator, const GememBlock *block);
void gemem_caching_trim (GememAllocator *allocator);
void gemem_caching_redirected (GememAllocator *allocator, guint32 pool, gboolean begin,
                               gboolean capture);
void gemem_caching_release_pool (GememAllocator *allocator, guint32 pool, gboolean at_once);
void gemem_caching_destroy (GememAllocator *allocator);

/* ---- caching-adopt.c: functions of the classes */

gboolean gemem_caching_adopt_segment (GememAllocator *allocator, const GememAdopt *segment);
gboolean gemem_caching_adopt_block (GememAllocator *allocator, const GememAdopt *adopt,
                                    GememBlock *out);
void gemem_caching_adopt_done (GememAllocator *allocator);

/* ---- caching-blocks.c */

/* Takes @size bytes from the device as one FREE block, not yet in the free set.  NULL: limit or
 * device refused. */
CachingBlock *gemem_caching_segment_new (Caching *caching, CachingPool *pool, guint64 size,
                                         guint64 stream);
/* Manages [@address, @address + @size), which the process holds already, as a segment. */
CachingBlock *gemem_caching_segment_add (Caching *caching, CachingPool *pool, guint64 address,
                                         guint64 size, guint64 stream);
/* A chain of one block over [@address, @address + @size), a segment that is not counted yet; the
 * block is in no set. */
CachingBlock *gemem_caching_chain_new (Caching *caching, CachingPool *pool, guint64 address,
                                       guint64 size, guint64 stream);
/* Ends a segment of which @block is the only block and in no set. */
void gemem_caching_chain_free (Caching *caching, CachingBlock *block);
/* Releases the segment of @block, which is free, unsplit and in the free set, to the device. */
void gemem_caching_release (Caching *caching, CachingBlock *block);
/* Cuts @block, which is in no set, and returns the low @size bytes; @block keeps the rest. */
CachingBlock *gemem_caching_split (Caching *caching, CachingBlock *block, guint64 size);
/* Takes @block, which is in no set and whose bytes a neighbour has taken, out of its chain. */
void gemem_caching_unlink (Caching *caching, CachingBlock *block);
/* Inserts @block into the free set without merging. */
void gemem_caching_insert (Caching *caching, CachingBlock *block);
/* Merges @block with its free neighbours and inserts it into the free set. */
void gemem_caching_make_free (Caching *caching, CachingBlock *block);

/* ---- caching-sleep.c */

/* The group `sleep` of the class; the first of it for the pool @pair. */
void gemem_caching_sleep_begin (Caching *caching, CachingPoolPair *pair, const char *tag,
                                gboolean backup);
void gemem_caching_sleep_end (GememAllocator *allocator, guint32 id, gboolean drop);
void gemem_caching_sleep (GememAllocator *allocator, const char *const *offload);
void gemem_caching_pause (GememAllocator *allocator, const char *const *tags);
gboolean gemem_caching_wake (GememAllocator *allocator, const char *const *tags, guint64 *needed);
gboolean gemem_caching_is_asleep (GememAllocator *allocator, const GememBlock *live);
guint64 gemem_caching_host_bytes (GememAllocator *allocator);
/* As gemem_caching_segment_new(), of a pool with a region. */
CachingBlock *gemem_caching_sleeper_new (Caching *caching, CachingPool *pool, guint64 size,
                                         guint64 stream);
/* Returns the memory and the addresses of @segment, which can sleep, to the device. */
void gemem_caching_sleeper_free (Caching *caching, CachingSegment *segment);
void gemem_caching_sleep_clear (Caching *caching);
/* For walks: the state of a block of @segment, and what follows its last one. */
void gemem_caching_sleeper_span (const CachingSegment *segment, GememSpan *span);
void gemem_caching_sleeper_tail (const CachingSegment *segment, GememSpanFunc func, gpointer data);
void gemem_caching_sleep_stats (const Caching *caching, GememStatFunc func, gpointer data);

/* ---- caching-expandable.c */

/* Maps pages for @size bytes and returns the block that has them, in no set; NULL: the device
 * refused, though some pages may have been mapped. */
CachingBlock *gemem_caching_expand (Caching *caching, CachingPool *pool, guint64 size,
                                    guint64 stream);
/* Returns the whole pages inside @block, which is in the free set, to the device, or to the pool's
 * `kept`; the range too if nothing else is in it.  @block may be gone then.  Of a released private
 * pool at most as many returns are made as there were requests: one more is PyTorch's internal
 * error, which leaves the pages unmapped and ends the release (CACHING_BROKEN). */
void gemem_caching_unmap (Caching *caching, CachingBlock *block);
/* Returns the kept pages of @pool to the device. */
void gemem_caching_drop_kept (Caching *caching, CachingPool *pool);
static inline guint64
gemem_caching_page_of (const Caching *caching, const CachingPool *pool)
{
  return pool->small ? caching->small_page : caching->large_page;
}
/* Takes over the pages of @adopt: into the range of @pool that has them, or one that begins there. */
gboolean gemem_caching_adopt_mapped (Caching *caching, CachingPool *pool, const GememAdopt *adopt);
/* Returns the pages and the addresses of an expandable segment to the device. */
void gemem_caching_range_release (Caching *caching, CachingSegment *segment);

/* ---- caching-events.c */

/* Blocks whose events are complete become free. */
void gemem_caching_process_events (Caching *caching);
/* Frees all pending blocks, as after waiting for every event. */
void gemem_caching_synchronize (Caching *caching);
/* @block becomes PENDING until its events are complete. */
void gemem_caching_record_events (Caching *caching, CachingBlock *block);
/* The program frees @block, which has uses: records their events, or holds them back. */
void gemem_caching_free_used (Caching *caching, CachingBlock *block);
/* @block becomes PENDING until gemem_caching_complete(). */
void gemem_caching_wait (Caching *caching, CachingBlock *block);
void gemem_caching_complete (Caching *caching, CachingBlock *block);
void gemem_caching_add_use (Caching *caching, CachingBlock *block, guint64 stream);
/* @stream, if it is an extra one of @block, is so no longer. */
void gemem_caching_remove_use (Caching *caching, CachingBlock *block, guint64 stream);
/* Frees a PENDING block; updates the counters of active blocks. */
void gemem_caching_finish (Caching *caching, CachingBlock *block);

/* ---- caching-captures.c */

typedef struct
{
  guint32 pool;
  gboolean capture; /* of a graph */
} CachingRedirection;

/* The program begins, or ends, to allocate in @pool; @capture: as it captures a graph. */
void gemem_caching_redirect (Caching *caching, guint32 pool, gboolean begin, gboolean capture);
/* TRUE: a request in @pool may neither poll events nor empty the cache. */
gboolean gemem_caching_holds (const Caching *caching, guint32 pool);
/* @block, which has uses, becomes PENDING; its events are recorded when nothing holds them back. */
void gemem_caching_hold (Caching *caching, CachingBlock *block);
/* Records the events of the blocks held back, or frees those without one. */
void gemem_caching_settle (Caching *caching);
/* Notes a use of @block while events are held back. */
void gemem_caching_note_captured (Caching *caching, CachingBlock *block, guint64 stream);

/* ---- caching-report.c */

void gemem_caching_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_caching_check (GememAllocator *allocator, GError **error);
void gemem_caching_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
guint64 gemem_caching_largest_free (GememAllocator *allocator, guint64 stream);
