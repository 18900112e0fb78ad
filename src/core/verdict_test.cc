#include "core/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace evk {
namespace {

Finding finding() {
  return {"twin.race",
          "MTE3 reads before V wrote",
          "EnQue the result",
          "op_kernel/a.cpp",
          12,
          "op_kernel/a.cpp",
          9,
          4,
          false};
}

std::vector<Verdict> one_of_each() {
  ErrorStats stats{"public_0", false, "y", 10, 2, 0.5, HUGE_VAL, 3, 0.1, 1, 0, 1, {1}, {1}, {5}};
  std::vector<Verdict> all;
  for (const Outcome& o :
       {Outcome(Rejected{{finding()}}), Outcome(Unbuilt{{finding()}, "log"}),
        Outcome(Stopped{"time", {finding()}}), Outcome(Faulted{{finding()}}),
        Outcome(Mismatched{{stats}, {finding()}}), Outcome(Unsteady{1, 2}),
        Outcome(Measured{123.5, true, {{{"vec_ratio", 0.5}}, "vector_bound", {"a.cpp:3 V 10 0"}}})})
    all.push_back({o, {finding()}, true, {stats}, "h"});
  return all;
}

TEST(Verdict, survives_its_stored_form) {
  for (const auto& v : one_of_each()) {
    const auto back = verdict_from(nlohmann::json::parse(to_json(v).dump()));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, v) << to_json(v).dump();
  }
}

TEST(Verdict, is_feasible_only_when_every_gate_passed) {
  int feasible = 0;
  for (const auto& v : one_of_each()) feasible += is_feasible(v);
  EXPECT_EQ(feasible, 2);
}

TEST(Verdict, reports_damage_instead_of_guessing) {
  for (const char* text :
       {"{}", "[]", "null",
        R"({"outcome":{"kind":"perfect"},"notes":[],"errors":[],"harness":"","paper_pass":null})"})
    EXPECT_FALSE(verdict_from(nlohmann::json::parse(text))) << text;
}

TEST(Verdict, feedback_names_line_rule_and_remedy_and_keeps_its_limit) {
  const Verdict v{Faulted{{finding()}}, {}, {}, {}, ""};
  const auto text = feedback_of(v);
  for (const char* part :
       {"op_kernel/a.cpp:12", "twin.race", "EnQue the result", "op_kernel/a.cpp:9", "4 times"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_LE(feedback_of(v, 30).size(), 30u);
}

TEST(Verdict, feedback_says_nothing_of_where_a_hidden_case_failed) {
  ErrorStats hidden{"hidden_1", true, "y", 10, 2, 0.5, 1, 3, 0.1, 0, 0, 0, {7}, {7}, {9}};
  const auto text = feedback_of({Mismatched{{hidden}, {}}, {}, {}, {}, ""});
  EXPECT_EQ(text.find("hidden_1"), std::string::npos);
  EXPECT_EQ(text.find("0.5"), std::string::npos);
  EXPECT_EQ(text.find("[7]"), std::string::npos);
}

}  // namespace
}  // namespace evk
