/* test-pytorch-versions.c - `version` of `pytorch-caching`: what the real binaries of each release
 * decided in short sequences, and which settings strings they accepted.
 *
 * Recorded with the drivers that doc/systems/peers.md 1a.14 speaks of.  Places are in units of 512
 * bytes after the first address of the device; v stands before addresses of ranges.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "allocators/cuda/async.h"
#include "allocators/pytorch/caching.h"
#include "tests/util/vectors.h"

#define UNIT 512
#define MOST 16 /* ids */
#define SECOND G_GUINT64_CONSTANT (1000000000)

/* ---- decisions */

typedef struct
{
  guint versions; /* bits by index of gemem_caching_versions[] */
  const char *conf, *device;
  /* "a ID SIZE [STREAM]", "f ID", "u ID STREAM", "r": empty the cache, "t SECONDS", "B POOL" and
   * "E POOL": begin and end to allocate in it, "C" and "c": begin and end of a capture, "R POOL":
   * release it */
  const char *operations;
  const char
      *expected; /* "PLACE:SIZE" of each request, or "-"; "refused"; = units held at the end */
} Decision;

/* clang-format off */
static const Decision decisions[] = {
  /* D1: large segments bound what an oversize block may waste: 2.6, 2.8, 2.9, 2.10 */
  { 0x0f, "max_split_size_mb:32,large_segment_size_mb:32", "sim:capacity=1073741824,event_latency=0s",
    "a 1 66060288; f 1; a 2 36337976",
    "refused" },
  /* D1: large segments bound what an oversize block may waste: 2.11, 2.12.1, 2.13, 2.15 */
  { 0xf0, "max_split_size_mb:32,large_segment_size_mb:32", "sim:capacity=1073741824,event_latency=0s",
    "a 1 66060288; f 1; a 2 36337976",
    "0:131072 0:131072 = 131072" },
  /* D2: `>` alone, below 2 MiB: 2.6, 2.8, 2.9 */
  { 0x07, "roundup_power2_divisions:[>:4]", "sim:capacity=1073741824,event_latency=0s",
    "a 1 2052608; a 2 4300000",
    "0:4096 4096:10240 = 40960" },
  /* D2: `>` alone, below 2 MiB: 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xf8, "roundup_power2_divisions:[>:4]", "sim:capacity=1073741824,event_latency=0s",
    "a 1 2052608; a 2 4300000",
    "0:4009 4009:10240 = 40960" },
  /* D2: `>` and the slot named last: 2.6, 2.8, 2.9 */
  { 0x07, "roundup_power2_divisions:[64:8,>:4]", "sim:capacity=1073741824,event_latency=0s",
    "a 1 70000000; a 2 140000000",
    "0:163840 163840:327680 = 491520" },
  /* D2: `>` and the slot named last: 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xf8, "roundup_power2_divisions:[64:8,>:4]", "sim:capacity=1073741824,event_latency=0s",
    "a 1 70000000; a 2 140000000",
    "0:147456 147456:327680 = 475136" },
  /* D4: a use inside a capture does not delay the block: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 1; f 1; E 8; c; a 2 25275615",
    "0:53248 0:49367 = 53248" },
  /* D4: freed in a capture, used before: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; C; B 8; f 1; t 10; E 8; c; t 55; a 2 25275615; t 60; a 3 25275615; t 110; a 4 25275615",
    "0:53248 53248:49367 106496:49367 0:49367 = 159744" },
  /* D4: what a capture used is forgotten when the block is served again; follows from the two above */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 1; f 1; E 8; c; a 2 25275615; u 2 1; C; B 8; f 2; E 8; c; a 3 25275615",
    "0:53248 0:49367 53248:49367 = 106496" },
  /* D4: freed in a pool without a capture: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1 */
  { 0x3f, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; B 8; f 1; t 10; E 8; t 65; a 2 25275615; t 120; a 3 25275615",
    "0:53248 53248:49367 0:49367 = 106496" },
  /* D4: freed in a pool without a capture: 2.13, 2.15 */
  { 0xc0, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; B 8; f 1; t 10; E 8; t 65; a 2 25275615; t 120; a 3 25275615",
    "0:53248 0:49367 53248:49367 = 106496" },
  /* D4: used and freed in a pool: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1 */
  { 0x3f, "", "sim:capacity=1073741824,event_latency=50s",
    "B 8; a 1 26793422; u 1 3; f 1; t 100; a 2 25275615; E 8; a 3 26793422; B 8; a 4 26793422; E 8",
    "0:53248 53248:49367 106496:53248 0:53248 = 159744" },
  /* D4: used and freed in a pool: 2.13, 2.15 */
  { 0xc0, "", "sim:capacity=1073741824,event_latency=50s",
    "B 8; a 1 26793422; u 1 3; f 1; t 100; a 2 25275615; E 8; a 3 26793422; B 8; a 4 26793422; E 8",
    "0:53248 0:49367 53248:53248 106496:53248 = 159744" },
  /* D4: used and freed in a capture: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "C; B 8; a 1 26793422; u 1 3; f 1; t 100; a 2 25275615; E 8; c; a 3 26793422; C; B 8; a 4 26793422; E 8; c",
    "0:53248 53248:49367 106496:53248 0:53248 = 159744" },
  /* D4: used in a capture, freed after it: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 3; E 8; c; f 1; a 2 25275615",
    "0:53248 53248:49367 = 106496" },
  /* D4: used by two streams, before and inside: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; C; B 8; u 1 4; f 1; t 10; E 8; c; a 2 25275615; t 100; a 3 25275615",
    "0:53248 53248:49367 0:49367 = 106496" },
  /* D4: a use inside hides an earlier one of that stream: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; C; B 8; u 1 3; f 1; t 10; E 8; c; a 2 25275615",
    "0:53248 0:49367 = 53248" },
  /* D4: a use inside is remembered when the block is allocated again: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 3; E 8; c; f 1; t 100; a 2 26793422; u 2 3; C; B 8; f 2; E 8; c; a 3 26793422",
    "0:53248 0:53248 0:53248 = 53248" },
  /* D4: not in a block that was released between: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 3; E 8; c; f 1; t 100; a 9 100; r; a 2 26793422; u 2 3; C; B 8; f 2; E 8; c; a 3 26793422",
    "0:53248 53248:1 57344:53248 110592:53248 = 110592" },
  /* D4: merged with the block before: a new front part has no memory of the use: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 5242880; a 2 5242880; a 4 10485760; C; B 8; u 2 3; E 8; c; f 1; f 2; t 100; a 9 100; a 1 5242880; u 1 3; C; B 8; f 1; E 8; c; a 3 5242880",
    "0:10240 10240:10240 20480:20480 40960:1 0:10240 10240:10240 = 45056" },
  /* D4: merged with the block before: the part behind has: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 5242880; a 2 5242880; a 4 10485760; C; B 8; u 2 3; E 8; c; f 1; f 2; t 100; a 9 100; a 1 5242880; a 2 5242880; u 2 3; C; B 8; f 2; E 8; c; a 3 5242880",
    "0:10240 10240:10240 20480:20480 40960:1 0:10240 10240:10240 10240:10240 = 45056" },
  /* D4: merged away: no part has: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 5242880; a 2 5242880; a 4 10485760; C; B 8; u 1 3; E 8; c; f 1; t 60; a 10 100; f 2; a 1 5242880; u 1 3; C; B 8; f 1; E 8; c; a 3 5242880",
    "0:10240 10240:10240 20480:20480 40960:1 0:10240 10240:10240 = 45056" },
  /* D4: several blocks, settled by one request: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; a 2 26793422; u 1 3; u 2 4; C; B 8; f 1; u 2 3; f 2; E 8; c; a 3 26793422; t 100; a 4 26793422; a 5 26793422",
    "0:53248 53248:53248 106496:53248 0:53248 53248:53248 = 159744" },
  /* D4: a second capture settles nothing: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; C; B 8; f 1; E 8; B 9; a 2 26793422; E 9; c; t 60; a 3 26793422; t 120; a 4 26793422",
    "0:53248 53248:53248 106496:53248 0:53248 = 159744" },
  /* D4: freed outside with a use inside and one after: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 3; E 8; c; u 1 4; f 1; t 60; a 2 26793422; C; B 8; f 2; E 8; c; a 3 26793422",
    "0:53248 0:53248 0:53248 = 53248" },
  /* D4: used outside and inside, freed inside another: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 4; C; B 8; u 1 3; E 8; c; u 1 3; C; B 9; f 1; E 9; c; a 2 26793422; t 60; a 3 26793422",
    "0:53248 53248:53248 0:53248 = 106496" },
  /* D4: a use inside by the stream of the block: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; C; B 8; u 1 0; f 1; E 8; c; a 2 26793422; t 60; a 3 26793422",
    "0:53248 53248:53248 0:53248 = 106496" },
  /* D4: used inside, emptied outside: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; C; B 8; u 1 4; f 1; E 8; c; r; a 2 26793422",
    "0:53248 53248:53248 = 53248" },
  /* D4: pools within pools: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; B 8; B 9; f 1; t 10; E 9; a 5 100; t 20; E 8; a 2 25275615; t 100; a 3 25275615",
    "0:53248 53248:1 57344:49367 0:49367 = 110592" },
  /* D4: emptying the cache after a pool: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; u 1 3; B 8; f 1; t 10; E 8; r; a 3 25275615",
    "0:53248 53248:49367 = 53248" },
  /* D4: out of memory in a pool: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1 */
  { 0x3f, "", "sim:capacity=260000000,event_latency=0s",
    "a 1 126793422; f 1; B 8; a 2 226793422; E 8; a 3 226793422",
    "0:247644 - 249856:442956 = 446464" },
  /* D4: out of memory in a pool: 2.13, 2.15 */
  { 0xc0, "", "sim:capacity=260000000,event_latency=0s",
    "a 1 126793422; f 1; B 8; a 2 226793422; E 8; a 3 226793422",
    "0:247644 249856:442956 - = 446464" },
  /* D4: out of memory in a capture: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=260000000,event_latency=0s",
    "a 1 126793422; f 1; C; B 8; a 2 226793422; E 8; c; a 3 226793422",
    "0:247644 - 249856:442956 = 446464" },
  /* D4: out of memory where a pool was released: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1 */
  { 0x3f, "", "sim:capacity=260000000,event_latency=0s",
    "B 8; a 1 126793422; f 1; E 8; R 8; B 9; a 2 226793422; E 9; a 3 226793422",
    "0:247644 - 249856:442956 = 446464" },
  /* D4: out of memory where a pool was released: 2.13, 2.15 */
  { 0xc0, "", "sim:capacity=260000000,event_latency=0s",
    "B 8; a 1 126793422; f 1; E 8; R 8; B 9; a 2 226793422; E 9; a 3 226793422",
    "0:247644 249856:442956 - = 446464" },
  /* D4: the use of a graph outlives a free: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 3; E 8; c; f 1; t 100; a 2 26793422; u 2 3; C; B 8; f 2; E 8; c; a 3 26793422",
    "0:53248 0:53248 0:53248 = 53248" },
  /* D4: and ends when it is settled: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "", "sim:capacity=1073741824,event_latency=50s",
    "a 1 26793422; C; B 8; u 1 3; f 1; E 8; c; a 2 26793422; u 2 3; C; B 8; f 2; E 8; c; a 3 26793422",
    "0:53248 0:53248 53248:53248 = 106496" },
  /* D5: a rest keeps the number of its block: 2.6, 2.8, 2.9, 2.10, 2.11, 2.13, 2.15 */
  { 0xdf, "", "sim:capacity=1073741824,event_latency=0s",
    "a 1 2048; a 2 512; a 3 1024; a 4 512; f 1; a 5 1024; a 6 1024; f 5; f 3; a 7 1024; a 8 1024",
    "0:4 4:1 5:2 7:1 0:2 2:2 0:2 5:2 = 4096" },
  /* D5: a rest keeps the number of its block: 2.12.1 */
  { 0x20, "", "sim:capacity=1073741824,event_latency=0s",
    "a 1 2048; a 2 512; a 3 1024; a 4 512; f 1; a 5 1024; a 6 1024; f 5; f 3; a 7 1024; a 8 1024",
    "0:4 4:1 5:2 7:1 0:2 2:2 5:2 0:2 = 4096" },
  /* D5: addresses that come back: 2.6, 2.8, 2.9, 2.10, 2.11 */
  { 0x1f, "", "sim:capacity=1073741824,event_latency=0s,address=first-fit",
    "a 1 30000000; a 2 50000000; a 3 60000000; f 1; r; f 2; r; a 4 60000000; a 5 30000000; f 3; f 4; a 6 60000000; a 7 60000000",
    "0:58594 61440:98304 159744:118784 0:118784 278528:58594 0:118784 159744:118784 = 299008" },
  /* D5: addresses that come back: 2.12.1, 2.13, 2.15 */
  { 0xe0, "", "sim:capacity=1073741824,event_latency=0s,address=first-fit",
    "a 1 30000000; a 2 50000000; a 3 60000000; f 1; r; f 2; r; a 4 60000000; a 5 30000000; f 3; f 4; a 6 60000000; a 7 60000000",
    "0:58594 61440:98304 159744:118784 0:118784 278528:58594 159744:118784 0:118784 = 299008" },
  /* throw_on_cudamalloc_oom: refused at once: 2.6, 2.8, 2.9, 2.10, 2.11 */
  { 0x1f, "throw_on_cudamalloc_oom:True", "sim:capacity=1000000000,event_latency=0s",
    "a 1 500000000; f 1; a 2 600000000; a 3 300000000; a 4 700000000",
    "refused" },
  /* throw_on_cudamalloc_oom: refused at once: 2.12.1, 2.13, 2.15 */
  { 0xe0, "throw_on_cudamalloc_oom:True", "sim:capacity=1000000000,event_latency=0s",
    "a 1 500000000; f 1; a 2 600000000; a 3 300000000; a 4 700000000",
    "0:976563 - 0:585938 - = 978944" },
  /* throw_on_cudamalloc_oom under a limit: 2.6, 2.8, 2.9, 2.10, 2.11 */
  { 0x1f, "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.9", "sim:capacity=1000000000,event_latency=0s",
    "a 1 500000000; f 1; a 2 600000000; a 3 399999488",
    "refused" },
  /* throw_on_cudamalloc_oom under a limit: 2.12.1, 2.13, 2.15 */
  { 0xe0, "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.9", "sim:capacity=1000000000,event_latency=0s",
    "a 1 500000000; f 1; a 2 600000000; a 3 399999488",
    "0:976563 978944:1171875 - = 1175552" },
  /* expandable segments: more than a range: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13 */
  { 0x7f, "expandable_segments:True", "sim:capacity=1073741824,event_latency=0s",
    "a 1 2000000000; a 2 100000000; a 3 100000000",
    "- v0:195313 v195313:195313 = 409600" },
  /* expandable segments: more than a range: 2.15 */
  { 0x80, "expandable_segments:True", "sim:capacity=1073741824,event_latency=0s",
    "a 1 2000000000; a 2 100000000; a 3 100000000",
    "- v8388608:195313 v8583921:195313 = 409600" },
  /* expandable segments: a shorter range: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13 */
  { 0x7f, "expandable_segments:True,expandable_segments_reserve:0.25", "sim:capacity=1073741824,event_latency=0s",
    "a 1 100000000 1; a 2 100000000 2; a 3 2000000000 3; a 4 100 3",
    "refused" },
  /* expandable segments: a shorter range: 2.15 */
  { 0x80, "expandable_segments:True,expandable_segments_reserve:0.25", "sim:capacity=1073741824,event_latency=0s",
    "a 1 100000000 1; a 2 100000000 2; a 3 2000000000 3; a 4 100 3",
    "v0:195313 v2097152:195313 - v8388608:1 = 413696" },
  /* expandable segments: too short a range: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13 */
  { 0x7f, "expandable_segments:True,expandable_segments_reserve:0.05G", "sim:capacity=1073741824,event_latency=0s",
    "a 1 100000000; a 2 50000000; a 3 100",
    "refused" },
  /* expandable segments: too short a range: 2.15 */
  { 0x80, "expandable_segments:True,expandable_segments_reserve:0.05G", "sim:capacity=1073741824,event_latency=0s",
    "a 1 100000000; a 2 50000000; a 3 100",
    "- v4194304:97657 v6291456:1 = 126976" },
  /* a released pool with as many returns as requests is forgotten, though some of it is in use: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "expandable_segments:True", "sim:capacity=1073741824,event_latency=0s",
    "B 7; a 9 83886080; f 9; a 1 20971520; a 2 20971520; a 3 20971520; a 4 20971520; E 7; R 7; f 1; r; f 3; r; f 2; f 4; r",
    "v0:163840 v0:40960 v40960:40960 v81920:40960 v122880:40960 = 122880" },
  /* one return more than there were requests ends the release, and the request it was for: 2.6, 2.8, 2.9, 2.10, 2.11, 2.12.1, 2.13, 2.15 */
  { 0xff, "expandable_segments:True", "sim:capacity=157286400,event_latency=0s",
    "B 7; a 1 104857600; f 1; a 2 41943040; a 3 20971520; a 4 41943040; E 7; f 2; f 4; R 7; a 5 83886080; a 6 83886080; f 3; r",
    "v0:204800 v0:81920 v81920:40960 v122880:81920 - v2097152:163840 = 163840" },
  /* no driver has pages of 21 MiB: fails at once, nothing is released: 2.11, 2.12.1, 2.13, 2.15 */
  { 0xf0, "expandable_segments:True,large_segment_size_mb:21", "sim:capacity=1073741824,event_latency=0s",
    "a 1 1000; f 1; a 2 3000000; a 3 50000000; a 4 1000",
    "v0:2 - - v0:2 = 4096" },
  /* expandable segments: a range of a hexadecimal number is that of the default: 2.15 */
  { 0x80, "expandable_segments:True,expandable_segments_reserve:0x1p-1g", "sim:capacity=1073741824,event_latency=0s",
    "a 1 100; a 2 3000000",
    "v0:1 v4194304:5860 = 45056" },
};
/* clang-format on */

typedef struct
{
  GememAllocator *a;
  GememBlock blocks[MOST];
  gboolean live[MOST];
  guint32 pool[4]; /* begun */
  guint depth;
  gboolean capture;
  GString *got;
} Run;

static void
request (Run *run, guint id, guint64 size, guint64 stream)
{
  const GememRequest request = { size, stream, run->depth > 0 ? run->pool[run->depth - 1] : 0 };
  const guint64 ranges = G_GUINT64_CONSTANT (0x200000000000), memory = ranges / 2;

  run->live[id] = run->a->klass->alloc (run->a, &request, &run->blocks[id]);
  if (!run->live[id])
    g_string_append (run->got, "- ");
  else
    g_string_append_printf (
        run->got, "%s%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT " ",
        run->blocks[id].address >= ranges ? "v" : "",
        (run->blocks[id].address - (run->blocks[id].address >= ranges ? ranges : memory)) / UNIT,
        run->blocks[id].size / UNIT);
}

static void
redirect (Run *run, guint32 pool, gboolean begin)
{
  if (begin)
    run->pool[run->depth++] = pool;
  else
    run->depth--;
  run->a->klass->redirect (run->a, pool, begin, run->capture);
}

static void
operate (Run *run, const char *text)
{
  char *rest;
  const char operation = *text;
  const guint64 x = strtoull (text + 1, &rest, 10), y = strtoull (rest, &rest, 10),
                z = strtoull (rest, &rest, 10);
  g_autoptr (GError) error = NULL;

  if (operation == 'a')
    request (run, (guint) x, y, z);
  else if (operation == 'f' && run->live[x])
    run->a->klass->free (run->a, &run->blocks[x], FALSE);
  else if (operation == 'u' && run->live[x])
    run->a->klass->streams.use (run->a, &run->blocks[x], y);
  else if (operation == 'r')
    run->a->klass->trim (run->a);
  else if (operation == 't')
    run->a->device->now = MAX (run->a->device->now, x * SECOND);
  else if (operation == 'B' || operation == 'E')
    redirect (run, (guint32) x, operation == 'B');
  else if (operation == 'C' || operation == 'c')
    run->capture = operation == 'C';
  else if (operation == 'R')
    run->a->klass->release_pool (run->a, (guint32) x, FALSE);
  g_assert_true (run->a->klass->check (run->a, &error));
}

static void
check_decision (const Decision *decision, const CachingVersion *version)
{
  g_autofree char *spec = g_strdup_printf ("pytorch:version=%s,conf=\"%s\"", version->name,
                                           decision->conf);
  g_auto (GStrv) operations = g_strsplit (decision->operations, "; ", -1);
  Run run = { .got = g_string_new (NULL) };

  run.a = test_allocator_new (spec, decision->device);
  for (guint i = 0; operations[i] != NULL; i++)
    operate (&run, operations[i]);
  g_string_append_printf (run.got, "= %" G_GUINT64_FORMAT, run.a->device->held / UNIT);
  if (strcmp (run.got->str, decision->expected) != 0)
    g_error ("%s: %s: %s, not %s", spec, decision->operations, run.got->str, decision->expected);
  test_allocator_destroy (run.a);
  g_string_free (run.got, TRUE);
}

/* What the version makes of @conf: 'A' accepted, '-' refused, 'C' cudaMallocAsync; @error: why. */
static char
verdict (CachingRelease release, const char *conf, GError **error)
{
  CachingSettings settings = { .version = &gemem_caching_versions[release] };
  CachingParams params;
  gboolean has_divisions, ok;
  char found;

  gemem_params_set_defaults (gemem_caching_params, &params);
  params.common.version = (int) release;
  ok = gemem_caching_conf_parse (conf, &params, &settings, &has_divisions, error);
  found = !ok ? '-' : params.backend == CACHING_BACKEND_ASYNC ? 'C' : 'A';
  gemem_params_clear (gemem_caching_params, &params);
  return found;
}

static void
test_decisions (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (decisions); i++)
    for (guint v = 0; v < CACHING_RELEASES; v++)
      if ((decisions[i].versions >> v & 1) == 0)
        continue;
      else if (strcmp (decisions[i].expected, "refused") == 0)
        g_assert_cmpint (verdict ((CachingRelease) v, decisions[i].conf, NULL), ==, '-');
      else
        check_decision (&decisions[i], &gemem_caching_versions[v]);
}

/* ---- settings strings */

/* clang-format off */
static const struct
{
  const char *verdicts, *conf;
} facts[] = {
#define FACT(verdicts, conf) { verdicts, conf },
#include "tests/util/pytorch-conf-facts.h"
#undef FACT
};
/* clang-format on */

static void
test_strings (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (facts); i++)
    for (guint v = 0; v < CACHING_RELEASES; v++)
      {
        g_autoptr (GError) error = NULL;
        g_autofree char *who = g_strdup_printf ("PyTorch %s refuses it: ",
                                                gemem_caching_versions[v].name);
        const char found = verdict ((CachingRelease) v, facts[i].conf, &error);

        if (found != facts[i].verdicts[v])
          g_error ("%s: '%s': %c, not %c", gemem_caching_versions[v].name, facts[i].conf, found,
                   facts[i].verdicts[v]);
        if (found != '-')
          continue;
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
        g_assert_nonnull (strstr (error->message, who));
        g_assert_null (strchr (error->message, '\n'));
      }
}

/* Keys behind -a have gemem's own reading of sizes. */
static void
test_keys (void)
{
  GememAllocator *a = test_allocator_new ("pytorch:max_split_size_mb=64MB,version=2.6", "sim");
  g_autoptr (GError) error = NULL;
  CachingParams params;

  g_assert_cmpuint (((Caching *) a)->settings.max_split_size, ==, 64000000);
  test_allocator_destroy (a);
  gemem_params_set_defaults (gemem_caching_params, &params);
  g_assert_false (gemem_params_set (gemem_caching_params, &params, NULL, "test",
                                    "max_split_size_mb", "64.5", &error));
  g_assert_nonnull (strstr (error->message, "write 64.5MiB"));
  gemem_params_clear (gemem_caching_params, &params);
  a = test_allocator_new ("pytorch:conf=max_split_size_mb:64.5", "sim");
  g_assert_cmpuint (((Caching *) a)->settings.max_split_size, ==, 64 * GEMEM_MIB);
  test_allocator_destroy (a);
  a = test_allocator_new ("pytorch:version=2.14", "sim"); /* decides as 2.13 */
  g_assert_cmpstr (((Caching *) a)->settings.version->name, ==, "2.13");
  test_allocator_destroy (a);
}

/* cudaMallocAsync is CUDA's pool, which keeps its memory; what the native backend would refuse is not
 * looked at. */
static void
note (const char *text, gpointer data)
{
  g_string_append_printf (data, "%s\n", text);
}

static void
test_async (void)
{
  static const char *const specs[][2] = {
    { "pytorch:backend=cudaMallocAsync", "" },
    { "pytorch:conf=backend:cudaMallocAsync", "" },
    { "pytorch:version=2.6,conf=backend:cudaMallocAsync", "" },
    { "pytorch:conf=\"max_split_size_mb:1,backend:cudaMallocAsync\"", "conf: nothing else" },
    { "pytorch:backend=cudaMallocAsync,version=2.6,max_split_size_mb=20,memory_limit=1GiB",
      "pytorch-caching: max_split_size_mb, memory_limit: without effect" },
    { "pytorch:backend=cudaMallocAsync,version=2.10,throw_on_cudamalloc_oom=yes",
      "throw_on_cudamalloc_oom: without effect" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GString) notes = g_string_new (NULL);
      g_autoptr (GPtrArray)
          parsed = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememAllocator *a = test_allocator_new (specs[i][0], "sim");

      g_assert_true (gemem_allocator_spec_parse (specs[i][0], parsed, &error));
      g_assert_cmpstr (a->klass->name, ==, "cuda-async");
      g_assert_cmpuint (((GememCudaPool *) a)->params.release_threshold, ==, GEMEM_UNLIMITED);
      gemem_allocator_spec_notes (parsed->pdata[0], NULL, note, notes);
      g_assert_true (*specs[i][1] == '\0' ? notes->len == 0
                                          : strstr (notes->str, specs[i][1]) != NULL);
      test_allocator_destroy (a);
    }
}

/* Where the trace says when pools are in use, a request to one that is not holds back the emptying of the
 * cache as the version does in a pool. */
static void
test_pool_alone (void)
{
  for (guint v = 0; v < CACHING_RELEASES; v++)
    {
      g_autofree char *spec = g_strdup_printf ("pytorch:version=%s",
                                               gemem_caching_versions[v].name);
      const GememRequest cached = { 40 * GEMEM_MIB, 0, 0 }, alone = { 40 * GEMEM_MIB, 0, 8 };
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64MiB");
      GememBlock block;

      a->klass->redirect (a, 7, TRUE, FALSE);
      a->klass->redirect (a, 7, FALSE, FALSE);
      g_assert_true (a->klass->alloc (a, &cached, &block));
      a->klass->free (a, &block, FALSE);
      g_assert_cmpint (a->klass->alloc (a, &alone, &block), ==, v >= CACHING_2_13);
      test_allocator_destroy (a);
    }
}

/* A rejected request, or one that the driver fails, is no out-of-memory of its own. */
static void
count_rejections (const char *name, guint64 value, G_GNUC_UNUSED const char *unit, gpointer data)
{
  if (strcmp (name, "num_oom_rejections") == 0 || strcmp (name, "num_ooms") == 0)
    g_string_append_printf (data, "%s=%" G_GUINT64_FORMAT " ", name, value);
}

static void
test_rejections (void)
{
  static const char *const specs[][2] = {
    { "pytorch:throw_on_cudamalloc_oom=yes", "num_ooms=0 num_oom_rejections=1 " },
    { "pytorch:expandable_segments=yes,large_segment_size_mb=21", "num_ooms=0 " }
  };
  const GememRequest request = { GEMEM_GIB + GEMEM_MIB, 0, 0 };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      GememAllocator *a = test_allocator_new (specs[i][0], "sim:capacity=1GiB");
      GememBlock block;

      g_assert_false (a->klass->alloc (a, &request, &block));
      a->klass->report.stats (a, count_rejections, text);
      g_assert_cmpstr (text->str, ==, specs[i][1]);
      test_allocator_destroy (a);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-versions/decisions", test_decisions);
  g_test_add_func ("/pytorch-versions/strings", test_strings);
  g_test_add_func ("/pytorch-versions/keys", test_keys);
  g_test_add_func ("/pytorch-versions/async", test_async);
  g_test_add_func ("/pytorch-versions/pool-alone", test_pool_alone);
  g_test_add_func ("/pytorch-versions/rejections", test_rejections);
  return g_test_run ();
}
