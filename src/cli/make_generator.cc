#include "cli/make_generator.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "generate/cassette.h"
#include "generate/command_generator.h"
#include "generate/composer.h"
#include "generate/patient_generator.h"
#include "generate/prices.h"

namespace evk {
namespace {

void tell(const std::string& line) { fmt::print(stderr, "{}\n", line); }

Dialect dialect_of(const RunOptions& options) {
  return options.generator == "anthropic" ? Dialect::kAnthropic : Dialect::kOpenAi;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// A vendor's key goes to the vendor alone.
Result<std::string> take_key(Dialect dialect, bool vendors_own) {
  std::string key = variable("EVOKERNEL_API_KEY");
  if (key.empty() && vendors_own)
    key = variable(dialect == Dialect::kOpenAi ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY");
  for (const char* name : {"EVOKERNEL_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"}) ::unsetenv(name);
  for (const char c : key)
    if (c <= ' ' || c == '\x7f')
      return failure("the key in the environment holds a blank or a control character; set it again",
                     Retry::kAfterFix);
  return key;
}

// Nothing if no table is given.
Result<std::optional<Price>> price_of(const RunOptions& options) {
  if (!options.prices.empty()) {
    EVK_TRY(const Price price, read_price(options.prices, options.model));
    return price;
  }
  if (options.budget_usd > 0) return failure("--budget-usd needs --prices FILE");
  return std::nullopt;
}

Result<std::unique_ptr<Generator>> make_patient(const RunOptions& options) {
  EVK_TRY(const auto price, price_of(options));
  EVK_TRY(auto endpoint, make_model_endpoint(options));
  PatienceConfig config;
  config.tries = options.tries;
  config.pause = std::chrono::milliseconds(options.pause_ms);
  config.calls_per_minute = options.calls_per_minute;
  config.tokens_max = options.budget_tokens;
  config.usd_max = options.budget_usd;
  config.time_max = std::chrono::minutes(options.budget_minutes);
  config.price = price;
  config.note = tell;
  return std::make_unique<PatientGenerator>(std::move(endpoint), std::move(config), real_waiting());
}

Result<std::unique_ptr<Generator>> make_plain(const RunOptions& options) {
  if (is_endpoint(options)) return make_patient(options);
  if (options.generator != "command") return std::make_unique<Composer>();
  if (options.command.empty()) return failure("--generator command needs --command 'PROGRAM ...'");
  CommandConfig config;
  config.command = options.command;
  return std::make_unique<CommandGenerator>(config);
}

}  // namespace

bool is_endpoint(const RunOptions& options) {
  return options.generator == "openai" || options.generator == "anthropic";
}

Result<std::unique_ptr<Endpoint>> make_model_endpoint(const RunOptions& options) {
  if (options.model.empty())
    return failure(fmt::format("--generator {} needs --model NAME", options.generator));
  EndpointConfig config;
  config.dialect = dialect_of(options);
  config.base_url = options.base_url.empty() ? default_base_url(config.dialect) : options.base_url;
  EVK_TRY(config.key, take_key(config.dialect, config.base_url == default_base_url(config.dialect)));
  config.model = options.model;
  config.ca_file = options.ca_file;
  if (options.answer_tokens > 0) config.max_tokens = options.answer_tokens;
  if (options.temperature >= 0) config.temperature = options.temperature;
  config.stream = options.stream == "yes";
  config.stall_s = options.stall_s;
  config.note = tell;
  return make_endpoint(std::move(config));
}

Result<std::unique_ptr<Generator>> make_generator(const RunOptions& options) {
  if (options.generator == "replay") {
    if (options.cassette.empty()) return failure("--generator replay needs --cassette FILE");
    EVK_TRY(auto replay, ReplayGenerator::open(options.cassette));
    return replay;
  }
  EVK_TRY(auto generator, make_plain(options));
  if (!options.record.empty())
    generator = std::make_unique<RecordingGenerator>(std::move(generator), options.record);
  return generator;
}

}  // namespace evk
