/* naive-rmm-arena.c - RMM's arena_memory_resource, from peers.md 1c.2: an array of superblocks and
 * one of pieces, both by address. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, size;
  gboolean global;
  guint64 stream; /* not global: that has it */
} Super;

typedef struct
{
  guint64 address, size;
  gboolean used;
  guint32 id;
} Piece;

typedef struct
{
  Naive base;
  guint64 wanted; /* 0: half of the device */
  gboolean classes, begun;
  GArray *supers; /* Super */
  GArray *pieces; /* Piece */
} Model;

#define SUPER(i) (&g_array_index (model->supers, Super, i))
#define PIECE(i) (&g_array_index (model->pieces, Piece, i))

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->supers = g_array_new (FALSE, FALSE, sizeof (Super));
  model->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  return &model->base;
}

static Naive *
create_small (void)
{
  Naive *naive = create ();

  ((Model *) naive)->wanted = 48 * MIB;
  return naive;
}

static Naive *
create_classes (void)
{
  Naive *naive = create ();

  ((Model *) naive)->wanted = 96 * MIB;
  ((Model *) naive)->classes = TRUE;
  return naive;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->supers);
  g_array_unref (((Model *) naive)->pieces);
}

static void
start (Naive *naive)
{
  Model *model = (Model *) naive;
  const guint64 half = (naive->device.capacity - naive->device.held) / 2 / 256 * 256,
                size = model->wanted != 0 ? model->wanted : half,
                address = naive_device_malloc (&naive->device, size);
  const Super super = { address, size, TRUE, 0 };
  const Piece piece = { address, size, FALSE, 0 };

  model->begun = address != 0;
  if (!model->begun)
    return;
  g_array_append_val (model->supers, super);
  g_array_append_val (model->pieces, piece);
}

static gboolean
lies_in (const Piece *piece, const Super *super)
{
  return piece->address >= super->address && piece->address < super->address + super->size;
}

static guint
super_of (Model *model, guint piece)
{
  guint i = 0;

  while (!lies_in (PIECE (piece), SUPER (i)))
    i++;
  return i;
}

static gboolean
is_empty (Model *model, guint super)
{
  for (guint i = 0; i < model->pieces->len; i++)
    if (PIECE (i)->used && lies_in (PIECE (i), SUPER (super)))
      return FALSE;
  return TRUE;
}

/* Merges free pieces of one superblock; with @supers first empty superblocks of the global arena. */
static void
merge_all (Model *model, gboolean supers)
{
  for (guint i = 0; supers && i + 1 < model->supers->len;)
    if (SUPER (i)->global && SUPER (i + 1)->global && is_empty (model, i)
        && is_empty (model, i + 1))
      {
        SUPER (i)->size += SUPER (i + 1)->size;
        g_array_remove_index (model->supers, i + 1);
      }
    else
      i++;
  for (guint i = 0; i + 1 < model->pieces->len;)
    if (!PIECE (i)->used && !PIECE (i + 1)->used && super_of (model, i) == super_of (model, i + 1))
      {
        PIECE (i)->size += PIECE (i + 1)->size;
        g_array_remove_index (model->pieces, i + 1);
      }
    else
      i++;
}

/* Splits piece @i behind @size bytes. */
static void
split_piece (Model *model, guint i, guint64 size)
{
  Piece rest = *PIECE (i);

  if (rest.size == size)
    return;
  rest.address += size;
  rest.size -= size;
  PIECE (i)->size = size;
  g_array_insert_val (model->pieces, i + 1, rest);
}

/* The first free piece of @size bytes in superblock @super; -1: none. */
static int
fit_in (Model *model, guint super, guint64 size)
{
  for (guint i = 0; i < model->pieces->len; i++)
    if (!PIECE (i)->used && PIECE (i)->size >= size && lies_in (PIECE (i), SUPER (super)))
      return (int) i;
  return -1;
}

/* The same in the first superblock of the global arena that has one, which is cut if it is empty. */
static int
fit_global (Model *model, guint64 size)
{
  const guint64 least = MAX (MIB, size);
  int found = -1;

  for (guint i = 0; i < model->supers->len && found < 0; i++)
    {
      if (!SUPER (i)->global || (found = fit_in (model, i, size)) < 0)
        continue;
      if (is_empty (model, i) && SUPER (i)->size >= least + MIB)
        {
          Super tail = *SUPER (i);

          tail.address += least;
          tail.size -= least;
          SUPER (i)->size = least;
          g_array_insert_val (model->supers, i + 1, tail);
          split_piece (model, (guint) found, least);
        }
    }
  return found;
}

static int
obtain (Model *model, guint64 size, guint64 stream)
{
  int found = -1;

  for (guint i = 0; size <= MIB && i < model->supers->len && found < 0; i++)
    if (!SUPER (i)->global && SUPER (i)->stream == stream)
      found = fit_in (model, i, size);
  if (found >= 0)
    return found;
  found = fit_global (model, size);
  if (found >= 0 && size <= MIB)
    {
      Super *super = SUPER (super_of (model, (guint) found));

      super->global = FALSE;
      super->stream = stream;
    }
  return found;
}

/* The least class of the list of the specification that holds @size. */
static guint64
class_of (guint64 size)
{
  guint64 class = 256;

  if (size > G_GUINT64_CONSTANT (1) << 38)
    return G_MAXUINT64;
  for (guint64 doubling = 2048; class < size;)
    if (class < 2048)
      class += 256;
    else
      {
        if (class == 2 * doubling)
          doubling = class;
        class += class == 48 * 1024 ? 6 * 1024 : class == 54 * 1024 ? 10 * 1024 : doubling / 4;
      }
  return class;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  guint64 size;
  int i;

  if (!model->begun)
    start (naive);
  if (!model->begun || request->size > G_MAXINT64)
    return FALSE;
  size = model->classes ? class_of (request->size) : (request->size + 255) / 256 * 256;
  i = obtain (model, size, request->stream);
  if (i < 0)
    {
      for (guint s = 0; s < model->supers->len; s++)
        SUPER (s)->global = TRUE;
      merge_all (model, TRUE);
      i = obtain (model, size, request->stream);
    }
  if (i < 0)
    return FALSE;
  split_piece (model, (guint) i, size);
  PIECE (i)->used = TRUE;
  PIECE (i)->id = id;
  *address = PIECE (i)->address;
  *block = size;
  return TRUE;
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (!PIECE (i)->used || PIECE (i)->id != id)
    i++;
  PIECE (i)->used = FALSE;
  merge_all (model, SUPER (super_of (model, i))->global);
}

#define RMM(text, function) \
  .name = "rmm-arena", .settings = text, .create = function, .start = start, .alloc = alloc, \
  .free = release, .destroy = destroy

const NaiveClass naive_rmm_arena = { RMM ("", create) };
const NaiveClass naive_rmm_arena_small = { RMM ("arena_size=48MiB", create_small) };
const NaiveClass naive_rmm_arena_faulty = { RMM ("arena_size=48MiB,version=24.12", create_small),
                                            .every = 2 };
const NaiveClass naive_rmm_arena_classes = { RMM ("arena_size=96MiB,use_size_classes=yes",
                                                  create_classes) };
