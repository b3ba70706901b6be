/* naive-npu.c - torch_npu's caching allocator, from peers.md 1g and the parts of 1a that it refers
 * to, over one array of blocks.
 *
 * The array is in address order; blocks of one segment or range have the same `start`.  A block
 * that was freed while other streams used it waits until `due`, for as many events as it had uses.
 * Kept pages are a count for each pool.
 */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

#define USES 8
#define POOLS 8

typedef enum
{
  NOT_MAPPED,
  IDLE,
  IN_USE,
  WAITING,   /* for events */
  ANNOUNCED, /* its completion will be told */
} State;

typedef struct
{
  guint64 start, address, size, stream;
  guint32 pool, id;
  gboolean small;
  State state;
  guint uses;
  guint64 used_by[USES], due;
} Piece;

typedef struct
{
  guint64 pad, page, align;
  gboolean ranges, huge, lazy, keeps, rejects;
} Rules;

typedef struct
{
  Naive base;
  const Rules *rules;
  GArray *pieces;
  guint64 reserved, kept[POOLS][2];
} Npu;

static gboolean
exists (const Npu *npu, gint64 i)
{
  return i >= 0 && i < npu->pieces->len;
}

static Piece *
at (const Npu *npu, gint64 i)
{
  g_assert_true (exists (npu, i));
  return &g_array_index (npu->pieces, Piece, i);
}

/* The index of the neighbour of piece @i on @side (-1, 1), or -1. */
static gint64
beside (const Npu *npu, gint64 i, int side)
{
  return exists (npu, i + side) && at (npu, i + side)->start == at (npu, i)->start ? i + side : -1;
}

static guint64
multiple (guint64 n, guint64 of)
{
  return n % of == 0 ? n : n + of - n % of;
}

static guint64
page_of (const Npu *npu, const Piece *piece)
{
  return piece->small ? 2 * MIB : npu->rules->page;
}

static void
divide (Npu *npu, gint64 i, guint64 low)
{
  Piece rest = *at (npu, i);

  if (low == 0 || low == rest.size)
    return;
  rest.address += low;
  rest.size -= low;
  at (npu, i)->size = low;
  g_array_insert_val (npu->pieces, (guint) i + 1, rest);
}

/* Piece @i takes on @state and is united with equal neighbours; its index then. */
static gint64
become (Npu *npu, gint64 i, State state)
{
  at (npu, i)->state = state;
  at (npu, i)->uses = 0;
  for (gint64 low = beside (npu, i, 1) >= 0 ? i : i - 1; low >= i - 1; low--)
    if (low >= 0 && beside (npu, low, 1) >= 0 && at (npu, low)->state == state
        && at (npu, low + 1)->state == state)
      {
        at (npu, low)->size += at (npu, low + 1)->size;
        g_array_remove_index (npu->pieces, (guint) low + 1);
        i = low;
      }
  return i;
}

static void
finish (Npu *npu, State state, guint64 until)
{
  for (gint64 i = 0; exists (npu, i); i++)
    if (at (npu, i)->state == state && at (npu, i)->due <= until)
      i = become (npu, i, IDLE) - 1;
}

static guint
outstanding (const Npu *npu)
{
  guint sum = 0;

  for (gint64 i = 0; exists (npu, i); i++)
    sum += at (npu, i)->state == WAITING ? at (npu, i)->uses : 0;
  return sum;
}

/* ---- giving memory back */

static void
drop_kept (Npu *npu, guint32 pool)
{
  for (int small = 0; small < 2; small++)
    {
      const Piece like = { .small = small };
      naive_device_destroy_page (&npu->base.device, npu->kept[pool][small] * page_of (npu, &like));
      npu->kept[pool][small] = 0;
    }
}

/* Unmaps the whole pages of piece @i; TRUE: there were some. */
static gboolean
unmap (Npu *npu, gint64 i, gboolean keep)
{
  const Piece piece = *at (npu, i);
  const guint64 page = page_of (npu, &piece),
                low = piece.start + multiple (piece.address - piece.start, page),
                high = piece.address + piece.size
                       - (piece.address + piece.size - piece.start) % page;

  if (low >= high)
    return FALSE;
  npu->reserved -= high - low;
  if (keep)
    npu->kept[piece.pool][piece.small] += (high - low) / page;
  else
    naive_device_destroy_page (&npu->base.device, high - low);
  divide (npu, i, low - piece.address);
  i += low > piece.address;
  divide (npu, i, high - low);
  i = become (npu, i, NOT_MAPPED);
  if (beside (npu, i, -1) < 0 && beside (npu, i, 1) < 0)
    {
      naive_device_release (&npu->base.device, piece.start);
      g_array_remove_index (npu->pieces, (guint) i);
    }
  return TRUE;
}

static gboolean
release (Npu *npu, gint64 i, gboolean keep)
{
  if (npu->rules->ranges)
    return unmap (npu, i, keep);
  if (beside (npu, i, -1) >= 0 || beside (npu, i, 1) >= 0)
    return FALSE;
  naive_device_free (&npu->base.device, at (npu, i)->address);
  npu->reserved -= at (npu, i)->size;
  g_array_remove_index (npu->pieces, (guint) i);
  return TRUE;
}

static void
empty (Npu *npu, gboolean keep)
{
  finish (npu, WAITING, G_MAXUINT64);
  finish (npu, ANNOUNCED, G_MAXUINT64);
  for (gint64 i = 0; exists (npu, i); i++)
    if (at (npu, i)->state == IDLE && at (npu, i)->pool == 0 && release (npu, i, keep))
      i = -1; /* again from the start */
  if (!keep)
    drop_kept (npu, 0);
}

/* ---- getting memory */

static gint64
insert (Npu *npu, const Piece *like, guint64 address, guint64 size, State state)
{
  Piece piece = *like;
  guint i = 0;

  if (address == 0)
    return -1;
  piece.start = piece.address = address;
  piece.size = size;
  piece.state = state;
  while (exists (npu, i) && at (npu, i)->address < address)
    i++;
  g_array_insert_val (npu->pieces, i, piece);
  return i;
}

/* Puts pages under the first @size bytes of piece @i, NOT_MAPPED; where they are then, or -1. */
static gint64
put_pages (Npu *npu, gint64 i, guint64 size)
{
  const guint64 page = page_of (npu, at (npu, i)), bytes = multiple (size, page);
  guint64 *kept = &npu->kept[at (npu, i)->pool][at (npu, i)->small], made, mapped = 0;

  for (made = 0; made < bytes; made += page)
    if (*kept > 0)
      (*kept)--;
    else if (!naive_device_create_page (&npu->base.device, page))
      break;
  while (made == bytes && mapped < bytes && naive_device_map (&npu->base.device))
    mapped += page;
  if (mapped < bytes)
    {
      naive_device_destroy_page (&npu->base.device, made);
      return -1;
    }
  npu->reserved += bytes;
  divide (npu, i, bytes);
  return become (npu, i, IDLE);
}

static gboolean
alike (const Piece *a, const Piece *b)
{
  return a->stream == b->stream && a->pool == b->pool && a->small == b->small;
}

/* Where the lowest run of idle and unmapped pieces of @size bytes begins, or -1. */
static gint64
find_run (const Npu *npu, const Piece *like, guint64 size)
{
  for (gint64 i = 0; exists (npu, i); i++)
    {
      const gint64 below = beside (npu, i, -1);
      const gint64 first = below >= 0 && at (npu, below)->state == IDLE ? below : i;
      guint64 sum = 0;

      if (at (npu, i)->state != NOT_MAPPED || !alike (at (npu, i), like))
        continue;
      for (gint64 k = first; k >= 0 && at (npu, k)->state <= IDLE; k = beside (npu, k, 1))
        sum += at (npu, k)->size;
      if (sum >= size)
        return first;
    }
  return -1;
}

static gint64
grow (Npu *npu, const Piece *like, guint64 size)
{
  const guint64 total = npu->base.device.capacity,
                range = multiple (total + total / 8, page_of (npu, like));
  gint64 i = find_run (npu, like, size);

  if (i < 0)
    i = insert (npu, like, naive_device_reserve (&npu->base.device, range), range, NOT_MAPPED);
  if (i >= 0 && at (npu, i)->state == NOT_MAPPED)
    i = put_pages (npu, i, MIN (size, at (npu, i)->size));
  while (i >= 0 && at (npu, i)->size < size)
    i = put_pages (npu, i + 1, MIN (size - at (npu, i)->size, at (npu, i + 1)->size));
  return i;
}

/* -2: rejected. */
static gint64
ask (Npu *npu, const Piece *like, guint64 size)
{
  const guint64 segment = like->small        ? 2 * MIB
                          : npu->rules->huge ? multiple (size, 1024 * MIB)
                          : size < 10 * MIB  ? 20 * MIB
                                             : multiple (size, 2 * MIB);
  gint64 i;

  if (npu->rules->rejects && npu->reserved + segment > npu->base.device.capacity)
    return -2;
  if (npu->rules->ranges)
    return grow (npu, like, size);
  i = insert (npu, like, naive_device_malloc (&npu->base.device, segment), segment, IDLE);
  npu->reserved += i >= 0 ? segment : 0;
  return i;
}

/* ---- requests */

/* The idle piece that follows (@size, @address) in the order of the free set, or -1. */
static gint64
next_idle (const Npu *npu, const Piece *like, guint64 size, guint64 address)
{
  gint64 best = -1;

  for (gint64 i = 0; exists (npu, i); i++)
    {
      const Piece *piece = at (npu, i);
      const gboolean behind = piece->size > size
                              || (piece->size == size && piece->address > address);

      if (piece->state == IDLE && alike (piece, like) && behind
          && (best < 0 || piece->size < at (npu, best)->size))
        best = i;
    }
  return best;
}

static guint64
could_be (const Npu *npu, gint64 i)
{
  const gint64 above = beside (npu, i, 1);

  return at (npu, i)->size
         + (above >= 0 && at (npu, above)->state == NOT_MAPPED ? at (npu, above)->size : 0);
}

static gint64
search (const Npu *npu, const Piece *like, guint64 size)
{
  gint64 i = next_idle (npu, like, size, 0), other;

  while (i >= 0 && npu->rules->ranges)
    {
      other = next_idle (npu, like, at (npu, i)->size, at (npu, i)->address);
      if (other < 0 || could_be (npu, other) >= could_be (npu, i))
        break;
      i = other;
    }
  return i;
}

static gint64
obtain (Npu *npu, const Piece *like, guint64 size)
{
  gint64 i = search (npu, like, size);

  if (i < 0 && npu->rules->lazy && like->pool == 0)
    {
      finish (npu, WAITING, npu->base.device.now);
      i = search (npu, like, size);
    }
  if (i < 0)
    i = ask (npu, like, size);
  if (i == -1 && like->pool == 0)
    {
      empty (npu, FALSE);
      i = ask (npu, like, size);
    }
  return i;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Npu *npu = (Npu *) naive;
  const Rules *rules = npu->rules;
  const guint64 size = MAX (multiple (request->size + rules->pad, 512), 512);
  const Piece like = { .stream = request->stream, .pool = request->pool, .small = size <= MIB };
  gint64 i;

  if (request->pool == 0 && (!rules->lazy || outstanding (npu) > 512))
    finish (npu, WAITING, naive->device.now);
  if (request->size >= G_GUINT64_CONSTANT (1) << 60)
    return FALSE;
  i = obtain (npu, &like, size);
  if (i < 0)
    return FALSE;
  if (rules->ranges && rules->align > 0 && size >= 2 * MIB)
    {
      const guint64 off = multiple (at (npu, i)->address, rules->align) - at (npu, i)->address;

      if (off > 0 && off + size <= at (npu, i)->size)
        divide (npu, i++, off);
    }
  if (at (npu, i)->size - size > (rules->ranges || like.small ? 511 : MIB))
    divide (npu, i, size);
  at (npu, i)->state = IN_USE;
  at (npu, i)->id = id;
  at (npu, i)->due = 0;
  *address = at (npu, i)->address;
  *block = at (npu, i)->size;
  return TRUE;
}

/* The piece @id in @state, or -1. */
static gint64
named (const Npu *npu, guint32 id, State state)
{
  for (gint64 i = 0; exists (npu, i); i++)
    if (at (npu, i)->state == state && at (npu, i)->id == id)
      return i;
  return -1;
}

static void
give (Naive *naive, guint32 id, gboolean completion_follows)
{
  Npu *npu = (Npu *) naive;
  const gint64 i = named (npu, id, IN_USE);

  if (completion_follows)
    at (npu, i)->state = ANNOUNCED;
  else if (at (npu, i)->uses == 0)
    become (npu, i, IDLE);
  else
    {
      at (npu, i)->state = WAITING;
      at (npu, i)->due = naive_device_event (&naive->device);
    }
}

static void
complete (Naive *naive, guint32 id)
{
  const gint64 i = named ((Npu *) naive, id, ANNOUNCED);

  if (i >= 0)
    become ((Npu *) naive, i, IDLE);
}

/* Takes @stream out of the users of @id; adds it at the end if it @uses the block from now on. */
static void
change_use (Naive *naive, guint32 id, guint64 stream, gboolean uses)
{
  Npu *npu = (Npu *) naive;
  Piece *piece = at (npu, named (npu, id, IN_USE));
  guint left = 0;

  for (guint i = 0; i < piece->uses; i++)
    if (piece->used_by[i] != stream)
      piece->used_by[left++] = piece->used_by[i];
  if (uses)
    {
      g_assert_cmpuint (left, <, USES);
      piece->used_by[left++] = stream;
    }
  piece->uses = left;
}

static void
use (Naive *naive, guint32 id, guint64 stream)
{
  change_use (naive, id, stream, TRUE);
}

static void
erase (Naive *naive, guint32 id, guint64 stream)
{
  change_use (naive, id, stream, FALSE);
}

static void
trim (Naive *naive)
{
  empty ((Npu *) naive, ((Npu *) naive)->rules->keeps);
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Npu *) naive)->pieces);
}

static Naive *
create (const Rules *rules)
{
  Npu *npu = g_new0 (Npu, 1);

  npu->rules = rules;
  npu->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  return &npu->base;
}

#define RULES(name, ...) \
  static Naive *create_##name (void) \
  { \
    static const Rules rules = { __VA_ARGS__ }; \
    return create (&rules); \
  }
#define NPU(function, text) \
  .name = "torch-npu", .settings = text, .create = create_##function, .alloc = alloc, \
  .free = give, .complete = complete, .use_on_stream = use, .stream_free = erase, .trim = trim, \
  .destroy = destroy

RULES (plain, .pad = 32)
RULES (unpadded, .huge = TRUE)
RULES (rejecting, .pad = 32, .rejects = TRUE)
RULES (lazy, .pad = 32, .lazy = TRUE)
RULES (ranges, .ranges = TRUE, .pad = 32, .page = 20 * MIB, .align = 16 * 1024)
RULES (kept, .ranges = TRUE, .pad = 32, .page = 40 * MIB, .keeps = TRUE)
RULES (huge, .ranges = TRUE, .pad = 32, .page = 1024 * MIB, .align = 3 * 1024, .huge = TRUE)

const NaiveClass naive_npu = { NPU (plain, "") };
const NaiveClass naive_npu_unpadded = { NPU (unpadded, "pad=0,page_size=1g") };
const NaiveClass naive_npu_rejecting = { NPU (rejecting, "throw_on_npumalloc_oom=yes") };
const NaiveClass naive_npu_lazy = { NPU (lazy, "multi_stream_lazy_reclaim=yes"), .delay = 9 };
const NaiveClass naive_npu_slow = { NPU (plain, "total=device"), .delay = 9 };
const NaiveClass naive_npu_ranges = { NPU (ranges, "expandable_segments=yes") };
const NaiveClass naive_npu_faulty = { NPU (ranges, "expandable_segments=yes,segment_size_mb=20"),
                                      .every = 7 };
const NaiveClass naive_npu_kept = { NPU (
    kept, "expandable_segments=yes,free_physical=no,base_addr_aligned_kb=0,"
          "large_segment_size_mb=40,max_non_split_rounding_mb=40") };
const NaiveClass naive_npu_kept_faulty = {
  NPU (kept, "expandable_segments=yes,free_physical=no,base_addr_aligned_kb=0,"
             "large_segment_size_mb=40"),
  .every = 7
};
const NaiveClass naive_npu_huge = { NPU (
    huge, "expandable_segments=yes,page_size=1g,base_addr_aligned_kb=3") };
