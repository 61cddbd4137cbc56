#include "search/memory_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/record.h"
#include "propose/recalled.h"
#include "verdict/verdict.h"

namespace hone {

template <SameAs<LessonRecord> Of>
void Fields(Of& lesson, auto&& field) {
  field("run", lesson.run);
  field("attempt", lesson.attempt);
  field("target", lesson.target);
  field("machine", lesson.machine);
  field("problem_name", lesson.problem_name);
  field("problem_identity", lesson.problem_identity);
  field("family", lesson.family);
  field("knob", lesson.knob);
  field("before", lesson.before);
  field("after", lesson.after);
  field("dtype", lesson.dtype);
  field("size", lesson.size);
  field("limited_by", lesson.limited_by);
  field("rule", lesson.rule);
  field("share", lesson.share);
  field("gain", lesson.gain);
  field("outcome", lesson.outcome);
  field("version", lesson.version);
  field("at_ms", lesson.at_ms);
}

namespace {

using Json = nlohmann::json;

// More than anything of ours has: a piece is a few lines, a store leaves some thousands of lessons.
constexpr std::size_t kLongestText = 20'000, kLongestLine = 100'000, kMostLines = 1'000'000;
constexpr std::size_t kShown = 60;  // of what is wrong
constexpr double kMostGain = 20;    // of a logarithm
constexpr double kMostTimes = 1e9;

// A proven record's settings are JSON in the store and an object here.
struct ProvenLine {
  ProvenRecord record;
  std::map<std::string, std::string> settings;
};

template <SameAs<ProvenLine> Of>
void Fields(Of& line, auto&& field) {
  field("piece", line.record.piece);
  field("target", line.record.target);
  field("machine", line.record.machine);
  field("run", line.record.run);
  field("text", line.record.text);
  field("settings", line.settings);
  field("share", line.record.share);
  field("gain", line.record.gain);
  field("speedup", line.record.speedup);
  field("problem_name", line.record.problem_name);
  field("problem_identity", line.record.problem_identity);
  field("version", line.record.version);
  field("at_ms", line.record.at_ms);
}

Result<void> Refuse(std::string why) { return Fail(ErrorKind::kCorrupt, std::move(why)); }

// Of all that stands in the line, whatever it is called: control characters would be obeyed by a terminal.
Result<void> CheckTexts(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) HONE_TRY(CheckTexts(value));
    if (value.is_array()) return Refuse(fmt::format("'{}' is a list, and no field is", key));
    if (!value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    const bool lines = key == "text";
    if (text.size() > kLongestText) return Refuse(fmt::format("'{}' is longer than {} bytes", key, kLongestText));
    if (std::ranges::any_of(text, [&](unsigned char c) { return (c < 0x20 && !(lines && c == '\n')) || c == 0x7f; }))
      return Refuse(fmt::format("'{}' holds a control character", key));
  }
  return {};
}

Result<void> CheckNumber(std::string_view what, double value, double low, double high) {
  if (std::isfinite(value) && value >= low && value <= high) return {};
  return Refuse(fmt::format("{} is {}, not of {} to {}", what, value, low, high));
}

// Names the field that is not as it should be.
template <class Record>
Result<Record> ReadRecord(const Json& json, const std::string& what) {
  if (!json.is_object()) return Fail(ErrorKind::kCorrupt, fmt::format("{} is an object of its fields", what));
  auto record = FromRecord<Record>(json, what);
  if (record) return record;
  for (const auto& [key, value] : json.items()) {
    if (!FromRecord<Record>(Json{{key, value}}, what))
      return Fail(ErrorKind::kCorrupt, fmt::format("{} of {} cannot be {}", JsonText(Json(key)).substr(0, kShown), what,
                                                   JsonText(value).substr(0, kShown)));
  }
  return record;
}

template <class Record>
Result<void> CheckWhose(const Record& record) {
  if (record.target != "cpu" && record.target != "cuda")
    return Refuse(fmt::format("its target is '{}', not cpu or cuda", record.target));
  if (record.machine.empty() || record.run.empty()) return Refuse("it lacks its machine or its run");
  HONE_TRY(CheckNumber("share", record.share, 0, 1));
  return CheckNumber("at_ms", static_cast<double>(record.at_ms), 0, 1e15);
}

Result<ProvenRecord> ReadProven(const Json& json) {
  ProvenLine line = HONE_TRY(ReadRecord<ProvenLine>(json, "a proven piece"));
  if (line.record.piece.empty() || line.record.text.empty()) return Fail(ErrorKind::kCorrupt, "it lacks its piece");
  HONE_TRY(CheckWhose(line.record));
  HONE_TRY(CheckNumber("gain", line.record.gain, 1, kMostTimes));
  HONE_TRY(CheckNumber("speedup", line.record.speedup, 0, kMostTimes));
  if (const std::string why = WhyNoProgram(line.record.text, line.record.target); !why.empty())
    return Fail(ErrorKind::kCorrupt,
                fmt::format("the text of piece {} is no program: {}", line.record.piece.substr(0, kShown), why));
  line.record.settings = JsonText(Json(line.settings));
  return std::move(line.record);
}

Result<LessonRecord> ReadLesson(const Json& json) {
  LessonRecord lesson = HONE_TRY(ReadRecord<LessonRecord>(json, "a lesson"));
  HONE_TRY(CheckWhose(lesson));
  if (lesson.family.empty() || lesson.knob.empty()) return Fail(ErrorKind::kCorrupt, "it lacks its family or its knob");
  if (!ParseOutcome(lesson.outcome))
    return Fail(ErrorKind::kCorrupt, fmt::format("its outcome is '{}', which is none", lesson.outcome));
  HONE_TRY(CheckNumber("attempt", lesson.attempt, 1, 1e9));
  HONE_TRY(CheckNumber("size", lesson.size, 0, 64));
  HONE_TRY(CheckNumber("gain", lesson.gain, -kMostGain, kMostGain));
  return lesson;
}

Result<void> ReadLine(std::string_view line, int number, MemoryFile& memory) {
  if (line.size() > kLongestLine) return Refuse(fmt::format("it is longer than {} bytes", kLongestLine));
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return Refuse("it is no JSON object");
  if (number == 1) {
    if (const auto version = json.find("hone_memory"); version == json.end() || *version != 1)
      return Refuse("the first line of what `hone memory` exports is {\"hone_memory\": 1}");
    return {};
  }
  HONE_TRY(CheckTexts(json));
  if (json.size() != 1 || !(json.contains("proven") || json.contains("lesson")))
    return Refuse("it is neither {\"proven\": ...} nor {\"lesson\": ...}");
  if (json.contains("proven")) {
    memory.proven.push_back(HONE_TRY(ReadProven(json["proven"])));
  } else {
    memory.lessons.push_back(HONE_TRY(ReadLesson(json["lesson"])));
  }
  return {};
}

}  // namespace

std::string ToLines(const MemoryFile& memory) {
  std::string lines = "{\"hone_memory\": 1}\n";
  for (const ProvenRecord& one : memory.proven) {
    ProvenLine line{one, {}};
    const Json settings = Json::parse(one.settings, nullptr, false);
    for (const auto& [knob, value] : settings.items()) {
      if (value.is_string()) line.settings[knob] = value.get<std::string>();
    }
    lines += JsonText({{"proven", ToRecord(line)}}) + "\n";
  }
  for (const LessonRecord& one : memory.lessons) lines += JsonText({{"lesson", ToRecord(one)}}) + "\n";
  return lines;
}

Result<MemoryFile> ReadMemory(std::string_view lines, const std::string& name) {
  MemoryFile memory;
  std::size_t number = 0;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    ++number;
    if (number > kMostLines)
      return Fail(ErrorKind::kCorrupt, fmt::format("{}: it has more than {} lines", name, kMostLines));
    if (Result<void> read = ReadLine(line, static_cast<int>(number), memory); !read)
      return Rethrow(std::move(read).error(), fmt::format("{}:{}: ", name, number));
  }
  if (number == 0)
    return Fail(ErrorKind::kCorrupt, fmt::format("{} is empty, and nothing that `hone memory` exports", name));
  return memory;
}

}  // namespace hone
