#include "twin/program/project.h"

#include <sys/wait.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "twin/program/rewrite.h"
#include "twin/program/type_macros.h"

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

// Without the project's folder, places in the source are short.
std::vector<std::string> flags_of(const std::vector<std::string>& flags, const std::string& prelude,
                                  const std::string& root) {
  return with(flags, {"-fmacro-prefix-map=" + root + "/=", "-include", prelude});
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result<std::string> build_direct(const BuildRecipe& recipe, const std::string& file,
                                 const std::string& object) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return failure(file + " cannot be read");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::string root = fs::path(file).parent_path().string(), made = object + "_launch.cpp";
  std::ofstream out(made, std::ios::binary);
  out << "#line 1 \"" << fs::path(file).filename().string() << "\"\n" << rewrite_launches(text);
  out.close();
  if (!out) return failure(made + " cannot be written", Retry::kAfterFix);
  EVK_TRY_STATUS(compile(with(flags_of(recipe.kernel_flags, recipe.kernel_prelude, root),
                              {"-I" + root, "-c", made, "-o", object + "_kernel.o"})));
  EVK_TRY_STATUS(compile(with(recipe.link_flags, {object + "_kernel.o", "-o", object + ".so"})));
  return object + ".so";
}

}  // namespace

Result<std::string> build_project(const BuildRecipe& recipe, const std::string& project,
                                  const std::string& op, const std::string& folder) {
  if (project.ends_with(".asc")) return build_direct(recipe, project, folder + "/" + op);
  const std::string host = project + "/op_host/" + op, kernel = project + "/op_kernel/" + op + ".cpp",
                    object = folder + "/" + op;
  for (const std::string& source : {host + ".cpp", kernel})
    if (!fs::exists(source)) return failure(source + " is missing");
  std::vector<std::string> kernel_flags = flags_of(recipe.kernel_flags, recipe.kernel_prelude, project);
  if (fs::exists(host + "_tiling.h")) kernel_flags = with(kernel_flags, {"-include", host + "_tiling.h"});
  for (const auto& [name, type] : type_macros(text_of(host + ".cpp")))
    kernel_flags.push_back("-D" + name + "=" + type);
  EVK_TRY_STATUS(compile(with(kernel_flags, {"-c", kernel, "-o", object + "_kernel.o"})));
  EVK_TRY_STATUS(compile(with(flags_of(recipe.host_flags, recipe.host_prelude, project),
                              {"-c", host + ".cpp", "-o", object + "_host.o"})));
  EVK_TRY_STATUS(
      compile(with(recipe.link_flags, {object + "_kernel.o", object + "_host.o", "-o", object + ".so"})));
  return object + ".so";
}

}  // namespace evk::twin
