// npu-program FD SHARED_OBJECT: runs one launch; started by the judge, in a sandbox.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "twin/program/ring_port.h"
#include "twin/program/runner.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "npu-program runs one launch for the judge: npu-program FD SHARED_OBJECT\n");
    return 2;
  }
  const int fd = std::atoi(argv[1]);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size != static_cast<off_t>(sizeof(evk::twin::Ring))) return 3;
  void* at = ::mmap(nullptr, sizeof(evk::twin::Ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return 3;
  auto& ring = *static_cast<evk::twin::Ring*>(at);
  evk::twin::RingPort port(ring);
  evk::twin::run_program(ring.launch, port, argv[2]);
  ::_exit(0);  // whatever the candidate left to run at exit does not run
}
