/* naive-cupy.c - CuPy's pool, from peers.md 1i.1: an array of buffers, each with an array of chunks. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 offset, size;
  guint32 id; /* 0: free */
} Chunk;

typedef struct
{
  guint64 address, stream;
  GArray *chunks;
} Buffer;

typedef struct
{
  Naive base;
  guint64 limit, total;
  GPtrArray *buffers; /* Buffer, by address */
} Model;

static void
free_buffer (gpointer data)
{
  g_array_unref (((Buffer *) data)->chunks);
  g_free (data);
}

static Chunk *
chunk_at (const Buffer *buffer, guint i)
{
  return &g_array_index (buffer->chunks, Chunk, i);
}

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->limit = G_MAXUINT64;
  model->buffers = g_ptr_array_new_with_free_func (free_buffer);
  return &model->base;
}

static Naive *
create_limited (void)
{
  Naive *naive = create ();

  ((Model *) naive)->limit = 70 * MIB;
  return naive;
}

static void
destroy (Naive *naive)
{
  g_ptr_array_unref (((Model *) naive)->buffers);
}

static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = model->buffers->len; i-- > 0;)
    {
      const Buffer *buffer = model->buffers->pdata[i];

      if (buffer->chunks->len > 1 || chunk_at (buffer, 0)->id != 0)
        continue;
      naive_device_free (&naive->device, buffer->address);
      model->total -= chunk_at (buffer, 0)->size;
      g_ptr_array_remove_index (model->buffers, i);
    }
}

static Buffer *
new_buffer (Model *model, guint64 size, guint64 stream)
{
  guint64 address;
  Buffer *buffer;
  guint at = 0;

  if (size > model->limit)
    return NULL;
  if (model->total + size > model->limit)
    trim (&model->base);
  if (model->total + size > model->limit)
    return NULL;
  address = naive_device_malloc (&model->base.device, size);
  for (guint i = 0; address == 0 && i < 2; i++)
    {
      trim (&model->base);
      address = naive_device_malloc (&model->base.device, size);
    }
  if (address == 0)
    return NULL;
  model->total += size;
  buffer = g_new0 (Buffer, 1);
  buffer->address = address;
  buffer->stream = stream;
  buffer->chunks = g_array_new (FALSE, FALSE, sizeof (Chunk));
  g_array_append_val (buffer->chunks, ((Chunk){ 0, size, 0 }));
  while (at < model->buffers->len && ((Buffer *) model->buffers->pdata[at])->address < address)
    at++;
  g_ptr_array_insert (model->buffers, (int) at, buffer);
  return buffer;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Model *model = (Model *) naive;
  Buffer *best = NULL;
  guint index = 0;

  if (request->size > G_MAXINT64)
    return FALSE;
  *size = (request->size + 511) / 512 * 512;
  for (guint i = 0; i < model->buffers->len; i++)
    {
      Buffer *buffer = model->buffers->pdata[i];

      for (guint k = 0; k < buffer->chunks->len && buffer->stream == request->stream; k++)
        if (chunk_at (buffer, k)->id == 0 && chunk_at (buffer, k)->size >= *size
            && (best == NULL || chunk_at (buffer, k)->size < chunk_at (best, index)->size))
          {
            best = buffer;
            index = k;
          }
    }
  if (best == NULL && (best = new_buffer (model, *size, request->stream)) == NULL)
    return FALSE;
  if (chunk_at (best, index)->size > *size)
    {
      Chunk rest = *chunk_at (best, index);

      rest.offset += *size;
      rest.size -= *size;
      chunk_at (best, index)->size = *size;
      g_array_insert_val (best->chunks, index + 1, rest);
    }
  chunk_at (best, index)->id = id + 1;
  *address = best->address + chunk_at (best, index)->offset;
  return TRUE;
}

static void
merge_free (Buffer *buffer)
{
  for (guint k = 0; k + 1 < buffer->chunks->len;)
    if (chunk_at (buffer, k)->id == 0 && chunk_at (buffer, k + 1)->id == 0)
      {
        chunk_at (buffer, k)->size += chunk_at (buffer, k + 1)->size;
        g_array_remove_index (buffer->chunks, k + 1);
      }
    else
      k++;
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->buffers->len; i++)
    {
      Buffer *buffer = model->buffers->pdata[i];

      for (guint k = 0; k < buffer->chunks->len; k++)
        if (chunk_at (buffer, k)->id == id + 1)
          {
            chunk_at (buffer, k)->id = 0;
            merge_free (buffer);
            return;
          }
    }
}

#define CUPY(text, function) \
  .name = "cupy-pool", .settings = text, .create = function, .alloc = alloc, .free = release, \
  .trim = trim, .destroy = destroy

const NaiveClass naive_cupy = { CUPY ("", create) };
const NaiveClass naive_cupy_faulty = { CUPY ("limit=none", create), .every = 5 };
const NaiveClass naive_cupy_limited = { CUPY ("limit=70MiB", create_limited) };
