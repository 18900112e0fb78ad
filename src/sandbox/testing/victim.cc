// Misbehaves in one way, named by its first argument. Exit status 0: it got its way; 42: it was refused.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

extern char** environ;

namespace {

constexpr int kRefused = 42;

int echo() {
  std::cout << std::cin.rdbuf() << std::flush;
  std::cerr << "seen" << std::endl;
  return 0;
}

int loop() {
  for (;;) asm volatile("");
}

int fork_bomb() {
  for (;;) {
    if (fork() < 0) {
      if (errno == EPERM) return kRefused;
      usleep(100);
    }
  }
}

int forks(int wanted) {
  int made = 0;
  for (; made < wanted; ++made) {
    const pid_t pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      pause();
      _exit(0);
    }
  }
  std::cout << made << std::flush;
  return made == wanted ? 0 : kRefused;
}

int touch(std::size_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return kRefused;
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  return 0;
}

int memory_file() {
  const int fd = memfd_create("bomb", 0);
  if (fd < 0) return kRefused;
  const std::vector<char> chunk(1 << 20, 'x');
  for (int i = 0; i < 8192; ++i) {
    if (write(fd, chunk.data(), chunk.size()) < 0) return kRefused;
  }
  return 0;
}

int file_flood(int files, std::size_t bytes) {
  const std::vector<char> content(bytes, 'x');
  for (int i = 0; i < files; ++i) {
    const int fd = open(("f" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0644);
    if (fd < 0) return kRefused;
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t wrote = write(fd, content.data() + done, bytes - done);
      if (wrote <= 0) return kRefused;
      done += static_cast<std::size_t>(wrote);
    }
    close(fd);
  }
  return 0;
}

int output_flood() {
  const std::string line(1023, 'y');
  for (;;) std::cout << line << '\n';
}

int network() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  return fd < 0 ? kRefused : 0;
}

int daemon_process(const char* file) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      usleep(300'000);
      const int fd = open(file, O_CREAT | O_WRONLY, 0644);
      if (fd >= 0) close(fd);
      for (;;) pause();
    }
    _exit(0);
  }
  return 0;
}

int read_file(const char* path) {
  std::ifstream in(path);
  std::string word;
  return in >> word ? 0 : kRefused;
}

int write_file(const char* path) {
  std::ofstream out(path);
  out << "result of the child" << std::flush;
  return out.good() ? 0 : kRefused;
}

int environment() {
  for (char** entry = environ; *entry != nullptr; ++entry) std::cout << *entry << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const char* argument = argc > 2 ? argv[2] : "";
  if (mode == "echo") return echo();
  if (mode == "loop") return loop();
  if (mode == "fork_bomb") return fork_bomb();
  if (mode == "forks") return forks(std::atoi(argument));
  if (mode == "touch") return touch(std::strtoull(argument, nullptr, 10));
  if (mode == "memory_file") return memory_file();
  if (mode == "files")
    return file_flood(std::atoi(argument), std::strtoull(argc > 3 ? argv[3] : "1", nullptr, 10));
  if (mode == "output_flood") return output_flood();
  if (mode == "network") return network();
  if (mode == "daemon") return daemon_process(argument);
  if (mode == "read") return read_file(argument);
  if (mode == "write") return write_file(argument);
  if (mode == "environment") return environment();
  if (mode == "uid") return static_cast<int>(getuid() == 0 ? 0 : kRefused);
  if (mode == "signal_self") return raise(SIGSEGV);
  if (mode == "descriptor") return write(7, "through", 7) == 7 ? 0 : kRefused;
  return 2;
}
