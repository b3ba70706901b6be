/* proto-list.h - makes of the list GEMEM_PROTO_LIST, which whoever includes this defines, the structs
 * of its messages; with GEMEM_PROTO_TABLES, in one .c file, the tables by which they are read: see
 * proto-read.h. */
#include "base/io/proto-read.h"

/* clang-format off */
#ifdef GEMEM_PROTO_TABLES
#define ROW(M, number, f, kind, repeated, message) { #f, number, GEMEM_PROTO_##kind, repeated, G_STRUCT_OFFSET (M, f), message },
#define BEGIN(M) static const GememProtoField fields_of_##M[] = {
#define END(M) { NULL } }; const GememProtoMessage gemem_proto_##M = { sizeof (M), fields_of_##M };
#define NUMBER(M, number, f) ROW (M, number, f, NUMBER, FALSE, NULL)
#define NUMBERS(M, number, f) ROW (M, number, f, NUMBER, TRUE, NULL)
#define TEXT(M, number, f) ROW (M, number, f, TEXT, FALSE, NULL)
#define TEXTS(M, number, f) ROW (M, number, f, TEXT, TRUE, NULL)
#define PRINTABLE(M, number, f) ROW (M, number, f, PRINTABLE, TRUE, NULL)
#define MESSAGE(M, number, f, T) ROW (M, number, f, MESSAGE, FALSE, &gemem_proto_##T)
#define MESSAGES(M, number, f, T) ROW (M, number, f, MESSAGE, TRUE, &gemem_proto_##T)
#else
#define ROW(type, f) struct { gsize n; type *at; } f;
#define BEGIN(M) typedef struct M M; extern const GememProtoMessage gemem_proto_##M; struct M {
#define END(M) };
#define NUMBER(M, number, f) gint64 f;
#define NUMBERS(M, number, f) ROW (gint64, f)
#define TEXT(M, number, f) const char *f;
#define TEXTS(M, number, f) ROW (const char *, f)
#define PRINTABLE(M, number, f) ROW (const char *, f)
#define MESSAGE(M, number, f, T) struct T *f;
#define MESSAGES(M, number, f, T) ROW (struct T *, f)
#endif
/* clang-format on */

#include GEMEM_PROTO_LIST

#undef ROW
#undef BEGIN
#undef END
#undef NUMBER
#undef NUMBERS
#undef TEXT
#undef TEXTS
#undef PRINTABLE
#undef MESSAGE
#undef MESSAGES
