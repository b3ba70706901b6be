/* unmodelled.h - PaddlePaddle's memory flags that no allocator here models: each with a reason, so
 * that its refusal differs from that of a typing error. */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *name; /* without FLAGS_ */
  /* value that is accepted because it has no effect; NULL: every value is accepted */
  const char *nothing;
  const char *reason; /* continues "it ..." */
} GememPaddleUnmodelled;

/* Sorted by name; ends with a NULL name. */
extern const GememPaddleUnmodelled gemem_paddle_unmodelled[];

/* The entry of @key, with FLAGS_ or without; NULL: none. */
const GememPaddleUnmodelled *gemem_paddle_unmodelled_find (const char *key);

GEMEM_END_DECLS
