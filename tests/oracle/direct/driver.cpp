/* driver.cpp - the smallest driver: a device call per request, as `direct` makes it.
 *
 * It needs no wheel, so it tries driver.h and device.h in every check, and shows what a driver is.
 */
#include "driver.h"

class Direct final : public oracle::System
{
public:
  void
  start (const oracle::Settings &) override
  {
  }
  bool
  alloc (oracle::Block &block, bool) override
  {
    block.address = oracle_device.malloc (block.size);
    block.block = block.size;
    failed += block.address == 0;
    return block.address != 0;
  }
  void
  free (oracle::Block &block) override
  {
    oracle_device.free (block.address);
  }
  bool
  has_use () const override
  {
    return false;
  }
  bool
  has_trim () const override
  {
    return false;
  }
  void
  stats (Stats &all) override
  {
    all["failed_allocs"] = failed;
  }

private:
  uint64_t failed = 0;
};

int
main (int argc, char **argv)
{
  static Direct direct;
  return oracle::drive (argc, argv, direct);
}
