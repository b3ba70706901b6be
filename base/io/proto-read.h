/* proto-read.h - reads the declared fields of a protobuf message from a file of any size. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/io/input.h"
#include "base/macros.h"

/* The rest of @input as a message of @type.  Fields that @type does not declare are skipped and not
 * stored, so weights of gigabytes cost no memory.  Free with protobuf_c_message_free_unpacked().
 * Strings are printable UTF-8 of at most 2040 bytes; a field of type bytes is such a string too, or
 * left empty.
 * Errors: GEMEM_ERROR_INPUT "FILE: byte N: what; what to do": cut off, not this format, nested more
 * than 100 deep, more than 256 MiB of declared fields, 1 GiB unpacked, or
 * 65536 numbers in a message. */
ProtobufCMessage *gemem_proto_read (GememInput *input, const ProtobufCMessageDescriptor *type,
                                    GError **error);
/* The same for a format with one message per file: @index, the number of the requested graph, must
 * be 0. */
ProtobufCMessage *gemem_proto_read_only (GememInput *input, const ProtobufCMessageDescriptor *type,
                                         guint index, GError **error);
