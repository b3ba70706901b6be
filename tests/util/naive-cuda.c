/* naive-cuda.c - a pool of CUDA as peers.md 1d assumes it: one array of pieces by address, with the
 * moments at which the device comes to their frees. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

#define UNIT (model->unit)

typedef enum
{
  LIVE,
  FREE,
  UNMAPPED,
} State;

typedef struct
{
  guint64 address, size;
  State state;
  guint list; /* stream of the latest free, from 1; 0: available to all; LIVE: the requester's */
  guint64 mark;
  gboolean recorded;
  guint64 done;   /* recorded: when the device comes to the latest free */
  guint64 others; /* when other work on the memory is done */
  guint32 id;
} Piece;

typedef struct
{
  guint64 handle, done; /* done: a mark */
  GArray *known;        /* guint64 */
} Stream;

typedef struct
{
  guint64 handle, until;
} Busy; /* until then events are recorded on a stream, also one without requests */

typedef struct
{
  guint32 id;
  guint from;
  guint64 mark, to;
  GArray *known;
} Mark;

typedef struct
{
  guint32 id;
  guint64 stream;
} Use;

typedef struct
{
  Naive base;
  guint64 unit, threshold, keep, maximum, initial, range, clock;
  gboolean follow, opportunistic, internal, remap;
  GArray *pieces, *streams, *marks, *uses, *busy;
} Model;

#define AT(i) (&g_array_index (model->pieces, Piece, i))
#define STREAM(n) (&g_array_index (model->streams, Stream, (n) -1))
#define KNOWN(array, n) g_array_index (array, guint64, (n) -1)

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->unit = 32 * MIB;
  model->maximum = G_MAXUINT64;
  model->follow = model->opportunistic = model->internal = model->remap = TRUE;
  model->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  model->streams = g_array_new (FALSE, FALSE, sizeof (Stream));
  model->marks = g_array_new (FALSE, FALSE, sizeof (Mark));
  model->uses = g_array_new (FALSE, FALSE, sizeof (Use));
  model->busy = g_array_new (FALSE, FALSE, sizeof (Busy));
  return &model->base;
}

static Naive *
create_kept (void)
{
  Naive *naive = create ();

  ((Model *) naive)->unit = 2 * MIB;
  ((Model *) naive)->threshold = 48 * MIB;
  ((Model *) naive)->keep = 16 * MIB;
  return naive;
}

static Naive *
create_ordered (void)
{
  Naive *naive = create ();

  ((Model *) naive)->unit = 4 * MIB;
  ((Model *) naive)->opportunistic = FALSE;
  return naive;
}

static Naive *
create_strict (void)
{
  Naive *naive = create ();
  Model *model = (Model *) naive;

  model->unit = 2 * MIB;
  model->maximum = 64 * MIB;
  model->follow = model->internal = model->remap = FALSE;
  return naive;
}

static Naive *
create_rmm (void)
{
  Naive *naive = create ();

  ((Model *) naive)->threshold = G_MAXUINT64;
  ((Model *) naive)->initial = 48 * MIB;
  return naive;
}

static void
destroy (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint n = 1; n <= model->streams->len; n++)
    g_array_unref (STREAM (n)->known);
  for (guint i = 0; i < model->marks->len; i++)
    g_array_unref (g_array_index (model->marks, Mark, i).known);
  g_array_unref (model->pieces);
  g_array_unref (model->streams);
  g_array_unref (model->marks);
  g_array_unref (model->uses);
  g_array_unref (model->busy);
}

/* ---- time */

static guint64
record (Model *model, guint64 handle)
{
  const Busy busy = { handle, naive_device_event (&model->base.device) };

  for (guint i = 0; i < model->busy->len; i++)
    if (g_array_index (model->busy, Busy, i).handle == handle)
      g_array_remove_index (model->busy, i--);
  g_array_append_val (model->busy, busy);
  return busy.until;
}

static guint
number_of (Model *model, guint64 handle)
{
  Stream stream = { .handle = handle };

  for (guint n = 1; n <= model->streams->len; n++)
    if (STREAM (n)->handle == handle)
      return n;
  if (model->streams->len == 1)
    {
      const guint64 when = record (model, STREAM (1)->handle);

      for (guint i = 0; i < model->pieces->len; i++)
        if (AT (i)->state == FREE && AT (i)->list == 1)
          {
            AT (i)->recorded = TRUE;
            AT (i)->done = when;
          }
    }
  stream.known = g_array_new (FALSE, TRUE, sizeof (guint64));
  g_array_set_size (stream.known, 64);
  g_array_append_val (model->streams, stream);
  return model->streams->len;
}

static gboolean
is_complete (Model *model, Piece *piece)
{
  Stream *stream;

  if (piece->list == 0)
    return TRUE;
  stream = STREAM (piece->list);
  if (piece->mark > stream->done)
    {
      if (!piece->recorded)
        {
          piece->done = record (model, stream->handle);
          piece->recorded = TRUE;
        }
      if (piece->done > model->base.device.now)
        return FALSE;
      stream->done = piece->mark;
    }
  return piece->others <= model->base.device.now;
}

/* ---- pieces */

static guint
cut (Model *model, guint i, guint64 size)
{
  Piece high = *AT (i);

  high.address += size;
  high.size -= size;
  AT (i)->size = size;
  g_array_insert_val (model->pieces, i + 1, high);
  return i + 1;
}

static void
join (Model *model, guint low)
{
  const Piece high = *AT (low + 1);
  Piece *piece = AT (low);

  piece->size += high.size;
  piece->list = MAX (piece->list, high.list);
  piece->others = MAX (piece->others, high.others);
  if (high.mark > piece->mark)
    {
      piece->mark = high.mark;
      piece->recorded = high.recorded;
      piece->done = high.done;
    }
  g_array_remove_index (model->pieces, low + 1);
}

static gboolean
takes_in (const Model *model, guint i, guint other)
{
  return other < model->pieces->len && AT (other)->state == FREE
         && (AT (other)->list == 0 || AT (other)->list == AT (i)->list);
}

/* Merges piece @i, which is free; its new index. */
static guint
merge (Model *model, guint i)
{
  while (takes_in (model, i, i + 1))
    join (model, i);
  while (i > 0 && takes_in (model, i, i - 1))
    join (model, --i);
  return i;
}

static void
merge_unmapped (Model *model)
{
  for (guint i = 0; i + 1 < model->pieces->len;)
    if (AT (i)->state == UNMAPPED && AT (i + 1)->state == UNMAPPED)
      {
        AT (i)->size += AT (i + 1)->size;
        g_array_remove_index (model->pieces, i + 1);
      }
    else
      i++;
}

/* Makes what is at @address available to all. */
static void
publish (Model *model, guint64 address)
{
  guint i = 0;

  while (AT (i)->address != address)
    i++;
  AT (i)->list = 0;
  AT (i)->mark = AT (i)->done = AT (i)->others = 0;
  AT (i)->recorded = FALSE;
  merge (model, i);
}

static void
publish_list (Model *model, guint list, guint64 least, gboolean all)
{
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < model->pieces->len; i++)
    if (AT (i)->state == FREE && AT (i)->list == list && AT (i)->size >= least)
      g_array_append_val (found, AT (i)->address);
  for (guint f = 0; f < found->len; f++)
    for (guint i = 0; i < model->pieces->len; i++)
      if (AT (i)->address == g_array_index (found, guint64, f)
          && (all || is_complete (model, AT (i))))
        {
          publish (model, AT (i)->address);
          break;
        }
}

/* ---- units */

static guint64
whole_units (const Model *model, const Piece *piece)
{
  const guint64 low = (piece->address - model->range + UNIT - 1) / UNIT,
                high = (piece->address + piece->size - model->range) / UNIT;

  return high > low ? high - low : 0;
}

/* Unmaps up to @units units that are available to all, the highest first, but of no piece at @but;
 * returns how many.  @test: counts only. */
static guint64
take_units (Model *model, guint64 units, guint64 but, gboolean test)
{
  guint64 taken = 0;

  for (guint i = model->pieces->len; i-- > 0 && taken < units;)
    {
      const Piece piece = *AT (i);
      const guint64 n = piece.state == FREE && piece.list == 0 && piece.address != but
                            ? MIN (units - taken, whole_units (model, &piece))
                            : 0;
      const guint64 end = (piece.address + piece.size - model->range) / UNIT * UNIT + model->range;
      guint at;

      taken += n;
      if (n == 0 || test)
        continue;
      if (end < piece.address + piece.size)
        cut (model, i, end - piece.address);
      at = end - n * UNIT > piece.address ? cut (model, i, end - n * UNIT - piece.address) : i;
      AT (at)->state = UNMAPPED;
    }
  merge_unmapped (model);
  return taken;
}

static guint64
reserved (const Model *model)
{
  guint64 bytes = 0;

  for (guint i = 0; i < model->pieces->len; i++)
    bytes += AT (i)->state != UNMAPPED ? AT (i)->size : 0;
  return bytes;
}

static void
shrink (Model *model, guint64 keep)
{
  const guint64 bytes = reserved (model);
  guint64 units = bytes > keep ? take_units (model, (bytes - keep) / UNIT, 0, FALSE) : 0;

  for (; units > 0; units--)
    naive_device_destroy_page (&model->base.device, UNIT);
}

static gboolean
has_range (Model *model)
{
  Piece all = { .state = UNMAPPED };

  if (model->range != 0)
    return TRUE;
  all.size = (model->base.device.capacity * 8 + UNIT - 1) / UNIT * UNIT;
  model->range = all.address = naive_device_reserve (&model->base.device, all.size);
  if (model->range != 0)
    g_array_append_val (model->pieces, all);
  return model->range != 0;
}

/* Maps @units units at @place, @idle of them from elsewhere; FALSE: refused. */
static gboolean
map_units (Model *model, guint64 units, guint64 idle, guint64 but)
{
  NaiveDevice *device = &model->base.device;
  guint64 made = 0, mapped = 0;

  while (made < units - idle && naive_device_create_page (device, UNIT))
    made++;
  if (made == units - idle)
    {
      made += take_units (model, idle, but, FALSE);
      while (mapped < units && naive_device_map (device))
        mapped++;
      if (mapped == units)
        return TRUE;
    }
  for (; made > 0; made--)
    naive_device_destroy_page (device, UNIT);
  return FALSE;
}

/* The index of a free piece of @size bytes; -1: none. */
static int
grow (Model *model, guint64 size, guint own)
{
  guint64 below = 0, but = 0, place, units, idle;
  guint i = 0;

  if (!has_range (model))
    return -1;
  for (; i < model->pieces->len; i++)
    {
      const gboolean joins = i > 0 && AT (i - 1)->state == FREE
                             && (AT (i - 1)->list == 0 || AT (i - 1)->list == own);

      below = joins ? AT (i - 1)->size : 0;
      but = joins ? AT (i - 1)->address : 0;
      if (AT (i)->state == UNMAPPED && AT (i)->size + below >= size)
        break;
    }
  if (i == model->pieces->len)
    return -1;
  place = AT (i)->address;
  units = (size - below + UNIT - 1) / UNIT;
  idle = model->remap ? take_units (model, units, but, TRUE) : 0;
  if ((units - idle) * UNIT > model->maximum - reserved (model)
      || !map_units (model, units, idle, but))
    return -1;
  for (i = 0; AT (i)->address != place; i++)
    ;
  if (AT (i)->size > units * UNIT)
    cut (model, i, units * UNIT);
  AT (i)->state = FREE;
  AT (i)->list = below > 0 ? AT (i - 1)->list : 0;
  AT (i)->mark = AT (i)->others = 0;
  AT (i)->recorded = FALSE;
  return (int) merge (model, i);
}

/* ---- the search */

/* The smallest free piece of @list; @known: freed before that mark; @asks: and the device has come
 * to it. */
static int
best (Model *model, guint64 size, guint list, guint64 known, gboolean asks)
{
  int found = -1;

  for (guint i = 0; i < model->pieces->len; i++)
    if (AT (i)->state == FREE && AT (i)->list == list && AT (i)->size >= size
        && AT (i)->mark <= known && (found < 0 || AT (i)->size < AT (found)->size)
        && (!asks || is_complete (model, AT (i))))
      found = (int) i;
  return found;
}

static int
own_or_all (Model *model, guint64 size, guint own)
{
  const int a = best (model, size, own, G_MAXUINT64, FALSE),
            b = best (model, size, 0, G_MAXUINT64, FALSE);

  if (a < 0 || b < 0)
    return MAX (a, b);
  if (AT (a)->size != AT (b)->size)
    return AT (a)->size < AT (b)->size ? a : b;
  return MIN (a, b);
}

static int
search (Model *model, guint64 size, guint own)
{
  const guint n = model->streams->len;
  int i = own_or_all (model, size, own);

  for (guint from = 1; i < 0 && model->follow && from <= n; from++)
    if (from != own)
      i = best (model, size, from, KNOWN (STREAM (own)->known, from), FALSE);
  for (guint from = 1; i < 0 && model->opportunistic && from <= n; from++)
    if (from != own)
      i = best (model, size, from, G_MAXUINT64, TRUE);
  if (i < 0 && model->remap && model->opportunistic)
    {
      for (guint from = 1; from <= n; from++)
        publish_list (model, from, UNIT, FALSE);
      i = own_or_all (model, size, own);
    }
  if (i < 0)
    i = grow (model, size, own);
  for (guint from = 1; i < 0 && model->internal && from <= n; from++)
    if (from != own && (i = best (model, size, from, G_MAXUINT64, FALSE)) >= 0)
      KNOWN (STREAM (own)->known, from) = MAX (KNOWN (STREAM (own)->known, from), AT (i)->mark);
  return i;
}

static int
serve (Model *model, guint64 size, guint own, guint32 id)
{
  const int i = search (model, size, own);
  Piece *piece;

  if (i < 0)
    return -1;
  AT (i)->state = LIVE;
  if (AT (i)->size > size)
    {
      const guint rest = cut (model, (guint) i, size);

      AT (rest)->state = FREE;
      merge (model, rest);
    }
  piece = AT (i);
  if (piece->list != 0 && piece->list != own && piece->mark > STREAM (piece->list)->done
      && piece->recorded)
    piece->others = MAX (piece->others, piece->done);
  piece->list = own;
  piece->id = id;
  return i;
}

static void
give (Model *model, guint i)
{
  Piece *piece = AT (i);

  for (guint u = 0; u < model->uses->len;)
    if (g_array_index (model->uses, Use, u).id == piece->id)
      {
        piece->others = MAX (piece->others,
                             record (model, g_array_index (model->uses, Use, u).stream));
        g_array_remove_index (model->uses, u);
      }
    else
      u++;
  piece->state = FREE;
  piece->mark = ++model->clock;
  piece->recorded = model->streams->len > 1;
  if (piece->recorded)
    piece->done = record (model, STREAM (piece->list)->handle);
  merge (model, i);
}

/* ---- the model */

static gboolean
prime (Model *model)
{
  const int i = serve (model, model->initial, number_of (model, 0), G_MAXUINT32);

  if (i >= 0)
    {
      give (model, (guint) i);
      model->initial = 0;
    }
  return i >= 0;
}

static void
start (Naive *naive)
{
  if (((Model *) naive)->initial != 0)
    prime ((Model *) naive);
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  int i;

  if (request->size > G_MAXINT64 || (model->initial != 0 && !prime (model)))
    return FALSE;
  i = serve (model, (MAX (request->size, 1) + 511) / 512 * 512, number_of (model, request->stream),
             id);
  if (i < 0)
    return FALSE;
  *address = AT (i)->address;
  *block = AT (i)->size;
  return TRUE;
}

static guint
index_of (const Model *model, guint32 id)
{
  guint i = 0;

  while (AT (i)->state != LIVE || AT (i)->id != id)
    i++;
  return i;
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  give ((Model *) naive, index_of ((Model *) naive, id));
}

static void
use (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  const Use added = { id, stream };

  if (STREAM (AT (index_of (model, id))->list)->handle != stream)
    g_array_append_val (model->uses, added);
}

static void
learn (GArray *known, guint from, guint64 mark, const GArray *more)
{
  KNOWN (known, from) = MAX (KNOWN (known, from), mark);
  for (guint n = 1; n <= more->len; n++)
    KNOWN (known, n) = MAX (KNOWN (known, n), KNOWN (more, n));
}

static void
forget (Model *model, guint i)
{
  g_array_unref (g_array_index (model->marks, Mark, i).known);
  g_array_remove_index (model->marks, i);
}

static void
event_record (Naive *naive, guint32 event, guint64 stream, guint64 to)
{
  Model *model = (Model *) naive;
  const guint from = number_of (model, stream);
  const Mark mark = { event, from, model->clock, to, g_array_copy (STREAM (from)->known) };

  for (guint i = 0; i < model->marks->len; i++)
    if (g_array_index (model->marks, Mark, i).id == event)
      forget (model, i--);
  g_array_append_val (model->marks, mark);
}

static void
event_wait (Naive *naive, guint32 event, guint64 stream)
{
  Model *model = (Model *) naive;
  guint n = 0;

  for (guint i = 0; i < model->marks->len; i++)
    {
      const Mark mark = g_array_index (model->marks, Mark, i);

      if (mark.id != event)
        continue;
      n = number_of (model, stream);
      learn (STREAM (n)->known, mark.from, mark.mark, mark.known);
      if (mark.to == stream)
        forget (model, i--);
    }
}

static void
wait_for (Naive *naive, guint64 stream)
{
  Model *model = (Model *) naive;
  const gboolean all = stream == G_MAXUINT64;

  for (guint i = 0; i < model->busy->len; i++)
    if (all || g_array_index (model->busy, Busy, i).handle == stream)
      naive->device.now = MAX (naive->device.now, g_array_index (model->busy, Busy, i).until);
  for (guint n = 1; n <= model->streams->len; n++)
    if (all || STREAM (n)->handle == stream)
      {
        STREAM (n)->done = model->clock;
        publish_list (model, n, 0, all);
      }
  while (all && model->marks->len > 0)
    forget (model, 0);
  shrink (model, model->threshold);
}

static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint n = 1; n <= model->streams->len; n++)
    publish_list (model, n, 0, FALSE);
  shrink (model, model->keep);
}

#define CUDA(system, text, function) \
  .name = system, .settings = text, .create = function, .start = start, .alloc = alloc, \
  .free = release, .use_on_stream = use, .event_record = event_record, .event_wait = event_wait, \
  .sync = wait_for, .trim = trim, .destroy = destroy

const NaiveClass naive_cuda = { CUDA ("cuda-async", "", create) };
const NaiveClass naive_cuda_slow = { CUDA ("cuda-async", "growth=32MiB", create), .delay = 3 };
const NaiveClass naive_cuda_faulty = { CUDA ("cuda-async", "max_size=none", create), .every = 5 };
const NaiveClass naive_cuda_kept = {
  CUDA ("cuda-async", "growth=2MiB,release_threshold=48MiB,trim_to=16MiB", create_kept), .delay = 2
};
const NaiveClass naive_cuda_ordered = {
  CUDA ("cuda-async", "growth=4MiB,reuse_allow_opportunistic=no", create_ordered), .delay = 5
};
const NaiveClass naive_cuda_strict = {
  CUDA ("cuda-async",
        "growth=2MiB,max_size=64MiB,remap=no,reuse_follow_event_dependencies=no,"
        "reuse_allow_internal_dependencies=no",
        create_strict),
  .every = 7
};
const NaiveClass naive_cuda_rmm = { CUDA ("rmm-cuda-async", "initial=48MiB", create_rmm) };
