#include "propose/recalled.h"

#include "base/json_text.h"
#include "base/record.h"
#include "base/sha256.h"
#include "dsl/lower.h"
#include "dsl/program.h"
#include "propose/experience_fields.h"
#include "propose/expert/cost.h"
#include "propose/expert/piece_text.h"
#include "target/shipped_model.h"

namespace hone {

template <SameAs<ProvenPiece> Of>
void Fields(Of& piece, auto&& field) {
  field("text", piece.text);
  field("settings", piece.settings);
  field("share", piece.share);
  field("gain", piece.gain);
  field("run", piece.run);
  field("problem", piece.problem);
}

namespace {

struct Snapshot {
  std::map<std::string, ProvenPiece> proven;
  std::map<std::string, Tally> experience;
};

template <SameAs<Snapshot> Of>
void Fields(Of& snapshot, auto&& field) {
  field("proven", snapshot.proven, kIfAny);
  field("experience", snapshot.experience, kIfAny);
}

}  // namespace

std::string PieceKey(const std::string& text, Precision contract) {
  return Sha256(std::string(Name(contract)) + "\n" + text).substr(0, 32);
}

std::string ToJson(const Recalled& recalled) {
  if (recalled.empty()) return "{}";
  return JsonText(ToRecord(Snapshot{recalled.proven, recalled.experience.kinds()}));
}

Result<Recalled> ParseRecalled(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  Snapshot snapshot = HONE_TRY(FromRecord<Snapshot>(parsed, "what a run of ours recalled: " + json));
  return Recalled{std::move(snapshot.proven), Experience(std::move(snapshot.experience))};
}

std::string WhyNoProgram(const std::string& piece, std::string_view target) {
  std::vector<DeviceModel> devices;
  if (target == "cuda") {
    for (const ShippedModel* model : AllShippedModels()) {
      if (auto device = FindShippedModel(model->key)) devices.push_back(std::move(*device));
    }
  } else {
    devices.push_back({.threads = 1});
  }
  std::string why;
  for (const DeviceModel& device : devices) {
    const auto lowered = dsl::Lower(piece, nullptr, device);
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    if (complaint == nullptr) return "";
    if (why.empty()) why = dsl::ToString(*complaint);
  }
  return why;
}

std::map<std::string, ProvenPiece> PiecesOfProgram(const std::string& text, const Problem& problem,
                                                   const DeviceModel& machine) {
  std::map<std::string, ProvenPiece> pieces;
  const auto parsed = dsl::Parse(text);
  const auto* program = std::get_if<dsl::Program>(&parsed);
  if (program == nullptr) return pieces;
  const auto checked = dsl::Check(*program, &problem, machine);
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  if (kernels == nullptr) return pieces;
  const std::vector<double> times = expert::PredictKernels(*kernels, machine);
  double total = 0;
  for (const double time : times) total += time;
  const std::vector<std::string> texts = expert::PieceTexts(*program, *kernels);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    ProvenPiece piece{.text = texts[k], .share = total > 0 ? times[k] / total : 0};
    for (const auto& [knob, setting] : kernels->kernels[k].settings) piece.settings[knob] = dsl::ToString(setting);
    pieces.insert_or_assign(PieceKey(texts[k], problem.contract), std::move(piece));
  }
  return pieces;
}

}  // namespace hone
