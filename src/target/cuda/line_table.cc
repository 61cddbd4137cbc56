#include "target/cuda/line_table.h"

#include <algorithm>
#include <cstring>

namespace hone::cuda {
namespace {

// Opcodes of the line program that we know; a standard one that we do not has its number of operands in the header.
constexpr int kOpCopy = 1, kOpAdvancePc = 2, kOpAdvanceLine = 3, kOpSetFile = 4, kOpConstAddPc = 8,
              kOpFixedAdvancePc = 9;
constexpr int kOpEndSequence = 1, kOpSetAddress = 2;

// Reads from left to right; beyond the end all is 0.
class LineBytes {
 public:
  explicit LineBytes(std::string_view data) : data_(data) {}
  bool done() const { return at_ >= data_.size(); }
  std::size_t at() const { return at_; }
  void To(std::size_t at) { at_ = std::min(at, data_.size()); }
  std::size_t After(std::uint64_t count) const { return at_ + std::min<std::uint64_t>(count, data_.size() - at_); }

  template <class T>
  T Fixed() {
    T value{};
    if (data_.size() - at_ >= sizeof value) std::memcpy(&value, data_.data() + at_, sizeof value);
    To(at_ + sizeof value);
    return value;
  }
  std::uint64_t Unsigned() { return Leb().first; }
  std::int64_t Signed() {
    const auto [bits, count] = Leb();
    const bool negative = count > 0 && count < 64 && (bits >> (count - 1) & 1) != 0;
    return static_cast<std::int64_t>(negative ? bits | ~std::uint64_t{0} << count : bits);
  }
  std::string_view Text() {
    const auto text = data_.substr(at_, data_.substr(at_).find('\0'));
    To(at_ + text.size() + 1);
    return text;
  }

 private:
  std::pair<std::uint64_t, int> Leb() {  // and of how many bits it is
    std::uint64_t value = 0;
    int bits = 0;
    for (bool more = true; more && !done(); bits += 7) {
      const auto byte = Fixed<std::uint8_t>();
      if (bits < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << bits;
      more = (byte & 0x80) != 0;
    }
    return {value, bits};
  }
  std::string_view data_;
  std::size_t at_ = 0;
};

// One compilation's part of the section.
class LineUnit {
 public:
  LineUnit(LineBytes& bytes, const std::map<std::uint64_t, std::string>& functions, LineTable& table)
      : bytes_(bytes), functions_(functions), table_(table) {}

  void Read() {
    const auto length = bytes_.Fixed<std::uint32_t>();
    const std::size_t end = bytes_.After(length);
    const auto version = bytes_.Fixed<std::uint16_t>();
    if (version < 2 || version > 4) return bytes_.To(end);
    ReadHeader(version);
    while (bytes_.at() < end && !bytes_.done()) Step();
    bytes_.To(end);
  }

 private:
  void ReadHeader(int version) {
    const auto header_length = bytes_.Fixed<std::uint32_t>();
    const std::size_t program = bytes_.After(header_length);
    shortest_ = bytes_.Fixed<std::uint8_t>();
    if (version >= 4) bytes_.Fixed<std::uint8_t>();  // operations in an instruction
    bytes_.Fixed<std::uint8_t>();                    // whether rows are statements at first
    line_base_ = bytes_.Fixed<std::int8_t>();
    line_range_ = std::max<int>(1, bytes_.Fixed<std::uint8_t>());
    opcode_base_ = bytes_.Fixed<std::uint8_t>();
    for (int i = 1; i < opcode_base_; ++i) operands_.push_back(bytes_.Fixed<std::uint8_t>());
    std::vector<std::string> folders = {""};
    while (!bytes_.done()) {
      const auto folder = bytes_.Text();
      if (folder.empty()) break;
      folders.emplace_back(folder);
    }
    while (!bytes_.done()) {
      const auto name = bytes_.Text();
      if (name.empty()) break;
      const auto folder = bytes_.Unsigned();
      bytes_.Unsigned();  // when it was changed
      bytes_.Unsigned();  // its length
      const bool whole = folder == 0 || folder >= folders.size() || name.front() == '/';
      table_.files.push_back(whole ? std::string(name) : folders[folder] + '/' + std::string(name));
      ++files_;
    }
    bytes_.To(program);
  }

  void Step() {
    const int opcode = bytes_.Fixed<std::uint8_t>();
    if (opcode >= opcode_base_) {
      Advance(static_cast<std::uint64_t>((opcode - opcode_base_) / line_range_));
      AdvanceLine(line_base_ + (opcode - opcode_base_) % line_range_);
      return AddRow();
    }
    switch (opcode) {
      case 0: return Extended();
      case kOpCopy: return AddRow();
      case kOpAdvancePc: return Advance(bytes_.Unsigned());
      case kOpAdvanceLine: AdvanceLine(bytes_.Signed()); return;
      case kOpSetFile: row_.file = static_cast<int>(bytes_.Unsigned()); return;
      case kOpConstAddPc: return Advance(static_cast<std::uint64_t>((255 - opcode_base_) / line_range_));
      case kOpFixedAdvancePc: row_.address += bytes_.Fixed<std::uint16_t>(); return;
      default:
        for (int i = 0; i < operands_[static_cast<std::size_t>(opcode) - 1]; ++i) bytes_.Unsigned();
    }
  }

  void Extended() {
    const auto length = bytes_.Unsigned();
    const std::size_t end = bytes_.After(length);
    const int opcode = length > 0 ? bytes_.Fixed<std::uint8_t>() : 0;
    if (opcode == kOpSetAddress) {
      const auto function = functions_.find(bytes_.at());
      row_.address = bytes_.Fixed<std::uint64_t>();
      rows_ = function == functions_.end() ? nullptr : &table_.functions[function->second];
    } else if (opcode == kOpEndSequence) {
      rows_ = nullptr;
      row_ = {.address = 0, .file = 1, .line = 1};
    }
    bytes_.To(end);  // of others, NVIDIA's own among them, nothing is needed
  }

  void Advance(std::uint64_t instructions) { row_.address += instructions * shortest_; }

  // Nonsense wraps around.
  void AdvanceLine(std::int64_t lines) {
    row_.line = static_cast<int>(static_cast<unsigned>(row_.line) + static_cast<unsigned>(lines));
  }

  void AddRow() {
    if (rows_ == nullptr) return;
    LineRow row = row_;
    const bool known = row.file >= 1 && row.file <= files_;
    row.file = known ? static_cast<int>(table_.files.size()) - files_ + row.file - 1 : -1;
    if (!rows_->empty() && rows_->back().address == row.address) {
      rows_->back() = row;  // of several the last holds
    } else {
      rows_->push_back(row);
    }
  }

  LineBytes& bytes_;
  const std::map<std::uint64_t, std::string>& functions_;
  LineTable& table_;
  std::vector<LineRow>* rows_ = nullptr;  // of the function at hand
  LineRow row_{.address = 0, .file = 1, .line = 1};
  std::uint64_t shortest_ = 1;
  int line_base_ = 0, line_range_ = 1, opcode_base_ = 1, files_ = 0;
  std::vector<int> operands_;
};

}  // namespace

LineTable ReadLineTable(std::string_view section, const std::map<std::uint64_t, std::string>& functions) {
  LineTable table;
  LineBytes bytes(section);
  while (!bytes.done()) LineUnit(bytes, functions, table).Read();
  for (auto& [name, rows] : table.functions) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const LineRow& a, const LineRow& b) { return a.address < b.address; });
  }
  return table;
}

}  // namespace hone::cuda
