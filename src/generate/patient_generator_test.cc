#include "generate/patient_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace evk {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Refusal refusal(Retry retry, std::optional<std::int64_t> wait_s = std::nullopt) {
  return {{retry, "refused", {}}, wait_s};
}

// Says what it is told, then answers.
class Script : public Endpoint {
 public:
  explicit Script(std::deque<Refusal> refusals) : refusals_(std::move(refusals)) {}
  tl::expected<Answer, Refusal> ask(const std::string&) override {
    if (refusals_.empty()) return Answer{"done", "m", 60, 40};
    Refusal next = refusals_.front();
    refusals_.pop_front();
    return tl::unexpected(std::move(next));
  }

 private:
  std::deque<Refusal> refusals_;
};

class PatientGeneratorTest : public testing::Test {
 protected:
  Waiting waiting() {
    return {[this] { return now_; },
            [this](milliseconds pause) {
              pauses_.push_back(pause.count());
              now_ += pause;
            }};
  }
  Result<Answer> ask(PatientGenerator& generator, std::uint64_t seed = 1) {
    return generator.generate({task_, context_, "p", Random(seed)});
  }
  std::unique_ptr<PatientGenerator> make(std::deque<Refusal> refusals) {
    config_.note = [this](const std::string& line) { notes_.push_back(line); };
    return std::make_unique<PatientGenerator>(std::make_unique<Script>(std::move(refusals)), config_,
                                              waiting());
  }

  Task task_;
  Context context_;
  PatienceConfig config_;
  milliseconds now_{0};
  std::vector<std::int64_t> pauses_;
  std::vector<std::string> notes_;
};

TEST_F(PatientGeneratorTest, repeats_with_doubling_pauses_of_a_half_to_the_whole) {
  const auto generator = make(std::deque<Refusal>(4, refusal(Retry::kSameCall)));
  EXPECT_EQ(ask(*generator)->text, "done");
  ASSERT_EQ(pauses_.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(pauses_[i], 500 << i);
    EXPECT_LE(pauses_[i], 1000 << i);
  }
}

TEST_F(PatientGeneratorTest, draws_equal_pauses_for_equal_requests) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ask(*make({refusal(Retry::kSameCall)}), 9));
  ASSERT_TRUE(ask(*make({refusal(Retry::kSameCall)}), 10));
  EXPECT_EQ(pauses_[0], pauses_[1]);
  EXPECT_NE(pauses_[0], pauses_[2]);
}

TEST_F(PatientGeneratorTest, waits_as_long_as_it_is_asked_to) {
  ASSERT_TRUE(ask(*make({refusal(Retry::kSameCall, 30)})));
  EXPECT_EQ(pauses_, std::vector<std::int64_t>{30'000});
}

TEST_F(PatientGeneratorTest, gives_up_at_once_where_waiting_is_no_use) {
  EXPECT_EQ(ask(*make({refusal(Retry::kNever)})).error().retry, Retry::kNever);
  EXPECT_FALSE(ask(*make({refusal(Retry::kSameCall, 3600)})));
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(PatientGeneratorTest, gives_up_after_its_tries) {
  config_.tries = 3;
  const auto answer = ask(*make(std::deque<Refusal>(3, refusal(Retry::kSameCall))));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("tried 3 times"));
  EXPECT_EQ(pauses_.size(), 2u);
}

TEST_F(PatientGeneratorTest, takes_many_refusals_in_a_row_for_an_outage_and_says_so) {
  config_.outage_after = 3;
  ASSERT_TRUE(ask(*make(std::deque<Refusal>(3, refusal(Retry::kSameCall)))));
  EXPECT_EQ(pauses_[2], 60'000);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("pausing 60 s"));
}

TEST_F(PatientGeneratorTest, spreads_calls_over_the_minute) {
  config_.calls_per_minute = 60;
  const auto generator = make({});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ask(*generator));
  EXPECT_EQ(pauses_, (std::vector<std::int64_t>{1000, 1000}));
}

TEST_F(PatientGeneratorTest, asks_no_more_once_a_budget_is_spent) {
  config_.tokens_max = 200;
  const auto generator = make({});
  ASSERT_TRUE(ask(*generator) && ask(*generator));
  const auto third = ask(*generator);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().retry, Retry::kAfterFix);
  EXPECT_THAT(third.error().message, HasSubstr("200 tokens"));
}

TEST_F(PatientGeneratorTest, counts_money_by_both_prices) {
  config_.price = Price{1e6, 2e6, 1e6};  // a dollar a token, and two
  config_.usd_max = 100;
  const auto generator = make({});
  ASSERT_TRUE(ask(*generator));
  EXPECT_DOUBLE_EQ(generator->usd_spent(), 60 + 2 * 40);
  EXPECT_THAT(ask(*generator).error().message, HasSubstr("USD"));
}

TEST_F(PatientGeneratorTest, keeps_to_its_time) {
  config_.time_max = milliseconds(1000);
  const auto generator = make({});
  ASSERT_TRUE(ask(*generator));
  now_ += milliseconds(1000);
  EXPECT_THAT(ask(*generator).error().message, HasSubstr("1 s is spent"));
}

}  // namespace
}  // namespace evk
