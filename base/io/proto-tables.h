/* proto-tables.h - the tables by which the messages in the list GEMEM_PROTO_LIST are read: once a
 * list, in a .c file; see proto-read.h. */
#include "base/io/proto-read.h"

#define BEGIN(Message) static const GememProtoField fields_of_##Message[] = {
#define END(Message) \
  { \
    NULL \
  } \
  } \
  ; \
  const GememProtoMessage gemem_proto_##Message = { sizeof (Message), fields_of_##Message };
#define ROW(Message, number, field, kind, repeated, message) \
  { #field, number, kind, repeated, G_STRUCT_OFFSET (Message, field), message },
#define NUMBER(Message, number, field) ROW (Message, number, field, GEMEM_PROTO_NUMBER, FALSE, NULL)
#define NUMBERS(Message, number, field) ROW (Message, number, field, GEMEM_PROTO_NUMBER, TRUE, NULL)
#define TEXT(Message, number, field) ROW (Message, number, field, GEMEM_PROTO_TEXT, FALSE, NULL)
#define TEXTS(Message, number, field) ROW (Message, number, field, GEMEM_PROTO_TEXT, TRUE, NULL)
#define PRINTABLE(Message, number, field) \
  ROW (Message, number, field, GEMEM_PROTO_PRINTABLE, TRUE, NULL)
#define MESSAGE(Message, number, field, T) \
  ROW (Message, number, field, GEMEM_PROTO_MESSAGE, FALSE, &gemem_proto_##T)
#define MESSAGES(Message, number, field, T) \
  ROW (Message, number, field, GEMEM_PROTO_MESSAGE, TRUE, &gemem_proto_##T)

#include GEMEM_PROTO_LIST

#undef BEGIN
#undef END
#undef ROW
#undef NUMBER
#undef NUMBERS
#undef TEXT
#undef TEXTS
#undef PRINTABLE
#undef MESSAGE
#undef MESSAGES
