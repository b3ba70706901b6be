/* proto-read.h - reading a protobuf message of which only some fields are wanted, from a file of
 * any size. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/io/input.h"
#include "base/macros.h"

/* The rest of @input as a message of @type.  Fields that @type does not declare are passed over
 * without being stored, so weights of gigabytes cost nothing.  Free with
 * protobuf_c_message_free_unpacked().  Strings are printable UTF-8 of at most 2040 bytes; a field
 * of type bytes is such a string too, or empty where it is none.
 * Errors: GEMEM_ERROR_INPUT "FILE: byte N: what; what to do": cut off, not this format, nested more
 * than 100 deep, more than 256 MiB of wanted fields. */
ProtobufCMessage *gemem_proto_read (GememInput *input, const ProtobufCMessageDescriptor *type,
                                    GError **error);
/* The same for a format whose files hold one message: @index, that of the graph which is wanted,
 * must be 0. */
ProtobufCMessage *gemem_proto_read_only (GememInput *input, const ProtobufCMessageDescriptor *type,
                                         guint index, GError **error);
