// What this machine and this user allow a sandbox to do, found once a process by trying.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sandbox/child.h"

namespace evk {

struct Abilities {
  std::uint64_t clone_flags = 0;  // namespaces of a new child
  bool own_mounts = false;
  bool own_pids = false;
  bool user_namespace = false;  // maps must be written
  bool own_uid = false;         // we are root and give each child a uid that nobody has
  std::string mount_base = "/tmp";
  bool base_only_private = false;  // within a chroot
  int landlock_abi = 0;
  SandboxReport report;
};

const Abilities& abilities();

// The uid and gid of a child, as it will see them.
std::uint32_t child_uid(const Abilities& abilities);

// Writes the maps of a child in a new user namespace.
Status write_id_maps(pid_t pid, std::uint32_t inside);

}  // namespace evk
