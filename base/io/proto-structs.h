/* proto-structs.h - the structs of the messages in the list GEMEM_PROTO_LIST, which whoever includes
 * this defines; see proto-read.h. */
#include "base/io/proto-read.h"

#define BEGIN(Message) \
  typedef struct Message Message; \
  extern const GememProtoMessage gemem_proto_##Message; \
  struct Message \
  {
#define END(Message) \
  } \
  ;
#define NUMBER(Message, number, field) gint64 field;
#define TEXT(Message, number, field) const char *field;
#define MESSAGE(Message, number, field, T) struct T *field;
#define REPEATED(type, field) \
  struct \
  { \
    gsize n; \
    type *at; \
  } field;
#define NUMBERS(Message, number, field) REPEATED (gint64, field)
#define TEXTS(Message, number, field) REPEATED (const char *, field)
#define PRINTABLE(Message, number, field) REPEATED (const char *, field)
#define MESSAGES(Message, number, field, T) REPEATED (struct T *, field)

#include GEMEM_PROTO_LIST

#undef BEGIN
#undef END
#undef NUMBER
#undef TEXT
#undef MESSAGE
#undef REPEATED
#undef NUMBERS
#undef TEXTS
#undef PRINTABLE
#undef MESSAGES
