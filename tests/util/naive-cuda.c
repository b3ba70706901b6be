/* naive-cuda.c - a pool of CUDA by the rules of peers.md 1d: one array of pieces by address, with the
 * moments at which the device comes to their frees, and one flag for each chunk. */
#include "config.h"

#include <string.h>

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

#define UNIT (model->unit)

typedef enum
{
  LIVE,
  PENDING,
  SHARED,
} State;

typedef struct
{
  guint64 address, size, put; /* put: when it got into its list */
  State state;
  guint stream; /* number of the stream that asked or freed */
  guint64 mark;
  gboolean recorded;
  guint64 when; /* recorded: when the device comes to the latest free */
  guint32 id;
} Piece;

typedef struct
{
  guint64 handle, done; /* done: a mark */
  gboolean ordered;
  GArray *known; /* guint64 */
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
  guint32 id;
  guint stream;
  guint64 at;
} Work;

/* What @stream does behind the mark @at waits for that of @from. */
typedef struct
{
  guint stream, from;
  guint64 at, mark, when;
  gboolean recorded;
} Wait;

typedef struct
{
  Naive base;
  guint64 unit, threshold, keep, maximum, initial, range, clock, puts;
  gboolean follow, opportunistic, internal, stale;
  GArray *pieces, *streams, *marks, *uses, *busy, *waits, *works, *order, *mapped;
} Model;

#define AT(i) (&g_array_index (model->pieces, Piece, i))
#define STREAM(n) (&g_array_index (model->streams, Stream, (n) -1))
#define KNOWN(array, n) g_array_index (array, guint64, (n) -1)
#define MAPPED(chunk) g_array_index (model->mapped, gboolean, chunk)

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->unit = 32 * MIB;
  model->maximum = G_MAXUINT64;
  model->follow = model->opportunistic = model->internal = TRUE;
  model->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  model->streams = g_array_new (FALSE, FALSE, sizeof (Stream));
  model->marks = g_array_new (FALSE, FALSE, sizeof (Mark));
  model->uses = g_array_new (FALSE, FALSE, sizeof (Use));
  model->busy = g_array_new (FALSE, FALSE, sizeof (Busy));
  model->waits = g_array_new (FALSE, FALSE, sizeof (Wait));
  model->works = g_array_new (FALSE, FALSE, sizeof (Work));
  model->order = g_array_new (FALSE, FALSE, sizeof (guint));
  model->mapped = g_array_new (FALSE, TRUE, sizeof (gboolean));
  return &model->base;
}

static Naive *
create_kept (void)
{
  Naive *naive = create ();

  ((Model *) naive)->unit = 2 * MIB;
  ((Model *) naive)->threshold = 48 * MIB;
  ((Model *) naive)->stale = TRUE;
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
  model->follow = model->internal = FALSE;
  return naive;
}

static Naive *
create_rmm (void)
{
  Naive *naive = create ();

  ((Model *) naive)->threshold = G_MAXUINT64;
  ((Model *) naive)->stale = TRUE;
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
  g_array_unref (model->waits);
  g_array_unref (model->works);
  g_array_unref (model->order);
  g_array_unref (model->mapped);
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

static gboolean
is_pending (Model *model, guint i, guint stream)
{
  return AT (i)->state == PENDING && AT (i)->stream == stream;
}

/* The only stream's frees without an event get one. */
static void
catch_up (Model *model)
{
  gboolean any = FALSE;
  guint64 when;

  for (guint i = 0; i < model->pieces->len; i++)
    any |= is_pending (model, i, 1) && !AT (i)->recorded && AT (i)->mark > STREAM (1)->done;
  if (!any)
    return;
  when = record (model, STREAM (1)->handle);
  for (guint i = 0; i < model->pieces->len; i++)
    if (is_pending (model, i, 1) && !AT (i)->recorded)
      {
        AT (i)->recorded = TRUE;
        AT (i)->when = when;
      }
}

static guint
number_of (Model *model, guint64 handle)
{
  Stream stream = { .handle = handle };

  for (guint n = 1; n <= model->streams->len; n++)
    if (STREAM (n)->handle == handle)
      return n;
  if (model->streams->len == 1)
    catch_up (model);
  stream.known = g_array_new (FALSE, TRUE, sizeof (guint64));
  g_array_set_size (stream.known, 64);
  g_array_append_val (model->streams, stream);
  return model->streams->len;
}

static guint
number_in_order (Model *model, guint64 handle)
{
  const guint n = number_of (model, handle);

  if (!STREAM (n)->ordered)
    g_array_append_val (model->order, n);
  STREAM (n)->ordered = TRUE;
  return n;
}

static void
add_wait (Model *model, guint stream, guint from, guint64 mark, gboolean recorded, guint64 when)
{
  const Wait wait = { stream, from, ++model->clock, mark, when, recorded };

  g_array_append_val (model->waits, wait);
}

static gboolean
is_done (Model *model, guint n, guint64 mark, gboolean recorded, guint64 when)
{
  if (mark <= STREAM (n)->done)
    return TRUE;
  if (recorded && when > model->base.device.now)
    return FALSE;
  for (guint i = 0; i < model->works->len; i++)
    {
      const Work work = g_array_index (model->works, Work, i);

      if (work.stream == n && work.at > STREAM (n)->done && work.at < mark)
        return FALSE;
    }
  for (guint i = 0; i < model->waits->len; i++)
    {
      const Wait wait = g_array_index (model->waits, Wait, i);

      if (wait.stream == n && wait.at > STREAM (n)->done && wait.at < mark
          && !is_done (model, wait.from, wait.mark, wait.recorded, wait.when))
        return FALSE;
    }
  if (recorded)
    STREAM (n)->done = mark;
  return TRUE;
}

static gboolean
is_complete (Model *model, guint i)
{
  return is_done (model, AT (i)->stream, AT (i)->mark, AT (i)->recorded, AT (i)->when);
}

/* ---- pieces */

static guint
cut (Model *model, guint i, guint64 size)
{
  Piece high = *AT (i);

  high.address += size;
  high.size -= size;
  high.put = ++model->puts;
  AT (i)->size = size;
  g_array_insert_val (model->pieces, i + 1, high);
  return i + 1;
}

static void
join (Model *model, guint low)
{
  AT (low)->size += AT (low + 1)->size;
  g_array_remove_index (model->pieces, low + 1);
}

/* Piece @i becomes shared, one with its neighbours. */
static void
share (Model *model, guint i)
{
  AT (i)->state = SHARED;
  if (i + 1 < model->pieces->len && AT (i + 1)->state == SHARED)
    join (model, i);
  if (i > 0 && AT (i - 1)->state == SHARED)
    join (model, --i);
  AT (i)->put = ++model->puts;
}

/* The piece of stream @n with the greatest mark up to @mark; -1: none. */
static int
youngest (Model *model, guint n, guint64 mark)
{
  int found = -1;

  for (guint i = 0; i < model->pieces->len; i++)
    if (is_pending (model, i, n) && AT (i)->mark <= mark
        && (found < 0 || AT (i)->mark > AT (found)->mark))
      found = (int) i;
  return found;
}

static gboolean
share_up_to (Model *model, guint n, guint64 mark)
{
  gboolean any = FALSE;
  int i;

  while ((i = youngest (model, n, mark)) >= 0)
    {
      share (model, (guint) i);
      any = TRUE;
    }
  return any;
}

static void
share_done (Model *model)
{
  if (model->streams->len == 1)
    catch_up (model);
  for (guint o = 0; o < model->order->len; o++)
    {
      const guint n = g_array_index (model->order, guint, o);
      int i = youngest (model, n, G_MAXUINT64);

      while (i >= 0 && !is_complete (model, (guint) i))
        i = youngest (model, n, AT (i)->mark - 1);
      if (i >= 0)
        share_up_to (model, n, AT (i)->mark);
    }
}

/* ---- chunks */

static guint64
reserved (const Model *model)
{
  guint64 bytes = 0;

  for (guint c = 0; c < model->mapped->len; c++)
    bytes += MAPPED (c) ? UNIT : 0;
  return bytes;
}

static gboolean
is_backed (const Model *model, const Piece *piece)
{
  for (guint64 a = (piece->address - model->range) / UNIT;
       a * UNIT < piece->address + piece->size - model->range; a++)
    if (!MAPPED (a))
      return FALSE;
  return TRUE;
}

static gboolean
is_idle (const Model *model, guint chunk)
{
  const guint64 begin = model->range + chunk * UNIT;

  for (guint i = 0; i < model->pieces->len; i++)
    if (AT (i)->state == SHARED && AT (i)->address <= begin
        && AT (i)->address + AT (i)->size >= begin + UNIT)
      return MAPPED (chunk);
  return FALSE;
}

/* Unmaps the highest chunk that nothing uses; FALSE: there is none. */
static gboolean
take_idle (Model *model)
{
  for (guint chunk = model->mapped->len; chunk-- > 0;)
    if (MAPPED (chunk) && is_idle (model, chunk))
      {
        MAPPED (chunk) = FALSE;
        return TRUE;
      }
  return FALSE;
}

static void
shrink (Model *model, guint64 above)
{
  while (reserved (model) > above && take_idle (model))
    naive_device_destroy_page (&model->base.device, UNIT);
}

static gboolean
has_range (Model *model)
{
  Piece all = { .state = SHARED };

  if (model->range != 0)
    return TRUE;
  all.size = (model->base.device.capacity * 2 + UNIT - 1) / UNIT * UNIT;
  model->range = all.address = naive_device_reserve (&model->base.device, all.size);
  if (model->range == 0)
    return FALSE;
  g_array_append_val (model->pieces, all);
  g_array_set_size (model->mapped, (guint) (all.size / UNIT));
  return TRUE;
}

static gboolean
map_chunk (Model *model, guint64 chunk)
{
  NaiveDevice *device = &model->base.device;

  if (!take_idle (model)
      && (UNIT > model->maximum - reserved (model) || !naive_device_create_page (device, UNIT)))
    return FALSE;
  if (naive_device_map (device))
    return MAPPED (chunk) = TRUE;
  naive_device_destroy_page (device, UNIT);
  return FALSE;
}

static gboolean
map_piece (Model *model, guint i)
{
  const guint64 begin = AT (i)->address - model->range, end = begin + AT (i)->size;

  for (guint64 chunk = begin / UNIT; chunk * UNIT < end; chunk++)
    if (!MAPPED (chunk) && !map_chunk (model, chunk))
      return FALSE;
  return TRUE;
}

/* ---- the search */

typedef gboolean (*Takes) (Model *model, guint i, guint own);

static gboolean
any_pending (G_GNUC_UNUSED Model *model, G_GNUC_UNUSED guint i, G_GNUC_UNUSED guint own)
{
  return TRUE;
}

static gboolean
is_known (Model *model, guint i, guint own)
{
  return AT (i)->mark <= KNOWN (STREAM (own)->known, AT (i)->stream);
}

static gboolean
is_ready (Model *model, guint i, G_GNUC_UNUSED guint own)
{
  return is_complete (model, i);
}

static gboolean
is_better (Model *model, guint i, int than)
{
  return than < 0 || AT (i)->size < AT (than)->size
         || (AT (i)->size == AT (than)->size && AT (i)->put < AT (than)->put);
}

/* The best fit of what stream @from freed, if @takes. */
static int
best (Model *model, guint64 size, guint from, guint own, Takes takes)
{
  int found = -1;

  for (guint i = 0; i < model->pieces->len; i++)
    if (is_pending (model, i, from) && AT (i)->size >= size && is_better (model, i, found)
        && takes (model, i, own))
      found = (int) i;
  return found;
}

static int
best_shared (Model *model, guint64 size, gboolean backed)
{
  int found = -1;

  for (guint i = 0; i < model->pieces->len; i++)
    if (AT (i)->state == SHARED && AT (i)->size >= size && is_better (model, i, found)
        && (!backed || is_backed (model, AT (i))))
      found = (int) i;
  return found;
}

static int
of_others (Model *model, guint64 size, guint own, Takes takes)
{
  int i = -1;

  for (guint o = 0; i < 0 && o < model->order->len; o++)
    if (g_array_index (model->order, guint, o) != own)
      i = best (model, size, g_array_index (model->order, guint, o), own, takes);
  return i;
}

/* The low end of the shared piece @i, with memory; -1: refused. */
static int
take_place (Model *model, int i, guint64 size)
{
  const gboolean whole = AT (i)->size == size;

  AT (i)->state = LIVE;
  if (!whole)
    {
      cut (model, (guint) i, size);
      AT (i + 1)->state = SHARED;
    }
  if (map_piece (model, (guint) i))
    return i;
  AT (i)->state = SHARED;
  if (!whole)
    join (model, (guint) i);
  return -1;
}

static int
grow (Model *model, guint64 size)
{
  int i = -1;

  if (model->opportunistic)
    share_done (model);
  if (has_range (model))
    i = best_shared (model, size, FALSE);
  return i >= 0 ? take_place (model, i, size) : -1;
}

static int
take_pending (Model *model, int i, guint64 size)
{
  if (i >= 0 && AT (i)->size > size)
    cut (model, (guint) i, size);
  return i;
}

static int
search (Model *model, guint64 size, guint own)
{
  int i = best (model, size, own, own, any_pending);

  if (i >= 0)
    return take_pending (model, i, size);
  i = best_shared (model, size, TRUE);
  if (i >= 0)
    return take_place (model, i, size);
  if (model->follow)
    i = of_others (model, size, own, is_known);
  if (i < 0 && model->opportunistic)
    i = of_others (model, size, own, is_ready);
  if (i >= 0)
    return take_pending (model, i, size);
  i = grow (model, size);
  if (i >= 0 || !model->internal || (i = of_others (model, size, own, any_pending)) < 0)
    return i;
  add_wait (model, own, AT (i)->stream, AT (i)->mark, AT (i)->recorded, AT (i)->when);
  KNOWN (STREAM (own)->known, AT (i)->stream) = MAX (KNOWN (STREAM (own)->known, AT (i)->stream),
                                                     AT (i)->mark);
  return take_pending (model, i, size);
}

static int
serve (Model *model, guint64 size, guint own, guint32 id)
{
  const int i = search (model, size, own);

  if (i < 0)
    return -1;
  AT (i)->state = LIVE;
  AT (i)->stream = own;
  AT (i)->id = id;
  return i;
}

static void
wait_for_uses (Model *model, guint i)
{
  for (guint u = model->uses->len; u-- > 0;)
    {
      const Use use = g_array_index (model->uses, Use, u);
      guint from;

      if (use.id != AT (i)->id)
        continue;
      from = number_of (model, use.stream);
      model->clock++;
      add_wait (model, AT (i)->stream, from, model->clock, TRUE, record (model, use.stream));
      g_array_remove_index (model->uses, u);
    }
}

static void
give (Model *model, guint i, guint n)
{
  if (i + 1 < model->pieces->len && is_pending (model, i + 1, n))
    join (model, i);
  if (i > 0 && is_pending (model, i - 1, n))
    join (model, --i);
  AT (i)->state = PENDING;
  AT (i)->stream = n;
  AT (i)->put = ++model->puts;
  AT (i)->mark = ++model->clock;
  AT (i)->recorded = model->streams->len > 1;
  if (AT (i)->recorded)
    AT (i)->when = record (model, STREAM (n)->handle);
}

/* ---- the model */

static gboolean
prime (Model *model)
{
  const int i = serve (model, model->initial, number_in_order (model, 0), G_MAXUINT32);

  if (i >= 0)
    {
      give (model, (guint) i, AT (i)->stream);
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
  *address = *block = 0;
  if (request->size == 0)
    return TRUE;
  i = serve (model, (request->size + 511) / 512 * 512, number_in_order (model, request->stream),
             id);
  if (i < 0)
    return FALSE;
  *address = AT (i)->address;
  *block = AT (i)->size;
  return TRUE;
}

/* -1: of 0 bytes */
static int
index_of (const Model *model, guint32 id)
{
  for (guint i = 0; i < model->pieces->len; i++)
    if (AT (i)->state == LIVE && AT (i)->id == id)
      return (int) i;
  return -1;
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const int i = index_of (model, id);

  if (i < 0)
    return;
  wait_for_uses (model, (guint) i);
  give (model, (guint) i, AT (i)->stream);
}

static void
free_on (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  const int i = index_of (model, id);

  for (guint u = model->uses->len; u-- > 0;)
    if (g_array_index (model->uses, Use, u).id == id)
      g_array_remove_index (model->uses, u);
  if (i >= 0)
    give (model, (guint) i, number_in_order (model, stream));
}

static void
use (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  const Use added = { id, stream };
  const int i = index_of (model, id);

  for (guint u = 0; u < model->uses->len; u++)
    if (g_array_index (model->uses, Use, u).id == id
        && g_array_index (model->uses, Use, u).stream == stream)
      return;
  if (i >= 0 && STREAM (AT (i)->stream)->handle != stream)
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
  const Mark mark = { event, from, ++model->clock, to, g_array_copy (STREAM (from)->known) };

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
      if (n != mark.from)
        add_wait (model, n, mark.from, mark.mark, FALSE, 0);
      if (mark.to == stream)
        forget (model, i--);
    }
}

/* What stands in the way of stream @n first, behind `done`: its place; 0: nothing up to @mark.  @wait:
 * what it waits for; stream 0: for work. */
static guint64
first_obstacle (const Model *model, guint n, guint64 mark, Wait *wait)
{
  guint64 first = 0;

  for (guint i = 0; i < model->works->len; i++)
    {
      const Work work = g_array_index (model->works, Work, i);

      if (work.stream == n && work.at > STREAM (n)->done && work.at <= mark
          && (first == 0 || work.at < first))
        {
          first = work.at;
          *wait = (Wait){ 0 };
        }
    }
  for (guint i = 0; i < model->waits->len; i++)
    {
      const Wait other = g_array_index (model->waits, Wait, i);

      if (other.stream == n && other.at > STREAM (n)->done && other.at <= mark
          && (first == 0 || other.at < first))
        {
          first = other.at;
          *wait = other;
        }
    }
  return first;
}

/* The device has come to @mark of stream @n, but for what events of the device tell; returns how far
 * it has. */
static guint64
come_to (Model *model, guint n, guint64 mark)
{
  Wait wait;
  guint64 at;

  while ((at = first_obstacle (model, n, mark, &wait)) != 0)
    {
      if (wait.stream != 0 && wait.recorded && wait.when > model->base.device.now)
        mark = at - 1;
      else if (wait.stream != 0 && come_to (model, wait.from, wait.mark) < wait.mark)
        mark = at - 1;
      else
        STREAM (n)->done = MAX (STREAM (n)->done, at);
    }
  STREAM (n)->done = MAX (STREAM (n)->done, mark);
  return mark;
}

static gboolean
has_pending (Model *model, guint n, guint64 mark)
{
  return youngest (model, n, mark) >= 0;
}

static void
host_knows (Model *model, guint64 handle, gboolean all)
{
  g_autoptr (GArray) up_to = g_array_new (FALSE, TRUE, sizeof (guint64));
  gboolean any = FALSE;

  g_array_set_size (up_to, 64);
  for (guint n = 1; n <= model->streams->len; n++)
    if (!all && STREAM (n)->handle == handle)
      {
        const guint64 mark = come_to (model, n, model->clock);

        memcpy (up_to->data, STREAM (n)->known->data, 64 * sizeof (guint64));
        KNOWN (up_to, n) = mark;
      }
  for (guint n = 1; n <= model->streams->len; n++)
    {
      if (all)
        KNOWN (up_to, n) = model->clock;
      else if (STREAM (n)->handle != handle && !has_pending (model, n, KNOWN (up_to, n)))
        KNOWN (up_to, n) = 0;
      STREAM (n)->done = MAX (STREAM (n)->done, KNOWN (up_to, n));
    }
  for (guint o = 0; o < model->order->len; o++)
    {
      const guint n = g_array_index (model->order, guint, o);

      any |= share_up_to (model, n, KNOWN (up_to, n));
    }
  if (any || model->stale)
    shrink (model, model->threshold);
  model->stale = FALSE;
}

static void
wait_for (Naive *naive, guint64 stream)
{
  Model *model = (Model *) naive;
  const gboolean all = stream == G_MAXUINT64;

  for (guint i = 0; i < model->busy->len; i++)
    if (all || g_array_index (model->busy, Busy, i).handle == stream)
      naive->device.now = MAX (naive->device.now, g_array_index (model->busy, Busy, i).until);
  host_knows (model, stream, all);
  while (all && model->marks->len > 0)
    forget (model, 0);
}

static void
work (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  const guint n = number_of (model, stream);
  const Work added = { id, n, ++model->clock };

  for (guint i = 0; id != 0 && i < model->works->len; i++)
    if (g_array_index (model->works, Work, i).id == id)
      g_array_index (model->works, Work, i).id = 0;
  g_array_append_val (model->works, added);
}

static void
work_done (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->works->len; i++)
    {
      const Work found = g_array_index (model->works, Work, i);

      if (found.id == id && found.at > STREAM (found.stream)->done)
        come_to (model, found.stream, found.at);
    }
}

static void
asked (Naive *naive, guint64 stream)
{
  Model *model = (Model *) naive;

  for (guint n = 1; n <= model->streams->len; n++)
    if (STREAM (n)->handle == stream)
      come_to (model, n, model->clock);
}

static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  shrink (model, model->keep + UNIT - 1);
}

#define CUDA(system, text, function) \
  .name = system, .settings = text, .create = function, .start = start, .alloc = alloc, \
  .free = release, .use_on_stream = use, .event_record = event_record, .event_wait = event_wait, \
  .sync = wait_for, .trim = trim, .destroy = destroy, .free_on = free_on, .work = work, \
  .work_done = work_done, .asked = asked

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
        "growth=2MiB,max_size=64MiB,reuse_follow_event_dependencies=no,"
        "reuse_allow_internal_dependencies=no",
        create_strict),
  .every = 7
};
const NaiveClass naive_cuda_rmm = { CUDA ("rmm-cuda-async", "initial=48MiB", create_rmm) };
