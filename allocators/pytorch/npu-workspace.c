/* npu-workspace.c - the workspaces of `torch-npu`: memory that operators use while they run, one
 * block for each stream.
 *
 * Why separate: it is an allocator of its own in the real system, outside the limit and outside
 * what is counted as reserved.
 *
 * A block grows to the largest request and never shrinks; every request of the stream gets its
 * start.  Two requests of one stream that live at once would get the same memory in the real
 * system; here the second is refused, as a trace that means it says something else.
 *
 * Invariants: at most one block per stream; `held` is the sum of the blocks with an address; the
 * handle of a workspace is its NpuWorkspace.
 * Cost: O(streams) per request.
 * Origin: peers.md 1g.7.
 */
#include "config.h"

#include "allocators/pytorch/npu.h"

#define PAD 32 /* whatever the requests of tensors have */
#define UNIT (2 * GEMEM_MIB)

void
gemem_npu_workspaces_init (NpuWorkspaces *workspaces)
{
  workspaces->blocks = g_ptr_array_new_with_free_func (g_free);
}

static NpuWorkspace *
workspace_of (NpuWorkspaces *workspaces, guint64 stream)
{
  NpuWorkspace *workspace;

  for (guint i = 0; i < workspaces->blocks->len; i++)
    {
      workspace = g_ptr_array_index (workspaces->blocks, i);
      if (workspace->stream == stream)
        return workspace;
    }
  workspace = g_new0 (NpuWorkspace, 1);
  workspace->stream = stream;
  g_ptr_array_add (workspaces->blocks, workspace);
  return workspace;
}

static void
release (NpuWorkspaces *workspaces, NpuWorkspace *workspace, GememDevice *device)
{
  if (workspace->address != 0)
    {
      gemem_device_free (device, workspace->address, workspace->size);
      workspaces->held -= workspace->size;
    }
  workspace->address = 0;
  workspace->size = 0;
}

gboolean
gemem_npu_workspace_alloc (NpuWorkspaces *workspaces, GememAllocator *allocator,
                           const GememRequest *request, GememBlock *out)
{
  NpuWorkspace *workspace = workspace_of (workspaces, request->stream);
  GememDevice *device = allocator->device;

  if (workspace->live)
    {
      gemem_allocator_refuse (allocator,
                              "stream %" G_GUINT64_FORMAT
                              " has a workspace in use, and torch_npu would hand out the same "
                              "memory; free it before the next request",
                              request->stream);
      return FALSE;
    }
  if (request->size >= CACHING_TOO_LARGE)
    return FALSE;
  if (workspace->size < request->size + PAD)
    {
      if (workspace->address != 0)
        gemem_device_sync (device);
      release (workspaces, workspace, device);
      workspace->size = gemem_align_up (request->size + PAD, UNIT);
      workspace->address = gemem_device_malloc (device, workspace->size, request->stream);
      workspaces->held += workspace->address != 0 ? workspace->size : 0;
    }
  if (workspace->address == 0)
    return FALSE;
  workspace->live = TRUE;
  workspace->last = workspace->size;
  workspace->requested = request->size;
  gemem_caching_stat_raise (&workspaces->allocated, workspace->size);
  out->address = workspace->address;
  out->size = workspace->size;
  out->handle = workspace;
  return TRUE;
}

gboolean
gemem_npu_is_workspace (const NpuWorkspaces *workspaces, const GememBlock *block)
{
  for (guint i = 0; i < workspaces->blocks->len; i++)
    if (g_ptr_array_index (workspaces->blocks, i) == block->handle)
      return TRUE;
  return FALSE;
}

gboolean
gemem_npu_workspace_free (NpuWorkspaces *workspaces, const GememBlock *block)
{
  NpuWorkspace *workspace = block->handle;

  if (!gemem_npu_is_workspace (workspaces, block))
    return FALSE;
  workspace->live = FALSE;
  workspaces->allocated.current -= workspace->last;
  return TRUE;
}

void
gemem_npu_workspaces_empty (NpuWorkspaces *workspaces, GememDevice *device)
{
  for (guint i = 0; i < workspaces->blocks->len; i++)
    {
      NpuWorkspace *workspace = g_ptr_array_index (workspaces->blocks, i);

      if (!workspace->live)
        release (workspaces, workspace, device);
    }
}

void
gemem_npu_workspaces_clear (NpuWorkspaces *workspaces, GememDevice *device)
{
  for (guint i = 0; i < workspaces->blocks->len; i++)
    release (workspaces, g_ptr_array_index (workspaces->blocks, i), device);
  g_ptr_array_unref (workspaces->blocks);
}
