/* caching-versions.c - what differs between the releases of PyTorch that `version=` names.
 *
 * Why one table: an upgrade of PyTorch changes decisions in small ways, and users ask what their
 * own recording would do.  Every difference is a column here, and nothing else asks for a release.
 *
 * Invariants: rows ascend, in the order of the choices of `version`.
 * Origin: peers.md 1a.14; each column was found, and each entry checked, by running the real
 * binaries.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

/* name, ties, pool_holds, trim_refused, rest_replaces, range_suffices, strict, own */
const CachingVersion gemem_caching_versions[CACHING_RELEASES] = {
  { "2.6", CACHING_TIES_ADDRESS, TRUE, TRUE, TRUE, FALSE, TRUE, CACHING_OWN_BYPASSED },
  { "2.8", CACHING_TIES_ADDRESS, TRUE, FALSE, TRUE, FALSE, TRUE, CACHING_OWN_REFUSED },
  { "2.9", CACHING_TIES_ADDRESS, TRUE, FALSE, TRUE, FALSE, TRUE, CACHING_OWN_REFUSED },
  { "2.10", CACHING_TIES_ADDRESS, TRUE, FALSE, FALSE, FALSE, FALSE, CACHING_OWN_KEPT },
  { "2.11", CACHING_TIES_ADDRESS, TRUE, FALSE, FALSE, FALSE, FALSE, CACHING_OWN_KEPT },
  { "2.12.1", CACHING_TIES_BLOCK, TRUE, FALSE, FALSE, FALSE, FALSE, CACHING_OWN_KEPT },
  { "2.13", CACHING_TIES_SEGMENT, FALSE, FALSE, FALSE, FALSE, FALSE, CACHING_OWN_KEPT },
  { "2.15", CACHING_TIES_SEGMENT, FALSE, FALSE, FALSE, TRUE, FALSE, CACHING_OWN_KEPT },
};
