#include "cli/command_evidence.h"
#include "cli/command_study.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  int exit_code = evk::kExitDone;
  CLI::App app{
      "EvoKernel turns a PyTorch operator into a verified, fast NPU kernel, with a memory that learns what "
      "helps.\n"
      "Start with: evokernel run --suite demo"};
  app.name("evokernel");
  app.set_version_flag("--version", "evokernel " EVK_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 finding, 2 usage, 3 infrastructure. Each command has --help and --json.");
  evk::add_run(app, exit_code);
  evk::add_verify(app, exit_code);
  evk::add_tasks(app, exit_code);
  evk::add_memory(app, exit_code);
  evk::add_explain(app, exit_code);
  evk::add_report(app, exit_code);
  evk::add_replay(app, exit_code);
  evk::add_study(app, exit_code);
  evk::add_redteam(app, exit_code);
  evk::add_export(app, exit_code);
  evk::add_reverify(app, exit_code);
  evk::add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? evk::kExitDone : evk::kExitUsage;
  }
  return exit_code;
}
