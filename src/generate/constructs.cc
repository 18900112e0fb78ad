#include "generate/constructs.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace evk {
namespace {

using enum ConstructKind;

std::vector<Construct> table() {
  std::vector<Construct> all = {
      // Activations: which formula or function stands for them.
      {"act.elu", kBehaviour, {{"clamped_exp", 0.45}, {"bare_exp", 0.55}}},
      {"act.erf", kSpelling, {{"polynomial", 0.35}, {"erff", 0.35}, {"ErfVec", 0.3}}},
      {"act.gelu", kBehaviour, {{"as_asked", 0.6}, {"sigmoid_guess", 0.4}}},
      {"act.leaky_relu", kSpelling, {{"LeakyRelu", 0.3}, {"LeakyReLU", 0.5}, {"two_sided", 0.2}}},
      {"act.relu", kSpelling, {{"Relu", 0.5}, {"ReLU", 0.3}, {"maxs", 0.2}}},
      {"act.sigmoid", kSpelling, {{"exp_form", 0.4}, {"SigmoidVec", 0.3}, {"Sigmoids", 0.3}}},
      {"act.softplus", kBehaviour, {{"split_at_zero", 0.4}, {"log_of_exp", 0.6}}},
      {"act.tanh", kSpelling, {{"exp_form", 0.4}, {"TanhVec", 0.3}, {"tanhf", 0.3}}},
      // Vector instructions and their scalars.
      {"div.by_scalar",
       kSpelling,
       {{"reciprocal_muls", 0.3}, {"Divs", 0.4}, {"Div_scalar", 0.2}, {"duplicate_div", 0.1}}},
      {"fill.value", kSpelling, {{"Duplicate", 0.4}, {"Dup", 0.45}, {"SetAll", 0.15}}},
      {"scalar.add", kSpelling, {{"Adds", 0.6}, {"Add_scalar", 0.25}, {"AddScalar", 0.15}}},
      {"scalar.math", kSpelling, {{"vector", 0.3}, {"libm", 0.45}, {"on_float", 0.25}}},
      {"scalar.max", kSpelling, {{"Maxs", 0.4}, {"Max_scalar", 0.35}, {"Maximums", 0.25}}},
      {"scalar.min", kSpelling, {{"Mins", 0.4}, {"Min_scalar", 0.35}, {"Minimums", 0.25}}},
      {"scalar.mul", kSpelling, {{"Muls", 0.6}, {"Mul_scalar", 0.25}, {"MulScalar", 0.15}}},
      {"vec.abs", kSpelling, {{"Abs", 0.65}, {"Fabs", 0.35}}},
      {"vec.exp", kSpelling, {{"Exp", 0.8}, {"Exps", 0.2}}},
      {"vec.ln", kSpelling, {{"Ln", 0.3}, {"Logs", 0.4}, {"LogE", 0.3}}},
      {"vec.max", kSpelling, {{"Max", 0.5}, {"Maximum", 0.5}}},
      {"vec.min", kSpelling, {{"Min", 0.5}, {"Minimum", 0.5}}},
      {"vec.sqrt", kSpelling, {{"Sqrt", 0.7}, {"Sqrts", 0.3}}},
      // Reductions.
      {"axis.inner", kBehaviour, {{"vectors", 0.4}, {"as_last", 0.6}}},
      {"mean.factor", kBehaviour, {{"host_float", 0.45}, {"integer_division", 0.55}}},
      {"read.scalar", kSpelling, {{"get_value", 0.6}, {"index", 0.4}}},
      {"reduce.count", kBehaviour, {{"current", 0.75}, {"tile", 0.25}}},
      {"reduce.initial", kBehaviour, {{"identity", 0.4}, {"zero", 0.6}}},
      {"reduce.max", kSpelling, {{"with_work", 0.3}, {"no_work", 0.45}, {"MaxReduce", 0.25}}},
      {"reduce.min", kSpelling, {{"with_work", 0.3}, {"no_work", 0.45}, {"MinReduce", 0.25}}},
      {"reduce.sum", kSpelling, {{"with_work", 0.3}, {"no_work", 0.45}, {"SumReduce", 0.25}}},
      {"row.long", kBehaviour, {{"tiled", 0.4}, {"whole_row", 0.6}}},
      // Moving data.
      {"copy.length_unit", kBehaviour, {{"bytes", 0.75}, {"elements", 0.25}}},
      {"copy.out_params", kSpelling, {{"ext", 0.75}, {"with_pad", 0.25}}},
      {"copy.pad_params", kSpelling, {{"ext", 0.65}, {"none", 0.35}}},
      {"copy.tail", kBehaviour, {{"pad", 0.4}, {"count", 0.4}, {"rounded_up", 0.2}}},
      {"queue.free", kBehaviour, {{"freed", 0.8}, {"kept", 0.2}}},
      {"queue.sync", kBehaviour, {{"enque_deque", 0.75}, {"skipped", 0.25}}},
      {"tail.length", kBehaviour, {{"remainder", 0.75}, {"full_tile", 0.25}}},
      // Sizes and blocks.
      {"block.split", kBehaviour, {{"ceil_clamped", 0.35}, {"floor", 0.4}, {"ceil_unclamped", 0.25}}},
      {"block.meet", kBehaviour, {{"sync_all", 0.5}, {"none", 0.5}}},
      {"buffer.align", kBehaviour, {{"rounded_up", 0.5}, {"exact", 0.5}}},
      {"ub.budget", kBehaviour, {{"all_buffers", 0.4}, {"inputs_only", 0.6}}},
      {"host.core_count",
       kSpelling,
       {{"GetCoreNumAiv", 0.5}, {"GetAivNum", 0.25}, {"GetVectorCoreNum", 0.25}}},
      {"host.shape", kSpelling, {{"storage_shape", 0.6}, {"dims_directly", 0.4}}},
      {"host.tiling_size", kBehaviour, {{"set_data_size", 0.75}, {"forgotten", 0.25}}},
      // Schedules: all are right, not all are fast.
      {"sched.accumulate", kSchedule, {{"scalar", 0.6, true}, {"vector", 0.4}}},
      {"sched.blocks", kSchedule, {{"one", 0.3, true}, {"eight", 0.4}, {"all", 0.3}}},
      {"sched.buffers", kSchedule, {{"single", 0.5, true}, {"double", 0.5}}},
      {"sched.tile",
       kSchedule,
       {{"t1024", 0.3, true}, {"t2048", 0.2}, {"t4096", 0.2}, {"t8192", 0.1}, {"ub_max", 0.2}}},
      {"sched.moments", kSchedule, {{"two_pass", 0.7, true}, {"one_pass", 0.3}}},
      {"sched.online", kSchedule, {{"separate_passes", 0.7, true}, {"running_maximum", 0.3}}},
      {"sched.resident", kSchedule, {{"never", 0.6, true}, {"short_rows", 0.4}}},
      {"sched.whole", kSchedule, {{"one_block", 0.6, true}, {"partial_sums", 0.4}}},
  };
  std::sort(all.begin(), all.end(), [](const Construct& a, const Construct& b) { return a.name < b.name; });
  return all;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char ch) {
    return std::isalnum(ch) || ch == '_' || ch == '.';
  });
}

}  // namespace

const std::vector<Construct>& constructs() {
  static const std::vector<Construct> all = table();
  return all;
}

const Construct* construct_named(std::string_view name) {
  const auto& all = constructs();
  const auto found = std::lower_bound(all.begin(), all.end(), name,
                                      [](const Construct& c, std::string_view n) { return c.name < n; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

bool has_form(const Construct& construct, std::string_view form) {
  return std::any_of(construct.forms.begin(), construct.forms.end(),
                     [&](const Form& f) { return f.name == form; });
}

std::string write_choices(const std::vector<Choice>& choices) {
  std::string text;
  for (const auto& choice : choices)
    text += (text.empty() ? "" : "; ") + choice.construct + "=" + choice.form;
  return text;
}

std::vector<Choice> read_choices(std::string_view text) {
  constexpr std::size_t kChoicesMax = 256;
  std::vector<Choice> found;
  while (!text.empty() && found.size() < kChoicesMax) {
    const auto end = text.find(';');
    const std::string_view part = trimmed(text.substr(0, end));
    const auto equals = part.find('=');
    if (equals != std::string_view::npos) {
      const auto construct = trimmed(part.substr(0, equals)), form = trimmed(part.substr(equals + 1));
      if (is_word(construct) && is_word(form)) found.push_back({std::string(construct), std::string(form)});
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return found;
}

std::vector<Choice> choices_in(const std::vector<SourceFile>& files) {
  constexpr std::string_view kMark = "// Constructs:";
  for (const auto& file : files) {
    const auto at = file.text.find(kMark);
    if (at == std::string::npos) continue;
    const auto begin = at + kMark.size();
    const auto end = file.text.find('\n', begin);
    return read_choices(
        std::string_view(file.text).substr(begin, end == std::string::npos ? end : end - begin));
  }
  return {};
}

std::vector<std::string> tags_of_line(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = trimmed(text.substr(0, text.find('\n')));
  const auto at = text.rfind("// [");
  if (line < 1 || at == std::string_view::npos || !text.ends_with(']')) return {};
  std::istringstream words(std::string(text.substr(at + 4, text.size() - at - 5)));
  std::vector<std::string> tags;
  for (std::string word; words >> word;)
    if (construct_named(word)) tags.push_back(word);
  return tags;
}

std::vector<std::string> suspects_of_line(std::string_view text, int line, std::string_view code,
                                          bool compiled) {
  static const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> kAbout = {
      {"misaligned", {"buffer.align"}},
      {"out_of_bounds", {"copy.tail", "tail.length", "block.split"}},
      {"block_conflict", {"block.meet", "tail.length", "block.split"}},
      {"count_rounded", {"copy.tail"}},
      {"overflow", {"row.long", "ub.budget"}},
      {"overrun", {"row.long", "ub.budget", "tail.length"}},
      {"queue", {"queue.sync", "queue.free"}}};
  std::vector<std::string> found = tags_of_line(text, line);
  if (compiled && code.find("race") != std::string_view::npos) {
    const bool meets = std::find(found.begin(), found.end(), "block.meet") != found.end();
    return {meets ? "block.meet" : "queue.sync"};
  }
  std::erase_if(found, [&](const std::string& tag) {
    return (construct_named(tag)->kind == ConstructKind::kSpelling) == compiled;
  });
  for (const auto& [part, about] : kAbout)
    if (compiled && code.find(part) != std::string_view::npos)
      std::erase_if(found, [&, &names = about](const std::string& tag) {
        return std::find(names.begin(), names.end(), tag) == names.end();
      });
  return found;
}

}  // namespace evk
