/* unmodelled.h - PaddlePaddle's memory flags that nothing here stands for: each has a name and a
 * reason, so that it is not refused as a typing error. */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *name; /* without FLAGS_ */
  /* the value that changes nothing; NULL: no value changes where memory lies */
  const char *nothing;
  const char *reason; /* "it ..." */
} GememPaddleUnmodelled;

/* In order of names; ends with a NULL name. */
extern const GememPaddleUnmodelled gemem_paddle_unmodelled[];

/* That of @key, with FLAGS_ or without; NULL: not one of them. */
const GememPaddleUnmodelled *gemem_paddle_unmodelled_find (const char *key);

GEMEM_END_DECLS
