#include "twin/program/type_macros.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evk::twin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(TypeMacros, name_the_first_type_of_each_tensor) {
  EXPECT_THAT(type_macros(R"(this->Input("x").ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT16, ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("out_1").ParamType(REQUIRED).DataType( { ge::DT_INT32 } );)"),
              ElementsAre(Pair("DTYPE_X", "half"), Pair("ORIG_DTYPE_X", "DT_FLOAT16"),
                          Pair("DTYPE_OUT_1", "int32_t"), Pair("ORIG_DTYPE_OUT_1", "DT_INT32")));
}

TEST(TypeMacros, leave_out_what_is_no_literal) {
  EXPECT_THAT(
      type_macros("Input(\"x\").DataType(types); MyDataType({ge::DT_FLOAT}); DataType({ge::DT_FLOAT})"),
      IsEmpty());
  EXPECT_THAT(type_macros("Input(\"x\").DataType({ge::DT_UNHEARD_OF})"), IsEmpty());
  EXPECT_THAT(type_macros("Input(\"x\").DataType({ge::DT_FLO"), IsEmpty());
  EXPECT_THAT(type_macros("Input(\"x"), IsEmpty());
}

TEST(TypeMacros, cut_anywhere_give_an_answer) {
  const std::string whole = "Input(\"x\").DataType({ge::DT_FLOAT}); Output(\"y\").DataType({ge::DT_FLOAT});";
  for (std::size_t n = 0; n <= whole.size(); ++n) EXPECT_LE(type_macros(whole.substr(0, n)).size(), 4u);
}

}  // namespace
}  // namespace evk::twin
