/* proto-write.c - see proto-write.h.
 *
 * The length of a part stands before it, and is known behind it: each part is written first and moved by the bytes of its
 * length.
 */
#include "config.h"

#include <string.h>

#include "base/io/proto-write.h"

/* A repeated field, as proto-list.h declares it. */
typedef struct
{
  gsize n;
  gconstpointer at;
} List;

/* Writes @value to @bytes, of 10; returns how many it took. */
static guint
encode_number (guint8 *bytes, guint64 value)
{
  guint n = 0;

  for (; value > 0x7f; value >>= 7)
    bytes[n++] = (guint8) (value | 0x80);
  bytes[n++] = (guint8) value;
  return n;
}

static void
append_number (GByteArray *out, guint64 value)
{
  guint8 bytes[10];

  g_byte_array_append (out, bytes, encode_number (bytes, value));
}

static void
append_key (GByteArray *out, const GememProtoField *field, guint wire)
{
  append_number (out, (guint64) field->number << 3 | wire);
}

/* What stands in @out from @start on gets its length before it. */
static void
insert_length (GByteArray *out, guint start)
{
  guint8 bytes[10];
  const guint size = out->len - start, n = encode_number (bytes, size);

  g_byte_array_set_size (out, out->len + n);
  memmove (out->data + start + n, out->data + start, size);
  memcpy (out->data + start, bytes, n);
}

static void
append_one (GByteArray *out, const GememProtoField *field, gconstpointer at)
{
  append_key (out, field, GEMEM_PROTO_WIRE_BYTES);
  const guint start = out->len;
  if (field->kind == GEMEM_PROTO_MESSAGE)
    gemem_proto_append (out, field->message, at);
  else
    g_byte_array_append (out, at, (guint) strlen (at));
  insert_length (out, start);
}

static void
append_list (GByteArray *out, const GememProtoField *field, const List *list)
{
  if (field->kind != GEMEM_PROTO_NUMBER)
    {
      for (gsize i = 0; i < list->n; i++)
        append_one (out, field, ((gconstpointer const *) list->at)[i]);
      return;
    }
  if (list->n == 0)
    return;
  append_key (out, field, GEMEM_PROTO_WIRE_BYTES);
  const guint start = out->len;
  for (gsize i = 0; i < list->n; i++)
    append_number (out, (guint64) ((const gint64 *) list->at)[i]);
  insert_length (out, start);
}

void
gemem_proto_append (GByteArray *out, const GememProtoMessage *type, gconstpointer message)
{
  for (const GememProtoField *field = type->fields; field->name != NULL; field++)
    {
      gconstpointer at = (const char *) message + field->offset;
      if (field->repeated)
        append_list (out, field, at);
      else if (field->kind != GEMEM_PROTO_NUMBER)
        {
          if (*(gconstpointer const *) at != NULL)
            append_one (out, field, *(gconstpointer const *) at);
        }
      else if (*(const gint64 *) at != 0)
        {
          append_key (out, field, GEMEM_PROTO_WIRE_VARINT);
          append_number (out, (guint64) * (const gint64 *) at);
        }
    }
}
