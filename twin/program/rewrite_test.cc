#include "twin/program/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace evk::twin {
namespace {

std::string launch(const std::string& callee, const std::string& configuration) {
  return "::npu::configure(" + configuration + ").run([&](auto... evk_a) { " + callee + "(evk_a...); })";
}

TEST(Rewrite, launches_become_calls) {
  EXPECT_EQ(rewrite_launches("add<<<8, nullptr, stream>>>(x, y);"),
            launch("add", "8, nullptr, stream") + "(x, y);");
  EXPECT_EQ(rewrite_launches("  ns::add<float, 4><<<f(1, 2), 0, s>>>(x);"),
            "  " + launch("ns::add<float, 4>", "f(1, 2), 0, s") + "(x);");
  EXPECT_EQ(rewrite_launches("::a::b<c<d>> <<<n, 0, s>>> (x)"), launch("::a::b<c<d>>", " n, 0, s") + " (x)");
  EXPECT_EQ(rewrite_launches("#define GO(T) \\\n  k<T><<<n, 0, s>>>(x)\n"),
            "#define GO(T) \\\n  " + launch("k<T>", "n, 0, s") + "(x)\n");
}

TEST(Rewrite, everything_else_stays) {
  for (const char* text :
       {"// add<<<8, 0, s>>>(x);\n", "/* add<<<8, 0, s>>>(x); */", "const char* t = \"add<<<8, 0, s>>>(x)\";",
        "auto t = R\"(a \" add<<<8, 0, s>>>(x))\";", "A<B<C<int>>> v(3);", "a = b << c;",
        "add<<<8, 0, s; x>>>(y);", "char c = '\"'; int n = 1'000;", "X operator<<<T>(X a);",
        "add<<<8, 0, s>>>", "<<<", ""})
    EXPECT_EQ(rewrite_launches(text), text);
}

TEST(Rewrite, a_launch_is_told_which_cores_its_kernel_names) {
  const auto kind_of = [](const std::string& declaration, const std::string& callee = "k") {
    const std::string made = rewrite_launches(declaration + " { }\n" + callee + "<<<1, 0, s>>>(x);");
    const auto at = made.find("::npu::configure");
    return at == std::string::npos ? "" : made.substr(at + 16, made.find('(', at) - at - 16);
  };
  EXPECT_EQ(kind_of("__global__ __aicore__ void k(GM_ADDR x)"), "");
  EXPECT_EQ(kind_of("__global__ __vector__ void k(GM_ADDR x)"), "<0>");
  EXPECT_EQ(kind_of("__cube__ __global__ void k(GM_ADDR x)"), "<1>");
  EXPECT_EQ(kind_of("__global__ __mix__(0, 1) void k(GM_ADDR x)"), "<2>");
  EXPECT_EQ(kind_of("__global__ __mix__(1, 0) void k(GM_ADDR x)"), "<3>");
  EXPECT_EQ(kind_of("__mix__(1, 1) __global__ __aicore__ void k(GM_ADDR x)"), "<4>");
  EXPECT_EQ(kind_of("template <typename T> __global__ __mix__(1, 2) void k(GM_ADDR x)", "ns::k<half>"),
            "<5>");
  EXPECT_EQ(kind_of("// __cube__\n__global__ __aicore__ void k(GM_ADDR x)"), "");
  EXPECT_EQ(kind_of("__global__ __cube__ void other(GM_ADDR x)"), "");
}

TEST(Rewrite, lines_keep_their_numbers) {
  const std::string text =
      "int a;\nadd<float>\n  <<<8,\n nullptr, // s\n s>>>\n(x,\n y);\nadd<<<1, 0, s>>>(x);\nint b;\n";
  const std::string made = rewrite_launches(text);
  EXPECT_EQ(std::count(made.begin(), made.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(std::count(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(made.find("int b")), '\n'),
            8);
}

TEST(Rewrite, any_bytes_come_back_or_change_without_harm) {
  std::string text;
  std::uint32_t seed = 7;
  for (int round = 0; round < 2000; ++round) {
    text.clear();
    for (int i = 0; i < 40; ++i) {
      seed = seed * 1664525 + 1013904223;
      text += "<>(){}a:;\"'R/\\*\n ,"[seed >> 24 & 15];
    }
    EXPECT_GE(rewrite_launches(text).size() + 3, text.size());
  }
}

}  // namespace
}  // namespace evk::twin
