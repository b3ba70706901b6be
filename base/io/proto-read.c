/* proto-read.c - reads the requested part of a protobuf message; see proto-read.h.
 *
 * protobuf-c keeps unknown fields, nests without a limit, and reports damage without a reason, on
 * standard error.  Therefore the wire format is walked first: declared fields are checked and
 * copied to a buffer, other fields are skipped.  protobuf-c then unpacks a well-formed buffer.  A
 * copied message may be shorter than the original, so its length always takes five bytes, filled in
 * afterwards.
 *
 * Invariants: the unpacked buffer holds declared fields only, each with the wire type of its
 * declaration.
 * Cost: one pass; memory for twice the declared fields, and for what protobuf-c makes of them: a
 * field of two bytes may become a hundred, so that is counted as well.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/proto-read.h"

#define MAX_DEPTH 100
#define MAX_WANTED (256u << 20)
#define MAX_UNPACKED ((gsize) 1 << 30)
#define MAX_NUMBERS 65536 /* in a message: dimensions, subgraphs */
#define OBJECT 40         /* bytes of a message or string beside its own */
#define MAX_STRING 2040   /* two such strings and a few characters fit into one JSON text */
#define LENGTH_BYTES 5

enum
{
  WIRE_VARINT = 0,
  WIRE_64BIT = 1,
  WIRE_BYTES = 2,
  WIRE_32BIT = 5,
};

typedef struct
{
  GememInput *input;
  GByteArray *wanted;
  gsize *unpacked; /* bytes that `wanted` becomes */
  GError **error;
} Walk;

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

/* ---- copying */

static void
put_varint (GByteArray *bytes, guint64 value)
{
  guint8 byte;

  for (; value >= 0x80; value >>= 7)
    {
      byte = (guint8) (value | 0x80);
      g_byte_array_append (bytes, &byte, 1);
    }
  byte = (guint8) value;
  g_byte_array_append (bytes, &byte, 1);
}

/* Fills in the length of the bytes that follow @at. */
static void
set_length (GByteArray *bytes, guint at)
{
  guint64 length = bytes->len - at - LENGTH_BYTES;

  for (guint i = 0; i < LENGTH_BYTES; i++, length >>= 7)
    bytes->data[at + i] = (guint8) ((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

static gboolean
has_room (const Walk *walk, guint64 n)
{
  return n <= MAX_WANTED - MIN (walk->wanted->len, MAX_WANTED)
         || fail (walk, "more than 256 MiB besides weights; this is no model of a program");
}

/* Counts @n bytes of what protobuf-c makes. */
static gboolean
unpacks (const Walk *walk, gsize n)
{
  *walk->unpacked += n;
  return *walk->unpacked <= MAX_UNPACKED
         || fail (walk, "more than 1 GiB when it is unpacked; this is no model of a program");
}

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
copy_string (const Walk *walk, guint64 length, gboolean lenient)
{
  const guint8 *data;
  gssize size;

  if (length > MAX_STRING && lenient)
    {
      put_varint (walk->wanted, 0);
      return gemem_input_skip (walk->input, length, walk->error);
    }
  if (length > MAX_STRING)
    return fail (walk, "a name of %" G_GUINT64_FORMAT " bytes; the most is %d", length, MAX_STRING);
  if (!has_room (walk, length) || !unpacks (walk, OBJECT + (gsize) length))
    return FALSE;
  size = gemem_input_fill (walk->input, (gssize) length, &data, walk->error);
  if (size < 0)
    return FALSE;
  if ((guint64) size < length)
    return fail_cut (walk);
  if (is_name ((const char *) data, (gsize) length))
    {
      put_varint (walk->wanted, length);
      g_byte_array_append (walk->wanted, data, (guint) length);
    }
  else if (lenient)
    put_varint (walk->wanted, 0);
  else
    return fail (walk, "a name that is not printable UTF-8; correct it or fetch the file again");
  gemem_input_consume (walk->input, (gssize) length);
  return TRUE;
}

/* Counts a number of a message, of which *@numbers were there before. */
static gboolean
takes_number (const Walk *walk, guint *numbers)
{
  return ++*numbers <= MAX_NUMBERS
         || fail (walk, "more than %d numbers in a message; this is no model of a program",
                  MAX_NUMBERS);
}

static gboolean
copy_packed (const Walk *walk, guint64 end, guint *numbers)
{
  const guint at = walk->wanted->len;
  guint64 value;

  g_byte_array_set_size (walk->wanted, at + LENGTH_BYTES);
  while (gemem_input_offset (walk->input) < end)
    {
      if (!has_room (walk, 10) || !unpacks (walk, sizeof value) || !takes_number (walk, numbers)
          || !read_varint (walk, end, &value))
        return FALSE;
      put_varint (walk->wanted, value);
    }
  set_length (walk->wanted, at);
  return TRUE;
}

static gboolean copy_message (const Walk *walk, const ProtobufCMessageDescriptor *type, guint64 end,
                              guint depth);

static gboolean
copy_field (const Walk *walk, const ProtobufCFieldDescriptor *field, guint wire, guint64 end,
            guint depth, guint *numbers)
{
  guint64 value;
  guint at;
  const gboolean number = field->type == PROTOBUF_C_TYPE_INT32
                          || field->type == PROTOBUF_C_TYPE_INT64;

  const gboolean bytes = field->type == PROTOBUF_C_TYPE_BYTES;

  g_assert (number || bytes || field->type == PROTOBUF_C_TYPE_STRING
            || field->type == PROTOBUF_C_TYPE_MESSAGE);
  if (number
          ? wire != WIRE_VARINT && (wire != WIRE_BYTES || field->label != PROTOBUF_C_LABEL_REPEATED)
          : wire != WIRE_BYTES)
    return fail (walk,
                 "field '%s' has another type than it should; this is no protobuf message of the "
                 "expected kind",
                 field->name);
  if (!has_room (walk, 32) || !read_varint (walk, end, &value))
    return FALSE;
  put_varint (walk->wanted, (guint64) field->id << 3 | wire);
  if (wire == WIRE_VARINT)
    {
      put_varint (walk->wanted, value);
      return unpacks (walk, sizeof value) && takes_number (walk, numbers);
    }
  if (value > end - gemem_input_offset (walk->input))
    return fail_cut (walk);
  if (bytes || field->type == PROTOBUF_C_TYPE_STRING)
    return copy_string (walk, value, bytes);
  if (number)
    return copy_packed (walk, gemem_input_offset (walk->input) + value, numbers);
  at = walk->wanted->len;
  g_byte_array_set_size (walk->wanted, at + LENGTH_BYTES);
  if (!unpacks (walk,
                OBJECT + ((const ProtobufCMessageDescriptor *) field->descriptor)->sizeof_message))
    return FALSE;
  if (!copy_message (walk, field->descriptor, gemem_input_offset (walk->input) + value, depth + 1))
    return FALSE;
  set_length (walk->wanted, at);
  return TRUE;
}

static gboolean
skip_field (const Walk *walk, guint wire, guint64 end)
{
  guint64 value;

  switch (wire)
    {
    case WIRE_VARINT:
      return read_varint (walk, end, &value);
    case WIRE_64BIT:
      return skip (walk, end, 8);
    case WIRE_32BIT:
      return skip (walk, end, 4);
    case WIRE_BYTES:
      return read_varint (walk, end, &value) && skip (walk, end, value);
    default:
      return fail (walk, "a field of type %u; this is no protobuf message of the expected kind",
                   wire);
    }
}

static gboolean
copy_message (const Walk *walk, const ProtobufCMessageDescriptor *type, guint64 end, guint depth)
{
  gboolean ended;
  guint64 tag;
  guint numbers = 0;

  if (depth > MAX_DEPTH)
    return fail (walk, "messages are nested more than %d deep; this is no model of a program",
                 MAX_DEPTH);
  while (at_end (walk, end, &ended) && !ended)
    {
      const ProtobufCFieldDescriptor *field;

      if (!read_varint (walk, end, &tag))
        return FALSE;
      if (tag >> 3 == 0 || tag > G_MAXUINT32)
        return fail (walk,
                     "a field numbered %" G_GUINT64_FORMAT
                     "; this is no protobuf message of the expected kind",
                     tag >> 3);
      field = protobuf_c_message_descriptor_get_field (type, (unsigned) (tag >> 3));
      if (field != NULL ? !copy_field (walk, field, tag & 7, end, depth, &numbers)
                        : !skip_field (walk, tag & 7, end))
        return FALSE;
    }
  return ended;
}

ProtobufCMessage *
gemem_proto_read (GememInput *input, const ProtobufCMessageDescriptor *type, GError **error)
{
  g_autoptr (GByteArray) wanted = g_byte_array_new ();
  gsize unpacked = 0;
  const Walk walk = { input, wanted, &unpacked, error };
  ProtobufCMessage *message = NULL;

  if (!copy_message (&walk, type, G_MAXUINT64, 0))
    return NULL;
  message = protobuf_c_message_unpack (type, NULL, wanted->len, wanted->data);
  if (message == NULL)
    fail (&walk, "this is no protobuf message of the expected kind");
  return message;
}

ProtobufCMessage *
gemem_proto_read_only (GememInput *input, const ProtobufCMessageDescriptor *type, guint index,
                       GError **error)
{
  if (index == 0)
    return gemem_proto_read (input, type, error);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: a file of this format holds one graph; leave out #%u", gemem_input_name (input),
               index);
  return NULL;
}
