/* proto-write.h - writes structs of listed protobuf messages, the lists of proto-read.h, in protobuf's wire format.
 *
 * Two messages one after the other are one message with the fields of both, so a large one is written in pieces: each a
 * struct with a few of its repeated fields.
 */
#pragma once

#include "base/io/proto-read.h"

/* Appends @message, a struct of @type, to @out: fields in the order of the list, numbers that are 0 and NULLs left out,
 * repeated numbers packed.  Texts must be UTF-8.  O(bytes written), times the depth. */
void gemem_proto_append (GByteArray *out, const GememProtoMessage *type, gconstpointer message);
