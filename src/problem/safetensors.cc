#include "problem/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

Result<void> ReadAt(int fd, const std::string& path, void* data, std::uint64_t bytes, std::uint64_t offset) {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const auto got = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(ErrorKind::kIo, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (got == 0) return Fail(ErrorKind::kUsage, fmt::format("{} ends before its data does: write it again", path));
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return {};
}

// One row of the header; nothing if it is not well formed or its data lie outside the file.
std::optional<Safetensors::Entry> ReadEntry(const json& row, std::uint64_t data_begin, std::uint64_t file_bytes) {
  Safetensors::Entry entry;
  const auto type = row.at("dtype").get<std::string>();
  const auto* known =
      std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const auto& one) { return one.safetensors == type; });
  if (known == std::end(kDTypes)) return std::nullopt;
  entry.dtype = known->dtype;
  entry.bytes = Bytes(entry.dtype);
  for (const auto& item : row.at("shape")) {
    const auto extent = item.get<std::uint64_t>();
    if (extent > 0 && entry.bytes > file_bytes / extent) return std::nullopt;
    entry.bytes *= extent;
    entry.shape.push_back(static_cast<std::int64_t>(extent));
  }
  const auto begin = row.at("data_offsets").at(0).get<std::uint64_t>(),
             end = row.at("data_offsets").at(1).get<std::uint64_t>();
  if (begin > end || end > file_bytes - data_begin || end - begin != entry.bytes) return std::nullopt;
  entry.offset = data_begin + begin;
  return entry;
}

}  // namespace

Result<Safetensors> Safetensors::Open(const std::string& path) {
  Safetensors file;
  file.path_ = path;
  file.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (file.fd_ < 0 || fstat(file.fd_, &status) != 0) {
    return Fail(errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  const auto total = static_cast<std::uint64_t>(status.st_size);
  const auto no_such = [&](std::string_view why) {
    return Fail(ErrorKind::kUsage, fmt::format("{} is no safetensors file: {}", path, why));
  };
  if (total < 8) return no_such("shorter than 8 bytes");
  std::uint64_t length = 0;  // little-endian, as are the machines that we run on
  HONE_TRY(ReadAt(file.fd_, path, &length, 8, 0));
  if (length > total - 8 || length > kLongestHeader) return no_such("its header is longer than the file");
  std::string header(length, '\0');
  HONE_TRY(ReadAt(file.fd_, path, header.data(), length, 8));
  try {
    const auto document = json::parse(header);
    for (const auto& [name, row] : document.items()) {
      if (name == "__metadata__") continue;
      const auto entry = ReadEntry(row, 8 + length, total);
      if (!entry) return no_such(fmt::format("the entry of {} is of an unknown type or reaches past the end", name));
      file.entries_[name] = *entry;
    }
  } catch (const json::exception& exception) {
    return no_such(exception.what());
  }
  return file;
}

Safetensors::Safetensors(Safetensors&& other) noexcept { *this = std::move(other); }

Safetensors& Safetensors::operator=(Safetensors&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(entries_, other.entries_);
  return *this;
}

Safetensors::~Safetensors() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Safetensors::Read(const Entry& entry, void* data) const {
  return ReadAt(fd_, path_, data, entry.bytes, entry.offset);
}

Result<void> WriteSafetensors(const std::string& path, const std::vector<NamedData>& tensors) {
  auto header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  const auto bytes_of = [](const NamedData& tensor) {
    return static_cast<std::uint64_t>(ElementCount(tensor.shape)) * Bytes(tensor.dtype);
  };
  for (const auto& tensor : tensors) {
    const auto end = offset + bytes_of(tensor);
    header[tensor.name] = {
        {"dtype", RowOf(tensor.dtype).safetensors}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  auto text = JsonText(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data are aligned to 8 bytes
  const std::uint64_t length = text.size();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return Fail(ErrorKind::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  bool ok = std::fwrite(&length, 8, 1, file) == 1 && std::fwrite(text.data(), 1, length, file) == length;
  for (const auto& tensor : tensors) {
    const auto bytes = bytes_of(tensor);  // of none, the data may be a null pointer, which fwrite must not get
    ok = ok && (bytes == 0 || std::fwrite(tensor.data, 1, bytes, file) == bytes);
  }
  ok = std::fclose(file) == 0 && ok;
  if (!ok) return Fail(ErrorKind::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

}  // namespace hone
