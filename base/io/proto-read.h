/* proto-read.h - reads the listed fields of a protobuf message from a file of any size.
 *
 * The messages of a format are a list, NAME.def, by the public numbers of their fields; the rest of
 * a message is skipped and not stored, so weights of gigabytes cost no memory.  Of such a list
 * proto-list.h makes structs, and the tables by which they are read.  A row is
 *   BEGIN (Message), END (Message)
 *   NUMBER, TEXT (Message, number, field)          gint64, 0 if absent; const char *, NULL if absent
 *   NUMBERS, TEXTS (Message, number, field)        repeated: a struct of n and at[]
 *   PRINTABLE (Message, number, field)             repeated; what is no name is empty
 *   MESSAGE, MESSAGES (Message, number, field, T)  struct T *, NULL if absent; repeated
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"

typedef enum
{
  GEMEM_PROTO_NUMBER,
  GEMEM_PROTO_TEXT,
  GEMEM_PROTO_PRINTABLE,
  GEMEM_PROTO_MESSAGE,
} GememProtoKind;

/* The type of a field on the wire: the low three bits of its key. */
enum
{
  GEMEM_PROTO_WIRE_VARINT = 0,
  GEMEM_PROTO_WIRE_64BIT = 1,
  GEMEM_PROTO_WIRE_BYTES = 2,
  GEMEM_PROTO_WIRE_32BIT = 5,
};

typedef struct _GememProtoMessage GememProtoMessage;

typedef struct
{
  const char *name;
  guint32 number;
  GememProtoKind kind;
  gboolean repeated;
  gsize offset;
  const GememProtoMessage *message;
} GememProtoField;

struct _GememProtoMessage
{
  gsize size;
  const GememProtoField *fields; /* ends with a NULL name */
};

/* The rest of @input as a struct of @type, which @memory owns: a new array that frees with g_free().
 * @index, the number of the requested graph, must be 0.  Texts are printable UTF-8 of at most 2040
 * bytes.  Errors: GEMEM_ERROR_INPUT "FILE: byte N: what; what to do": cut off, not this format, nested
 * more than 100 deep, more than 65536 numbers in a message, more memory than 1 GiB or than 16 MiB and
 * 24 times the bytes of the listed fields. */
gpointer gemem_proto_read (GememInput *input, const GememProtoMessage *type, guint index,
                           GPtrArray *memory, GError **error);
