/* params.c - see params.h. */
#include "config.h"

#include "base/error.h"
#include "planners/paddle/params.h"

gboolean
gemem_paddle_check_plan_alignment (guint64 alignment, GError **error)
{
  if ((alignment & (alignment - 1)) == 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "alignment: %" G_GUINT64_FORMAT " is no power of two; try 256", alignment);
  return FALSE;
}
