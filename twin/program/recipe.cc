#include <filesystem>

#include "twin/engine/session.h"

namespace evk::twin {

BuildRecipe build_recipe(const std::string& twin_dir, const std::string& program) {
  BuildRecipe recipe;
  recipe.include_dir = twin_dir + "/include";
  const std::string root = std::filesystem::path(twin_dir).parent_path().string();
  const std::vector<std::string> common = {"-std=c++17",
                                           "-fPIC",
                                           "-w",
                                           "-pipe",
                                           "-fno-gnu-unique",  // else an object could never be unloaded
                                           "-fmax-errors=5",
                                           "-ftemplate-depth=256",
                                           "-fconstexpr-ops-limit=33554432",
                                           "-fdiagnostics-color=never",
                                           "-fno-diagnostics-show-caret",
                                           "-I" + recipe.include_dir,
                                           "-I" + root};
  recipe.kernel_flags = common;
  recipe.kernel_flags.insert(recipe.kernel_flags.end(),
                             {"-O1", "-fno-exceptions", "-fno-rtti", "-fsanitize-coverage=trace-pc"});
  recipe.host_flags = common;
  recipe.host_flags.insert(recipe.host_flags.end(), {"-O0"});
  recipe.link_flags = {"-shared", "-fuse-ld=mold"};
  recipe.kernel_prelude = recipe.include_dir + "/evk_kernel_prelude.h";
  recipe.host_prelude = recipe.include_dir + "/evk_host_prelude.h";
  recipe.program = program;
  return recipe;
}

}  // namespace evk::twin
