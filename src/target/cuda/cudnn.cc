#include "target/cuda/cudnn.h"

#include <fmt/format.h>

#include <utility>

#include "target/cuda/library_calls.h"
#include "target/cuda/library_types.h"
#include "target/cuda/shared_library.h"

namespace hone::cuda {
namespace {

std::vector<int> Ints(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

hone_library::Tensor Layout(const DeviceTensor& tensor) {
  return {LibraryType(tensor.dtype), Ints(tensor.shape), Ints(tensor.strides)};
}

}  // namespace

struct Cudnn::Api : hone_library::Cudnn {};

class Cudnn::Prepared {
 public:
  hone_library::ConvolutionMemory memory;
  hone_library::Cudnn::Convolution convolution;
};

Cudnn::Cudnn(std::unique_ptr<Api> api) : api_(std::move(api)) {}

Cudnn::~Cudnn() = default;

Try<std::unique_ptr<Cudnn>> Cudnn::Open(const std::string& path, const std::vector<std::string>& beside) {
  for (const auto& other : beside) static_cast<void>(SharedLibrary::Open({&other, 1}));
  const auto library = SharedLibrary::Open({&path, 1});
  if (!library) return tl::unexpected<Failure>(Failure{-1, library.error().message});
  auto api = std::make_unique<Api>();
  HONE_LIBRARY(api->Open(library->Finder()), path + ": ");
  return std::unique_ptr<Cudnn>(new Cudnn(std::move(api)));
}

Try<std::shared_ptr<const Cudnn::Prepared>> Cudnn::Prepare(const ConvolutionCall& call) {
  auto made = std::make_shared<Prepared>();
  made->memory = {call.x.at, call.w.at, call.y.at, call.bias, call.workspace};
  const hone_library::ConvolutionSpec spec{Layout(call.x),
                                           Layout(call.w),
                                           Layout(call.y),
                                           Ints(call.stride),
                                           Ints(call.padding),
                                           Ints(call.dilation),
                                           static_cast<int>(call.groups),
                                           call.transposed,
                                           call.bias != 0,
                                           LibraryComputeOf(call.compute),
                                           LibraryEnd(call.activation),
                                           call.algorithm,
                                           static_cast<std::size_t>(call.workspace_bytes)};
  HONE_LIBRARY(api_->Describe(spec, made->memory, made->convolution), "");
  return std::shared_ptr<const Prepared>(std::move(made));
}

Try<void> Cudnn::Run(Context& context, const Prepared& prepared) {
  HONE_LIBRARY(api_->Run(prepared.convolution, prepared.memory, context.stream()), "");
  return {};
}

}  // namespace hone::cuda
