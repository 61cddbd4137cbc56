// The page about what makes kernels fast on Hopper, by section.
#include <nlohmann/json.hpp>

#include "propose/lookup.h"
#include "propose/sections.h"

namespace hone::lookup_read_hopper {
namespace {

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library&) {
  return SectionNamed(kHopperPage, arguments.value("section", ""));
}

}  // namespace

HONE_ROW(Lookup){
    .name = "read_hopper",
    .doc =
        "Read a section of the page about what makes kernels fast on Hopper, by kind of work: memory, rows, "
        "products, attention, recurrent layers, convolutions. Without a section: which there are.",
    .schema = R"({"type": "object", "additionalProperties": false, "properties": {
                  "section": {"type": "string"}}})",
    .answer = Answer};

}  // namespace hone::lookup_read_hopper
