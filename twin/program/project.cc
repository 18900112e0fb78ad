#include "twin/program/project.h"

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>

namespace evk::twin {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kOutputMax = 64 * 1024;

std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return made + "'";
}

Status compile(const std::vector<std::string>& arguments) {
  std::string command = "g++";
  for (const auto& argument : arguments) command += " " + quoted(argument);
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return failure("cannot start g++", Retry::kAfterFix);
  std::string output;
  char text[4096];
  for (std::size_t n = 0; (n = std::fread(text, 1, sizeof text, pipe)) > 0;)
    if (output.size() < kOutputMax) output.append(text, n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure(output.empty() ? "g++ failed without a message" : output);
}

std::vector<std::string> with(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace

Result<std::string> build_project(const BuildRecipe& recipe, const std::string& project,
                                  const std::string& op, const std::string& folder) {
  const std::string host = project + "/op_host/" + op, kernel = project + "/op_kernel/" + op + ".cpp",
                    object = folder + "/" + op;
  for (const std::string& source : {host + ".cpp", kernel})
    if (!fs::exists(source)) return failure(source + " is missing");
  std::vector<std::string> preludes = {"-include", recipe.kernel_prelude};
  if (fs::exists(host + "_tiling.h")) preludes = with(preludes, {"-include", host + "_tiling.h"});
  EVK_TRY_STATUS(compile(with(with(recipe.kernel_flags, preludes),
                              {"-I" + project + "/op_kernel", "-c", kernel, "-o", object + "_kernel.o"})));
  EVK_TRY_STATUS(
      compile(with(recipe.host_flags, {"-include", recipe.host_prelude, "-I" + project + "/op_host", "-c",
                                       host + ".cpp", "-o", object + "_host.o"})));
  EVK_TRY_STATUS(
      compile(with(recipe.link_flags, {object + "_kernel.o", object + "_host.o", "-o", object + ".so"})));
  return object + ".so";
}

}  // namespace evk::twin
