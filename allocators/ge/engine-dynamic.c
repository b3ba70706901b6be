/* engine-dynamic.c - requests of dynamic memory of `ge`, by programs and by graphs; see
 * engine.h. */
#include "config.h"

#include "allocators/ge/engine.h"

static void
count_retries (GeEngine *ge)
{
  ge->base.retries = ge->hbm->base.retries + (ge->p2p != NULL ? ge->p2p->base.retries : 0)
                     + ge->others.retries;
}

gboolean
gemem_ge_dynamic_alloc_from (GeEngine *ge, GeStack *stack, const GememRequest *request,
                             GememBlock *block)
{
  const gboolean served = gemem_ge_stack_alloc (&stack->base, request, block);

  count_retries (ge);
  return served;
}

gboolean
gemem_ge_dynamic_alloc (GeEngine *ge, const GememRequest *request, GememBlock *block)
{
  gboolean served;

  if (!ge->external)
    return gemem_ge_dynamic_alloc_from (ge, ge->hbm, request, block);
  served = gemem_ge_other_alloc (&ge->others, GE_MEMORY_HBM, request, block);
  count_retries (ge);
  return served;
}

void
gemem_ge_dynamic_free (GeEngine *ge, const GememBlock *block)
{
  if (block->handle == NULL)
    gemem_ge_other_free (&ge->others, block);
  else if (ge->p2p != NULL)
    gemem_ge_pool_free (((GeSpan *) block->handle)->root->pool, block->handle);
  else
    gemem_ge_stack_free (&ge->hbm->base, block, FALSE);
}
