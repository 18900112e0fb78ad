#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "generate/cassette.h"
#include "generate/command_generator.h"

namespace evk {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

struct Ask {
  Task task;
  Context context;
  std::string prompt = "the prompt";
  std::uint64_t seed = 1;
  Result<Answer> of(Generator& generator) const {
    return generator.generate({task, context, prompt, Random(seed)});
  }
};

Result<Answer> command(const std::string& text, std::chrono::milliseconds deadline = 10s,
                       std::size_t bytes_max = 4u << 20) {
  CommandGenerator generator({text, deadline, bytes_max});
  return Ask().of(generator);
}

TEST(CommandGenerator, passes_the_prompt_and_takes_the_answer) {
  EXPECT_EQ(command("printf 'got: '; cat")->text, "got: the prompt");
}

TEST(CommandGenerator, moves_large_prompts_both_ways_at_once) {
  Ask ask;
  ask.prompt = std::string(3'000'000, 'x');
  CommandGenerator generator({"cat"});
  EXPECT_EQ(ask.of(generator)->text, ask.prompt);
}

TEST(CommandGenerator, does_not_mind_a_program_that_leaves_its_input) {
  Ask ask;
  ask.prompt = std::string(3'000'000, 'x');
  CommandGenerator generator({"exec <&-; echo done"});
  EXPECT_EQ(ask.of(generator)->text, "done\n");
}

TEST(CommandGenerator, says_how_the_program_ended) {
  EXPECT_THAT(command("exit 3").error().message, HasSubstr("status 3"));
  EXPECT_THAT(command("true").error().message, HasSubstr("nothing"));
  EXPECT_THAT(command("kill -9 $$").error().message, HasSubstr("signal 9"));
  EXPECT_THAT(command("yes", 10s, 100'000).error().message, HasSubstr("larger than"));
}

TEST(CommandGenerator, kills_the_whole_group_at_the_deadline) {
  const std::string note = testing::TempDir() + "/child.pid";
  const auto answer = command("sleep 60 & echo $! > " + note + "; wait", 300ms);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("deadline"));
  int pid = 0;
  std::ifstream(note) >> pid;
  ASSERT_GT(pid, 0);
  // The orphan is reaped by init a moment after its death.
  const auto gone = [&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, state;
    return !(stat >> id >> name >> state) || state == "Z";
  };
  for (int i = 0; i < 100 && !gone(); ++i) std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(gone());
}

class Echo : public Generator {
 public:
  Result<Answer> generate(const GenerateRequest& request) override {
    Answer answer;
    answer.text = "answer to " + request.prompt;
    answer.model = "echo";
    answer.answer_tokens = 3;
    return answer;
  }
};

class CassetteTest : public testing::Test {
 protected:
  CassetteTest() : path_(testing::TempDir() + "/cassette.jsonl") { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(CassetteTest, plays_back_what_was_recorded) {
  RecordingGenerator recording(std::make_unique<Echo>(), path_);
  Ask first, second;
  second.prompt = "other\nprompt";
  ASSERT_TRUE(first.of(recording) && second.of(recording));
  auto replay = ReplayGenerator::open(path_);
  ASSERT_TRUE(replay) << replay.error().text();
  EXPECT_EQ(second.of(**replay)->text, "answer to other\nprompt");
  EXPECT_EQ(first.of(**replay)->answer_tokens, 3);
}

TEST_F(CassetteTest, shows_where_an_unknown_prompt_differs) {
  RecordingGenerator recording(std::make_unique<Echo>(), path_);
  Ask ask;
  ask.prompt = "one\ntwo old\n";
  ASSERT_TRUE(ask.of(recording));
  auto replay = ReplayGenerator::open(path_);
  ask.prompt = "one\ntwo new\n";
  const auto answer = ask.of(**replay);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("recorded \"two old\", asked \"two new\""));
}

TEST_F(CassetteTest, tells_attempts_of_one_prompt_apart) {
  RecordingGenerator recording(std::make_unique<Echo>(), path_);
  Ask ask;
  ASSERT_TRUE(ask.of(recording));
  auto replay = ReplayGenerator::open(path_);
  ask.seed = 2;
  EXPECT_FALSE(ask.of(**replay));
}

TEST_F(CassetteTest, refuses_a_damaged_file_by_its_line) {
  std::ofstream(path_) << "\n{\"key\": 1}\n";
  const auto replay = ReplayGenerator::open(path_);
  ASSERT_FALSE(replay);
  EXPECT_THAT(replay.error().message, HasSubstr("cassette.jsonl:2"));
}

}  // namespace
}  // namespace evk
