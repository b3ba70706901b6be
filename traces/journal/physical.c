/* physical.c - counts the handles and mappings that hold physical memory of the
 * virtual-memory calls (events: state.c).
 *
 * Invariants: memory is freed when its last handle is released and its last mapping is removed, in
 * any order; unknown handles and addresses (memory of another process) are ignored.  Cost: a few
 * lookups for each handle or mapping.
 */
#include "config.h"

#include "traces/journal/journal-private.h"

void
gemem_journal_create (JournalState *state, const JournalRecord *record)
{
  guint64 id = gemem_journal_emit_alloc (state, record, 0, JOURNAL_KIND_PHYSICAL);
  JournalPhysical *memory = gemem_idmap_insert (state->physical, id, NULL);
  memory->device = record->device;
  memory->references = 1;
  memory->mappings = 0;
  *(guint64 *) gemem_idmap_insert (state->handles, record->p, NULL) = id;
}

/* Frees block @id if no handle or mapping holds it. */
static void
settle (JournalState *state, guint64 id)
{
  const JournalPhysical *memory = gemem_idmap_lookup (state->physical, id);
  if (memory == NULL || memory->references > 0 || memory->mappings > 0)
    return;
  gemem_journal_emit (state, GEMEM_EVENT_FREE, memory->device, id);
  gemem_idmap_remove (state->physical, id, NULL);
}

/* Counts one more handle of the memory mapped at an address. */
void
gemem_journal_retain (JournalState *state, const JournalRecord *record)
{
  const JournalMapping *mapping = gemem_idmap_lookup (state->mappings, record->q);
  const guint64 *known = gemem_idmap_lookup (state->handles, record->p);
  guint64 id = mapping != NULL ? mapping->id : known != NULL ? *known : 0;
  JournalPhysical *memory = gemem_idmap_lookup (state->physical, id);

  if (memory == NULL)
    return;
  memory->references++;
  *(guint64 *) gemem_idmap_insert (state->handles, record->p, NULL) = id;
}

void
gemem_journal_release (JournalState *state, const JournalRecord *record)
{
  const guint64 *id = gemem_idmap_lookup (state->handles, record->p);
  JournalPhysical *memory = id != NULL ? gemem_idmap_lookup (state->physical, *id) : NULL;

  if (memory == NULL || memory->references == 0)
    {
      gemem_journal_unknown_free (state, record->p);
      return;
    }
  guint64 released = *id;
  if (--memory->references == 0)
    gemem_idmap_remove (state->handles, record->p, NULL);
  settle (state, released);
}

void
gemem_journal_map_page (JournalState *state, const JournalRecord *record)
{
  const guint64 *id = gemem_idmap_lookup (state->handles, record->r);
  JournalPhysical *memory = id != NULL ? gemem_idmap_lookup (state->physical, *id) : NULL;
  gboolean existed;

  if (memory == NULL || record->q == 0) /* memory of another process */
    return;
  guint64 mapped = *id;
  JournalMapping *mapping = gemem_idmap_insert (state->mappings, record->p, &existed);
  JournalMapping old = *mapping;
  *mapping = (JournalMapping){ record->q, mapped };
  memory->mappings++;
  JournalPhysical *before = existed ? gemem_idmap_lookup (state->physical, old.id) : NULL;
  if (before != NULL)
    {
      before->mappings--;
      settle (state, old.id);
    }
}

/* Removes the adjacent mappings in the range. */
void
gemem_journal_unmap (JournalState *state, const JournalRecord *record)
{
  guint64 address = record->p, left = record->q;
  JournalMapping mapping;

  while (left > 0 && gemem_idmap_remove (state->mappings, address, &mapping))
    {
      JournalPhysical *memory = gemem_idmap_lookup (state->physical, mapping.id);
      if (memory != NULL)
        memory->mappings--;
      settle (state, mapping.id);
      address += mapping.size;
      left -= MIN (left, mapping.size);
    }
}
