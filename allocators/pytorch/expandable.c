/* expandable.c - `pytorch-expandable`: `pytorch-caching` with expandable_segments, under a name of
 * its own.
 *
 * Why: people ask for "expandable segments" as if it were another allocator; it is one setting.
 * Origin: peers.md 1a.6.
 */
#include "config.h"

#include "allocators/shorthand.h"

extern const GememAllocatorClass gemem_pytorch_caching_class;

static const GememAllocatorClass *
choose (GPtrArray *settings, GError **error)
{
  gboolean given = FALSE;

  for (guint i = 0; i < settings->len; i++)
    given |= g_ascii_strcasecmp (((GememSetting *) settings->pdata[i])->key, "expandable_segments")
             == 0;
  if (!given)
    gemem_settings_add (settings, "expandable_segments", "yes");
  return &gemem_pytorch_caching_class;
}

const GememShorthand gemem_pytorch_expandable_shorthand = {
  .base = { .name = "pytorch-expandable",
            .aliases = "expandable-segments",
            .summary = "PyTorch's CUDA caching allocator with expandable_segments:True",
            .origin = "peers.md 1a.6",
            .params = NULL,
            .known_as = "expandable_segments|ExpandableSegment" },
  .of = &gemem_pytorch_caching_class,
  .choose = choose
};
