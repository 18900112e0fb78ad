#include "verify/red_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace evk {
namespace {

namespace fs = std::filesystem;

Result<std::string> text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure(fmt::format("{} cannot be read", path.string()), Retry::kAfterFix);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Lays the files of `folder` over those that are there.
Status add_files(const fs::path& folder, Candidate& candidate) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; it != end; it.increment(error)) {
    if (!it->is_regular_file(error) || it->path().filename() == "expect.json") continue;
    const std::string path = fs::relative(it->path(), folder, error).generic_string();
    EVK_TRY(std::string text, text_of(it->path()));
    const auto known = std::find_if(candidate.files.begin(), candidate.files.end(),
                                    [&](const SourceFile& file) { return file.path == path; });
    if (known != candidate.files.end()) {
      known->text = std::move(text);
    } else {
      candidate.files.push_back({path, std::move(text)});
    }
  }
  std::sort(candidate.files.begin(), candidate.files.end());
  return {};
}

Result<RedTeamCase> read_case(const fs::path& root, const fs::path& folder) {
  EVK_TRY(const std::string text, text_of(folder / "expect.json"));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto word = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                                           : std::string();
  };
  RedTeamCase out{folder.filename().string(), word("task"), word("gate"), word("why"), {}, {}};
  if (out.task.empty() || out.gate.empty() || out.why.empty())
    return failure(fmt::format("{}/expect.json must give task, gate and why", folder.string()),
                   Retry::kAfterFix);
  if (json.contains("codes")) {
    for (const auto& code : json["codes"]) {
      if (!code.is_string())
        return failure(fmt::format("{}/expect.json: codes must be texts", folder.string()), Retry::kAfterFix);
      out.codes.push_back(code.get<std::string>());
    }
  }
  EVK_TRY_STATUS(add_files(root / "base" / out.task, out.candidate));
  EVK_TRY_STATUS(add_files(folder, out.candidate));
  return out;
}

struct Size {
  std::int64_t rows, columns;
};

GraphArg number(double value) { return {value}; }

OpGraph graph_of(std::string_view name, const TensorType& type) {
  OpGraph graph;
  graph.inputs = {{"i0", GraphInputKind::kInput, "x", 0, type}};
  const GraphArg x{GraphRef{"i0", 0}};
  if (name == "softmax") {
    graph.nodes = {{"n0", "aten._softmax.default", {x, {std::int64_t{-1}}, {false}}, {}, {type}}};
    graph.outputs = {{"n0", 0}};
  } else {
    graph.nodes = {{"n0", "aten.mul.Tensor", {x, number(2)}, {}, {type}},
                   {"n1", "aten.add.Tensor", {{GraphRef{"n0", 0}}, number(1)}, {}, {type}}};
    graph.outputs = {{"n1", 0}};
  }
  return graph;
}

Task make_task(const char* name, const char* op_class, int transcendentals,
               std::vector<std::pair<const char*, Size>> sizes) {
  Task task;
  task.id = {std::string("redteam/") + name};
  task.name = name;
  task.title = name;
  task.tolerance.op_class = op_class;
  task.tolerance.transcendentals = transcendentals;
  task.tolerance.reduction_length =
      std::string_view(op_class) == "normalisation" ? sizes[0].second.columns : 1;
  for (const auto& [id, size] : sizes) {
    ShapeSet shapes;
    shapes.id = id;
    const TensorType type{DType::kFloat32, {size.rows, size.columns}};
    shapes.inputs = {{"x", "input", "none", type}};
    shapes.outputs = {{"y", type, CompareBy::kFloat}};
    shapes.graph = graph_of(name, type);
    if (shapes.id != "bench") shapes.cases = {{"public", false, "", ""}, {"hidden", true, "", ""}};
    task.shape_sets.push_back(std::move(shapes));
  }
  return task;
}

void affine(const std::vector<float>& x, std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2.0 * x[i] + 1.0;
}

void softmax(const std::vector<float>& x, std::vector<double>& y, std::size_t columns) {
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double largest = x[row], sum = 0;
    for (std::size_t i = row; i < row + columns; ++i) largest = std::max<double>(largest, x[i]);
    for (std::size_t i = row; i < row + columns; ++i) sum += y[i] = std::exp(x[i] - largest);
    for (std::size_t i = row; i < row + columns; ++i) y[i] /= sum;
  }
}

template <typename T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class DrawnReader final : public CaseReader {
 public:
  Result<std::shared_ptr<const CaseData>> read(const Task& task, const ShapeSet& shapes,
                                               const TaskCase& which) override {
    const TensorType& type = shapes.inputs[0].type;
    std::vector<float> x(static_cast<std::size_t>(type.elements()));
    Random random(hash64(task.name + shapes.id + which.id));
    // A hidden case lies elsewhere than the public one: what guards against overflow is needed there.
    const double offset = which.id == "hidden" && task.name == "softmax" ? 96 : 0;
    for (float& value : x) value = static_cast<float>(random.uniform() * 8 - 4 + offset);
    std::vector<double> y(x.size());
    if (task.name == "softmax") {
      softmax(x, y, static_cast<std::size_t>(type.shape.back()));
    } else {
      affine(x, y);
    }
    auto data = std::make_shared<CaseData>();
    data->inputs = {{DType::kFloat32, type.shape, bytes_of_values(x)}};
    data->goldens = {{{DType::kFloat64, type.shape, bytes_of_values(y)}, {}, {}}};
    return std::shared_ptr<const CaseData>(std::move(data));
  }

  // Every element of a few rows, the first and the last among them.
  Result<std::shared_ptr<const TimedData>> read_timed(const Task& task, const ShapeSet& shapes) override {
    EVK_TRY(const std::shared_ptr<const CaseData> whole, read(task, shapes, {"timed", true, "", ""}));
    const auto columns = static_cast<std::size_t>(shapes.outputs[0].type.shape.back());
    const std::size_t rows = static_cast<std::size_t>(shapes.outputs[0].type.elements()) / columns;
    auto timed = std::make_shared<TimedData>();
    timed->inputs = whole->inputs;
    SampledGolden golden;
    golden.values.truth.dtype = DType::kFloat64;
    for (const std::size_t row : {std::size_t{0}, rows / 3, rows / 2, rows - 1}) {
      for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) golden.positions.push_back(i);
      const auto from = whole->goldens[0].truth.data.begin() + static_cast<std::ptrdiff_t>(row * columns * 8);
      golden.values.truth.data.insert(golden.values.truth.data.end(), from,
                                      from + static_cast<std::ptrdiff_t>(columns * 8));
    }
    golden.values.truth.shape = {static_cast<std::int64_t>(golden.positions.size())};
    timed->goldens.push_back(std::move(golden));
    return std::shared_ptr<const TimedData>(std::move(timed));
  }
};

bool expected_code(const RedTeamCase& which, const std::string& code) {
  return which.codes.empty() || std::find(which.codes.begin(), which.codes.end(), code) != which.codes.end();
}

}  // namespace

Result<std::vector<RedTeamCase>> read_red_team(const std::string& folder) {
  std::vector<RedTeamCase> cases;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end; it.increment(error)) {
    if (!it->is_directory(error) || it->path().filename() == "base") continue;
    EVK_TRY(RedTeamCase one, read_case(folder, it->path()));
    cases.push_back(std::move(one));
  }
  if (cases.empty()) return failure(fmt::format("{} holds no red-team cases", folder), Retry::kAfterFix);
  std::sort(cases.begin(), cases.end(),
            [](const RedTeamCase& a, const RedTeamCase& b) { return a.name < b.name; });
  return cases;
}

std::vector<Task> red_team_tasks() {
  return {make_task("affine", "elementwise", 0,
                    {{"small", {16, 1024}}, {"ragged", {7, 333}}, {"bench", {1024, 4096}}}),
          make_task("softmax", "normalisation", 1,
                    {{"small", {64, 256}}, {"ragged", {13, 77}}, {"bench", {4096, 1024}}})};
}

std::unique_ptr<CaseReader> red_team_reader() { return std::make_unique<DrawnReader>(); }

Result<RedTeamResult> run_red_team_case(Verifier& verifier, const RedTeamCase& which) {
  const std::vector<Task> tasks = red_team_tasks();
  const auto task =
      std::find_if(tasks.begin(), tasks.end(), [&](const Task& t) { return t.name == which.task; });
  if (task == tasks.end())
    return failure(fmt::format("red-team case {} names the unknown task {}", which.name, which.task),
                   Retry::kAfterFix);
  EVK_TRY(const Verdict verdict, verifier.verify(*task, which.candidate));
  RedTeamResult result{
      which.name,         which.gate, gate_of(verdict), code_of(verdict), feedback_of(verdict, 600),
      RedTeamEnd::kMissed};
  const bool honest = which.gate == "passed", passed = result.gate == "passed";
  if (honest) {
    result.end = passed ? RedTeamEnd::kPassed : RedTeamEnd::kFalseAlarm;
  } else if (passed) {
    result.end = RedTeamEnd::kMissed;
  } else {
    result.end = result.gate == which.gate && expected_code(which, result.code) ? RedTeamEnd::kCaught
                                                                                : RedTeamEnd::kOtherCode;
  }
  return result;
}

}  // namespace evk
