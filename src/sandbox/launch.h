// The child's side of a start, between clone and exec. It runs in a copy of a process whose other threads are
// gone, so nothing here allocates, locks or throws: the parent prepares every string and number in a
// LaunchPlan beforehand.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace evk::launch {

struct Bind {
  const char* source;     // on the host
  const char* target;     // the same path without its leading '/'
  const char* link_text;  // not null: make this symbolic link instead of binding
  bool directory;
};

struct Placed {
  const char* path;  // within the in folder
  const char* bytes;
  std::size_t size;
};

struct Collected {
  const char* path;  // within the scratch folder
  int fd;            // memfd of the parent that receives it
};

struct Limit {
  int resource;
  std::uint64_t soft, hard;
};

struct LaunchPlan {
  const char* const* argv;
  const char* const* env;
  int go_fd, status_fd;  // the parent writes one byte to `go` when limits are set; `status` carries Report
  int stdin_fd, stdout_fd, stderr_fd;
  const int* pass_from;  // descriptors, and their numbers in the child
  const int* pass_to;
  std::size_t passed;
  const int* keep;  // every descriptor named in this plan, ascending
  std::size_t kept;
  bool own_mounts, own_pids, set_ids;
  bool probe;          // report before the program would start
  const char* in_dir;  // as the child sees it
  const char* scratch_dir;
  const char* mount_base;    // a directory that the new root may be mounted on
  bool base_only_private;    // the root is no mount point (a chroot): only mount_base can be made private
  const char* root_options;  // of the tmpfs that becomes the root
  const char* scratch_options;
  uid_t uid;
  gid_t gid;
  const Bind* binds;
  std::size_t bind_count;
  int* trees;  // one scratch slot for each bind
  const Placed* placed;
  std::size_t placed_count;
  const Collected* collected;
  std::size_t collected_count;
  const Limit* limits;
  std::size_t limit_count;
  int landlock_abi;  // 0: absent
  const sock_filter* filter;
  std::size_t filter_size;
};

// Where the start stood when it failed. Names reach messages through stage_name().
enum class Stage : std::int32_t {
  kNone,
  kMakePrivate,
  kOpenTree,
  kMountRoot,
  kBind,
  kPlace,
  kScratch,
  kReadOnly,
  kPivot,
  kIds,
  kFork,
  kDescriptors,
  kLimits,
  kLandlock,
  kSeccomp,
  kExec,
  kCollect
};
const char* stage_name(Stage stage);

// What the init of the child's world writes when the program has ended, or when it could not be started.
struct Report {
  Stage failed = Stage::kNone;
  std::int32_t error = 0;        // errno of the failure
  std::int32_t detail = 0;       // index of the bind or file it failed at
  std::int32_t wait_status = 0;  // as waitpid gives it
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_kib = 0;
  std::uint64_t found = 0;  // bit i: collected[i] exists and was copied whole
};

// Runs as the first process of the child's world, and returns its exit status.
int run_init(const LaunchPlan& plan);

// Runs in a copy of the process: becomes `uid` and ends every process of it. For machines without pid
// namespaces, where the end of a child's first process leaves its daemons. REQUIRES: `uid` belongs to one
// child alone.
int run_sweep(uid_t uid);

}  // namespace evk::launch
