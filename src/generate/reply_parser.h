// Makes a candidate of a model's answer.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"

namespace evk {

// Bounds of an answer. What is larger is a finding ("reply.too_large"), never cut.
inline constexpr std::size_t kReplyBytesMax = 4u << 20;
inline constexpr std::size_t kReplyFileBytesMax = 256u << 10;
inline constexpr std::size_t kReplyFilesMax = 16;

// Put at the end of an answer that a model's endpoint cut at its token limit.
inline constexpr std::string_view kCutMark = "[the endpoint cut this answer at its token limit]";

using ParsedReply = std::variant<Candidate, Finding>;

// Reads file blocks fenced as ```cpp title="op_kernel/x.cpp" (or with the path on the fence, or on the line
// before), and the lines "Hypothesis:" and "Constructs:". Understands thinking blocks and prose around code,
// several versions of a file (the last one counts), unlabelled blocks (told apart by what they contain),
// unified diffs and search/replace blocks against `start`. Files that the answer leaves out are taken from
// `start`, if there is one.
//
// Findings: "reply.no_code", "reply.bad_path" (outside op_host/ and op_kernel/, absolute, or with ".."),
// "reply.too_large", "reply.too_many_files", "reply.unmatched_edit", "reply.unchanged", "reply.incomplete"
// (no kernel file or no host file), "reply.cut" (ends with kCutMark).
ParsedReply parse_reply(std::string_view text, const Task& task, const Candidate* start);

}  // namespace evk
