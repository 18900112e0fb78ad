#include "generate/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "generate/reply_parser.h"

namespace evk {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-planted-secret-0123456789";

// tests/model_server/server.py as a child; it ends with its standard input.
class Server {
 public:
  explicit Server(const std::string& options = "")
      : file_(testing::TempDir() + "/endpoint_port" + options.substr(0, 5)) {
    std::filesystem::remove(file_);
    pipe_ = ::popen(("exec python3 '" EVK_SOURCE_DIR "/tests/model_server/server.py' '" + file_ + "' --key " +
                     kKey + " " + options)
                        .c_str(),
                    "w");
    for (int i = 0; i < 1500 && port_.empty(); ++i) {
      std::ifstream(file_) >> port_;
      if (port_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  ~Server() { ::pclose(pipe_); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  std::string url(const std::string& behaviour, const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + port_ + "/" + behaviour + "/v1";
  }

 private:
  std::string file_, port_;
  FILE* pipe_ = nullptr;
};

class EndpointTest : public testing::TestWithParam<Dialect> {
 protected:
  static void SetUpTestSuite() {
    for (const char* name :
         {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"})
      ::unsetenv(name);
    server_ = std::make_unique<Server>();
  }
  static void TearDownTestSuite() { server_.reset(); }

  EndpointConfig config(const std::string& behaviour) const {
    EndpointConfig c;
    c.dialect = GetParam();
    c.base_url = server_->url(behaviour);
    c.model = "m";
    c.key = kKey;
    c.stall_s = 1;
    return c;
  }
  tl::expected<Answer, Refusal> ask(const std::string& behaviour) const {
    return make_endpoint(config(behaviour))->ask("the prompt");
  }
  Error error(const std::string& behaviour) const {
    const auto answer = ask(behaviour);
    EXPECT_FALSE(answer) << behaviour;
    return answer ? Error{} : answer.error().error;
  }

  static std::unique_ptr<Server> server_;
};
std::unique_ptr<Server> EndpointTest::server_;
INSTANTIATE_TEST_SUITE_P(Dialects, EndpointTest, testing::Values(Dialect::kOpenAi, Dialect::kAnthropic),
                         [](const auto& i) { return i.param == Dialect::kOpenAi ? "openai" : "anthropic"; });

TEST_P(EndpointTest, takes_a_streamed_answer_with_its_model_and_tokens) {
  const auto answer = ask("ok");
  ASSERT_TRUE(answer) << answer.error().error.text();
  EXPECT_EQ(answer->text, "echo: the prompt");
  EXPECT_EQ(answer->model, "test-model");
  EXPECT_EQ(answer->prompt_tokens, 11);
  EXPECT_EQ(answer->answer_tokens, 22);
}

TEST_P(EndpointTest, takes_a_whole_answer_asked_for_or_not) {
  EXPECT_EQ(ask("whole")->text, "echo: the prompt");
  auto c = config("ok");
  c.stream = false;
  EXPECT_EQ(make_endpoint(c)->ask("the prompt")->answer_tokens, 22);
}

TEST_P(EndpointTest, leaves_thinking_out) { EXPECT_EQ(ask("thinking")->text, "echo: the prompt"); }

TEST_P(EndpointTest, marks_a_cut_answer_so_that_no_half_kernel_is_scored) {
  const auto answer = ask("cut");
  ASSERT_TRUE(answer);
  const auto reply = parse_reply(answer->text, Task{}, nullptr);
  ASSERT_TRUE(std::holds_alternative<Finding>(reply));
  EXPECT_EQ(std::get<Finding>(reply).code, "reply.cut");
}

TEST_P(EndpointTest, advises_to_repeat_what_may_pass) {
  for (const char* fault :
       {"429", "500", "503", "half", "html", "reset", "empty", "stream-error", "stall", "deep", "other-json"})
    EXPECT_EQ(error(fault).retry, Retry::kSameCall) << fault;
}

TEST_P(EndpointTest, names_each_fault) {
  EXPECT_THAT(error("half").message, HasSubstr("middle of the answer"));
  EXPECT_THAT(error("html").message, HasSubstr("a proxy says hello"));
  EXPECT_THAT(error("empty").message, HasSubstr("nothing"));
  EXPECT_THAT(error("stream-error").message, HasSubstr("overloaded"));
  EXPECT_THAT(error("500").message, HasSubstr("status 500: told to fail"));
  EXPECT_THAT(error("reset").message, HasSubstr("connection failed"));
}

TEST_P(EndpointTest, does_not_repeat_what_stays) {
  EXPECT_EQ(error("huge").retry, Retry::kNever);
  EXPECT_THAT(error("overflow").message, HasSubstr("--slots"));
  EXPECT_EQ(error("overflow").retry, Retry::kNever);
  EXPECT_EQ(error("redirect").retry, Retry::kAfterFix);
  EXPECT_THAT(error("redirect").message, HasSubstr("127.0.0.1:1/elsewhere"));
  EXPECT_EQ(error("404").retry, Retry::kAfterFix);
}

TEST_P(EndpointTest, hands_on_how_long_to_wait) {
  const auto answer = ask("429-long");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().wait_s, 7);
}

TEST_P(EndpointTest, drops_a_refused_parameter_with_one_note) {
  auto c = config("refuse-temperature");
  c.temperature = 0.5;
  std::vector<std::string> notes;
  c.note = [&](const std::string& line) { notes.push_back(line); };
  const auto endpoint = make_endpoint(c);
  for (int i = 0; i < 2; ++i) {
    const auto answer = endpoint->ask("p");
    ASSERT_TRUE(answer) << answer.error().error.text();
    EXPECT_THAT(answer->text, Not(HasSubstr("temperature")));
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("temperature"));
}

TEST_P(EndpointTest, sends_only_what_was_set) {
  auto c = config("refuse-nothing");
  c.stream = false;
  const auto answer = make_endpoint(c)->ask("p");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, GetParam() == Dialect::kOpenAi ? "echo: p with messages model"
                                                         : "echo: p with max_tokens messages model");
}

TEST_P(EndpointTest, keeps_the_key_out_of_errors_and_answers) {
  EXPECT_THAT(error("tell-key").message, AllOf(HasSubstr("your key"), Not(HasSubstr("sk-"))));
  EXPECT_EQ(ask("answer-key")->text, "your key is [key]");
}

TEST_P(EndpointTest, explains_a_wrong_key) {
  auto c = config("ok");
  c.key = "another";
  const auto answer = make_endpoint(c)->ask("p");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().error.message, AllOf(HasSubstr("EVOKERNEL_API_KEY"), Not(HasSubstr("another"))));
}

TEST_P(EndpointTest, refuses_other_schemes_and_dead_addresses) {
  auto c = config("ok");
  c.base_url = "file:///etc";
  EXPECT_EQ(make_endpoint(c)->ask("p").error().error.retry, Retry::kAfterFix);
  c.base_url = "http://127.0.0.1:1";
  EXPECT_EQ(make_endpoint(c)->ask("p").error().error.retry, Retry::kSameCall);
}

TEST_P(EndpointTest, goes_through_the_proxy_that_the_environment_names) {
  const std::string proxy = server_->url("").substr(0, server_->url("").find('/', 7));
  ::setenv("http_proxy", proxy.c_str(), 1);
  auto c = config("ok");
  c.base_url = "http://model.invalid/ok/v1";
  const auto answer = make_endpoint(c)->ask("p");
  ::unsetenv("http_proxy");
  ASSERT_TRUE(answer) << answer.error().error.text();
  EXPECT_EQ(answer->text, "echo: p");
}

TEST(EndpointTls, trusts_the_authority_it_is_given_and_no_other) {
  if (std::system("command -v openssl > /dev/null") != 0) GTEST_SKIP() << "no openssl program";
  const std::string folder = testing::TempDir() + "/endpoint_tls";
  std::filesystem::create_directories(folder);
  const Server server("--tls '" + folder + "'");
  EndpointConfig c;
  c.base_url = server.url("ok", "https");
  c.model = "m";
  c.key = kKey;
  const auto distrusted = make_endpoint(c)->ask("p");
  ASSERT_FALSE(distrusted);
  EXPECT_EQ(distrusted.error().error.retry, Retry::kAfterFix);
  EXPECT_THAT(distrusted.error().error.message, HasSubstr("--ca-file"));
  c.ca_file = folder + "/cert.pem";
  const auto trusted = make_endpoint(c)->ask("p");
  ASSERT_TRUE(trusted) << trusted.error().error.text();
  EXPECT_EQ(trusted->text, "echo: p");
}

TEST(ChatBody, survives_mutations_of_a_stream) {
  const std::string seed =
      "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n";
  Random random(5);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = seed;
    for (std::uint64_t n = random.below(6) + 1; n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    for (const auto dialect : {Dialect::kOpenAi, Dialect::kAnthropic})
      if (const auto body = read_chat_body(dialect, text)) {
        EXPECT_LE(body->answer.text.size(), text.size());
        ++read;
      }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace evk
