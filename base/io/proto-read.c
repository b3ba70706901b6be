/* proto-read.c - reads the listed fields of a protobuf message; see proto-read.h.
 *
 * A walk over the wire format: a listed field goes where its row says, any other is skipped.  What is
 * made lies in chunks that the caller frees at once.  A list grows by doubling; what it leaves behind
 * counts like the rest.
 *
 * Invariants: memory is bounded by 1 GiB, and by MAX_RATIO times the bytes of listed fields, because
 * a message of two bytes becomes a struct: a small file that unpacks to many of them ends early.
 * Cost: one pass.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/proto-read.h"

#define MAX_DEPTH 100
#define MAX_MEMORY ((guint64) 1 << 30)
#define MAX_RATIO 24
#define CHUNK ((gsize) 1 << 16)
#define FREE_CHUNKS 256   /* to which MAX_RATIO does not apply */
#define MAX_NUMBERS 65536 /* in a message: dimensions, subgraphs */
#define MAX_STRING 2040   /* two such strings and a few characters fit into one JSON text */

typedef struct
{
  GememInput *input;
  GPtrArray *memory; /* chunks */
  char *free;        /* what is left of the last chunk */
  gsize left;
  guint64 total;   /* bytes in chunks */
  guint64 skipped; /* bytes of the input */
  GError **error;
} Walk;

/* A repeated field, as proto-list.h declares it. */
typedef struct
{
  gsize n;
  gpointer at;
} List;

static gboolean G_GNUC_PRINTF (2, 3) fail (const Walk *walk, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (walk->error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: byte %" G_GUINT64_FORMAT ": %s",
               gemem_input_name (walk->input), gemem_input_offset (walk->input), text);
  return FALSE;
}

static gboolean
fail_cut (const Walk *walk)
{
  return fail (walk, "the file ends within a message; fetch it again");
}

/* Sets *@ended if the input is at @end, the end of the current message in bytes of the input
 * (G_MAXUINT64: the end of the file). */
static gboolean
at_end (const Walk *walk, guint64 end, gboolean *ended)
{
  const guint8 *data;
  gssize size;

  if (end != G_MAXUINT64)
    {
      *ended = gemem_input_offset (walk->input) >= end;
      return TRUE;
    }
  size = gemem_input_fill (walk->input, 1, &data, walk->error);
  *ended = size == 0;
  return size >= 0;
}

/* Reads a number, which must end before @end. */
static gboolean
read_varint (const Walk *walk, guint64 end, guint64 *value)
{
  const guint8 *data;
  const gssize size = gemem_input_fill (walk->input, 10, &data, walk->error);
  const guint64 most = MIN ((guint64) MAX (size, 0), end - gemem_input_offset (walk->input));

  if (size < 0)
    return FALSE;
  *value = 0;
  for (guint i = 0; i < most && i < 10; i++)
    {
      *value |= (guint64) (data[i] & 0x7f) << (7 * i);
      if ((data[i] & 0x80) == 0)
        {
          gemem_input_consume (walk->input, (gssize) i + 1);
          return TRUE;
        }
    }
  return most >= 10 ? fail (
             walk,
             "a number of more than 64 bits; this is no protobuf message of the expected kind")
                    : fail_cut (walk);
}

static gboolean
skip (const Walk *walk, guint64 end, guint64 n)
{
  return n <= end - gemem_input_offset (walk->input)
             ? gemem_input_skip (walk->input, n, walk->error)
             : fail_cut (walk);
}

/* ---- memory */

/* @size bytes of zero, or NULL after fail(). */
static gpointer
take (Walk *walk, gsize size)
{
  size = (size + 7) & ~(gsize) 7;
  if (size > walk->left)
    {
      const guint64 read = gemem_input_offset (walk->input) - walk->skipped;
      const char *too_much;

      walk->left = MAX (size, CHUNK);
      walk->total += walk->left;
      too_much = walk->total > MAX_MEMORY ? "more than 1 GiB of nodes, names and shapes"
                 : walk->total > FREE_CHUNKS * CHUNK + MAX_RATIO * read
                     ? "messages that hold next to nothing"
                     : NULL;
      if (too_much != NULL)
        {
          fail (walk, "%s; this is no model of a program", too_much);
          return NULL;
        }
      walk->free = g_malloc0 (walk->left);
      g_ptr_array_add (walk->memory, walk->free);
    }
  walk->left -= size;
  walk->free += size;
  return walk->free - size;
}

/* The place of one more element of @list, of 8 bytes; NULL after fail(). */
static gpointer
append (Walk *walk, List *list)
{
  G_STATIC_ASSERT (sizeof (gpointer) == sizeof (gint64));
  if (list->n == 0 || (list->n >= 2 && (list->n & (list->n - 1)) == 0))
    {
      gpointer longer = take (walk, MAX (2, 2 * list->n) * sizeof (gint64));

      if (longer == NULL)
        return NULL;
      if (list->n > 0)
        memcpy (longer, list->at, list->n * sizeof (gint64));
      list->at = longer;
    }
  return (gint64 *) list->at + list->n++;
}

/* ---- fields */

/* TRUE for printable text: messages are one line, so a name must not contain control characters. */
static gboolean
is_name (const char *text, gsize length)
{
  for (gsize i = 0; i < length; i++)
    if (g_ascii_iscntrl (text[i]))
      return FALSE;
  return g_utf8_validate (text, (gssize) length, NULL);
}

/* @lenient: a string that is no valid name is left empty. */
static gboolean
read_text (Walk *walk, guint64 length, gboolean lenient, const char **text)
{
  const guint8 *data;
  gssize size;
  char *copy;

  *text = "";
  if (length == 0)
    return TRUE;
  if (length > MAX_STRING)
    return lenient ? gemem_input_skip (walk->input, length, walk->error)
                   : fail (walk, "a name of %" G_GUINT64_FORMAT " bytes; the most is %d", length,
                           MAX_STRING);
  size = gemem_input_fill (walk->input, (gssize) length, &data, walk->error);
  if (size < 0)
    return FALSE;
  if ((guint64) size < length)
    return fail_cut (walk);
  if (is_name ((const char *) data, (gsize) length))
    {
      copy = take (walk, (gsize) length + 1);
      if (copy == NULL)
        return FALSE;
      *text = memcpy (copy, data, (gsize) length);
    }
  else if (!lenient)
    return fail (walk, "a name that is not printable UTF-8; correct it or fetch the file again");
  gemem_input_consume (walk->input, (gssize) length);
  return TRUE;
}

/* Reads a number of a message, of which *@numbers were there before. */
static gboolean
read_number (Walk *walk, const GememProtoField *field, gpointer at, guint64 end, guint *numbers)
{
  if (++*numbers > MAX_NUMBERS)
    return fail (walk, "more than %d numbers in a message; this is no model of a program",
                 MAX_NUMBERS);
  if (field->repeated && (at = append (walk, at)) == NULL)
    return FALSE;
  return read_varint (walk, end, at);
}

static gboolean read_message (Walk *walk, const GememProtoMessage *type, gpointer message,
                              guint64 end, guint depth);

/* Reads @field, whose tag was read, into the struct @message. */
static gboolean
read_field (Walk *walk, const GememProtoField *field, gpointer message, guint wire, guint64 end,
            guint depth, guint *numbers)
{
  gpointer at = (char *) message + field->offset;
  const gboolean number = field->kind == GEMEM_PROTO_NUMBER;
  guint64 length;

  if (number
          ? wire != GEMEM_PROTO_WIRE_VARINT && (wire != GEMEM_PROTO_WIRE_BYTES || !field->repeated)
          : wire != GEMEM_PROTO_WIRE_BYTES)
    return fail (walk,
                 "field '%s' has another type than it should; this is no protobuf message of the "
                 "expected kind",
                 field->name);
  if (wire == GEMEM_PROTO_WIRE_VARINT)
    return read_number (walk, field, at, end, numbers);
  if (!read_varint (walk, end, &length))
    return FALSE;
  if (length > end - gemem_input_offset (walk->input))
    return fail_cut (walk);
  end = gemem_input_offset (walk->input) + length;
  if (number)
    {
      while (gemem_input_offset (walk->input) < end)
        if (!read_number (walk, field, at, end, numbers))
          return FALSE;
      return TRUE;
    }
  if (field->repeated && (at = append (walk, at)) == NULL)
    return FALSE;
  if (field->kind != GEMEM_PROTO_MESSAGE)
    return read_text (walk, length, field->kind == GEMEM_PROTO_PRINTABLE, at);
  if (*(gpointer *) at == NULL) /* else what follows is added to it */
    *(gpointer *) at = take (walk, field->message->size);
  return *(gpointer *) at != NULL
         && read_message (walk, field->message, *(gpointer *) at, end, depth + 1);
}

static gboolean
skip_field (const Walk *walk, guint wire, guint64 end)
{
  guint64 value;

  switch (wire)
    {
    case GEMEM_PROTO_WIRE_VARINT:
      return read_varint (walk, end, &value);
    case GEMEM_PROTO_WIRE_64BIT:
      return skip (walk, end, 8);
    case GEMEM_PROTO_WIRE_32BIT:
      return skip (walk, end, 4);
    case GEMEM_PROTO_WIRE_BYTES:
      return read_varint (walk, end, &value) && skip (walk, end, value);
    default:
      return fail (walk, "a field of type %u; this is no protobuf message of the expected kind",
                   wire);
    }
}

static gboolean
read_message (Walk *walk, const GememProtoMessage *type, gpointer message, guint64 end, guint depth)
{
  gboolean ended;
  guint64 tag;
  guint numbers = 0;

  if (depth > MAX_DEPTH)
    return fail (walk, "messages are nested more than %d deep; this is no model of a program",
                 MAX_DEPTH);
  while (at_end (walk, end, &ended) && !ended)
    {
      const GememProtoField *field = type->fields;

      if (!read_varint (walk, end, &tag))
        return FALSE;
      if (tag >> 3 == 0 || tag > G_MAXUINT32)
        return fail (walk,
                     "a field numbered %" G_GUINT64_FORMAT
                     "; this is no protobuf message of the expected kind",
                     tag >> 3);
      while (field->name != NULL && field->number != tag >> 3)
        field++;
      const guint64 from = gemem_input_offset (walk->input);

      if (field->name != NULL ? !read_field (walk, field, message, tag & 7, end, depth, &numbers)
                              : !skip_field (walk, tag & 7, end))
        return FALSE;
      if (field->name == NULL)
        walk->skipped += gemem_input_offset (walk->input) - from;
    }
  return ended;
}

gpointer
gemem_proto_read (GememInput *input, const GememProtoMessage *type, guint index, GPtrArray *memory,
                  GError **error)
{
  Walk walk = { .input = input, .memory = memory, .error = error };
  gpointer message = take (&walk, type->size);

  if (index == 0)
    return read_message (&walk, type, message, G_MAXUINT64, 0) ? message : NULL;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: a file of this format holds one graph; leave out #%u", gemem_input_name (input),
               index);
  return NULL;
}
